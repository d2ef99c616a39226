"""The negative binomial family: cases that scatter more than Poisson counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.base import Derivatives, Family, check_counts, check_sizes
from bochner.families.factorials import log_factorial
from bochner.families.links import Link, Log, by_name
from bochner.families.overflow import LARGEST_EXPONENT, bounded_exp, softplus
from bochner.families.poisson import draw_poisson
from bochner.families.stirling import remainder, remainder_slope

_LARGE_SHAPE = 1e4


@dataclass(frozen=True)
class NegativeBinomial(Family):
    r"""Cases per exposure that scatter more than Poisson counts.

    .. math:: E\,y = \mu = e \exp(\eta), \quad \mathrm{Var}\,y = \mu + \phi \mu^2

    The size is the exposure e of each row. A dispersion :math:`\phi` towards 0 is Poisson; :math:`1/\phi` is what
    others call size or theta.
    """

    name: ClassVar[str] = "negative-binomial"
    links: ClassVar[Mapping[str, Link]] = by_name(Log())
    law: ClassVar[str] = "its {inverse} is the {response}, and counts are negative binomial"
    surface_name: ClassVar[str | None] = "rate"
    size_name: ClassVar[str | None] = "exposure"
    discrete: ClassVar[bool] = True
    has_dispersion: ClassVar[bool] = True

    link: str = "log"

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_sizes(size, "exposure")
        check_counts(y)

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        return self.link_of((y + 0.5) / size)

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        # With k = 1 / phi: log Gamma(k + y) / (Gamma(k) k^y) is the sum of log(1 + phi j) over j < y.
        k, log_mean = 1 / self._dispersion, eta + np.log(size)
        tail = (k + y) * softplus(log_mean + np.log(self._dispersion))
        return np.asarray(_log_rising(y, k) - log_factorial(y) + y * log_mean - tail)

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        k, (p, q) = 1 / self._dispersion, self._shares(eta, size)
        curvature = (k + y) * p * q
        return Derivatives(y * q - k * p, curvature, curvature * (q - p))

    def dispersion_slopes(
        self, y: FloatArray, eta: FloatArray, size: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        k, (p, q) = 1 / self._dispersion, self._shares(eta, size)
        log_odds = eta + np.log(size * self._dispersion)
        density = _log_rising_slope(y, k) + k * softplus(log_odds) - (k + y) * p
        return density, k * p - (k + y) * p * q, p * q * ((k + y) * (q - p) - k)

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        mean = bounded_exp(np.minimum(eta + np.log(size), LARGEST_EXPONENT / 2))
        return np.asarray(mean + self._dispersion * mean**2)

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        k, (p, q), y = 1 / self._dispersion, self._shares(eta, size), np.floor(y)
        above = np.maximum(y, 0.0) + 1.0
        # I_q(k, y + 1) = 1 - I_p(y + 1, k); rounding of q is raised to the power k.
        tail = special.betainc(k, above, q) if k < _LARGE_SHAPE else 1 - special.betainc(above, k, p)
        return np.where(y < 0, 0.0, tail)

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        share, _ = self._shares(eta, size)
        return np.asarray((1 / self._dispersion + y) * share * np.exp(self.log_density(y, eta, size)))

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(size * mean + self._dispersion * size**2 * square)

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        # A Poisson count whose mean is gamma distributed.
        mean = bounded_exp(eta + np.log(size))
        k = 1 / self._dispersion
        return draw_poisson(np.minimum(mean * (rng.gamma(k, size=np.shape(mean)) / k), 1e300), rng)

    def _shares(self, eta: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi mu / (1 + phi mu), and one minus it."""
        log_odds = eta + np.log(size * self._dispersion)
        return special.expit(log_odds), special.expit(-log_odds)


def _log_rising(y: FloatArray, k: float) -> FloatArray:
    """log Gamma(k + y) - log Gamma(k) - y log k, whose terms cancel unless Stirling's are taken out first."""
    return np.asarray((k + y - 0.5) * np.log1p(y / k) - y + remainder(k + y) - remainder(k))


def _log_rising_slope(y: FloatArray, k: float) -> FloatArray:
    """Derivative of the above in -log k."""
    return np.asarray(y - k * np.log1p(y / k) - 0.5 * y / (k + y) - k * (remainder_slope(k + y) - remainder_slope(k)))
