"""NetCDF 4 by CF's conventions."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
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
from bochner.outputs import signals_wait


class Sink(io.RawIOBase):
    """A file that HDF5 writes to, whose failures it never hears of.

    HDF5 that cannot write what it still holds brings the process down when it ends. So the first failure is kept for
    `check`, and all that is written afterwards is dropped: the file is thrown away anyhow. For the same reason signals
    wait while HDF5 works.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = open(path, "w+b", buffering=0)
        self.failure: OSError | None = None

    def check(self) -> None:
        """Raise the failure that was kept, if there is one."""
        if self.failure is not None:
            raise self.failure

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        n, left = len(view), view
        while len(left) and self.failure is None:
            left = left[self._tried(self.file.write, left) :]
        return n

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        found = self.file.readinto(view)
        if self.failure is not None:  # what was dropped reads as zeros
            view[found:] = bytes(len(view) - found)
            return len(view)
        return found

    def truncate(self, size: int | None = None) -> int:
        self._tried(self.file.truncate, size)
        return self.file.tell() if size is None else size

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._tried(self.file.close)
        super().close()

    def _tried(self, call: Callable[..., int | None], *arguments: Any) -> int:
        try:
            return call(*arguments) or 0
        except OSError as error:
            self.failure = self.failure or error
            return 0


def write_dataset(dataset: Any, path: Path) -> None:
    """Write an xarray Dataset, by the encodings of its variables."""
    h5netcdf = module("h5netcdf", "NetCDF", "grid")
    from xarray.backends import H5NetCDFStore

    with signals_wait():
        sink = Sink(path)
        with h5netcdf.File(sink, "w") as file:
            dataset.dump_to_store(H5NetCDFStore(file))
        sink.close()
        sink.check()


class NetCdfWriter(Writer):
    """NetCDF 4 by CF's conventions, one variable per band."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        check_upright(grid)
        self.names, self.dtype = [variable_name(band.name) for band in bands], dtype
        self.turned = grid.dims[0] == grid.names[0]
        h5netcdf = module("h5netcdf", "NetCDF", "grid")
        self.sink = Sink(path)
        self.file: Any = None
        try:
            with signals_wait():
                self.file = h5netcdf.File(self.sink, "w")
                self._lay_out(grid, bands)
        except BaseException:
            self.abandon()
            raise

    def _lay_out(self, grid: RasterGrid, bands: Sequence[Band]) -> None:
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
                variable_name(band.name), grid.dims, self.dtype, fillvalue=np.nan, chunks=chunks, compression="gzip",
                compression_opts=4, shuffle=True,
            )  # fmt: skip
            variable.attrs.update(band_attributes(band))

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        with signals_wait():
            for name, layer in zip(self.names, values, strict=True):
                if self.turned:
                    self.file.variables[name][col0:col1, row0:row1] = layer.T.astype(self.dtype)
                else:
                    self.file.variables[name][row0:row1, col0:col1] = layer.astype(self.dtype)
        self.sink.check()

    def close(self, attributes: Mapping[str, str]) -> None:
        with signals_wait():
            self.file.attrs.update(file_attributes(attributes, "Map of a spatial model"))
            self.file.close()
            self.sink.close()
        self.sink.check()

    def abandon(self) -> None:
        with signals_wait():
            if self.file is not None:
                self.file.close()
            self.sink.close()
