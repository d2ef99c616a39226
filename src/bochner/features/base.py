"""The contract of a feature map: places in, columns of the linear model out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.resources import block_bytes

BoolArray = NDArray[np.bool_]


class FeatureMap:
    """Columns phi(x) whose coefficients have the prior N(0, I), so that phi(x)'phi(z) is the covariance.

    A subclass gives `n_columns` and `block`. Where phi'phi falls short of the kernel's
    variance, `missing_variance` says by how much; it is carried as independent variance.
    """

    n_columns: int

    def block(self, coords: FloatArray) -> FloatArray:
        """Feature matrix of some places, (n, dim) -> (n, n_columns). Holds all of it in memory."""
        raise NotImplementedError

    def missing_variance(self, coords: FloatArray) -> FloatArray:
        """Variance of the field that the columns do not carry, (n,)."""
        return np.zeros(len(coords))

    @property
    def left_out(self) -> float:
        """Variance that the features miss everywhere."""
        return 0.0

    def missing_covariance(self, coords: FloatArray) -> FloatArray:
        """Covariance of what the columns do not carry, (n, n)."""
        return np.diag(self.missing_variance(coords))

    def prior_variance(self, coords: FloatArray) -> FloatArray:
        """Variance of the field before any data, (n,)."""
        raise NotImplementedError

    def outside(self, coords: FloatArray) -> BoolArray:
        """Places where the columns do not stand for the field, and the prior holds, (n,)."""
        return np.zeros(len(coords), dtype=bool)

    def forward(self, coords: FloatArray, coef: FloatArray) -> FloatArray:
        """Phi coef, in blocks: (n,) or (n, k)."""
        out = np.empty((len(coords), *coef.shape[1:]))
        for i in self.slices(len(coords)):
            out[i] = self.block(coords[i]) @ coef
        return out

    def adjoint(self, coords: FloatArray, values: FloatArray) -> FloatArray:
        """Phi' values, in blocks: (n_columns,) or (n_columns, k)."""
        out = np.zeros((self.n_columns, *values.shape[1:]))
        for i in self.slices(len(coords)):
            out += self.block(coords[i]).T @ values[i]
        return out

    def slices(self, n_rows: int, budget: int | None = None) -> list[slice]:
        """Slices of rows small enough that a block and its temporaries stay within a budget of bytes."""
        size = max(16, (block_bytes() if budget is None else budget) // (32 * max(self.n_columns, 1)))
        return [slice(i, min(i + size, n_rows)) for i in range(0, n_rows, size)]
