"""The logit link: eta is a log odds."""

from __future__ import annotations

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.links.base import ProbabilityLink
from bochner.families.overflow import softplus

_LOGIT_STEP, _LOGIT_REACH = 0.6, 28.0  # of the nodes over the logistic density; beyond the reach it holds 1e-12


class Logit(ProbabilityLink):
    """The mean is 1 / (1 + exp(-eta)): eta is a log odds."""

    name = "logit"
    inverse = "inverse logit"
    ratio = "odds ratio"
    # poles at +-i pi: of a narrow Gaussian few nodes are as good to 1e-12 as many of a wide one
    node_steps = ((0.5, 0.74), (0.75, 0.62), (1.0, 0.51), (1.25, 0.43), (1.5, 0.36), (2.0, 0.29), (2.5, 0.23))

    def mean(self, eta: FloatArray) -> FloatArray:
        odds = np.asarray(np.negative(eta))
        with np.errstate(over="ignore"):  # of a probability that is zero
            np.exp(odds, out=odds)  # as good as expit, for a third of its time; in one array
        odds += 1.0
        return np.divide(1.0, odds, out=odds)

    def mean_at_nodes(self, mean: FloatArray, sd: FloatArray, z: FloatArray) -> FloatArray:
        # odds of equal steps are powers: two exponentials for all nodes, and the digits of each
        middle = len(z) // 2
        odds = np.empty((len(z), len(mean)))
        with np.errstate(over="ignore"):  # of a probability that is zero
            np.exp(-mean, out=odds[middle])
            up = np.exp(-z[middle + 1] * sd)
            down = 1.0 / up
            for i in range(middle):
                np.multiply(odds[middle + i], up, out=odds[middle + i + 1])
                np.multiply(odds[middle - i], down, out=odds[middle - i - 1])
        odds += 1.0
        return np.divide(1.0, odds, out=odds)

    def eta(self, mean: FloatArray) -> FloatArray:
        return np.asarray(special.logit(mean))

    def log_mean(self, eta: FloatArray) -> FloatArray:
        return -softplus(-eta)

    def log_mean_derivatives(self, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        p, q = special.expit(eta), special.expit(-eta)
        return q, p * q, p * q * (q - p)

    def wide_moments(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        # by parts: E G(eta) = int G'(x) Phi((mean - x) / sd)
        x = np.arange(-_LOGIT_REACH, _LOGIT_REACH + _LOGIT_STEP, _LOGIT_STEP)
        p = special.expit(x)
        density = _LOGIT_STEP * p * special.expit(-x)
        above = special.ndtr((mean - x[:, None]) / np.sqrt(variance))
        first = density @ above
        return np.stack([first, (2 * p * density) @ above - first**2])

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
