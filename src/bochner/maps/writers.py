"""Writers: maps into GeoTIFF, NetCDF and Zarr, window by window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError, MissingExtraError
from bochner.geo import RasterGrid, Window, crs_text
from bochner.maps.bands import Band
from bochner.maps.cf import (
    CONVENTIONS,
    GRID_MAPPING,
    axis_attributes,
    band_attributes,
    check_upright,
    mapping_attributes,
)

BLOCK = 512  # side of the tiles of a file, in pixels
CACHE_MB = 96  # of GDAL


class Writer:
    """A map on its way into a file: windows in any order, then `close` with what is to be said of them."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        raise NotImplementedError

    def write(self, window: Window, values: FloatArray) -> None:
        """Write bands (k, height, width)."""
        raise NotImplementedError

    def close(self, attributes: Mapping[str, str]) -> None:
        """Write the attributes, and finish the file."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Close what is open; the file is not finished."""


class GeoTiffWriter(Writer):
    """Cloud-optimised GeoTIFF: tiles first into a plain file, then in the final order, with overviews."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        self.rasterio = _module("rasterio", "GeoTIFF", "geo")
        from affine import Affine

        self.path, self.plain = path, path.with_name("plain.tif")
        self.open = ExitStack()
        self.open.enter_context(self.rasterio.Env(GDAL_CACHEMAX=CACHE_MB, GDAL_NUM_THREADS="ALL_CPUS"))
        crs = crs_text(grid.crs)
        self.file = self.rasterio.open(
            self.plain, "w", driver="GTiff", height=grid.height, width=grid.width, count=len(bands), dtype=dtype,
            crs=None if crs is None else self.rasterio.crs.CRS.from_user_input(crs), transform=Affine(*grid.transform),
            nodata=np.nan, tiled=True, blockxsize=BLOCK, blockysize=BLOCK, bigtiff="IF_SAFER", sparse_ok=True,
        )  # fmt: skip
        for i, band in enumerate(bands, start=1):
            self.file.set_band_description(i, band.name)
            self.file.update_tags(i, long_name=band.text)

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        self.file.write(values.astype(self.file.dtypes[0]), window=((row0, row1), (col0, col1)))

    def close(self, attributes: Mapping[str, str]) -> None:
        from rasterio import shutil

        self.file.update_tags(**attributes)
        self.file.close()
        shutil.copy(
            self.plain, self.path, driver="COG", compress="DEFLATE", predictor="YES", blocksize=BLOCK,
            overviews="AUTO", overview_resampling="AVERAGE", bigtiff="IF_SAFER", num_threads="ALL_CPUS",
        )  # fmt: skip
        self.plain.unlink()
        self.open.close()

    def abandon(self) -> None:
        self.file.close()
        self.open.close()


class NetCdfWriter(Writer):
    """NetCDF 4 by CF's conventions, one variable per band."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        check_upright(grid)
        h5netcdf = _module("h5netcdf", "NetCDF", "grid")
        self.file = h5netcdf.File(path, "w")
        self.file.dimensions = {"y": grid.height, "x": grid.width}
        for name, values in (("y", grid.y), ("x", grid.x)):
            self.file.create_variable(name, (name,), data=values).attrs.update(axis_attributes(grid)[name])
        mapping = self.file.create_variable(GRID_MAPPING, (), dtype="i4", data=0)
        mapping.attrs.update(mapping_attributes(grid))
        chunks = min(BLOCK, grid.height), min(BLOCK, grid.width)
        for band in bands:
            variable = self.file.create_variable(
                band.name, ("y", "x"), dtype, fillvalue=np.nan, chunks=chunks, compression="gzip",
                compression_opts=4, shuffle=True,
            )  # fmt: skip
            variable.attrs.update(band_attributes(band))
        self.names, self.dtype = [band.name for band in bands], dtype

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        for name, layer in zip(self.names, values, strict=True):
            self.file.variables[name][row0:row1, col0:col1] = layer.astype(self.dtype)

    def close(self, attributes: Mapping[str, str]) -> None:
        self.file.attrs.update({"Conventions": CONVENTIONS, **attributes})
        self.file.close()

    def abandon(self) -> None:
        self.file.close()


class ZarrWriter(Writer):
    """Zarr store (format 2, consolidated) that xarray opens as a Dataset."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        check_upright(grid)
        self.zarr, self.path = _module("zarr", "Zarr", "grid"), path
        self.group = self.zarr.open_group(str(path), mode="w", zarr_format=2)
        for name, values in (("y", grid.y), ("x", grid.x)):
            self._array(name, (name,), axis_attributes(grid)[name], shape=values.shape, dtype="f8")[:] = values
        self._array(GRID_MAPPING, (), mapping_attributes(grid), shape=(), dtype="i4", fill_value=None)[...] = 0
        chunks = min(BLOCK, grid.height), min(BLOCK, grid.width)
        self.layers = [
            self._array(
                band.name, ("y", "x"), band_attributes(band), shape=grid.shape, dtype=dtype, chunks=chunks,
                fill_value=float("nan"),
            )
            for band in bands
        ]  # fmt: skip

    def _array(self, name: str, dims: tuple[str, ...], attributes: Mapping[str, Any], **layout: Any) -> Any:
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
        array = self.group.create_array(name, **layout)
        array.attrs.update({"_ARRAY_DIMENSIONS": list(dims), **plain})
        return array

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        for array, layer in zip(self.layers, values, strict=True):
            array[row0:row1, col0:col1] = layer.astype(array.dtype)

    def close(self, attributes: Mapping[str, str]) -> None:
        self.group.attrs.update({"Conventions": CONVENTIONS, **attributes})
        self.zarr.consolidate_metadata(str(self.path), zarr_format=2)


WRITERS: Mapping[str, type[Writer]] = {
    ".tif": GeoTiffWriter, ".tiff": GeoTiffWriter, ".nc": NetCdfWriter, ".nc4": NetCdfWriter, ".zarr": ZarrWriter,
}  # fmt: skip
"""Writers by the ending of a file."""


def writer_for(path: Path) -> type[Writer]:
    """Writer of a file, by its ending; refuses an unknown ending, a missing folder, a folder in the way."""
    kind = WRITERS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path} ends in {path.suffix!r}; needed is one of {tuple(WRITERS)}.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} of the output {path.name} does not exist; make it first.")
    is_store = any((path / name).exists() for name in (".zgroup", "zarr.json"))
    if path.is_dir() and not (kind is ZarrWriter and is_store):
        raise InputError(f"{path} is a folder and no map that could be replaced; give another name.")
    return kind


def _module(name: str, what: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"writing {what} needs {name}, which is not installed; pip install 'bochner[{extra}]'."
        ) from error
