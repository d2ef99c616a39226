"""Products with a Fourier series between places of a box, on a grid of the torus that the box fills in part.

Values are spread over the grid by a bell, transformed, multiplied by the series, transformed back and read by the same
bell; what the bell does to each wave is taken out of the series twice, here once and for all. Two transforms between
places and modes would say the same: here neither the part of the torus without places nor what lies between modes is
ever touched, and two real columns are one complex grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from scipy import fft

from bochner.arrays import FloatArray, IntArray
from bochner.features import limits
from bochner.frequencies.torus import TorusSeries
from bochner.neighbours.compiled import has_compiler, mesh_loops
from bochner.neighbours.limits import COMPILED_FROM, MESH_WIDTH
from bochner.nufft.kaiser_bessel import KaiserBessel
from bochner.resources import in_threads

BELL = KaiserBessel(MESH_WIDTH, limits.MESH_FINER)
Grid = np.ndarray  # complex, of the box


@dataclass(frozen=True, eq=False)
class Bells:
    """Where places lie on a grid: sorted by lines, and their bells along each axis."""

    order: IntArray
    start: IntArray
    taps: FloatArray  # (n, dim, width)
    bands: list[slice]  # runs of places; those that are not neighbours touch different points


@dataclass(frozen=True, eq=False)
class Mesh:
    """The grid of a box on the torus of a series.

    Attributes
    ----------
    series : TorusSeries
    low, high : (dim,)
        Corners of the box that all places lie in.
    coords : (n, dim)
        The rows.
    """

    series: TorusSeries
    low: FloatArray
    high: FloatArray
    coords: FloatArray

    @classmethod
    def offered(cls, series: TorusSeries, low: FloatArray, high: FloatArray, coords: FloatArray) -> Self | None:
        """The grid; None of few rows, where nothing is compiled, or where rows lie outside the box."""
        mesh = cls(series, low, high, coords)
        return mesh if len(coords) >= COMPILED_FROM and has_compiler() and mesh.holds(coords) else None

    def of(self, columns: FloatArray) -> Callable[[FloatArray | None], FloatArray]:
        """The series times columns (n, q) at the rows, as a function of targets of the box; None: of the rows."""
        q = columns.shape[1]
        even = np.zeros((len(columns), q + q % 2))
        even[:, :q] = columns
        pairs = (np.ascontiguousarray(even[:, k : k + 2]) for k in range(0, q, 2))
        grids = [self.smoothed(self.spread(self._own, pair)) for pair in pairs]

        def far(targets: FloatArray | None) -> FloatArray:
            bells = self._own if targets is None else self.bells(targets)
            return np.hstack([self.gather(bells, grid) for grid in grids])[:, :q]

        return far

    @cached_property
    def _own(self) -> Bells:
        return self.bells(self.coords)

    def holds(self, places: FloatArray) -> bool:
        """Whether all places lie in the box."""
        return bool(np.all(places >= self.low - self._step) and np.all(places <= self.high + self._step))

    def bells(self, places: FloatArray) -> Bells:
        """Bells of places (n, dim) of the box."""
        cells = (places - self.low) / self._step + MESH_WIDTH / 2 + 1
        first = np.ceil(cells - MESH_WIDTH / 2)
        start = first.astype(np.int64) @ np.array([*self._strides, 1][-places.shape[1] :])
        order = np.argsort(start, kind="stable")
        left = (first - (cells - MESH_WIDTH / 2))[order]
        taps = np.stack([BELL.taps(t) for t in left.T], axis=1)
        line = first[order, 0].astype(np.int64)
        n_bands = max(1, len(places) // limits.MESH_PLACES)
        height = max(MESH_WIDTH, -(-self._shape[0] // n_bands))
        edges = np.searchsorted(line, np.arange(0, self._shape[0] + height, height))
        bands = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        return Bells(order, start[order], taps, bands)

    def spread(self, bells: Bells, columns: FloatArray) -> Grid:
        """Two real columns (n, 2) at places, on the grid."""
        grid = np.zeros(self._shape, np.complex128)
        flat, loops = grid.view(np.float64).reshape(-1), mesh_loops()

        def add(band: slice) -> None:
            loops.spread(bells.order[band], bells.start[band], bells.taps[band], self._outer, columns, flat)

        for colour in (0, 1):  # in either the bands lie apart, so that the order of sums is that of the places
            list(in_threads(add, bells.bands[colour::2]))
        return grid

    def gather(self, bells: Bells, grid: Grid) -> FloatArray:
        """Values (n, 2) of a grid at places."""
        out, flat, loops = np.empty((len(bells.start), 2)), grid.view(np.float64).reshape(-1), mesh_loops()

        def read(band: slice) -> None:
            loops.gather(bells.order[band], bells.start[band], bells.taps[band], self._outer, flat, out)

        list(in_threads(read, bells.bands))
        return out

    def smoothed(self, grid: Grid) -> Grid:
        """The series times a grid, on the grid of the same box; in its place."""
        lines, (before, after) = grid.reshape(-1, self._fine[-1]), self._kept_waves
        parts = self._parts(len(lines), self._fine[-1])

        def forth(part: slice) -> None:
            lines[part] = fft.fft(lines[part], overwrite_x=True)

        def back(part: slice) -> None:
            lines[part, before:after] = 0.0
            lines[part] = fft.ifft(lines[part], norm="forward", overwrite_x=True)

        def across(part: slice) -> None:
            for waves, symbol in self._sides(part):
                here = grid[..., waves]
                here[...] = np.moveaxis(self._times(np.moveaxis(here, -1, 0), symbol), 0, -1)

        list(in_threads(forth, parts))
        list(in_threads(across, self._parts(self.series.coef.shape[-1], int(np.prod(self._fine[:-1])))))
        list(in_threads(back, parts))
        return grid

    def _times(self, block: Grid, symbol: FloatArray) -> Grid:
        """Waves of the last axis, here the first, times the series along all others."""
        for axis in range(block.ndim - 1, 0, -1):
            block = fft.fft(block, n=self._fine[axis - 1], axis=axis)
        block = block * symbol
        for axis in range(1, block.ndim):
            block = fft.ifft(block, axis=axis, norm="forward", overwrite_x=True)
            block = block[(slice(None),) * axis + (slice(0, self._shape[axis - 1]),)]
        return block

    def _sides(self, part: slice) -> Iterator[tuple[slice, FloatArray]]:
        """Waves of the last axis on the grid and their part of the symbol: those from zero on, then the negative."""
        before, after = self._kept_waves
        if part.start < before:
            here = slice(part.start, min(part.stop, before))
            yield here, self._symbol[here]
        if part.stop > before:
            here = slice(max(part.start, before), part.stop)
            yield slice(here.start + after - before, here.stop + after - before), self._symbol[here]

    def _parts(self, n: int, size: int) -> list[slice]:
        """Runs of n lines of a size, as long as each other; they fit the cache of a core."""
        count = min(n, 2 * -(-n * size // (2 * limits.MESH_BLOCK)))
        edges = np.linspace(0, n, count + 1).astype(int)
        return [slice(int(a), int(b)) for a, b in pairwise(edges)]

    @property
    def _kept_waves(self) -> tuple[int, int]:
        """Waves of the last axis: where the series ends on the grid, and begins again with the negative ones."""
        n = self.series.coef.shape[-1]
        return (n + 1) // 2, self._fine[-1] - n // 2

    @cached_property
    def _fine(self) -> tuple[int, ...]:
        """Points of the whole torus along each axis."""
        return tuple(int(fft.next_fast_len(int(np.ceil(limits.MESH_FINER * n)))) for n in self.series.coef.shape)

    @cached_property
    def _step(self) -> FloatArray:
        return self.series.period / np.array(self._fine)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """Points of the grid: those around the box, and along the last axis all of the torus."""
        wide = np.ceil((self.high - self.low) / self._step).astype(int) + MESH_WIDTH + 4
        return (*(int(n) for n in wide[:-1]), self._fine[-1])

    @cached_property
    def _strides(self) -> tuple[int, int]:
        """Points from one to the next along the first two of three axes."""
        padded = (1, 1, *self._shape)[-3:]
        return padded[1] * padded[2], padded[2]

    @cached_property
    def _outer(self) -> IntArray:
        return np.array(self._strides)

    @cached_property
    def _symbol(self) -> FloatArray:
        """The series in the order of a transform, the last axis first, less what the bell does twice."""
        coef, modes = self.series.coef, [np.arange(-(n // 2), (n + 1) // 2) for n in self.series.coef.shape]
        for axis, (wave, n) in enumerate(zip(modes, self._fine, strict=True)):
            shape = [-1 if k == axis else 1 for k in range(coef.ndim)]
            coef = coef / BELL.transform(wave / n).reshape(shape) ** 2
        symbol = np.zeros((coef.shape[-1], *self._fine[:-1]))  # zero between the waves of the series
        places = [wave % n for wave, n in zip(modes, (*self._fine[:-1], coef.shape[-1]), strict=True)]
        symbol[np.ix_(places[-1], *places[:-1])] = np.moveaxis(coef, -1, 0)
        return symbol
