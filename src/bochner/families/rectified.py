"""Poisson counts whose rate is a Gaussian cut at zero: averages that the kink asks to be taken on either side of it.

Below zero the rate is zero, and so is every count. Above, the integrand is smooth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.averages import REACH, positive_panels

Pointwise = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""A function of counts, rates and exposures."""


def log_average(
    log_density: Pointwise, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray
) -> FloatArray:
    """Log probability of a count. Of no cases it is that of an exponential, in closed form."""
    sd = np.sqrt(variance)
    shifted = mean - variance * size
    none = np.logaddexp(special.log_ndtr(shifted / sd) - size * (mean + shifted) / 2, special.log_ndtr(-mean / sd))
    # the mode solves y / eta - size = (eta - mean) / variance
    mode = 0.5 * (shifted + np.sqrt(shifted**2 + 4 * variance * np.maximum(y, 1.0)))
    scale = 1 / np.sqrt(np.maximum(y, 1.0) / mode**2 + 1 / variance)
    breaks = mode + np.multiply.outer([-REACH, -3.0, 0.0, 3.0, REACH, 30.0], scale)
    eta, weight = positive_panels(breaks, mean, sd)
    with np.errstate(divide="ignore"):
        some = special.logsumexp(log_density(y, eta, size) + weight, axis=0)
    return np.where(y == 0, none, some)


def average_cdf(cdf: Pointwise, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
    """Probability of a count not above y."""
    sd, centre, width = np.sqrt(variance), y / size, np.sqrt(y + 1) / size
    breaks = [mean + k * sd for k in (-REACH, -3, 0, 3, REACH)]
    near = [np.clip(centre + k * width, breaks[0], breaks[-1]) for k in (-8, -2, 0, 2, 8, 40)]
    eta, weight = positive_panels(np.array(breaks + near), mean, sd)
    return np.asarray((np.exp(weight) * cdf(y, eta, size)).sum(axis=0) + special.ndtr(-mean / sd))
