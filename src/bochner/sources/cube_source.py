"""Cubes: NetCDF files, Zarr stores and xarray objects, a block of pixels at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bochner.exceptions import InputError
from bochner.geo.crs import crs_text
from bochner.geo.cubes import cube_axes, cube_crs, opened_cube
from bochner.sources import limits
from bochner.sources.base import Columns, Part, Source, as_column

ENDINGS = (".nc", ".nc4", ".zarr")


@dataclass(frozen=True)
class CubePart(Part):
    """A block of pixels: a range along each dimension. The cube is a path, or an xarray Dataset."""

    cube: Any
    dims: tuple[str, ...]
    block: tuple[tuple[int, int], ...]
    label: str

    @property
    def where(self) -> str:  # type: ignore[override]
        ranges = ", ".join(f"{d} {a} to {b}" for d, (a, b) in zip(self.dims, self.block, strict=True))
        return f"{self.label}, {ranges}"

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return int(np.prod([b - a for a, b in self.block]))

    def load(self, names: Sequence[str]) -> Columns:
        if not isinstance(self.cube, str):
            return self._columns(self.cube, names)
        with opened_cube(self.cube) as cube:
            return self._columns(cube, names)

    def _columns(self, cube: Any, names: Sequence[str]) -> Columns:
        part = cube.isel({d: slice(a, b) for d, (a, b) in zip(self.dims, self.block, strict=True)})
        shape = tuple(b - a for a, b in self.block)
        found = {}
        for name in names:
            if name in self.dims:
                along = [1] * len(shape)
                along[self.dims.index(name)] = -1
                values = np.broadcast_to(np.asarray(part[name].values).reshape(along), shape)
            else:
                one = part[name]
                values = np.broadcast_to(
                    one.transpose(*(d for d in self.dims if d in one.dims)).values.reshape(
                        [n if d in one.dims else 1 for d, n in zip(self.dims, shape, strict=True)]
                    ),
                    shape,
                )
            found[name] = as_column(values.ravel())
        return found


class CubeSource(Source):
    """Variables over the dimensions of a cube: each pixel (and time) is a row; those without a value are left out."""

    sparse: ClassVar[bool] = True

    def __init__(self, cube: Any, label: str, part_rows: int = limits.PART_ROWS) -> None:
        self.cube, self.label, self.part_rows = cube, label, part_rows
        if isinstance(cube, str):
            with opened_cube(Path(cube)) as found:
                self._learn(found)
        else:
            self._learn(cube)

    def _learn(self, cube: Any) -> None:
        east, north = cube_axes(cube, self.label)
        used = [v for v in cube.data_vars if cube[v].ndim and cube[v].dtype.kind in "iuf"]
        widest = max(used, key=lambda v: cube[v].ndim, default=None)
        if widest is None or not {east, north} <= set(cube[widest].dims):
            raise InputError(f"{self.label} has no numeric variable over {east} and {north}; give another file.")
        self.dims = tuple(str(d) for d in cube[widest].dims)
        single = [d for d in self.dims if d not in cube.coords and cube.sizes[d] > 1]
        if single:
            raise InputError(f"{self.label} has no coordinates along {single[0]!r}; add them, or select one label.")
        self.sizes = tuple(int(cube.sizes[d]) for d in self.dims)
        further = tuple(d for d in self.dims if d not in (east, north) and cube.sizes[d] > 1)
        self.coords = (east, north, *further)
        self.names = (*self.coords, *(str(v) for v in used))
        crs = cube_crs(cube, (east, north))
        self.crs = None if crs is None else crs_text(crs)

    @cached_property
    def parts(self) -> Sequence[Part]:
        block = list(self.sizes)
        for axis in range(len(block)):  # cut the leading dimensions first: that is how files are laid out
            rest = int(np.prod(block[axis + 1 :]))
            block[axis] = max(1, min(block[axis], self.part_rows // max(rest, 1)))
            if block[axis] * rest <= self.part_rows:
                break
        starts = [range(0, size, step) for size, step in zip(self.sizes, block, strict=True)]
        corners = np.stack(np.meshgrid(*starts, indexing="ij"), axis=-1).reshape(-1, len(block))
        return [
            CubePart(
                self.cube,
                self.dims,
                tuple((int(a), min(int(a) + s, n)) for a, s, n in zip(corner, block, self.sizes, strict=True)),
                self.label,
            )
            for corner in corners
        ]
