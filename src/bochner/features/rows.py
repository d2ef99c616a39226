"""Rows: where the linear predictor is evaluated, at points or as means over areas, and with which trend columns.

A mean over an area is a weighted sum over points that stand for it, and a sum is linear: its covariance with anything
is the same sum of the kernel. So points and areas enter one Gaussian model exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray, box_of
from bochner.features import limits
from bochner.kernels import Kernel, MatrixSlopes, Slopes, variances_of_sums
from bochner.neighbours import cross_covariance


@dataclass(frozen=True)
class Rows:
    """Coordinates (n, dim) and trend columns (n, q), intercept included, of n places."""

    coords: FloatArray
    trend: FloatArray

    has_areas: ClassVar[bool] = False  # whether a row may be a mean over several points

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

    # ---------------------------------------------------------------------- the field

    @property
    def support(self) -> FloatArray:
        """Points of the field that the rows are made of, (k, dim): their own, one each."""
        return self.coords

    def averaged(self, values: FloatArray) -> FloatArray:
        """Values of the rows (n, ...) from values at the points of their support (k, ...)."""
        return values

    def summed(self, of_points: Callable[[FloatArray], FloatArray], height: int) -> FloatArray:
        """The same of columns (height, n), from what a function says of points, some at a time where there are many."""
        return of_points(self.coords)

    def covariance_with(self, kernel: Kernel, other: Rows) -> FloatArray:
        """Prior covariance of the field with that at other rows, (n, m)."""
        own = self.support
        return self.averaged(other.summed(lambda points: cross_covariance(kernel, own, points), len(own)))

    def covariance_within(self, kernel: Kernel) -> FloatArray:
        """Prior covariance of the field at the rows, (n, n)."""
        return self._both_averaged(kernel.covariance_within(self.support))

    def covariance_and_slopes(self, kernel: Kernel) -> tuple[FloatArray, Slopes]:
        """Prior covariance of the field at the rows, (n, n), and what a climb asks of its derivatives."""
        return kernel.covariance_and_slopes(self.coords)

    def covariance_and_gradient(self, kernel: Kernel) -> tuple[FloatArray, list[FloatArray]]:
        """Prior covariance of the field at the rows, (n, n), and its derivatives in each entry of theta."""
        k, gradients = kernel.covariance_and_gradient(self.support, self.support)
        return self._both_averaged(k), [self._both_averaged(dk) for dk in gradients]

    def variance(self, kernel: Kernel) -> FloatArray:
        """Prior variance of the field at each row, (n,)."""
        return self.variances([kernel])[0]

    def variances(self, kernels: Sequence[Kernel]) -> FloatArray:
        """The same under several kernels, (k, n)."""
        return np.stack([kernel.variances(self.coords) for kernel in kernels])

    def joined(self, other: Rows) -> Rows:
        """These rows, then the other ones."""
        if self.has_areas or other.has_areas:
            return self.as_areas()._followed_by(other.as_areas())
        return Rows(np.concatenate([self.coords, other.coords]), np.concatenate([self.trend, other.trend]))

    def as_areas(self) -> ArealRows:
        """The same rows as areas of one point each."""
        return ArealRows(self.coords, self.trend, self.coords, np.arange(len(self)), np.ones(len(self)))

    def _both_averaged(self, k: FloatArray) -> FloatArray:
        return self.averaged(self.averaged(k).T).T


@dataclass(frozen=True)
class ArealRows(Rows):
    """Rows with a support: row i is the sum of ``share`` over the points whose ``group`` is i.

    The shares of a row sum to 1; `coords` are the weighted centres.
    """

    points: FloatArray  # (k, dim)
    group: IntArray  # (k,)
    share: FloatArray  # (k,)

    has_areas: ClassVar[bool] = True

    def __getitem__(self, index: slice | IntArray) -> ArealRows:
        kept = np.arange(len(self))[index]
        position = np.full(len(self), -1)
        position[kept] = np.arange(len(kept))
        at = np.argsort(position[self.group], kind="stable")[np.count_nonzero(position[self.group] < 0) :]
        return ArealRows(
            self.coords[index], self.trend[index], self.points[at], position[self.group[at]], self.share[at]
        )

    @cached_property
    def averaging(self) -> Any:
        """Sparse matrix (n, k) that takes values at the points to values of the rows."""
        return sparse.csr_array(
            (self.share, (self.group, np.arange(len(self.share)))), shape=(len(self), len(self.share))
        )

    def covariance_and_slopes(self, kernel: Kernel) -> tuple[FloatArray, Slopes]:
        k, gradients = self.covariance_and_gradient(kernel)
        return k, MatrixSlopes(gradients)

    @property
    def support(self) -> FloatArray:
        """Points of the field that the rows are made of, (k, dim): several for each."""
        return self.points

    def averaged(self, values: FloatArray) -> FloatArray:
        return np.asarray(self.averaging @ values)

    def summed(self, of_points: Callable[[FloatArray], FloatArray], height: int) -> FloatArray:
        out = np.empty((height, len(self)))
        for some in self._together(height):
            columns, end = of_points(np.concatenate([self._parts[i][0] for i in some])), 0
            for i in some:
                share = self._parts[i][1]
                start, end = end, end + len(share)
                out[:, i] = columns[:, start:end] @ share
        return out

    def variances(self, kernels: Sequence[Kernel]) -> FloatArray:
        # row by row: the points of all rows together would be too many for one matrix
        return np.stack([variances_of_sums(kernels, points, share) for points, share in self._parts], axis=1)

    @cached_property
    def _parts(self) -> list[tuple[FloatArray, FloatArray]]:
        """Points and shares of each row."""
        order, ends = np.argsort(self.group, kind="stable"), np.cumsum(np.bincount(self.group, minlength=len(self)))
        return [(self.points[at], self.share[at]) for at in np.split(order, ends[:-1])]

    def _together(self, height: int) -> list[IntArray]:
        """Numbers of rows, as many at a time as a block of columns of some height may hold the points of."""
        numbers = height * np.cumsum([len(share) for _, share in self._parts])
        return np.split(np.arange(len(self)), np.flatnonzero(np.diff(numbers // limits.NUMBERS_OF_AREAS)) + 1)

    def as_areas(self) -> ArealRows:
        return self

    def _followed_by(self, other: ArealRows) -> ArealRows:
        return ArealRows(
            np.concatenate([self.coords, other.coords]),
            np.concatenate([self.trend, other.trend]),
            np.concatenate([self.points, other.points]),
            np.concatenate([self.group, other.group + len(self)]),
            np.concatenate([self.share, other.share]),
        )
