"""A posterior of responses in another unit, seen in their own."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.features import Rows
from bochner.frequencies import Frequencies
from bochner.posterior.wrapped import WrappedPosterior


@dataclass(frozen=True)
class RescaledPosterior(WrappedPosterior):
    """Posterior of responses that were divided by `unit` (a power of two, so that no digit is lost)."""

    unit: float

    @property
    def trend_coef(self) -> FloatArray:  # type: ignore[override]
        return self.unit * self.inner.trend_coef

    def mean(self, rows: Rows) -> FloatArray:
        return self.unit * self.inner.mean(rows)

    def variance(self, rows: Rows) -> FloatArray:
        return self.unit**2 * self.inner.variance(rows)

    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        mean, variance = self.inner.mean_and_variance(rows)
        return self.unit * mean, self.unit**2 * variance

    def covariance(self, rows: Rows) -> FloatArray:
        return self.unit**2 * self.inner.covariance(rows)

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        return self.unit * self.inner.draw(rows, n_draws, rng)

    def trend_covariance(self) -> FloatArray:
        return self.unit**2 * self.inner.trend_covariance()

    @property
    def feature_coef(self) -> FloatArray:
        return self.unit * self.inner.feature_coef

    @property
    def left_out(self) -> float:
        return self.unit**2 * self.inner.left_out

    @property
    def waves(self) -> Frequencies | None:
        return self.inner.waves

    @property
    def row_coef(self) -> FloatArray | None:
        return None if self.inner.row_coef is None else self.inner.row_coef / self.unit
