"""Stirling's remainder: what is left of log Gamma where large terms would cancel."""

from __future__ import annotations

import numpy as np
from scipy import special

from bochner.arrays import FloatArray

# From here on the five terms below are exact to 1e-15.
_LARGE = 20.0


def remainder(x: FloatArray | float) -> FloatArray:
    r"""Remainder of Stirling's formula.

    .. math:: \log\Gamma(x) - (x - \tfrac12) \log x + x - \tfrac12 \log 2\pi
    """
    small, large = np.minimum(x, _LARGE), np.maximum(x, _LARGE)
    s = 1 / large**2
    series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / large
    direct = special.gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    return np.where(np.asarray(x) < _LARGE, direct, series)


def remainder_slope(x: FloatArray | float) -> FloatArray:
    r"""Derivative of the remainder, :math:`\psi(x) - \log x + 1 / (2x)`."""
    small, large = np.minimum(x, _LARGE), np.maximum(x, _LARGE)
    s = 1 / large**2
    series = -s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
    direct = special.digamma(small) - np.log(small) + 0.5 / small
    return np.where(np.asarray(x) < _LARGE, direct, series)
