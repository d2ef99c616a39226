"""The contract of a link: how a linear predictor and a mean hang together, safe against overflow.

A link is asked what it is (its range, whether it is linear or smooth, what exp of a coefficient is called), never
for its name.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.families.averages import REACH, in_chunks, normal_nodes

N_NODES = 60  # at most, of rows as narrow as NARROW
STEP = 0.36  # of the nodes, in standard deviations: good to 1e-8 for links that change over a unit of eta
SIDE = 7.0  # standard deviations on either side of where most of a mean comes from: 1e-12
NARROW = 1.5  # standard deviation of eta up to which such nodes are close enough


class Link:
    """Function from the mean to eta, and its inverse.

    A new link gives `name`, `inverse`, `range`, `mean` and `eta`, and says where it differs from the rest.
    """

    name: ClassVar[str]
    inverse: ClassVar[str]  # the inverse in words, as in "its exponential is the rate"
    range: ClassVar[tuple[float, float]]  # ends of what the mean can be
    linear: ClassVar[bool] = False  # whether the mean is eta itself
    smooth: ClassVar[bool] = True  # whether the mean is an analytic function of eta
    closed_moments: ClassVar[bool] = False  # whether `moments` costs no more than the mean
    ratio: ClassVar[str | None] = None  # what exp of a coefficient is called, if it has a meaning
    least_variance: ClassVar[float] = 1e-24  # of eta, relative to 1 + mean^2, that can be divided by

    def mean(self, eta: FloatArray) -> FloatArray:
        """Mean of a linear predictor."""
        raise NotImplementedError

    def eta(self, mean: FloatArray) -> FloatArray:
        """Linear predictor of a mean."""
        raise NotImplementedError

    def moments(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the mean of eta ~ N(mean, variance), (n,) each.

        By the trapezoidal rule, with as many nodes as the widest Gaussian asks for: a subclass that knows better does.
        """
        variance = self.floored(variance, mean)
        widest = float(np.sqrt(np.max(variance, initial=0.0)))
        step = STEP * min(1.0, NARROW / max(widest, NARROW))
        n_nodes = int(N_NODES * STEP / step)
        both = in_chunks(lambda m, v: self.moments_at_nodes(m, v, step), n_nodes, mean, variance)
        first, second = both.reshape(2, len(mean))
        return first, second

    def moments_at_nodes(
        self, mean: FloatArray, variance: FloatArray, step: float = STEP, reach: float = REACH
    ) -> FloatArray:
        """The same from nodes of the Gaussian, (2, n)."""
        z, weight = normal_nodes(step, reach)
        values = self.mean_at_nodes(mean, np.sqrt(variance), z)
        first = weight @ values
        values -= first
        return np.stack([first, weight @ np.square(values, out=values)])

    def mean_at_nodes(self, mean: FloatArray, sd: FloatArray, z: FloatArray) -> FloatArray:
        """Mean of linear predictors z standard deviations off theirs, (len(z), n); z in equal steps about zero."""
        eta = sd * z[:, None]
        eta += mean
        return self.mean(eta)

    def floored(self, variance: FloatArray, mean: FloatArray) -> FloatArray:
        """Variances that can be divided by; what is added is beyond the digits that eta needs."""
        return np.maximum(variance, self.least_variance * (1 + mean**2))


class ProbabilityLink(Link):
    """The mean is a distribution function F(eta), symmetric about zero: F(-eta) = 1 - F(eta).

    `node_steps`: the widest sd of eta, and the step of the nodes that suffices up to it, in standard deviations.
    """

    range = (0.0, 1.0)
    node_steps: ClassVar[tuple[tuple[float, float], ...]] = ((NARROW, STEP),)

    def log_mean(self, eta: FloatArray) -> FloatArray:
        """log F, accurate in both tails."""
        raise NotImplementedError

    def log_mean_derivatives(self, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """First derivative of log F, minus its second, minus its third."""
        raise NotImplementedError

    def wide_moments(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """`moments` of Gaussians wider than the link itself, (2, n)."""
        raise NotImplementedError

    def moments(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        variance = self.floored(variance, mean)
        both = np.empty((2, len(mean)))
        band = np.searchsorted([widest**2 for widest, _ in self.node_steps], variance, side="right")
        for i in np.flatnonzero(np.bincount(band)):
            rows, rule, n_nodes = np.flatnonzero(band == i), self.wide_moments, N_NODES
            if i < len(self.node_steps):
                widest, step = self.node_steps[i]
                # the mean of a small probability is found as many sd from the middle as sd is wide
                reach = min(REACH, SIDE + widest)
                rule, n_nodes = partial(self.moments_at_nodes, step=step, reach=reach), int(2 * reach / step) + 2
            both[:, rows] = in_chunks(rule, n_nodes, mean[rows], variance[rows])
        return both[0], both[1]

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
