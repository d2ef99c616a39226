"""The Poisson family: cases per exposure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special

from bochner.arrays import FloatArray
from bochner.families import rectified
from bochner.families.base import Derivatives, Family, check_counts, check_sizes
from bochner.families.factorials import log_factorial
from bochner.families.links import Link, Log, Rectified, by_name
from bochner.families.overflow import bounded_exp

# Beyond it the generator of integers overflows; a normal is as good to one part in 1e9.
_LARGEST_DRAW = 1e18


@dataclass(frozen=True)
class Poisson(Family):
    r"""Cases per exposure: population at risk, time, area.

    .. math:: y \sim \mathrm{Poisson}(e \lambda), \quad \log \lambda = \eta \text{ or } \lambda = \eta

    The size is the exposure e of each row. With the identity link the rate exists for eta >= 0 only: the log density is
    -inf below, and `mean` is 0 there.
    """

    name: ClassVar[str] = "poisson"
    links: ClassVar[Mapping[str, Link]] = by_name(Log(), Rectified())
    law: ClassVar[str] = "its {inverse} is the {response}, and counts are Poisson"
    surface_name: ClassVar[str | None] = "rate"
    size_name: ClassVar[str | None] = "exposure"
    discrete: ClassVar[bool] = True
    hint_of_dispersion: ClassVar[str] = " For counts that scatter more, take family='negative-binomial'."

    link: str = "log"

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_sizes(size, "exposure")
        check_counts(y)

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        return self.link_of((y + 0.5) / size)

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        if self._is_cut:
            mean = size * self.mean(eta)
            inside = special.xlogy(y, mean) - mean - log_factorial(y)
            return np.where(eta >= 0, inside, -np.inf)
        log_mean = eta + np.log(size)
        return np.asarray(y * log_mean - bounded_exp(log_mean) - log_factorial(y))

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        if self._is_cut:
            with np.errstate(divide="ignore", invalid="ignore"):
                per_eta = np.where(y == 0, 0.0, y / eta)
                curvature = np.where(y == 0, 0.0, per_eta / eta)
                return Derivatives(per_eta - size, curvature, np.where(y == 0, 0.0, -2 * curvature / eta))
        mean = bounded_exp(eta + np.log(size))
        return Derivatives(y - mean, mean, mean)

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        return self._mean_count(eta, size)

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        y = np.floor(y)
        tail = special.gammaincc(np.maximum(y, 0.0) + 1.0, self._mean_count(eta, size))
        return np.where(y < 0, 0.0, tail)

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        # dF/dmu = -P(Y = y)
        rate = size if self._is_cut else self._mean_count(eta, size)
        return np.asarray(rate * np.exp(self.log_density(y, eta, size)))

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(size * mean)

    def log_average(self, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
        return rectified.log_average(self.log_density, y, mean, variance, size)

    def average_cdf(self, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
        return rectified.average_cdf(self.cdf, y, mean, variance, size)

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        return draw_poisson(self._mean_count(eta, size), rng)

    @property
    def _is_cut(self) -> bool:
        """Whether the rate is eta, cut at zero."""
        return not self.link_function.smooth

    def _mean_count(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(size * self.mean(eta)) if self._is_cut else bounded_exp(eta + np.log(size))


def draw_poisson(mean: FloatArray, rng: Generator) -> FloatArray:
    """Poisson counts, of means as large as floats can be."""
    counts = rng.poisson(np.minimum(mean, _LARGEST_DRAW)).astype(np.float64)
    huge = mean > _LARGEST_DRAW
    if np.any(huge):
        counts = np.where(huge, np.rint(mean + np.sqrt(mean) * rng.standard_normal(np.shape(mean))), counts)
    return np.asarray(counts)
