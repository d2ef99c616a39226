"""The gamma family: positive amounts whose spread grows with their mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.base import Derivatives, Family, check_finite, refuse
from bochner.families.links import Link, Log, by_name
from bochner.families.overflow import LARGEST_EXPONENT, bounded_exp
from bochner.families.stirling import remainder, remainder_slope


@dataclass(frozen=True)
class Gamma(Family):
    r"""Positive amounts: rainfall, concentrations, costs.

    .. math:: E\,y = \mu = \exp(\eta), \quad \mathrm{Var}\,y = \phi \mu^2

    The square root of the dispersion :math:`\phi` is the coefficient of variation; :math:`1/\phi` is the shape.
    """

    name: ClassVar[str] = "gamma"
    links: ClassVar[Mapping[str, Link]] = by_name(Log())
    law: ClassVar[str] = "its {inverse} is the mean {response}, and single values are gamma: positive and skewed"
    positive_only: ClassVar[bool] = True
    has_dispersion: ClassVar[bool] = True

    link: str = "log"

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_finite(y)
        refuse(
            y <= 0,
            "y is {y} in row {row}; needed is an amount > 0: leave zeros out and model where they occur apart "
            "(family='bernoulli'), or replace values below a detection limit.",
            y=y,
        )

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(np.log(y))

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        # With Stirling's terms taken out of log Gamma(a), nothing large is left to cancel.
        a, log_ratio, excess = self._ratio(y, eta)
        deviance = a * (excess - log_ratio)
        return np.asarray(0.5 * np.log(a / (2 * np.pi)) - remainder(a) - np.log(y) - deviance)

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        a, log_ratio, excess = self._ratio(y, eta)
        curvature = bounded_exp(log_ratio + np.log(a))
        return Derivatives(a * excess, curvature, -curvature)

    def dispersion_slopes(
        self, y: FloatArray, eta: FloatArray, size: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        a, log_ratio, excess = self._ratio(y, eta)
        density = a * (remainder_slope(a) + excess - log_ratio) - 0.5
        return density, -a * excess, -bounded_exp(log_ratio + np.log(a))

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        return bounded_exp(2 * eta + np.log(self._dispersion))

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        a = 1 / self._dispersion
        return np.asarray(special.gammainc(a, bounded_exp(np.log(np.maximum(y, 5e-324)) - eta + np.log(a))) * (y > 0))

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        above = np.maximum(y, 5e-324)
        return np.asarray(np.exp(np.log(above) + self.log_density(above, eta, size)) * (y > 0))

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(self._dispersion * square)

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        a = 1 / self._dispersion
        return np.asarray(self.mean(eta) * (rng.gamma(a, size=np.shape(eta)) / a))

    def _ratio(self, y: FloatArray, eta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Shape a, log(y / mu) and y / mu - 1, the last so bounded that a times it does not overflow."""
        a, log_ratio = 1 / self._dispersion, np.log(y) - eta
        return a, log_ratio, np.expm1(np.minimum(log_ratio, LARGEST_EXPONENT - np.log(a)))
