"""Linear models as filters of singular values: least squares, truncated least squares, ridge.

With centred columns Phi = U diag(s) V' every one of them is coef = V diag(g(s)) U'y: g = 1/s for least squares, 1/s
or 0 for truncated least squares, s / (s² + λ) for ridge. One decomposition serves all of them and every λ. Arrays may
have leading axes, one problem each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray

PENALTIES = np.logspace(-5, 3, 41)


@dataclass(frozen=True)
class Filters:
    """Decomposition of columns phi (..., n, p) and a response y (..., n); an intercept is never shrunk."""

    column_means: FloatArray  # (..., 1, p)
    y_mean: FloatArray  # (..., 1)
    left: FloatArray  # U, (..., n, r)
    s: FloatArray  # (..., r)
    right: FloatArray  # V', (..., r, p)
    y: FloatArray  # centred, (..., n)

    def least_squares(self, cutoff: float | None = None) -> FloatArray:
        """Filter 1/s, but 0 where s is below `cutoff` times the largest (default: rounding error)."""
        n, p = self.left.shape[-2], self.right.shape[-1]
        relative = max(n, p) * float(np.finfo(np.float64).eps) if cutoff is None else cutoff
        kept = self.s > relative * self.s[..., :1]
        return np.where(kept, 1 / np.where(kept, self.s, 1.0), 0.0)

    def ridge(self, penalty: FloatArray) -> FloatArray:
        """Filter s / (s² + λ); one λ per problem, or further axes of them in front."""
        return self.s / (self.s**2 + np.asarray(penalty)[..., None])

    def fitted(self, g: FloatArray) -> FloatArray:
        """Predictions at the rows of the fit, (..., n)."""
        return self.y_mean + _apply(self.left, self.s * g * _adjoint(self.left, self.y))

    def predict(self, phi: FloatArray, g: FloatArray) -> FloatArray:
        """Predictions at other rows phi (..., n_new, p)."""
        coef = _adjoint(self.right, g * _adjoint(self.left, self.y))
        return self.y_mean + _apply(phi - self.column_means, coef)

    def k_fold(self, n_folds: int, penalties: FloatArray = PENALTIES) -> FloatArray:
        """Mean squared error of ridge on held-out folds, (n_penalties, ...), without any refit.

        The held-out residual of a block B is (I - H_BB)^-1 r_B with H = 11'/n + U diag(s g) U'. Folds
        take every `n_folds`-th row.
        """
        n = self.left.shape[-2]
        shape = (-1,) + (1,) * (self.s.ndim - 1)
        shrink = self.s * self.ridge(np.reshape(penalties, shape))
        residual = self.y - _apply(self.left, shrink * _adjoint(self.left, self.y))
        error = np.zeros(residual.shape[:-1])
        for start in range(n_folds):
            block = self.left[..., start::n_folds, :]
            hat = (block * shrink[..., None, :]) @ np.swapaxes(block, -1, -2) + 1 / n
            left_out = np.linalg.solve(np.eye(block.shape[-2]) - hat, residual[..., start::n_folds, None])
            error += np.sum(left_out**2, axis=(-2, -1))
        return error / n

    def best_penalty(self, n_folds: int = 10, penalties: FloatArray = PENALTIES) -> FloatArray:
        """The λ of the smallest k-fold error, one per problem."""
        return np.asarray(penalties[np.argmin(self.k_fold(n_folds, penalties), axis=0)])


def decompose(phi: FloatArray, y: FloatArray) -> Filters:
    """Singular value decomposition of centred columns phi (..., n, p); O(n p min(n, p))."""
    column_means, y_mean = phi.mean(axis=-2, keepdims=True), y.mean(axis=-1, keepdims=True)
    left, s, right = np.linalg.svd(phi - column_means, full_matrices=False)
    return Filters(column_means, y_mean, left, s, right, y - y_mean)


def mean_squared_error(y: FloatArray, prediction: FloatArray) -> FloatArray:
    """Mean squared error over the last axis."""
    return np.asarray(np.mean((y - prediction) ** 2, axis=-1))


def _apply(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _adjoint(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return np.asarray((np.swapaxes(matrix, -1, -2) @ vector[..., None])[..., 0])
