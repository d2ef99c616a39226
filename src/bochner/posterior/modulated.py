"""A posterior of a field whose amplitude varies in space, by that of the field without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.features import Amplitude, Rows
from bochner.posterior.base import Cost, Posterior


@dataclass(frozen=True)
class ModulatedPosterior(Posterior):
    """Posterior of ``trend + a(x) f(x)``, from that of responses and trend columns divided by the amplitude a."""

    inner: Posterior
    amplitude: Amplitude

    @property
    def trend_coef(self) -> FloatArray:  # type: ignore[override]
        return self.inner.trend_coef

    @property
    def takes_areas(self) -> bool:  # type: ignore[override]
        return self.inner.takes_areas

    @property
    def beyond(self) -> str:  # type: ignore[override]
        return self.inner.beyond

    def mean(self, rows: Rows) -> FloatArray:
        steady, here = self.amplitude.steadied(rows)
        return here * self.inner.mean(steady)

    def variance(self, rows: Rows) -> FloatArray:
        steady, here = self.amplitude.steadied(rows)
        return here**2 * self.inner.variance(steady)

    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        steady, here = self.amplitude.steadied(rows)
        mean, variance = self.inner.mean_and_variance(steady)
        return here * mean, here**2 * variance

    def covariance(self, rows: Rows) -> FloatArray:
        steady, here = self.amplitude.steadied(rows)
        each = np.broadcast_to(here, len(rows))
        return each[:, None] * self.inner.covariance(steady) * each

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        steady, here = self.amplitude.steadied(rows)
        return here * self.inner.draw(steady, n_draws, rng)

    def trend_covariance(self) -> FloatArray:
        return self.inner.trend_covariance()

    @property
    def cost(self) -> Cost:
        own, nodes = self.inner.cost, len(self.amplitude.nodes)
        return Cost(own.numbers + nodes, own.work + nodes * (self.amplitude.nodes.shape[1] + 1))

    def outside(self, coords: FloatArray) -> NDArray[np.bool_]:
        return self.inner.outside(coords)

    @property
    def feature_coef(self) -> FloatArray:
        return self.inner.feature_coef

    @property
    def left_out(self) -> float:
        return self.inner.left_out
