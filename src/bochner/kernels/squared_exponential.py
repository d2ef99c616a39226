"""The squared exponential (Gaussian) kernel: infinitely smooth fields."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.kernels.stationary import IsotropicKernel


@dataclass(frozen=True, repr=False)
class SquaredExponential(IsotropicKernel):
    r"""Squared exponential kernel, for very smooth fields.

    .. math:: k(r) = \sigma^2 \exp\left(-\frac{r^2}{2\ell^2}\right)

    Its frequencies are Gaussian: :math:`\omega \sim N(0, I / \ell^2)`.
    """

    def correlation(self, distance: FloatArray) -> FloatArray:
        return np.exp(-(distance**2) / 2)

    def decay(self, distance: FloatArray) -> FloatArray:
        return distance**2 * np.exp(-(distance**2) / 2)

    def radial_density(self, w: FloatArray, dim: int) -> FloatArray:
        return (2 * np.pi) ** (-dim / 2) * np.exp(-(w**2) / 2)

    def radial_quantile(self, u: FloatArray, dim: int) -> FloatArray:
        # |omega|^2 follows chi-squared with dim degrees of freedom.
        return np.asarray(np.sqrt(2 * special.gammaincinv(dim / 2, u)))
