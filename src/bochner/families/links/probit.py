"""The probit link: a normal threshold."""

from __future__ import annotations

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.links.base import ProbabilityLink

_PROBIT_TAIL = 30.0  # below minus this, eta and the hazard cancel


class Probit(ProbabilityLink):
    """The mean is the standard normal distribution function of eta."""

    name = "probit"
    inverse = "inverse probit"

    def mean(self, eta: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr(eta))

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(special.ndtri(mean))

    def log_mean(self, eta: FloatArray) -> FloatArray:
        return np.asarray(special.log_ndtr(eta))

    def log_mean_derivatives(self, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # With the hazard h = phi / Phi: h' = -h (eta + h).
        eta = np.asarray(eta, dtype=np.float64)
        hazard = np.sqrt(2 / np.pi) / special.erfcx(-eta / np.sqrt(2))
        gap = eta + hazard
        curvature = hazard * gap
        slope = hazard * (1 - curvature) - curvature * gap
        tail = eta < -_PROBIT_TAIL
        if np.any(tail):
            far_curvature, far_slope = _tail(np.where(tail, -eta, _PROBIT_TAIL))
            curvature, slope = np.where(tail, far_curvature, curvature), np.where(tail, far_slope, slope)
        return hazard, curvature, slope

    def wide_moments(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        # closed form: E Phi(eta)^2 is the probability of a quadrant, Owen's T
        a = mean / np.sqrt(1 + variance)
        first = special.ndtr(a)
        return np.stack([first, first * (1 - first) - 2 * special.owens_t(a, 1 / np.sqrt(1 + 2 * variance))])


def _tail(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Minus the second and third derivative of log Phi at -z, z large.

    From the asymptotic series of the hazard, z + 1/z - 2/z^3 + 10/z^5 - 74/z^7 + 706/z^9 - ..., whose derivative
    in z is the curvature.
    """
    s = 1 / z**2
    curvature = 1 - s * (1 - s * (6 - s * (50 - s * 518)))
    slope = -s / z * (2 - s * (24 - s * (300 - s * (4144 - s * 63540))))
    return curvature, slope
