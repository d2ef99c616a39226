"""Sources: rows that are read in parts give the model of the table, on workers and after a kill, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bochner import SpatialRegressor, estimate_fit
from bochner.kernels import Matern

from .data import WAVES, alike, answers, fitted, places, responses, rows, surface
from .registry import check

N_ROWS = 110_000  # a source of at most 100,000 rows is fitted as a table
COLUMNS = {"coords": ["x", "y"]}


@cache
def frame() -> pd.DataFrame:
    X, z = rows(N_ROWS)
    counts, _ = responses("poisson", X)
    return pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "z": z, "count": counts / 10 // 1})


def at() -> pd.DataFrame:
    return pd.DataFrame(places(), columns=["x", "y"])


def given(target: str) -> dict[str, object]:
    more = {"family": "poisson", "noise_variance": 0.05} if target == "count" else {}
    return {**WAVES, **COLUMNS, **more}


@cache
def whole(target: str = "z") -> np.ndarray:
    rest = frame()
    return answers(SpatialRegressor(**given(target)).fit(rest[["x", "y"]], rest[target]), at())


def folder(name: str = "rows", n_parts: int = 11) -> str:
    Path(name).mkdir(exist_ok=True)
    for i, part in enumerate(np.array_split(np.arange(N_ROWS), n_parts)):
        frame().iloc[part].to_parquet(f"{name}/part-{i:02}.parquet", row_group_size=2_000, index=False)
    return name


def csv() -> str:
    frame().to_csv("rows.csv", index=False)
    return "rows.csv"


def memmap() -> np.ndarray:
    matrix = frame()[["x", "y", "z"]].to_numpy()
    mapped = np.memmap("rows.dat", float, "w+", shape=matrix.shape)
    mapped[:] = matrix
    return mapped


SOURCES = {
    "parquet folder": folder,
    "CSV": csv,
    "batches": lambda: lambda: (frame().iloc[i : i + 20_000] for i in range(0, N_ROWS, 20_000)),
    "memmap": memmap,
}


@check("source = frame", over=SOURCES)
def _(kind: str) -> None:
    if kind == "memmap":  # columns by position
        model, new = SpatialRegressor(**WAVES).fit(memmap(), target=2), places()
    else:
        model, new = SpatialRegressor(**given("z")).fit(SOURCES[kind](), target="z"), at()
    alike(answers(model, new), whole(), 1e-6)


@check("source = frame: Poisson")
def _() -> None:
    alike(answers(SpatialRegressor(**given("count")).fit(folder(), target="count"), at()), whole("count"), 1e-4)


@check("source = frame: NetCDF, Zarr, GeoTIFF")
def _() -> None:
    import rasterio
    import xarray as xr

    x, y = 500_000 + 1_000 * np.arange(0.5, 60), 4_600_000 + 1_000 * np.arange(49.5, 0, -1)
    values = np.sin(x / 9_000) + np.cos(y[:, None] / 7_000) + 0.1 * np.random.default_rng(0).normal(size=(50, 60))
    values[10:25, 20:40] = np.nan
    cube = xr.Dataset({"temp": (("y", "x"), values)}, {"x": x, "y": y})
    cube.to_netcdf("a.nc")
    cube.to_zarr("a.zarr")
    corner = rasterio.transform.from_origin(500_000, 4_650_000, 1_000, 1_000)
    form = {"driver": "GTiff", "height": 50, "width": 60, "count": 1, "dtype": "float64", "nodata": np.nan}
    with rasterio.open("a.tif", "w", **form, transform=corner, crs="EPSG:32633") as file:
        file.write(values, 1)
        file.set_band_description(1, "temp")
    parts = {**WAVES, **COLUMNS, "kernel": Matern(1e4)}
    new = pd.DataFrame({"x": [505_000.0, 530_000.0], "y": [4_605_000.0, 4_630_000.0]})
    first, *others = (SpatialRegressor(**parts).fit(name, target="temp") for name in ("a.nc", "a.zarr"))
    alike(answers(others[0], new), answers(first, new), 1e-6)
    assert SpatialRegressor(**{**parts, "kernel": Matern(10.0)}).fit("a.tif", target="temp").crs_ == "EPSG:32633"


@check("source: learned like a table")
def _() -> None:
    model = SpatialRegressor("se", **COLUMNS).fit(folder(), target="z")
    mean = model.predict(at())
    assert np.sqrt(np.mean((mean - surface(places())) ** 2)) < 0.03
    assert 0.03 < model.noise_variance_ < 0.05
    held = model.cross_validate(5)
    assert 0.9 < held["coverage"] < 1 and 0.15 < held["rmse"] < 0.25


KILLED = """
import sys
from bochner import SpatialRegressor
sys.path.insert(0, sys.argv[1])
from capability.data import WAVES, fitted
fitted(SpatialRegressor(**WAVES, coords=["x", "y"]), sys.argv[2], target="z", run={"checkpoint": "notes"})
"""


@check("source: killed and resumed")
def _() -> None:
    data = folder("many", 40)
    bench = str(Path(__file__).resolve().parents[1])
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", KILLED, bench, data])
    notes = Path("notes")
    while process.poll() is None and not any(notes.rglob("*")):
        time.sleep(0.01)
    time.sleep(0.05)
    assert process.poll() is None, "the fit ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    model = fitted(SpatialRegressor(**given("z")), data, target="z", run={"checkpoint": "notes", "resume": True})
    assert not notes.exists()
    alike(answers(model, at()), whole(), 1e-6)


@check("source: store")
def _() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_ROWS, 2))
    z = np.sin(60 * X[:, 0]) * np.cos(50 * X[:, 1]) + 0.2 * rng.normal(size=N_ROWS)
    pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "z": z}).to_parquet("rough.parquet", row_group_size=10_000)
    parts = {"kernel": Matern(0.02, nu=0.5), "noise_variance": 0.04, "tune": None, "memory_limit": "60MB", **COLUMNS}
    model = fitted(SpatialRegressor(**parts), "rough.parquet", target="z", run={"store": "store"})
    truth = np.sin(60 * places()[:, 0]) * np.cos(50 * places()[:, 1])
    assert "near rows answer" in str(model.choices_["n_frequencies"])
    assert np.sqrt(np.mean((model.predict(at()) - truth) ** 2)) < 0.15
    model.save("store.bochner")
    from bochner import load

    alike(answers(load("store.bochner"), at()), answers(model, at()), 1e-12)


@check("source: Dask", over=("gaussian", "poisson"))
def _(family: str) -> None:
    import dask.dataframe
    import distributed

    target = "count" if family == "poisson" else "z"
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
    ):
        model = fitted(SpatialRegressor(**given(target)), folder("few", 4), target=target, run={"dask": client})
        alike(answers(model, at()), whole(target), 1e-4)
        if family == "gaussian":
            parted = dask.dataframe.from_pandas(frame(), npartitions=5)
            alike(answers(SpatialRegressor(**given(target)).fit(parted, target=target), at()), whole(target), 1e-6)


@check("source: memory and passes are estimated")
def _() -> None:
    found = estimate_fit(folder(), target="z", n_frequencies=100, **COLUMNS)
    assert found.n_rows == N_ROWS and found.passes == 2 and not found.in_memory and found.memory_bytes > 1e6
    assert estimate_fit(folder(), target="count", family="poisson", **COLUMNS).passes > 2
