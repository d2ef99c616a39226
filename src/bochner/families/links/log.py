"""The log link: effects multiply."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.families.links.base import Link
from bochner.families.overflow import bounded_exp


class Log(Link):
    """The mean is exp(eta), held at exp(700) beyond."""

    name = "log"
    inverse = "exponential"
    range = (0.0, np.inf)
    closed_moments = True
    ratio = "rate ratio"

    def mean(self, eta: FloatArray) -> FloatArray:
        return bounded_exp(eta)

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(np.log(mean))

    def moments(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        # those of a lognormal
        return bounded_exp(mean + 0.5 * variance), bounded_exp(2 * (mean + variance)) * -np.expm1(-variance)
