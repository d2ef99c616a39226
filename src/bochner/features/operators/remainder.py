"""What a series leaves out of a kernel, between places that are near: by tables, compiled.

The series has no wave shorter than two of its steps, so its values on a grid some times as fine, around lag zero, tell
it between them by polynomials; the kernel comes from the tables of `neighbours`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray
from bochner.features import limits
from bochner.frequencies.torus import TorusSeries
from bochner.kernels import Kernel
from bochner.neighbours.compiled import CompiledKernel, compiled_kernel, remainder_loops
from bochner.resources import in_threads


@dataclass(frozen=True, eq=False)
class Remainder:
    """Kernel less series at lags of at most `radius` steps of the series."""

    kernel: CompiledKernel
    grid: FloatArray  # (N or 1, N or 1, N): the series, axes that are missing first
    step: FloatArray  # (3,), of the series
    radius: float

    @classmethod
    def offered(cls, kernel: Kernel, series: TorusSeries, radius: float) -> Remainder | None:
        """The tables; None where nothing is compiled, or the kernel has none."""
        dim, half = len(series.period), _half(radius, len(series.period))
        ready = compiled_kernel(kernel, dim, limits.LEAST_TABLED_PAIRS)
        if ready is None:
            return None
        axis = np.arange(-half, half + 1) / limits.GRID_NODES[dim]
        lags = np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1).reshape(-1, dim) * series.step
        grid = series.at(lags).reshape([1] * (3 - dim) + [len(axis)] * dim)
        return cls(ready, np.ascontiguousarray(grid), _padded(series.step, 1.0), radius)

    @staticmethod
    def worth_from(dim: int) -> int:
        """Pairs of places from which on tables are quicker than transforms."""
        return max((2 * _half(limits.NEAR_RADIUS, dim) + 1) ** dim, limits.LEAST_TABLED_PAIRS)

    def at(self, lags: FloatArray) -> FloatArray:
        """Its values at lags (n, dim)."""
        out = np.empty(len(lags))

        def fill(part: slice) -> None:
            three = np.ascontiguousarray(_padded(lags[part], 0.0).T)
            remainder_loops().remainders(*self._tables, three, out[part])

        list(in_threads(fill, _slices(len(lags))))
        return out

    def rows(self, coords: FloatArray) -> NearRows:
        """Rows to be asked from anywhere."""
        places = _padded(coords, 0.0) / self.step
        low, side = places.min(axis=0), self.radius / 2
        index = ((places - low) / side).astype(np.int64)
        counts = index.max(axis=0) + 1
        bins = (index[:, 0] * counts[1] + index[:, 1]) * counts[2] + index[:, 2]
        order = np.argsort(bins, kind="stable")
        starts = np.r_[0, np.cumsum(np.bincount(bins, minlength=int(np.prod(counts))))]
        return NearRows(self, np.ascontiguousarray(places[order].T), order, starts, counts, low)

    @property
    def _tables(self) -> tuple[object, ...]:
        dim = sum(n > 1 for n in self.grid.shape)
        middle = float(_half(self.radius, dim))
        return self.kernel.form, self.grid, middle, limits.GRID_NODES[dim] / self.step


@dataclass(frozen=True, eq=False)
class NearRows:
    """Rows sorted by bins, so that those near a place are found at once."""

    remainder: Remainder
    places: FloatArray  # (3, n), in steps
    order: IntArray  # which row each of them is
    starts: IntArray
    counts: IntArray
    low: FloatArray

    def towards(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        """Sums over near rows of the remainder times columns (n, q), (m, q)."""
        of, out, sorted_columns = self.remainder, np.zeros((len(targets), columns.shape[1])), columns[self.order]

        def add(part: slice) -> None:
            places = np.ascontiguousarray((_padded(targets[part], 0.0) / of.step).T)
            known = (of.step, of.radius, self.places, self.starts, self.counts, self.low, sorted_columns)
            remainder_loops().near_products(*of._tables, *known, places, out[part])

        list(in_threads(add, _slices(len(targets))))
        return out

    def matrix(self) -> sparse.csr_array:
        """The remainder between all rows that are near, (n, n)."""
        n, of, loops = len(self.order), self.remainder, remainder_loops()
        known = (of.radius, self.places, self.starts, self.counts, self.low)
        found = np.empty(n, np.int64)
        list(in_threads(lambda part: loops.near_counts(*known, part.start, found[part]), _slices(n)))
        many = np.empty(n, np.int64)
        many[self.order] = found
        kind = np.int32 if found.sum() < 2**31 else np.int64
        pointer = np.r_[0, np.cumsum(many)].astype(kind)
        index, data = np.empty(pointer[-1], kind), np.empty(pointer[-1])

        def fill(part: slice) -> None:
            here = (self.order, part.start, part.stop, pointer, index, data)
            loops.near_matrix(*of._tables, of.step, *known, *here)

        list(in_threads(fill, _slices(n)))
        return sparse.csr_array((data, index, pointer), shape=(n, n))


def _half(radius: float, dim: int) -> int:
    """Nodes on either side of zero: those within the radius, and those that six in a row need beside it."""
    return int(np.ceil(radius * limits.GRID_NODES[dim])) + 4


def _padded(places: FloatArray, value: float) -> FloatArray:
    """The last axis (dim) as the last of three."""
    missing = [(0, 0)] * (places.ndim - 1) + [(3 - places.shape[-1], 0)]
    return np.pad(np.asarray(places, dtype=float), missing, constant_values=value)


def _slices(n: int) -> list[slice]:
    return [slice(start, min(start + limits.TARGETS_AT_ONCE, n)) for start in range(0, n, limits.TARGETS_AT_ONCE)]
