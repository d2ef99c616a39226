"""The Gaussian family: a response that scatters evenly about its mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.base import Derivatives, Family, check_finite
from bochner.families.links import Identity, Link, by_name


@dataclass(frozen=True)
class Gaussian(Family):
    r"""Measurements that scatter evenly about their mean.

    .. math:: y \sim N(\eta, \phi)

    The dispersion :math:`\phi` is the noise variance. Newton's method solves this family in one step.
    """

    name: ClassVar[str] = "gaussian"
    links: ClassVar[Mapping[str, Link]] = by_name(Identity())
    law: ClassVar[str] = "the {response} scatters about that sum with normal noise"
    additive: ClassVar[bool] = True
    observes_eta: ClassVar[bool] = True
    has_dispersion: ClassVar[bool] = True

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_finite(y)

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(y, dtype=np.float64)

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        variance = self._dispersion
        return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + (y - eta) ** 2 / variance))

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        score = (y - eta) / self._dispersion
        return Derivatives(score, np.full_like(score, 1 / self._dispersion), np.zeros_like(score))

    def dispersion_slopes(
        self, y: FloatArray, eta: FloatArray, size: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        score = (y - eta) / self._dispersion
        return 0.5 * (score * (y - eta) - 1), -score, np.full_like(score, -1 / self._dispersion)

    def noise_parts(self) -> tuple[FloatArray, FloatArray]:
        return np.array([self._dispersion]), np.ones(1)

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.full(np.shape(eta), self._dispersion)

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr((y - eta) / np.sqrt(self._dispersion)))

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.exp(self.log_density(y, eta, size))

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        return np.full(np.shape(mean), self._dispersion)

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        return np.asarray(eta + np.sqrt(self._dispersion) * rng.standard_normal(np.shape(eta)))
