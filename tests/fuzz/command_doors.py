"""Doors of the command line: any command with any options, in a folder with good files and bad ones."""

from __future__ import annotations

import contextlib
import io
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from bochner.cli import main
from tests.fuzz.odd import TEXTS, number, rarely, some

COMMANDS = ("fit", "predict", "map", "aggregate", "report", "validate", "simulate", "merge", "fill", "hotspots")
OPTIONS = (
    *(
        "--target",
        "--coords",
        "--covariates",
        "--covariate",
        "--family",
        "--trials",
        "--exposure",
        "--offset",
        "--error-sd",
    ),
    *("--groups", "--kernel", "--features", "--n-frequencies", "--tune", "--noise-variance", "--predict-at"),
    *(
        "--crs",
        "--layer",
        "--seed",
        "--memory-limit",
        "--store",
        "--like",
        "--config",
        "--level",
        "--exceed",
        "--quantile",
    ),
    *(
        "--resolution",
        "--within",
        "--bounds",
        "--areas",
        "--weights",
        "--points",
        "--threshold",
        "--certainty",
        "--data",
    ),
    *(
        "--title",
        "--blocks",
        "--folds",
        "--score",
        "--at",
        "--draws",
        "--mean",
        "--dispersion",
        "-o",
        "--output",
        "--nope",
    ),
)
SWITCHES = (
    *("--latent", "--json", "--drop-bad", "--fix-swapped", "--resume", "--fill-only", "--new", "--help"),
    "--escape-formulas",
)
GOOD = ("data.csv", "m.bochner", "image.tif", "areas.geojson", "cube.nc")
BAD = ("empty.csv", "text.csv", "m.bad", "bad.tif", "none.csv", ".", "..", "", "out")
OUTPUTS = (
    "o.csv",
    "o.tif",
    "o.nc",
    "o.bochner",
    "o.gpkg",
    "o.html",
    "o.parquet",
    "o.zarr",
    "o.png",
    "o",
    "no/o.csv",
    "data.csv",
)
USUAL = {
    "fit": ["data.csv", "--target", "y", "--kernel", "matern32(length_scale=50)", "--tune", "none", "-o", "o.bochner"],
    "predict": ["m.bochner", "data.csv", "-o", "o.csv"],
    "map": ["m.bochner", "--resolution", "0.5", "-o", "o.tif"],
    "aggregate": ["m.bochner", "--areas", "areas.geojson", "--points", "10", "-o", "o.csv"],
    "report": ["m.bochner", "--resolution", "0.5", "-o", "o.html"],
    "validate": ["data.csv", "--target", "y", "--kernel", "matern32(length_scale=50)", "--tune", "none"],
    "simulate": ["--kernel", "se(length_scale=0.3)", "--bounds", "0,0,1,1", "--resolution", "0.3", "-o", "o.csv"],
    "merge": ["m.bochner", "m.bochner", "-o", "o.bochner"],
    "fill": ["image.tif", "--kernel", "matern32", "-o", "o.tif"],
    "hotspots": ["m.bochner", "--threshold", "0.2", "--resolution", "0.5", "-o", "o.csv"],
}


class RawError(Exception):
    """A command that ended in something else than an answer or one line."""


def command(rng: Generator, folder: Path) -> None:
    """A command ends with 0 and an answer, or with 1 or 2 and one line that says why; nothing is left half-written."""
    for name, data in _files().items():
        (folder / name).write_bytes(data)
    arguments = arguments_of(rng)
    out, err, code = io.StringIO(), io.StringIO(), 0
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    finally:
        os.chdir(before)
    if "Traceback" in err.getvalue() or code not in (0, 1, 2):
        raise RawError(f"{arguments}: {code}, {err.getvalue()[-300:]}")
    left = [path.name for path in folder.rglob(".*") if "partial" in path.name]
    if left:
        raise RawError(f"{arguments}: left {left}")
    if code:
        lines = [
            line for line in err.getvalue().splitlines() if line and "warning:" not in line and "note:" not in line
        ]
        if not lines:
            raise RawError(f"{arguments}: {code} without a word")
        raise Refused(lines[-1])


class Refused(Exception):
    """A command that ended in one line that says why."""


def arguments_of(rng: Generator) -> list[str]:
    """Arguments: those of a good command, changed; or any at all."""
    name = str(some(rng, (*COMMANDS, "paper")))
    found = list(USUAL.get(name, [])) if rarely(rng, 0.85) else []
    for _ in range(int(rng.integers(0, 4))):
        kind = int(rng.integers(5))
        if kind == 0 and found:
            found[int(rng.integers(len(found)))] = _word(rng)
        elif kind == 1 and found:
            del found[int(rng.integers(len(found)))]
        elif kind == 2:
            found.append(str(some(rng, SWITCHES)))
        else:
            found += [str(some(rng, OPTIONS)), _word(rng)]
    if name == "paper":
        return [name, "--nope"]
    return [name, *found] if not rarely(rng, 0.02) else found


def _word(rng: Generator) -> str:
    kind = rng.random()
    if kind < 0.35:
        return str(some(rng, TEXTS)).replace("\x00", "")
    if kind < 0.6:
        return str(some(rng, GOOD))
    if kind < 0.75:
        return str(some(rng, BAD))
    if kind < 0.85:
        return str(some(rng, OUTPUTS))
    if kind < 0.95:
        return str(some(rng, ("y", "lon,lat", "z", "0,0,1,1", "1", "0.3", "-1", "0", "20%", "z=image.tif", "1e9")))
    return repr(number(rng))


@cache
def _files() -> dict[str, bytes]:
    """Files of the folder that commands run in."""
    import tempfile

    import pandas as pd

    from bochner import SpatialRegressor
    from bochner.kernels import Matern
    from tests.fuzz.file_doors import samples

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, size=(20, 4)), columns=["lon", "lat", "z", "y"])
    model: Any = SpatialRegressor(Matern(30.0), coords=["lon", "lat"], tune=None, noise_variance=0.1, crs="EPSG:4326")
    with tempfile.TemporaryDirectory() as name:
        model.fit(frame[["lon", "lat"]], frame["y"]).save(Path(name) / "m")
        saved = (Path(name) / "m").read_bytes()
    ring = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
    area = {"type": "Feature", "properties": {"n": "a"}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
    return {
        "data.csv": frame.to_csv(index=False).encode(),
        "m.bochner": saved,
        "image.tif": samples()["tif"],
        "cube.nc": samples()["nc"],
        "areas.geojson": json.dumps({"type": "FeatureCollection", "features": [area]}).encode(),
        "empty.csv": b"",
        "text.csv": b"lon,lat,y\na,b,c\n",
        "m.bad": saved[:100],
        "bad.tif": samples()["tif"][:200],
    }
