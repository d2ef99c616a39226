"""A kernel of one's own: a smooth field of two scales, of which one is half the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import IsotropicKernel, register_kernel


@dataclass(frozen=True, repr=False)
class TwoScales(IsotropicKernel):
    r"""Mean of two squared exponentials.

    .. math:: k(r) = \frac{\sigma^2}{2} \left(e^{-s^2/2} + e^{-2 s^2}\right), \quad s = r / \ell
    """

    def correlation(self, distance: FloatArray) -> FloatArray:
        return (np.exp(-(distance**2) / 2) + np.exp(-2 * distance**2)) / 2

    def decay(self, distance: FloatArray) -> FloatArray:
        return distance**2 * (np.exp(-(distance**2) / 2) + 4 * np.exp(-2 * distance**2)) / 2

    def radial_density(self, w: FloatArray, dim: int) -> FloatArray:
        # frequencies are N(0, 1) or N(0, 4), with equal odds
        return (np.exp(-(w**2) / 2) + 2.0**-dim * np.exp(-(w**2) / 8)) / 2 * (2 * np.pi) ** (-dim / 2)


register_kernel("two-scales", TwoScales())
