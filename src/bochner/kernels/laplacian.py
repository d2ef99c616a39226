"""The Laplacian kernel: exponential in the L1 distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels.stationary import AxisKernel


@dataclass(frozen=True, repr=False)
class Laplacian(AxisKernel):
    r"""Laplacian kernel, rough along each axis.

    .. math:: k(\tau) = \sigma^2 \exp\Big(-\sum_j |\tau_j| / \ell_j\Big)

    Its frequencies are independent Cauchy variables on each axis.
    """

    def axis_correlation(self, t: FloatArray) -> FloatArray:
        return np.exp(-np.abs(t))

    def axis_decay(self, t: FloatArray) -> FloatArray:
        return np.abs(t)

    def axis_density(self, w: FloatArray) -> FloatArray:
        return 1 / (np.pi * (1 + w**2))

    def axis_quantile(self, u: FloatArray) -> FloatArray:
        return np.tan(np.pi * (u - 0.5))
