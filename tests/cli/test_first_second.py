"""The first second: mistakes in options and names of files are told before anything heavy is imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "geopandas", "rasterio", "matplotlib", "numba", "pyproj", "xarray"}

PROGRAM = """
import json, sys
from bochner.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    code = stop.code
print(json.dumps([code, sorted(name for name in sys.modules if "." not in name)]), file=sys.stderr)
"""


def answer(*arguments, folder):
    """Exit code, modules that were imported, and what was said."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, cwd=folder)
    *said, last = done.stderr.strip().split("\n")
    code, modules = json.loads(last)
    return code, set(modules), done.stdout + "\n".join(said)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
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
    ],
)
def test_a_mistake_is_told_without_heavy_imports(arguments, code, told, tmp_path):
    (tmp_path / "data.csv").write_text("lon,lat,y\n1,2,3\n")
    found, modules, said = answer(*arguments.split(), folder=tmp_path)
    assert (found, not modules & HEAVY) == (code, True), (said, modules & HEAVY)
    assert told in said
