"""The Cauchy kernel: long, heavy-tailed dependence along each axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels.stationary import AxisKernel


@dataclass(frozen=True, repr=False)
class Cauchy(AxisKernel):
    r"""Cauchy kernel, smooth with long-range dependence.

    .. math:: k(\tau) = \sigma^2 \prod_j \frac{1}{1 + \tau_j^2 / \ell_j^2}

    Its frequencies are independent Laplace variables on each axis.
    """

    def axis_correlation(self, t: FloatArray) -> FloatArray:
        return 1 / (1 + t**2)

    def axis_decay(self, t: FloatArray) -> FloatArray:
        return 2 * t**2 / (1 + t**2)

    def axis_density(self, w: FloatArray) -> FloatArray:
        return np.exp(-np.abs(w)) / 2

    def axis_quantile(self, u: FloatArray) -> FloatArray:
        return -np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5))
