"""Interfaces: commands and what they import, progress, labels of choices, extension points."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bochner import SpatialRegressor, load
from bochner.diagnostics import remember
from bochner.kernels import Periodic, register_kernel

from .data import FAMILIES, FIXED, answers, places, responses, rows, table
from .registry import check

COMMANDS = (
    *("fit", "predict", "map", "aggregate", "hotspots", "validate", "report", "fill", "merge", "simulate"),
    *("demo", "studio", "paper"),
)
HEAVY = {"numpy", "scipy", "sklearn", "pandas", "geopandas", "rasterio", "matplotlib", "numba", "pyproj", "xarray"}
LIGHT = """
import contextlib, io, json, sys
from bochner.cli import main
found = []
for line in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(line.split())
        except SystemExit as stop:
            code = stop.code
    found.append([line, code, said.getvalue()])
print(json.dumps([found, sorted({name for name in sys.modules if "." not in name})]))
"""
MISSPELT = {
    "fit data.csv --tarqet y -o m.bochner": "No such option",
    "fti data.csv": "No such command",
    "fit no.csv --target y -o m.bochner": "no.csv does not exist",
    "fit data.csv --target y --family binomal -o m.bochner": "did you mean 'binomial'?",
    "fit data.csv --target y --kernel matern33 -o m.bochner": "did you mean 'matern32'?",
    "fit data.csv --target y --features latice -o m.bochner": "did you mean 'lattice'?",
    "fit data.csv --target y --tune magic -o m.bochner": "tune='magic'",
    "predict no.bochner data.csv -o out.csv": "no.bochner does not exist",
}


@check("--help and misspelt options import no NumPy")
def _() -> None:
    Path("data.csv").write_text("lon,lat,y\n1,2,3\n")
    lines = ["--help", *(f"{name} --help" for name in COMMANDS), *MISSPELT]
    done = subprocess.run([sys.executable, "-c", LIGHT], input=json.dumps(lines), capture_output=True, text=True)
    found, modules = json.loads(done.stdout)
    for line, code, said in found:
        assert code == (2 if line in MISSPELT else 0) and MISSPELT.get(line, "Usage") in said, (line, said)
    assert not HEAVY & set(modules), HEAVY & set(modules)


@check("import bochner is light")
def _() -> None:
    program = "import bochner, sys; print('numpy' in sys.modules, 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"], done.stdout


def bochner(*arguments: object, code: int = 0, **environment: str) -> tuple[str, str]:
    """Output and errors of a command in a process of its own."""
    line = [sys.executable, "-m", "bochner", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == code, f"{arguments[0]} ended with {done.returncode}: {done.stderr[-200:]}"
    return done.stdout, done.stderr


@cache
def survey() -> str:
    """A folder with a survey, a covariate and areas, and a model of them."""
    import geopandas
    import rasterio
    from shapely.geometry import box

    here = Path("survey").resolve()
    here.mkdir()
    frame = table(120).rename(columns={"x": "lon", "y": "lat"}).assign(site=np.arange(120) // 4)
    frame.lon, frame.lat = 10 + 2 * frame.lon, 40 + 2 * frame.lat
    frame.to_csv(here / "data.csv", index=False)
    form = {"driver": "GTiff", "height": 25, "width": 25, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
    corner = rasterio.transform.from_origin(9.75, 42.25, 0.1, 0.1)
    for name, values in (("dem", np.linspace(-1, 1, 625).reshape(25, 25)), ("people", np.full((25, 25), 7.0))):
        with rasterio.open(here / f"{name}.tif", "w", **form, transform=corner) as file:
            file.write(values.astype("float32"), 1)
    areas = geopandas.GeoDataFrame({"name": ["w", "e"]}, geometry=[box(10, 40, 11, 42), box(11, 40, 12, 42)], crs=4326)
    areas.to_file(here / "areas.gpkg")
    quick = ("--kernel", "matern32(length_scale=60)", "--tune", "none", "--noise-variance", 0.1, "--json")
    given = (
        "--target",
        "positive",
        "--family",
        "binomial",
        "--trials",
        "examined",
        "--covariate",
        f"dem={here}/dem.tif",
    )
    bochner("fit", here / "data.csv", *given, *quick, "-o", here / "m.bochner")
    return str(here)


@check("command", over=("fit", "predict", "map", "aggregate", "hotspots", "validate", "report", "simulate"))
def _(name: str) -> None:
    here, covariate = survey(), ("--covariate", f"dem={survey()}/dem.tif")
    model, areas = f"{here}/m.bochner", ("--areas", f"{here}/areas.gpkg")
    if name == "fit":
        config = 'target = "z"\ncovariates = "height"\nkernel = "matern32"\ngroups = "site"\nseed = 1\n'
        Path("fit.toml").write_text(f'data = "{here}/data.csv"\n{config}output = "of.bochner"\n')
        told = json.loads(bochner("fit", "--config", "fit.toml", "--json")[0])
        assert told["findings"] is not None and load("of.bochner").fitted_ is not None
    elif name == "predict":
        bochner(
            "predict", model, f"{here}/data.csv", *covariate, "--exceed", "40%", "--trials", "examined", "-o", "p.csv"
        )
        assert {"mean", "sd", "lower", "upper"} <= set(pd.read_csv("p.csv").columns)
    elif name == "map":
        for output in ("m.tif", "m.nc", "m.png"):
            bochner("map", model, "--resolution", "10km", *covariate, "--exceed", "40%", "-o", output)
            assert Path(output).stat().st_size > 500
    elif name == "aggregate":
        weights = ("--weights", f"{here}/people.tif", "--exceed", 0.5, "--json", "-o", "a.csv")
        told = json.loads(bochner("aggregate", model, *areas, *covariate, *weights)[0])
        assert [row["name"] for row in told["areas"]] == ["w", "e"] and "total" in pd.read_csv("a.csv")
    elif name == "hotspots":
        bochner("hotspots", model, "--threshold", "50%", *covariate, "-o", "h.gpkg")
        assert Path("h.gpkg").exists()
    elif name == "validate":
        given = ("--target", "z", "--kernel", "matern32", "--folds", 4, "--groups", "site", "--json")
        told = json.loads(bochner("validate", f"{here}/data.csv", *given)[0])
        assert told["tests"][0]["scores"]["crps"] > 0
    elif name == "report":
        given = ("--data", f"{here}/data.csv", *areas, *covariate, "--threshold", "50%", "-o", "r.html")
        bochner("report", model, *given)
        page = Path("r.html").read_text(encoding="utf-8")
        assert "prevalence" in page and "<script src" not in page
    else:
        prior = ("--kernel", "matern12(length_scale=0.3)", "--bounds", "0,0,2,2", "--resolution", 0.1)
        bochner("simulate", *prior, "-n", 2, "-o", "s.nc")
        bochner("simulate", model, "--at", f"{here}/data.csv", *covariate, "--latent", "-n", 3, "-o", "s.csv")
        assert Path("s.nc").exists() and pd.read_csv("s.csv").filter(like="surface_").shape == (120, 3)


@check("command: fill")
def _() -> None:
    import xarray as xr

    values = np.sin(np.arange(30) / 5) + np.cos(np.arange(20)[:, None] / 4)
    values[5:9, 8:14] = np.nan
    xr.Dataset({"sst": (("y", "x"), values)}, {"y": np.arange(20.0), "x": np.arange(30.0)}).to_netcdf("gaps.nc")
    bochner("fill", "gaps.nc", "--kernel", "matern52", "-o", "filled.nc", "--model", "image.bochner")
    filled = xr.open_dataset("filled.nc")
    assert not filled.sst.isnull().any() and "sst_sd" in filled and Path("image.bochner").exists()


@check("command: merge, and fit --like")
def _() -> None:
    frame = table(400)
    for name, part in (("a", frame[:200]), ("b", frame[200:]), ("whole", frame)):
        part[["x", "y", "z"]].to_csv(f"{name}.csv", index=False)
    given = ("--kernel", "matern32(length_scale=0.3)", "--tune", "none", "--noise-variance", 0.05)
    waves = (*given, "--features", "lattice", "--n-frequencies", 60, "--predict-at", "whole.csv")
    bochner("fit", "a.csv", "--target", "z", *waves, "-o", "a.bochner")
    bochner("fit", "b.csv", "--target", "z", "--like", "a.bochner", "-o", "b.bochner")
    bochner("merge", "a.bochner", "b.bochner", "-o", "both.bochner")
    sd = [answers(load(f"{name}.bochner"), places())[1].mean() for name in ("both", "a")]
    assert sd[0] < sd[1]


@check("command: messy tables, and --drop-bad")
def _() -> None:
    frame = table(120)[["x", "y", "z"]].rename(columns={"z": "température"})
    lines = frame.to_csv(index=False, sep=";", decimal=",").splitlines()
    lines[5] = "warm;" + lines[5].partition(";")[2]
    Path("messy.csv").write_bytes("\n".join(lines).encode("cp1252"))
    given = ("messy.csv", "--target", "température", "--kernel", "matern32", "-o", "messy.bochner")
    assert "line 6" in bochner("fit", *given, code=2)[1]
    out, err = bochner("fit", *given, "--drop-bad")
    assert "line 6" in out + err and Path("messy.bochner").exists()


@check("command: studio answers on this machine")
def _() -> None:
    import re
    import urllib.request

    line = [sys.executable, "-u", "-m", "bochner", "studio", "--no-browser", "--project", "projects"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        try:
            address = next(m[0] for text in server.stdout if (m := re.search(r"http://\S+", text)))
            with urllib.request.urlopen(address) as page:
                assert b"<html" in page.read()[:2_000].lower()
        finally:
            server.terminate()


def fractions(text: str) -> list[float]:
    """Shares of the work done, as a command tells them to a program."""
    told = (json.loads(line) for line in text.splitlines() if line.startswith('{"bochner": "progress"'))
    return [one["fraction"] for one in told if one.get("fraction") is not None]


@check("progress reaches 100 %", over=("fit", "map", "aggregate"))
def _(name: str) -> None:
    here, covariate = survey(), ("--covariate", f"dem={survey()}/dem.tif")
    line = {
        "fit": ("fit", f"{here}/data.csv", "--target", "z", "-o", "p.bochner"),
        "map": ("map", f"{here}/m.bochner", *covariate, "--memory", "2MB", "-o", "p.tif"),
        "aggregate": ("aggregate", f"{here}/m.bochner", "--areas", f"{here}/areas.gpkg", *covariate, "-o", "p.csv"),
    }[name]
    found = fractions(bochner(*line, BOCHNER_PROGRESS="lines")[1])
    assert found and found[-1] == 1.0, f"the last fraction is {found[-1:] or 'not told'}"


LABELLED = (*FAMILIES, "lattice", "conjugate-gradients", "learned", "covariates", "source", "presence", "degrees")


def labelled(kind: str) -> SpatialRegressor:
    """A fit that makes many choices."""
    X, y = rows(150)
    if kind in FAMILIES:
        y, of = responses(kind, X)
        return SpatialRegressor(family=kind).fit(X, y, **of)
    if kind == "covariates":
        frame = table(150).assign(kind=np.array(["a", "b"])[np.arange(150) % 2], day=pd.Timestamp("2024-01-01"))
        used = frame[["x", "y", "height", "kind"]]
        return SpatialRegressor(coords=["x", "y"], covariates=["height", "kind"]).fit(used, frame.z + frame.height**2)
    if kind == "source":
        table(150).to_parquet("few.parquet")
        return SpatialRegressor(**FIXED, coords=["x", "y"]).fit("few.parquet", target="z")
    if kind == "presence":
        return SpatialRegressor(family="bernoulli").fit(rows(560)[0], (rows(560)[1] > 0.9).astype(float))
    if kind == "degrees":
        return SpatialRegressor(crs="EPSG:4326").fit(X, 1e-100 * y)
    return SpatialRegressor("matern32", features=kind).fit(X, y)


@check("every choice has a label in summary, report and studio", over=LABELLED)
def _(kind: str) -> None:
    from bochner.report import write_report
    from bochner.studio.check_view import check_of

    model = labelled(kind)
    if model.has_training:
        remember(model)
    summary, page = model.summary(), write_report(model, "r.html", n_pixels=100).read_text(encoding="utf-8")
    told = check_of(model, None, "y")["choices"]
    assert len(told) == len(model.choices_) > 2
    for (label, text), (name, choice) in zip(told, model.choices_.items(), strict=True):
        assert text == str(choice) and f"{name} " in summary and text in summary, name
        assert label[0].isupper() and label != name, f"the choice {name!r} has no label"
        assert html.escape(label) in page, f"{label!r} is not in the report"


@check("own kernel by its name")
def _() -> None:
    register_kernel("yearly", Periodic(period=0.5))
    model = SpatialRegressor("yearly + matern32").fit(*rows(80))
    assert "Periodic" in str(type(model.kernel_.k1)) and np.isfinite(model.log_evidence_)


@check("model files hold no rows where waves answer")
def _() -> None:
    X, y = rows(331)
    SpatialRegressor(**FIXED, features="lattice", n_frequencies=60).fit(X, y).save("m.bochner")
    import io

    with zipfile.ZipFile("m.bochner") as file:
        shapes = [np.load(io.BytesIO(file.read(n))).shape for n in file.namelist() if n.endswith(".npy")]
    assert not [shape for shape in shapes if 331 in shape]
