"""Data scales: extent, spacing and variance of the observations, from which tuning takes bounds, starts and priors."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, box_of
from bochner.exceptions import InputError
from bochner.inference.observed import limits
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.kernels import Kernel, Scale, axis_groups
from bochner.neighbours.replicates import groups
from bochner.random import generator
from bochner.resources import n_threads


def scale_of(obs: Observations) -> Scale:
    """Sizes of the observed places and responses; copies and weights make no difference to the places."""
    coords = obs.rows.coords
    low, high = box_of(coords)
    extent = high - low
    fill = extent.max() if extent.max() > 0 else 1.0
    extent = np.where(extent > 0, extent, fill)
    every = max(1, len(coords) // limits.MAX_SPACING_PLACES)
    # of every k-th row the nearest other is farther away, by the k-th part of the space
    thinned = every ** (-1 / len(extent))
    some = coords[::every]
    spacing = _spacing(some[groups(some)[0]] / extent) * thinned
    return Scale(extent, spacing, variance_about_trend(obs), float(np.median(obs.error)))


def unit_of(responses: Responses) -> float:
    """Unit of responses so tiny or huge that squares of squares leave the range of doubles: a power of two; else 1."""
    kept = responses.weight > 0
    if not responses.family.additive or not kept.any():
        return 1.0
    size = float(np.max(np.abs(responses.y - responses.offset)[kept]))
    if size == 0 or limits.ORDINARY_SIZES[0] < size < limits.ORDINARY_SIZES[1]:
        return 1.0
    if not limits.HELD_SIZES[0] < size < limits.HELD_SIZES[1]:
        raise InputError(
            f"y scatters by {size:.1g} about its level: no double can hold the variance of that. Give y in another "
            f"unit: divide it by {size:.0e}."
        )
    return float(2.0 ** np.round(np.log2(size)))


def spacing_units(kernel: Kernel, coords: FloatArray) -> FloatArray | None:
    """Unit of each axis in which rows lie equally apart, where the kernel measures axes apart (space and time).

    Each group of axes gets cells in proportion to its distinct places, as many in all as there are rows.
    """
    n, dim = coords.shape
    groups = axis_groups(kernel, dim)
    if len(groups) < 2:
        return None
    counts = [len(np.unique(coords[:, list(g)], axis=0)) for g in groups]
    power = np.log(n) / max(float(np.sum(np.log(counts))), 1e-9)
    unit = np.maximum(np.ptp(coords, axis=0), 1e-300)
    for group, count in zip(groups, counts, strict=True):
        unit[list(group)] = np.max(unit[list(group)]) * float(count) ** (-power / len(group))
    return unit


def _spacing(unit_places: FloatArray) -> float:
    n, dim = unit_places.shape
    if n < 2:
        return 0.1
    asked = unit_places
    if dim > limits.TREE_DIMENSIONS and n > limits.SPACED_ROWS:  # a tree hardly helps there: some rows tell
        asked = unit_places[generator(0, "spaced rows").choice(n, limits.SPACED_ROWS, replace=False)]
    nearest = cKDTree(unit_places).query(asked, k=2, workers=n_threads())[0][:, 1]
    typical = float(np.median(nearest))
    # clusters of near-duplicates must not push the bound to nothing
    return float(np.clip(typical, 1e-3 * n ** (-1 / dim), 0.5))


def crowding(coords: FloatArray, weight: FloatArray) -> float:
    """How much more often two rows share a small cell of the box than if they were spread evenly; at least 1."""
    dim = coords.shape[1]
    side = max(int(limits.CROWD_CELLS ** (1 / dim)), 1)
    low, high = box_of(coords)
    unit = (coords - low) / np.where(high > low, high - low, 1.0)
    cell = np.ravel_multi_index(tuple(np.minimum((unit * side).astype(int), side - 1).T), (side,) * dim)
    share = np.bincount(cell, weight) / max(float(weight.sum()), 1e-300)
    alone = float(np.sum(weight**2)) / max(float(weight.sum()) ** 2, 1e-300)
    return float(max(1.0, (np.sum(share**2) - alone) * side**dim))


def residual_of(obs: Observations) -> FloatArray:
    """Responses without the trend that fits them best."""
    X, y, w = obs.rows.trend, obs.y, obs.weight
    if not X.shape[1]:
        return y
    weighted = X * w[:, None]
    coef = np.linalg.lstsq(weighted.T @ X, weighted.T @ y, rcond=None)[0]
    return np.asarray(y - X @ coef)


def variance_about_trend(obs: Observations) -> float:
    """Of the responses, copies counted."""
    return float((np.sum(obs.weight * residual_of(obs) ** 2) + obs.scatter.sum()) / obs.total)
