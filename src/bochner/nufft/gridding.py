"""Spreading from scattered places to a periodic grid, and interpolation back: a sparse matrix and its transpose.

The matrix has width^dim entries per place and is never held whole unless it is small. Places are sorted into tiles of
the grid once; each chunk of a tile has its own small matrix, between its places and the grid points around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray
from bochner.nufft import limits
from bochner.nufft.contract import Array, RealType
from bochner.nufft.kaiser_bessel import KaiserBessel
from bochner.resources import blas_threads

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Box:
    """Matrix (places, grid points) of one chunk and where its grid points lie."""

    matrix: Any
    slices: tuple[slice, ...]
    extent: tuple[int, ...]


class Gridding:
    """Linear map between values at places and values on a periodic grid.

    Parameters
    ----------
    cells : array (n, dim)
        Places in grid cells, each in [0, grid_shape[k]].
    grid_shape : tuple of int
        Number of grid points per axis, at least twice the width of the kernel.
    """

    def __init__(
        self, cells: FloatArray, grid_shape: tuple[int, ...], kernel: KaiserBessel, dtype: RealType, n_jobs: int
    ) -> None:
        self._grid_shape, self._kernel, self._dtype, self._n_jobs = grid_shape, kernel, dtype, n_jobs
        entries = kernel.width ** len(grid_shape)
        n_places = max(1, limits.CHUNK_ENTRIES // entries)
        tile = _tiles(cells, grid_shape, n_places, kernel.width)
        self._order: IntArray = np.argsort(tile, kind="stable")
        self._cells = cells[self._order]
        self._chunks = list(_chunks(np.bincount(tile), n_places))
        self._keep = len(cells) * entries * (dtype.itemsize + 4) <= limits.KEPT_BYTES
        self._boxes: dict[int, _Box] = {}

    def spread(self, values: Array) -> Array:
        """Sum of bells on the grid, (n_vectors, *grid_shape), of values (n_vectors, n), real or complex."""
        rows = _real_rows(values)
        grid = np.zeros((len(rows), *self._padded_shape), self._dtype)

        def work(chunk: slice) -> tuple[_Box, Array]:
            box = self._box(chunk)
            return box, _times(box.matrix.T, rows[:, self._order[chunk]])

        # Boxes overlap: they are added here in a fixed order, so the bits do not depend on the threads.
        for box, part in self._map(work):
            grid[:, *box.slices] += part.reshape(-1, *box.extent)
        return _as_given(self._folded(grid), values)

    def interpolate(self, grid: Array) -> Array:
        """Values (n_vectors, n) at the places of a complex grid (n_vectors, *grid_shape)."""
        rows = np.pad(_real_rows(grid), [(0, 0), *[self._margins] * (grid.ndim - 1)], mode="wrap")
        values = np.empty((len(rows), len(self._order)), self._dtype)

        def work(chunk: slice) -> None:
            box = self._box(chunk)
            values[:, self._order[chunk]] = _times(box.matrix, rows[:, *box.slices].reshape(len(rows), -1))

        for _ in self._map(work):
            pass
        return _as_given(values, grid)

    @property
    def _margins(self) -> tuple[int, int]:
        """Grid points added before and after each axis, so that no bell has to be wrapped."""
        return self._kernel.width // 2, self._kernel.width // 2 + 1

    @property
    def _padded_shape(self) -> tuple[int, ...]:
        return tuple(n + sum(self._margins) for n in self._grid_shape)

    def _folded(self, grid: Array) -> Array:
        """Padded grid with its margins added to the other end."""
        before, after = self._margins
        for axis, n in enumerate(self._grid_shape, start=1):
            first = np.moveaxis(grid, axis, 0)
            first[n : n + before] += first[:before]
            first[before : before + after] += first[before + n :]
            grid = np.moveaxis(first[before : before + n], 0, axis)
        return grid

    def _map(self, work: Callable[[slice], Result]) -> Iterator[Result]:
        if self._n_jobs == 1 or len(self._chunks) == 1:
            yield from map(work, self._chunks)
            return
        # BLAS inside a worker stays on that worker's thread
        with blas_threads(self._kernel.width), ThreadPoolExecutor(self._n_jobs) as pool:
            yield from pool.map(work, self._chunks)

    def _box(self, chunk: slice) -> _Box:
        box = self._boxes.get(chunk.start) or self._made_box(self._cells[chunk])
        if self._keep:
            self._boxes[chunk.start] = box
        return box

    def _made_box(self, cells: FloatArray) -> _Box:
        width = self._kernel.width
        left = cells - width / 2
        first = np.ceil(left)
        taps = [self._kernel.taps(t) for t in (first - left).T.astype(self._dtype)]
        corner = first.min(axis=0)
        extent = tuple(int(k) + width for k in first.max(axis=0) - corner)
        inner = np.cumprod([1, *extent[:0:-1]])[::-1]  # grid points per step along each axis of the box
        indices = _outer([np.arange(width, dtype=np.int32)[None] * int(k) for k in inner], np.add)
        base = ((first - corner) @ inner).astype(np.int32)
        start = corner.astype(int) + self._margins[0]
        slices = tuple(slice(int(a), int(a) + k) for a, k in zip(start, extent, strict=True))
        return _Box(_csr(_outer(taps, np.multiply), base[:, None] + indices, int(np.prod(extent))), slices, extent)


def _tiles(cells: FloatArray, grid_shape: tuple[int, ...], n_places: int, width: int) -> IntArray:
    """Number of the tile of each place; tiles hold about n_places if places are uniform."""
    volume = n_places * np.prod(grid_shape, dtype=float) / len(cells)
    side = max(float(width), volume ** (1 / len(grid_shape)))
    counts = [int(n // side) + 1 for n in grid_shape]
    tile = np.zeros(len(cells), np.intp)
    for column, count in zip(cells.T, counts, strict=True):
        tile = tile * count + (column / side).astype(np.intp)
    # NumPy sorts 16-bit integers by radix, ten times faster.
    return tile.astype(np.uint16) if np.prod(counts) < 2**16 else tile


def _chunks(counts: IntArray, n_places: int) -> Iterator[slice]:
    """Runs of at most n_places sorted places, none across two tiles."""
    ends = np.cumsum(counts)
    for tile in np.flatnonzero(counts):
        end = int(ends[tile])
        for start in range(end - int(counts[tile]), end, n_places):
            yield slice(start, min(start + n_places, end))


def _outer(factors: Iterable[Array], combine: np.ufunc) -> Array:
    """Rows of products (or sums) over all combinations of one entry per factor, last factor fastest."""
    result, *others = factors
    for factor in others:
        result = combine(result[:, :, None], factor[:, None, :]).reshape(len(result), -1)
    return result


def _csr(data: Array, indices: Array, n_columns: int) -> Any:
    pointers = np.arange(0, data.size + 1, data.shape[1], dtype=indices.dtype)
    return sparse.csr_array((data.ravel(), indices.ravel(), pointers), shape=(len(data), n_columns))


def _times(matrix: Any, rows: Array) -> Array:
    """Matrix times each row; SciPy's product with many columns is slower than a loop for one or two."""
    if len(rows) <= 2:
        return np.stack([matrix @ row for row in rows])
    return np.asarray((matrix @ rows.T).T)


def _real_rows(values: Array) -> Array:
    return np.concatenate([values.real, values.imag]) if np.iscomplexobj(values) else values


def _as_given(rows: Array, values: Array) -> Array:
    """Real rows put together again if the values they came from were complex."""
    if not np.iscomplexobj(values):
        return rows
    joined = np.empty((len(values), *rows.shape[1:]), values.dtype)
    joined.real, joined.imag = rows[: len(values)], rows[len(values) :]
    return joined
