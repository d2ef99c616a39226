"""The Gaussian family: a response that scatters evenly about its mean."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bochner.arrays import FloatArray, as_finite
from bochner.families.base import Family


class Gaussian(Family):
    """y ~ N(eta, variance), identity link: the case that Newton's method solves in one step."""

    name: ClassVar[str] = "gaussian"

    def check(self, y: FloatArray) -> None:
        as_finite(y, "y")

    def log_density(self, y: FloatArray, eta: FloatArray, variance: FloatArray) -> FloatArray:
        return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + (y - eta) ** 2 / variance))

    def score(self, y: FloatArray, eta: FloatArray, variance: FloatArray) -> FloatArray:
        return (y - eta) / variance

    def curvature(self, y: FloatArray, eta: FloatArray, variance: FloatArray) -> FloatArray:
        return np.broadcast_to(1 / variance, np.shape(y))

    def mean(self, eta: FloatArray) -> FloatArray:
        return eta
