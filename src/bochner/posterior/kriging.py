"""Posterior through the training rows: the dual view, with the exact kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import Rows
from bochner.kernels import Kernel
from bochner.posterior.base import Cost, Posterior, draw_gaussian
from bochner.solvers import CholeskyFactor


@dataclass(frozen=True)
class KrigingPosterior(Posterior):
    """Universal kriging: weights alpha on the training rows and a trend with a flat prior.

    alpha = Sigma^-1 (y - X beta), with Sigma = K + noise; S = X'Sigma^-1 X.
    """

    kernel: Kernel
    rows: Rows
    alpha: FloatArray
    trend_coef: FloatArray
    sigma: CholeskyFactor
    schur: CholeskyFactor

    takes_areas: ClassVar[bool] = True

    @property
    def cost(self) -> Cost:
        return Cost.of_dense(len(self.rows))

    @property
    def row_coef(self) -> FloatArray:
        return self.alpha

    def trend_covariance(self) -> FloatArray:
        return self.schur.solve(np.eye(len(self.trend_coef)))

    def mean(self, rows: Rows) -> FloatArray:
        return rows.covariance_with(self.kernel, self.rows) @ self.alpha + rows.trend @ self.trend_coef

    def variance(self, rows: Rows) -> FloatArray:
        whitened, drift = self._whitened(rows)
        explained = np.sum(whitened**2, axis=0)
        unsure = np.sum(drift**2, axis=0)
        return np.maximum(rows.variance(self.kernel) - explained, 0.0) + unsure

    def covariance(self, rows: Rows) -> FloatArray:
        whitened, drift = self._whitened(rows)
        return rows.covariance_with(self.kernel, rows) - whitened.T @ whitened + drift.T @ drift

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        return draw_gaussian(self.mean(rows), self.covariance(rows), n_draws, rng)

    def _whitened(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        # L^-1 k(X, x), and the trend left to be learned at x: S^-1/2 (t - X'Sigma^-1 k)
        cross = self.rows.covariance_with(self.kernel, rows)
        scale = self.sigma.scale[:, None]
        whitened = linalg.solve_triangular(self.sigma.root, cross * scale, lower=True)
        trend = linalg.solve_triangular(self.sigma.root, self.rows.trend * scale, lower=True)
        if not self.rows.trend.shape[1]:
            return whitened, np.zeros((0, len(rows)))
        left = (rows.trend.T - trend.T @ whitened) * self.schur.scale[:, None]
        return whitened, linalg.solve_triangular(self.schur.root, left, lower=True)
