"""Kernels whose length scales lie along turned axes, seen along these."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import anisotropy, limits
from bochner.kernels.base import Kernel, Product, Sum
from bochner.kernels.stationary import IsotropicKernel


def own_axes(kernel: Kernel, dim: int) -> FloatArray | None:
    """Axes (dim, dim), one a row, along which all parts of a kernel with turned ones have length scales.

    None where nothing is turned, or parts are turned unlike, or made of other functions than those of a distance.
    """
    leaves = _leaves(kernel)
    turned = [leaf for leaf in leaves or () if leaf.rotation is not None]
    if leaves is None or not turned:
        return None
    first = max(turned, key=lambda leaf: np.ptp(np.log(leaf.length_scale)))
    assert first.rotation is not None
    own = anisotropy.axes(first.rotation, dim).T
    for leaf in leaves:
        metric = own @ _metric(leaf, dim) @ own.T
        size = np.sqrt(np.diag(metric))
        across = metric - np.diag(np.diag(metric))
        if np.any(np.abs(across) > limits.SAME_AXES * np.outer(size, size)):
            return None
    return own


def along(kernel: Kernel, own: FloatArray) -> Kernel:
    """The kernel of places that are told along its own axes."""
    if isinstance(kernel, (Sum, Product)):
        return kernel.replace(k1=along(kernel.k1, own), k2=along(kernel.k2, own))
    assert isinstance(kernel, IsotropicKernel)
    if not isinstance(kernel.length_scale, tuple):
        return kernel
    lengths = 1 / np.sqrt(np.diag(own @ _metric(kernel, len(own)) @ own.T))
    return kernel.replace(length_scale=tuple(float(l) for l in lengths), rotation=None)


def _leaves(kernel: Kernel) -> list[IsotropicKernel] | None:
    """Parts of sums and products; None where one is no function of a distance."""
    if isinstance(kernel, (Sum, Product)):
        first, second = _leaves(kernel.k1), _leaves(kernel.k2)
        return None if first is None or second is None else first + second
    return [kernel] if isinstance(kernel, IsotropicKernel) else None


def _metric(leaf: IsotropicKernel, dim: int) -> FloatArray:
    """M of the squared scaled distance tau' M tau."""
    if leaf.rotation is None:
        return np.diag(np.ones(dim) / np.square(leaf.length_scale))
    assert isinstance(leaf.length_scale, tuple)
    w = anisotropy.whitening(leaf.length_scale, leaf.rotation)
    return np.asarray(w.T @ w)
