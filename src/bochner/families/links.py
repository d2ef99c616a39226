"""Links: how a linear predictor and a mean hang together, safe against overflow."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from scipy import special

from bochner.arrays import FloatArray

# exp(700) is 1e304: a little room below the largest float for products with it.
LARGEST_EXPONENT = 700.0
_TAIL = 30.0


class Link:
    """Function from the mean to eta, and its inverse."""

    name: ClassVar[str]

    def mean(self, eta: FloatArray) -> FloatArray:
        """Mean of a linear predictor."""
        raise NotImplementedError

    def eta(self, mean: FloatArray) -> FloatArray:
        """Linear predictor of a mean."""
        raise NotImplementedError


class Identity(Link):
    """The mean is eta."""

    name = "identity"

    def mean(self, eta: FloatArray) -> FloatArray:
        return np.asarray(eta, dtype=np.float64)

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(mean, dtype=np.float64)


class Log(Link):
    """The mean is exp(eta), held at exp(700) beyond."""

    name = "log"

    def mean(self, eta: FloatArray) -> FloatArray:
        return bounded_exp(eta)

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(np.log(mean))


class ProbabilityLink(Link):
    """The mean is a distribution function F(eta), symmetric about zero: F(-eta) = 1 - F(eta)."""

    def log_mean(self, eta: FloatArray) -> FloatArray:
        """log F, accurate in both tails."""
        raise NotImplementedError

    def log_mean_derivatives(self, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """First derivative of log F, minus its second, minus its third."""
        raise NotImplementedError

    def log_density(self, positives: FloatArray, negatives: FloatArray, eta: FloatArray) -> FloatArray:
        """Log probability of positives and negatives in one order: log F(eta) and log F(-eta) for each."""
        return positives * self.log_mean(eta) + negatives * self.log_mean(-eta)

    def derivatives(
        self, positives: FloatArray, negatives: FloatArray, eta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """First derivative of this log density, minus its second, minus its third."""
        up, up_curvature, up_slope = self.log_mean_derivatives(eta)
        down, down_curvature, down_slope = self.log_mean_derivatives(-eta)
        return (
            positives * up - negatives * down,
            positives * up_curvature + negatives * down_curvature,
            positives * up_slope - negatives * down_slope,
        )


class Logit(ProbabilityLink):
    """The mean is 1 / (1 + exp(-eta)): eta is a log odds."""

    name = "logit"

    def mean(self, eta: FloatArray) -> FloatArray:
        return np.asarray(special.expit(eta))

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(special.logit(mean))

    def log_mean(self, eta: FloatArray) -> FloatArray:
        return -softplus(-eta)

    def log_mean_derivatives(self, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        p, q = special.expit(eta), special.expit(-eta)
        return q, p * q, p * q * (q - p)

    def log_density(self, positives: FloatArray, negatives: FloatArray, eta: FloatArray) -> FloatArray:
        # As in the contract, with one exponential for both: softplus(-eta) = softplus(eta) - eta.
        shared = np.log1p(np.exp(-np.abs(eta)))
        return positives * (np.minimum(eta, 0.0) - shared) - negatives * (np.maximum(eta, 0.0) + shared)

    def derivatives(
        self, positives: FloatArray, negatives: FloatArray, eta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        p, q = special.expit(eta), special.expit(-eta)
        curvature = (positives + negatives) * p * q
        return positives * q - negatives * p, curvature, curvature * (q - p)


class Probit(ProbabilityLink):
    """The mean is the standard normal distribution function of eta."""

    name = "probit"

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
        tail = eta < -_TAIL
        if np.any(tail):  # eta and the hazard cancel there
            far_curvature, far_slope = _probit_tail(np.where(tail, -eta, _TAIL))
            curvature, slope = np.where(tail, far_curvature, curvature), np.where(tail, far_slope, slope)
        return hazard, curvature, slope


def bounded_exp(x: FloatArray) -> FloatArray:
    """exp, held at exp(700) so that nothing overflows."""
    return np.asarray(np.exp(np.minimum(x, LARGEST_EXPONENT)))


def softplus(x: FloatArray) -> FloatArray:
    """log(1 + exp(x)), accurate in both tails."""
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))


def _probit_tail(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Minus the second and third derivative of log Phi at -z, z large.

    From the asymptotic series of the hazard, z + 1/z - 2/z^3 + 10/z^5 - 74/z^7 + 706/z^9 - ..., whose derivative
    in z is the curvature.
    """
    s = 1 / z**2
    curvature = 1 - s * (1 - s * (6 - s * (50 - s * 518)))
    slope = -s / z * (2 - s * (24 - s * (300 - s * (4144 - s * 63540))))
    return curvature, slope


LINKS: Mapping[str, Link] = MappingProxyType({link.name: link for link in (Identity(), Log(), Logit(), Probit())})
"""Links by name."""
