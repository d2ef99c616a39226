"""Rows: where the linear predictor is evaluated, and with which trend columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bochner.arrays import FloatArray, IntArray, box_of


@dataclass(frozen=True)
class Rows:
    """Coordinates (n, dim) and trend columns (n, q), intercept included, of n places."""

    coords: FloatArray
    trend: FloatArray

    def __len__(self) -> int:
        return len(self.coords)

    def __getitem__(self, index: slice | IntArray) -> Rows:
        return Rows(self.coords[index], self.trend[index])

    def chunks(self, size: int) -> Iterator[slice]:
        """Slices that cover all rows, `size` at a time."""
        return (slice(i, i + size) for i in range(0, len(self), max(size, 1)))

    @property
    def extent(self) -> FloatArray:
        """Side lengths of the bounding box, shape (dim,)."""
        low, high = box_of(self.coords)
        return high - low
