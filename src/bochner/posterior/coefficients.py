"""Posterior through the coefficients of a feature map: the primal view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.features import FeatureMap, FourierMap, Rows
from bochner.frequencies import Frequencies
from bochner.posterior import limits
from bochner.posterior.base import Cost, Posterior, draw_gaussian
from bochner.posterior.device_variance import device_variance
from bochner.solvers import Factor


@dataclass(frozen=True)
class CoefficientPosterior(Posterior):
    """Coefficients [features, trend] ~ N(coef, P^-1), and the variance that the features miss."""

    features: FeatureMap
    coef: FloatArray
    factor: Factor

    beyond: ClassVar[str] = (
        "the box that the waves cover (the data's, and some room around): they get the trend and the prior sd. Give "
        "them to fit (predict_at, --predict-at) to cover them."
    )

    @property
    def cost(self) -> Cost:
        return replace(Cost.of_dense(len(self.coef)), numbers_of_mean=limits.MEAN_NUMBERS)

    @property
    def feature_coef(self) -> FloatArray:
        return self.coef[: self.features.n_columns]

    @property
    def left_out(self) -> float:
        return self.features.left_out

    @property
    def waves(self) -> Frequencies | None:
        return self.features.frequencies if isinstance(self.features, FourierMap) else None

    @property
    def trend_coef(self) -> FloatArray:  # type: ignore[override]
        return self.coef[self.features.n_columns :]

    def trend_covariance(self) -> FloatArray:
        p = self.features.n_columns
        unit = np.zeros((len(self.coef), len(self.coef) - p))
        unit[p:] = np.eye(len(self.coef) - p)
        return self.factor.solve(unit)[p:]

    def outside(self, coords: FloatArray) -> NDArray[np.bool_]:
        return self.features.outside(coords)

    def columns(self, rows: Rows) -> FloatArray:
        """All columns of the linear model at some rows, (n, p + q)."""
        return np.column_stack([np.asarray(self.features.block(rows.coords), dtype=np.float64), rows.trend])

    def mean(self, rows: Rows) -> FloatArray:
        field = self.features.forward(rows.coords, self.coef[: self.features.n_columns])
        same = rows.trend.strides[0] == 0  # an intercept alone
        field += (rows.trend[:1] if same else rows.trend) @ self.trend_coef
        return np.asarray(field)

    def variance(self, rows: Rows) -> FloatArray:
        return self.mean_and_variance(rows)[1]

    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        missing = self.features.missing_variance(rows.coords)
        carried = device_variance(self.features, self.factor, rows)
        if carried is not None:
            return self.mean(rows), carried + missing
        columns = self.columns(rows)  # once for both: waves take a third as long as the products
        return np.asarray(columns @ self.coef), self.factor.quadratic_form(columns) + missing

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
        if len(rows) <= limits.MAX_JOINT_ROWS:
            return draws + draw_gaussian(
                np.zeros(len(rows)), self.features.missing_covariance(rows.coords), n_draws, rng
            )
        return draws + np.sqrt(missing) * rng.standard_normal(draws.shape)
