"""Which axes are measured together, and in which units they compare: kilometres and days are not the same thing."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import limits
from bochner.kernels.anisotropy import turned
from bochner.kernels.base import Kernel
from bochner.kernels.turning import along, own_axes


def axis_groups(kernel: Kernel, dim: int) -> list[tuple[int, ...]]:
    """Axes that share a measure of lags: one group of all axes, or space and time apart."""
    together: dict[str, set[int]] = {}
    for h in kernel.hyperparameters:
        if h.role.measures_lags:
            together.setdefault(h.name.partition("[")[0], set()).update(h.axes(dim))
    groups: list[set[int]] = []
    for axes in together.values():
        touched = [g for g in groups if g & axes]
        groups = [g for g in groups if g not in touched] + [axes.union(*touched)]
    return [tuple(sorted(g)) for g in sorted(groups, key=min)]


def axis_units(kernel: Kernel, extent: FloatArray) -> FloatArray | None:
    """Unit of each axis, (dim,), in which lags mean the same to the kernel; None if all axes share one, or nearly.

    Of a kernel that is stretched along turned axes it is a matrix W, (dim, dim), by which places are `measured`.
    Neighbours are sought in these units.
    """
    dim = len(extent)
    groups = axis_groups(kernel, dim)
    if not kernel.stationary or not groups:
        return None
    own = own_axes(kernel, dim)
    if own is not None:
        unit = reaches(along(kernel, own), np.abs(own) @ extent)
        return own / unit[:, None] if unit.max() > limits.UNLIKE_AXES * unit.min() else None
    if groups == [tuple(range(dim))]:
        unit = reaches(kernel, extent)
        return unit if unit.max() > limits.UNLIKE_AXES * unit.min() else None
    unit = np.array(extent, dtype=float)  # an axis that the kernel does not see counts little
    for group in groups:
        unit[list(group)] = _reach(kernel, group[0], extent)
    return unit


def measured(places: FloatArray, units: FloatArray | None) -> FloatArray:
    """Places (..., dim) in units of the axes, or along others."""
    if units is None:
        return places
    return places / units if units.ndim == 1 else turned(places, units)


def reaches(kernel: Kernel, extent: FloatArray) -> FloatArray:
    """How far along each axis, (dim,), a shift-invariant kernel has fallen by a good part."""
    return np.array([_reach(kernel, axis, extent) for axis in range(len(extent))])


def _reach(kernel: Kernel, axis: int, extent: FloatArray) -> float:
    size = float(extent[axis]) if extent[axis] > 0 else 1.0
    lag = np.zeros((200, len(extent)))
    lag[:, axis] = size * np.logspace(-5, 1, 200)
    covariance = kernel.lag_covariance(lag)
    at_zero = float(kernel.lag_covariance(np.zeros((1, len(extent))))[0])
    # what does not change along this axis is no part of the fall
    level = limits.FALLEN * at_zero + (1 - limits.FALLEN) * float(covariance.min())
    return float(lag[int(np.argmax(covariance <= level)), axis])
