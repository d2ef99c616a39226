"""Zarr: a store of compressed chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.geo import RasterGrid, Window
from bochner.maps import limits
from bochner.maps.files.base import Writer, module
from bochner.maps.files.cf import (
    GRID_MAPPING,
    axis_attributes,
    band_attributes,
    check_upright,
    file_attributes,
    mapping_attributes,
    variable_name,
)
from bochner.maps.grids.bands import Band


class ZarrWriter(Writer):
    """Zarr store (format 2, consolidated) that xarray opens as a Dataset."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        check_upright(grid)
        self.zarr, self.path = module("zarr", "Zarr", "grid"), path
        self.group = self.zarr.open_group(str(path), mode="w", zarr_format=2)
        x, y = grid.names
        sides = {y: grid.height, x: grid.width}
        for name, values in ((y, grid.y), (x, grid.x)):
            self._array(name, (name,), axis_attributes(grid)[name], shape=values.shape, dtype="f8")[:] = values
        self._array(GRID_MAPPING, (), mapping_attributes(grid), shape=(), dtype="i4", fill_value=None)[...] = 0
        shape = tuple(sides[name] for name in grid.dims)
        chunks = tuple(min(limits.FILE_BLOCK, side) for side in shape)
        self.layers = [
            self._array(
                variable_name(band.name), grid.dims, band_attributes(band), shape=shape, dtype=dtype, chunks=chunks,
                fill_value=float("nan"),
            )
            for band in bands
        ]  # fmt: skip
        self.turned = grid.dims[0] == x

    def _array(self, name: str, dims: tuple[str, ...], attributes: Mapping[str, Any], **layout: Any) -> Any:
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
        array = self.group.create_array(name, **layout)
        array.attrs.update({"_ARRAY_DIMENSIONS": list(dims), **plain})
        return array

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        for array, layer in zip(self.layers, values, strict=True):
            if self.turned:
                array[col0:col1, row0:row1] = layer.T.astype(array.dtype)
            else:
                array[row0:row1, col0:col1] = layer.astype(array.dtype)

    def close(self, attributes: Mapping[str, str]) -> None:
        self.group.attrs.update(file_attributes(attributes, "Map of a spatial model"))
        self.zarr.consolidate_metadata(str(self.path), zarr_format=2)

    @classmethod
    def may_replace(cls, folder: Path) -> bool:
        """Whether a folder is a Zarr store."""
        return any((folder / name).exists() for name in (".zgroup", "zarr.json"))
