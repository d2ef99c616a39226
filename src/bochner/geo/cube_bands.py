"""Cube bands: a variable of a NetCDF file or a Zarr store where a raster is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.formats import CUBES
from bochner.geo import limits
from bochner.geo.crs import crs_text
from bochner.geo.cubes import cube_axes, cube_grid, opened_cube, variable_of


@dataclass(frozen=True)
class CubeBand(os.PathLike[str]):
    """The variable of this name in a file, or its only one."""

    path: Path
    name: str

    def __fspath__(self) -> str:
        return str(self.path)


def named_band(path: str | os.PathLike[str], name: str) -> str | os.PathLike[str]:
    """A file of rasters, to be read for an input of this name: of a cube, that variable."""
    return CubeBand(Path(path), name) if is_cube_file(path) else path


def is_cube_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a NetCDF file or a Zarr store, by its ending."""
    return Path(path).suffix.lower() in CUBES


@contextmanager
def opened_band(path: str | os.PathLike[str], rasterio: Any) -> Iterator[Any]:
    """A variable of a cube as an open rasterio dataset with one band, north up."""
    name = path.name if isinstance(path, CubeBand) else None
    file = Path(path)
    stored = _stored(str(file), name, file.stat().st_mtime_ns)
    with rasterio.io.MemoryFile(stored, filename=f"{file.stem}.tif") as memory, memory.open() as dataset:
        yield dataset


@lru_cache(maxsize=limits.CUBE_BANDS_HELD)
def _stored(path: str, name: str | None, changed: int) -> bytes:
    """A variable as the bytes of a GeoTIFF; windows of one map read the same ones again and again."""
    from affine import Affine
    from rasterio.io import MemoryFile

    source = Path(path).name
    with opened_cube(path) as cube:
        known = name if name in getattr(cube, "data_vars", ()) else None
        array = variable_of(cube, source, known, f"none is called {name!r}: rename one, or save it alone")
        east, north = cube_axes(array, source)
        many = [str(d) for d in array.dims if d not in (east, north) and array.sizes[d] > 1]
        if many:
            raise InputError(
                f"{array.name!r} of {source} has {array.sizes[many[0]]} images along {many[0]!r}, and one is needed; "
                f"save it alone: dataset.isel({many[0]}=0).to_netcdf(...)."
            )
        image = array.squeeze([d for d in array.dims if d not in (east, north)]).transpose(north, east)
        image = image.sortby(north, ascending=False).sortby(east).load()
        grid = cube_grid(image, source)
        values = np.asarray(image.values)
    whole = values.dtype.kind in "iu"  # classes, say: sampled at the nearest pixel
    values = values.astype(np.int32 if whole else np.float64)
    profile = {"driver": "GTiff", "height": grid.height, "width": grid.width, "count": 1, "dtype": values.dtype.name}
    place = {"crs": crs_text(grid.crs), "transform": Affine(*grid.transform), "nodata": None if whole else np.nan}
    with MemoryFile() as memory:
        with memory.open(**profile, **place) as band:
            band.write(values, 1)
        return bytes(memory.read())
