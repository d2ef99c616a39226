"""Which axes are measured together, and in which units they compare: kilometres and days are not the same thing."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import anisotropy, limits
from bochner.kernels.anisotropy import turned
from bochner.kernels.base import Kernel
from bochner.kernels.on_axes import OnAxes


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

    Of a kernel that is stretched along turned axes it is a matrix W, (dim, dim), by which places are `measured`; where
    parts are turned unlike, along those of the part that makes the field most unlike. Neighbours are sought in these
    units.
    """
    dim = len(extent)
    groups = axis_groups(kernel, dim)
    if not kernel.stationary or not groups:
        return None
    frame, unit, unlike = np.eye(dim), np.array(extent, dtype=float), False  # an axis it does not see counts little
    for group in map(list, groups):
        tried = [(rows, _reaches(kernel, rows, extent)) for rows in _frames(kernel, group, dim)]
        rows, found = max(tried, key=lambda each: each[1].max() / each[1].min())
        if found.max() > limits.UNLIKE_AXES * found.min():
            frame[group], unit[group], unlike = rows, found, True
        else:
            unit[group] = tried[0][1][0]
    if not unlike and len(groups[0]) == dim:
        return None
    return unit if np.array_equal(frame, np.eye(dim)) else frame / unit[:, None]


def _frames(kernel: Kernel, group: list[int], dim: int) -> list[FloatArray]:
    """Directions, one a row, along which the field may change unlike: the axes of a group, and those of its parts."""
    frames = [np.eye(dim)[group]]
    for leaf in kernel.leaves():
        axes, inner = (leaf.seen_axes(dim), leaf.kernel) if isinstance(leaf, OnAxes) else (tuple(range(dim)), leaf)
        if sorted(axes) == group and getattr(inner, "rotation", None) is not None:
            rows = np.zeros((len(group), dim))
            rows[:, list(axes)] = anisotropy.axes(inner.rotation, len(group)).T  # type: ignore[attr-defined]
            frames.append(rows)
    return frames


def measured(places: FloatArray, units: FloatArray | None) -> FloatArray:
    """Places (..., dim) in units of the axes, or along others."""
    if units is None:
        return places
    return places / units if units.ndim == 1 else turned(places, units)


def reaches(kernel: Kernel, extent: FloatArray) -> FloatArray:
    """How far along each axis, (dim,), a shift-invariant kernel has fallen by a good part."""
    return _reaches(kernel, np.eye(len(extent)), extent)


def _reaches(kernel: Kernel, directions: FloatArray, extent: FloatArray) -> FloatArray:
    """The same along directions, one a row."""
    return np.array([_reach(kernel, direction, float(np.abs(direction) @ extent)) for direction in directions])


def _reach(kernel: Kernel, direction: FloatArray, extent: float) -> float:
    lags = (extent if extent > 0 else 1.0) * np.logspace(-5, 1, 200)
    covariance = kernel.lag_covariance(lags[:, None] * direction)
    at_zero = float(kernel.lag_covariance(np.zeros((1, len(direction))))[0])
    # what does not change along this direction is no part of the fall
    level = limits.FALLEN * at_zero + (1 - limits.FALLEN) * float(covariance.min())
    return float(lags[int(np.argmax(covariance <= level))])
