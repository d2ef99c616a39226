"""A posterior of a field whose amplitude varies in space, by that of the field without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.features import Amplitude, Rows
from bochner.posterior.base import Cost
from bochner.posterior.wrapped import WrappedPosterior


@dataclass(frozen=True)
class ModulatedPosterior(WrappedPosterior):
    """Posterior of ``trend + a(x) f(x)``, from that of responses and trend columns divided by the amplitude a."""

    amplitude: Amplitude

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

    @property
    def cost(self) -> Cost:
        own, nodes = self.inner.cost, len(self.amplitude.nodes)
        return Cost(own.numbers + nodes, own.work + nodes * (self.amplitude.nodes.shape[1] + 1))
