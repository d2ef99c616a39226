"""NetCDF 4 by CF's conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

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


class NetCdfWriter(Writer):
    """NetCDF 4 by CF's conventions, one variable per band."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        check_upright(grid)
        h5netcdf = module("h5netcdf", "NetCDF", "grid")
        self.file = h5netcdf.File(path, "w")
        x, y = grid.names
        sides = {y: grid.height, x: grid.width}
        self.file.dimensions = {name: sides[name] for name in grid.dims}
        for name, values in ((y, grid.y), (x, grid.x)):
            self.file.create_variable(name, (name,), data=values).attrs.update(axis_attributes(grid)[name])
        mapping = self.file.create_variable(GRID_MAPPING, (), dtype="i4", data=0)
        mapping.attrs.update(mapping_attributes(grid))
        chunks = tuple(min(limits.FILE_BLOCK, sides[name]) for name in grid.dims)
        for band in bands:
            variable = self.file.create_variable(
                variable_name(band.name), grid.dims, dtype, fillvalue=np.nan, chunks=chunks, compression="gzip",
                compression_opts=4, shuffle=True,
            )  # fmt: skip
            variable.attrs.update(band_attributes(band))
        self.names, self.dtype = [variable_name(band.name) for band in bands], dtype
        self.turned = grid.dims[0] == x

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        for name, layer in zip(self.names, values, strict=True):
            if self.turned:
                self.file.variables[name][col0:col1, row0:row1] = layer.T.astype(self.dtype)
            else:
                self.file.variables[name][row0:row1, col0:col1] = layer.astype(self.dtype)

    def close(self, attributes: Mapping[str, str]) -> None:
        self.file.attrs.update(file_attributes(attributes, "Map of a spatial model"))
        self.file.close()

    def abandon(self) -> None:
        self.file.close()
