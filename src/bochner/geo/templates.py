"""Templates: the grid of a raster file, of an open dataset or of an xarray object."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.formats import CUBES, RASTERS
from bochner.geo.cubes import cube_grid, opened_cube
from bochner.geo.grids import RasterGrid
from bochner.geo.rasters import dataset_grid, opened_raster


def grid_like(template: Any) -> RasterGrid:
    """The grid of a raster file (GeoTIFF, NetCDF, Zarr), of an open rasterio dataset or of an xarray object."""
    if isinstance(template, RasterGrid):
        return template
    if isinstance(template, (str, os.PathLike)):
        return _file_grid(Path(template))
    if hasattr(template, "rio") or hasattr(template, "coords"):
        return cube_grid(template, "the template")
    return dataset_grid(template)


def _file_grid(path: Path) -> RasterGrid:
    suffix = path.suffix.lower()
    if suffix in CUBES:
        with opened_cube(path) as cube:
            return cube_grid(cube, path.name)
    if suffix not in RASTERS:
        raise InputError(f"{path} ends in {path.suffix!r}; needed is a raster: one of {(*RASTERS, *CUBES)}.")
    with opened_raster(path) as dataset:
        return dataset_grid(dataset)
