"""Examples: data that are made in place, so that a first map needs no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.demo.country import NAME
from bochner.demo.files import write_demo, write_raster
from bochner.exceptions import InputError
from bochner.geo import RasterGrid
from bochner.random import generator
from bochner.studio import limits


def write_example(which: str, folder: Path) -> dict[str, Any]:
    """Write the files of an example into a folder; which of them is the data, the spec, and options of the map."""
    if which not in MAKERS:
        raise InputError(f"there is no example {which[:40]!r}; known are {', '.join(MAKERS)}.")
    return MAKERS[which](folder)


def _country(folder: Path) -> dict[str, Any]:
    """The survey of the demo's country: villages, covariates and people as rasters, districts."""
    files = write_demo(folder)
    files.truth.unlink()
    rasters = {"elevation": files.elevation.name, "rainfall": files.rainfall.name}
    spec = {"target": "positive", "measures": "positives", "trials": "examined", "coords": ["lon", "lat"]}
    return {
        "file": files.villages.name,
        "title": f"Malaria in {NAME}",
        "spec": {**spec, "covariate": rasters, "kernel": "matern32"},
        "options": {"areas": files.districts.name, "weights": files.population.name, "threshold": "20%"},
    }


def _image(folder: Path) -> dict[str, Any]:
    """The surface temperature of a sea seen by a satellite, with clouds and a stripe that it missed."""
    grid = RasterGrid((0.03, 0.0, 5.0, 0.0, -0.03, 43.4), limits.IMAGE_SIDE, limits.IMAGE_SIDE, "EPSG:4326")
    rng = generator(0, "image")
    sea = 19.0 + 1.6 * _smooth(rng, 12) + 0.5 * _smooth(rng, 4) - 1.2 * np.linspace(1, 0, grid.height)[:, None]
    clouds = _smooth(rng, 6) > 0.8
    columns = np.arange(grid.width)[None, :] - 0.35 * np.arange(grid.height)[:, None]
    stripe = (columns > 20) & (columns < 24)
    seen = np.where(clouds | stripe, np.nan, sea + 0.08 * rng.standard_normal(grid.shape))
    write_raster(folder / "sea_temperature.tif", grid, seen, "sea_temperature")
    return {
        "file": "sea_temperature.tif",
        "title": "A sea under clouds",
        "spec": {"target": "sea_temperature", "measures": "number", "predict_at": "gaps", "kernel": "matern32"},
        "options": {},
    }


MAKERS = {"country": _country, "image": _image}


def _smooth(rng: np.random.Generator, width: float) -> FloatArray:
    """A smooth random field of variance 1 on the image, `width` pixels wide."""
    from scipy.ndimage import gaussian_filter

    room = int(3 * width)
    field = gaussian_filter(rng.standard_normal((limits.IMAGE_SIDE + 2 * room,) * 2), width)
    field = field[room:-room, room:-room]
    return np.asarray((field - field.mean()) / field.std())
