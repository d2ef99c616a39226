"""The first second: mistakes in options and names of files are told before anything heavy is imported."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import pytest

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "geopandas", "rasterio", "matplotlib", "numba", "pyproj", "xarray"}

PROGRAM = """
import contextlib, io, json, sys
from bochner.cli import main

answers, known = [], set()
for arguments in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(arguments)
        except SystemExit as stop:
            code = stop.code
    modules = {name for name in sys.modules if "." not in name}
    answers.append([code, sorted(modules - known), said.getvalue()])
    known = modules
print(json.dumps(answers))
"""


def answers(lines, folder):
    """Of every line: exit code, modules that were not imported before, and what was said; all in one process."""
    put_files(folder)
    asked = json.dumps([line.split() for line in lines])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=asked, capture_output=True, text=True, cwd=folder, check=True
    )
    found = json.loads(done.stdout)
    return {line: (code, set(modules), said) for line, (code, modules, said) in zip(lines, found, strict=True)}


MISTAKES = (
    ("--help", 0, "fit"),
    ("fit --help", 0, "Examples:"),
    ("fit data.csv --tarqet y -o m.bochner", 2, "No such option"),
    ("fti data.csv", 2, "No such command"),
    ("fit no.csv --target y -o m.bochner", 2, "no.csv does not exist"),
    ("fit data.csv --target y", 2, "no output was given"),
    ("fit data.csv --target y --covariate height=no.tif -o m.bochner", 2, "no.tif does not exist"),
    ("validate no.csv --target y", 2, "no.csv does not exist"),
    ("predict no.bochner data.csv -o out.csv", 2, "no.bochner does not exist; check the name of the model"),
    ("predict data.csv no.csv -o out.csv", 2, "no.csv does not exist"),
    ("map no.bochner -o out.tif --resolution 1", 2, "no.bochner does not exist"),
    ("aggregate no.bochner --areas no.gpkg -o out.csv", 2, "no.bochner does not exist"),
    ("report no.bochner -o out.html", 2, "no.bochner does not exist"),
    ("simulate no.bochner --at data.csv -o out.csv", 2, "no.bochner does not exist"),
    # files that are named by options
    ("report model --areas no.gpkg -o r.html", 2, "no.gpkg does not exist"),
    ("hotspots no.bochner --threshold 20% -o h.gpkg", 2, "no.bochner does not exist; check the name of the model"),
    ("fill no.nc -o f.nc", 2, "no.nc does not exist"),
    ("fill data.csv -o f.nc", 2, "needed is an image: one of .tif, .tiff, .nc, .nc4, .zarr."),
    ("merge a.bochner b.bochner -o c", 2, "a.bochner does not exist; check the name of the model"),
    ("map model --covariate elevation=no.tif -o m.tif", 2, "no.tif does not exist"),
    ("map model --trials no.tif -o m.tif", 2, "no.tif does not exist"),
    ("fit data.csv --target y --predict-at no.csv -o m.bochner", 2, "no.csv does not exist"),
    ("fit data.csv --target y --like no.bochner -o m.bochner", 2, "no.bochner does not exist"),
    ("fit --config no.toml", 2, "no.toml does not exist"),
    ("validate model", 2, "what can be read is .csv, .parquet"),
    ("predict data.csv data.csv -o out.csv", 2, "not a complete bochner model"),
    # outputs
    ("map model -o m.foo", 2, "needed is one of .tif, .tiff, .nc, .nc4, .zarr, .png, .svg, .pdf, .jpg."),
    ("map model -o m", 2, "ends in ''"),
    ("aggregate model --areas areas.gpkg -o nowhere/a.csv", 2, "the folder nowhere of the output a.csv does not"),
    ("fit data.csv --target y -o nowhere/m.bochner", 2, "the folder nowhere of the output m.bochner does not"),
    ("fit data.csv --target y -o m.csv", 2, "name it m.bochner"),
    ("report model -o page.pdf", 2, "needed is one of .html, .htm."),
    ("simulate --kernel matern32 --at data.csv -o out.tif", 2, "draw on a grid"),
    # spellings
    ("fit data.csv --target y --family binomal -o m.bochner", 2, "did you mean 'binomial'?"),
    ("fit data.csv --target y --kernel matern12+matern33 -o m.bochner", 2, "did you mean 'matern32'?"),
    ("fit data.csv --target y --kernel matern32+ -o m.bochner", 2, "cannot be read; write a name such as"),
    ("fit data.csv --target y --features latice -o m.bochner", 2, "did you mean 'lattice'?"),
    ("fit data.csv --target y --tune magic -o m.bochner", 2, "tune='magic'; needed is one of 'evidence', "),
    ("fit data.csv --target y --memory-limit 2parsec -o m.bochner", 2, "text like '2GB'"),
    ("fit --config wrong.toml", 2, "did you mean 'binomial'?"),
    ("fill image.tif --features latice -o f.tif", 2, "did you mean 'lattice'?"),
    ("fit data.csv --target y --family binomial -o m.bochner", 2, "no trials were given; name their column with --tri"),
    ("fit data.csv --target y --family poisson --trials y -o m.bochner", 2, "has exposure; leave it out"),
    ("validate data.csv --target y --exposure y", 2, "has neither trials nor exposure"),
    ("aggregate model --areas data.csv -o a.gpkg", 2, "data.csv ends in '.csv'; needed are polygons: one of .gpkg"),
    ("aggregate model --areas areas.gpkg --level 95 -o a.gpkg", 2, "--level is 95; needed is a probability between 0"),
    ("map model --within data.csv -o m.tif", 2, "needed are polygons"),
    ("simulate --kernel mattern32 --at data.csv -o out.csv", 2, "did you mean 'matern32'?"),
    ("map model --resolution 5kilometer -o m.tif", 2, "a positive length such as 5km"),
    ("map model --bounds 1,2,3 -o m.tif", 2, "four numbers"),
    ("map model --exceed much -o m.tif", 2, "--exceed is 'much'"),
    ("map model --fill-only -o m.tif", 2, "without --like"),
    ("hotspots model --threshold much", 2, "--threshold is 'much'"),
    ("fit data.csv --target y --jobs 0 -o m.bochner", 2, "--jobs is 0; needed is a number of threads, 1 or more"),
    ("fit data.csv --target y --device gpu -o m.bochner", 2, "--device is 'gpu'; needed is one of auto, cpu, cuda"),
)


@pytest.fixture(scope="module")
def of_mistakes(tmp_path_factory):
    return answers([arguments for arguments, *_ in MISTAKES], tmp_path_factory.mktemp("mistakes"))


@pytest.mark.parametrize(("arguments", "code", "told"), MISTAKES)
def test_a_mistake_is_told_without_heavy_imports(arguments, code, told, of_mistakes):
    found, modules, said = of_mistakes[arguments]
    assert (found, modules & HEAVY) == (code, set()), said
    assert told in said


NAMES = (
    ("fit data.csv --target z -o m.bochner", "data.csv has no column 'z'; its columns are ['lon', 'lat', 'y']."),
    ("fit data.csv --target y --covariates latt -o m.bochner", "did you mean 'lat'?"),
    ("validate data.csv --target y --coords lo,lat", "no column 'lo'"),
    ("fit data.csv -o m.bochner", "name the column to be modelled with --target: one of ['y']."),
    ("fit empty.csv --target y -o m.bochner", "empty.csv is empty; check that it was written completely."),
    ("map model --covariate elevation=3 -o m.tif", "the model uses 'date', and nothing was given for it"),
    ("fit german.csv --target Hohe -o m.bochner", "did you mean 'Höhe'?"),
    ("fit excel.csv --target Hohe -o m.bochner", "did you mean 'Höhe'?"),
    ("map model --covariate elevaton=3 -o m.tif", "no such column; did you mean 'elevation'?"),
    ("aggregate model --areas areas.gpkg --covariate slope=3 -o a.csv", "it uses ['elevation', 'date']."),
    ("hotspots model --threshold 2 --covariate lon=3", "no such column"),
)


@pytest.fixture(scope="module")
def of_names(tmp_path_factory):
    return answers([arguments for arguments, _ in NAMES], tmp_path_factory.mktemp("names"))


@pytest.mark.parametrize(("arguments", "told"), NAMES)
def test_names_are_compared_with_the_head_of_a_file(arguments, told, of_names):
    """Names in a table and in a model are read before what computes is imported; NumPy alone is there."""
    found, modules, said = of_names[arguments]
    assert (found, modules & (HEAVY - {"numpy"})) == (2, set()), said
    assert told in said


def put_files(folder):
    """A table, one as spreadsheets of the continent write it, something of a model, an image that is not looked at."""
    (folder / "data.csv").write_text("lon,lat,y\n1,2,3\n")
    (folder / "german.csv").write_bytes("lon;lat; Höhe \n1,0;2;3\n".encode("utf-16"))
    (folder / "excel.csv").write_bytes("lon;lat; Höhe \n1,0;2;3\n".encode("cp1252"))
    (folder / "empty.csv").write_bytes(b"")
    (folder / "areas.gpkg").write_bytes(b"")
    (folder / "image.tif").write_bytes(b"II*")
    (folder / "wrong.toml").write_text('data = "data.csv"\ntarget = "y"\nfamily = "binomal"\noutput = "m.bochner"\n')
    columns = {"coords": {"tuple": [1, 2, 3]}, "names": {"tuple": ["elevation", "lon", "lat", "date"]}}
    layout = {"columns": {"fields": columns}, "design": None, "encoding": None}
    fitted = {"fields": {"layout": {"fields": layout}}}
    with zipfile.ZipFile(folder / "model", "w") as file:
        file.writestr("manifest.json", json.dumps({"state": {"map": {"fitted": fitted}}}))
