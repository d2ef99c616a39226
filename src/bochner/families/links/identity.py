"""The identity link, whole for measurements and cut at zero for rates."""

from __future__ import annotations

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.links.base import Link


class Identity(Link):
    """The mean is eta."""

    name = "identity"
    inverse = "value"
    range = (-np.inf, np.inf)
    linear = True
    closed_moments = True

    def mean(self, eta: FloatArray) -> FloatArray:
        return np.asarray(eta, dtype=np.float64)

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(mean, dtype=np.float64)

    def moments(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        return mean, variance


class Rectified(Link):
    """The mean is eta where that is positive, else zero: the identity link of a rate."""

    name = "identity"
    inverse = "positive part"
    range = (0.0, np.inf)
    smooth = False
    closed_moments = True
    least_variance = 1e-16

    def mean(self, eta: FloatArray) -> FloatArray:
        return np.maximum(eta, 0.0)

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(mean, dtype=np.float64)

    def moments(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        variance = self.floored(variance, mean)
        sd = np.sqrt(variance)
        z = mean / sd
        share, density = special.ndtr(z), np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        first = mean * share + sd * density
        # E (max(eta, 0) - first)^2, from the deviation above zero and the mass at zero
        gap = mean - first
        above = variance * share - variance * z * density + gap**2 * share + 2 * gap * sd * density
        return first, above + first**2 * special.ndtr(-z)
