"""The covariance matrix itself, for rows that are few enough."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import limits
from bochner.features.operators.base import Box, CovarianceOperator
from bochner.kernels import Kernel


@dataclass(frozen=True, eq=False)
class DenseOperator(CovarianceOperator):
    """Products with the matrix: n^2 numbers, n^2 operations a column."""

    @classmethod
    def offered(cls, kernel: Kernel, coords: FloatArray, box: Box) -> Self | None:
        return cls(kernel, coords, box) if len(coords) <= limits.MAX_DENSE_ROWS else None

    @property
    def how(self) -> str:
        return "the matrix itself"

    @property
    def reason(self) -> str:
        return f"{self.n_rows:,} rows are few enough for their covariance matrix"

    @property
    def product_error(self) -> float:
        return 1e-12

    def products(self, columns: FloatArray) -> FloatArray:
        return np.asarray(self._matrix @ columns)

    def cross_products(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        size = max(1, limits.PAIRS_AT_ONCE // self.n_rows)
        parts = [targets[i : i + size] for i in range(0, len(targets), size)]
        return np.concatenate([self.kernel.covariance(part, self.coords) @ columns for part in parts])

    @cached_property
    def _matrix(self) -> FloatArray:
        out = np.empty((self.n_rows, self.n_rows))
        size = max(1, limits.PAIRS_AT_ONCE // self.n_rows)  # what a kernel needs on the way is of one part
        for start in range(0, self.n_rows, size):
            out[start : start + size] = self.kernel.covariance(self.coords[start : start + size], self.coords)
        return out
