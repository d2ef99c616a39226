"""Ordinary least squares by QR or SVD, never by an explicit inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.solvers.base import Factor, Report


@dataclass(frozen=True)
class LeastSquares(Factor):
    """Minimum-norm least squares; as a factor, its covariance is (X'X)^+ times the residual variance."""

    coef: FloatArray
    rank: int
    residual_variance: float
    inverse_root: FloatArray  # (columns, rank): (X'X)^+ = R R'
    report: Report
    prior_precision: ClassVar[float] = 0.0

    def solve(self, b: FloatArray) -> FloatArray:
        return np.asarray(self.residual_variance * self.inverse_root @ (self.inverse_root.T @ b))

    def logdet(self) -> float:
        return float("nan")  # a singular precision has none

    def trend_logdet(self) -> float:
        return float("nan")

    def quadratic_form(self, phi: FloatArray) -> FloatArray:
        return np.asarray(self.residual_variance * np.sum((phi @ self.inverse_root) ** 2, axis=1))

    def draw(self, n_draws: int, rng: Generator) -> FloatArray:
        z = rng.standard_normal((self.rank, n_draws))
        return np.asarray(np.sqrt(self.residual_variance) * self.inverse_root @ z)


def least_squares(X: FloatArray, y: FloatArray, cutoff: float | None = None) -> LeastSquares:
    """Minimise |y - X coef|^2; among many minimisers, take the one of least norm.

    A well-conditioned tall matrix goes through QR, any other through the SVD.

    Parameters
    ----------
    X : (n, p)
        Columns.
    y : (n,)
        Response.
    cutoff : float, optional
        Singular values below this fraction of the largest count as zero; default max(n, p) times
        the machine epsilon. A larger one gives truncated least squares.
    """
    n, p = X.shape
    cutoff = max(n, p) * float(np.finfo(np.float64).eps) if cutoff is None else cutoff
    if n >= p:
        Q, R = linalg.qr(X, mode="economic")
        diagonal = np.abs(np.diag(R))
        # |R_ii| only bounds the singular values, hence the wide margin
        if p == 0 or diagonal.min() > 1e3 * cutoff * diagonal.max():
            inverse_root = linalg.solve_triangular(R, np.eye(p)) if p else R  # scipy before 1.14 solves no empty system
            return _finish(X, y, inverse_root @ (Q.T @ y), inverse_root, "qr")
    U, s, Vt = linalg.svd(X, full_matrices=False)
    kept = s > cutoff * s[0] if len(s) else np.zeros(0, dtype=bool)
    inverse_root = Vt[kept].T / s[kept]
    return _finish(X, y, inverse_root @ (U[:, kept].T @ y), inverse_root, "svd")


def _finish(X: FloatArray, y: FloatArray, coef: FloatArray, inverse_root: FloatArray, method: str) -> LeastSquares:
    n, p = X.shape
    rank = inverse_root.shape[1]
    residual = y - X @ coef
    spare = n - rank
    variance = float(residual @ residual) / spare if spare > 0 else 0.0
    return LeastSquares(coef, rank, variance, inverse_root, Report(method, p, {"rank": rank}))
