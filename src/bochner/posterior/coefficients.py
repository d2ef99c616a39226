"""Posterior through the coefficients of a feature map: the primal view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.features import FeatureMap, Rows
from bochner.posterior.base import Posterior, draw_gaussian
from bochner.solvers import Factor

JOINT_LIMIT = 2_000


@dataclass(frozen=True)
class CoefficientPosterior(Posterior):
    """Coefficients [features, trend] ~ N(coef, P^-1), and the variance that the features miss."""

    features: FeatureMap
    coef: FloatArray
    factor: Factor

    @property
    def n_stored(self) -> int:  # type: ignore[override]
        return 3 * len(self.coef)

    @property
    def trend_coef(self) -> FloatArray:
        """Mean of the trend coefficients."""
        return self.coef[self.features.n_columns :]

    def trend_covariance(self) -> FloatArray:
        """Covariance of the trend coefficients."""
        p = self.features.n_columns
        unit = np.zeros((len(self.coef), len(self.coef) - p))
        unit[p:] = np.eye(len(self.coef) - p)
        return self.factor.solve(unit)[p:]

    def columns(self, rows: Rows) -> FloatArray:
        """All columns of the linear model at some rows, (n, p + q)."""
        return np.column_stack([np.asarray(self.features.block(rows.coords), dtype=np.float64), rows.trend])

    def mean(self, rows: Rows) -> FloatArray:
        field = self.features.forward(rows.coords, self.coef[: self.features.n_columns])
        return np.asarray(field + rows.trend @ self.trend_coef)

    def variance(self, rows: Rows) -> FloatArray:
        return self.factor.quadratic_form(self.columns(rows)) + self.features.missing_variance(rows.coords)

    def covariance(self, rows: Rows) -> FloatArray:
        return self.carried_covariance(rows) + self.features.missing_covariance(rows.coords)

    def carried_covariance(self, rows: Rows) -> FloatArray:
        """Covariance of the part that the columns carry."""
        phi = self.columns(rows)
        return np.asarray(phi @ self.factor.solve(phi.T))

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        coef = self.coef[:, None] + self.factor.draw(n_draws, rng)
        draws = np.empty((n_draws, len(rows)))
        for i in self.features.slices(len(rows)):
            draws[:, i] = (self.columns(rows[i]) @ coef).T
        missing = self.features.missing_variance(rows.coords)
        if not missing.any():
            return draws
        if len(rows) <= JOINT_LIMIT:
            return draws + draw_gaussian(
                np.zeros(len(rows)), self.features.missing_covariance(rows.coords), n_draws, rng
            )
        return draws + np.sqrt(missing) * rng.standard_normal(draws.shape)
