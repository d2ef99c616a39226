"""Outliers and the scatter of close pairs: do single rows fit what was learned of all?"""

from __future__ import annotations

import numpy as np
from scipy import special
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.inference import limits
from bochner.inference.fits.local_folds import residual_beside
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, axis_units, measured, total_variance
from bochner.neighbours import close_pairs, left_out
from bochner.random import generator
from bochner.resources import n_searchers


def outliers(kernel: Kernel, noise_variance: float, obs: Observations, seed: int) -> IntArray:
    """Rows that lie far from what their nearest others predict, in a unit that outliers do not widen.

    The unit is local: along a front, or in mountains, where all rows are badly predicted, none is an outlier.
    A row beside an outlier is badly predicted too; so suspects are predicted again, from rows that are none. None are
    found of kernels to which near rows are no nearer than others, and no row that alone tells an effect of the trend.
    """
    n, rows = len(obs), np.flatnonzero(~obs.alone)
    if len(rows) < limits.MIN_CHECKED_ROWS or obs.rows.has_areas or not kernel.stationary:
        return np.empty(0, dtype=np.intp)
    if len(rows) > limits.MAX_CHECKED_ROWS:
        rows = np.sort(generator(seed, "checked rows").choice(rows, limits.MAX_CHECKED_ROWS, replace=False))
    residual = residual_beside(kernel, noise_variance, obs)
    z = _standardised(kernel, noise_variance, obs, residual, rows, np.arange(n))
    far = _far(kernel, obs, rows, np.abs(z))
    bad = np.abs(z) > far
    suspects, far = rows[bad], far[bad]
    innocent = np.setdiff1d(np.arange(n), suspects)
    if not len(suspects) or len(innocent) <= limits.OUTLIER_NEIGHBOURS:
        return suspects
    again = _standardised(kernel, noise_variance, obs, residual, suspects, innocent)
    return suspects[np.abs(again) > far]


def _far(kernel: Kernel, obs: Observations, rows: IntArray, off: FloatArray) -> FloatArray:
    """How far off a row must be, (n,): by the median of all rows, and that of the rows around it where it is more."""
    normal = float(special.ndtri(0.75))
    typical = min(1.0, float(np.median(off)) / normal)
    far = np.full(len(rows), max(limits.OUTLIER * typical, limits.OUTLIER_OF_MODEL))
    doubted = np.flatnonzero(off > far)  # of the others it makes no difference what lies around
    if not len(doubted):
        return far
    coords = obs.rows.coords[rows]
    units = axis_units(kernel, np.ptp(coords, axis=0))
    places = measured(coords, units)
    n_around = min(1 + limits.OUTLIER_AROUND, len(rows))
    around = cKDTree(places).query(places[doubted], n_around, workers=n_searchers(len(doubted)))[1][:, 1:]
    local = np.median(off[around], axis=1) / normal
    far[doubted] = np.maximum(far[doubted], limits.OUTLIER_OF_NEAR * local)
    return far


def pair_scatter(kernel: Kernel, noise_variance: float, obs: Observations) -> float | None:
    """Scatter of close pairs relative to what the noise and the field let expect, as a ratio of sds; about 1.

    By a quantile, so that outliers make no difference; exact copies of a row are left out. None of few pairs.
    """
    if len(obs) < limits.MIN_CHECKED_ROWS or obs.rows.has_areas or not kernel.stationary:
        return None
    units = axis_units(kernel, np.ptp(obs.rows.coords, axis=0))
    first, second = close_pairs(measured(obs.rows.coords, units)).T
    coords, error = obs.rows.coords, obs.copy_variance(noise_variance) / obs.weight
    residual = residual_beside(kernel, noise_variance, obs)
    told = (residual[first] != residual[second]) | np.any(coords[first] != coords[second], axis=1)
    first, second = first[told], second[told]
    if len(first) < limits.MIN_PAIRS:
        return None
    fallen = total_variance(kernel) - kernel.lag_covariance(coords[first] - coords[second])
    expected = error[first] + error[second] + 2 * np.maximum(fallen, 0.0)
    off = np.abs(residual[first] - residual[second]) / np.sqrt(np.maximum(expected, 1e-300))
    ratio = float(np.quantile(off, limits.PAIR_SHARE) / special.ndtri((1 + limits.PAIR_SHARE) / 2))
    by_noise = float(np.median(2 * noise_variance / np.maximum(expected, 1e-300)))
    # known errors, or a field that changes between the two, may be what did not show: that says nothing of the noise
    return None if ratio < 1 and by_noise < limits.PAIR_NOISE else ratio


def _standardised(
    kernel: Kernel, noise_variance: float, obs: Observations, residual: FloatArray, rows: IntArray, others: IntArray
) -> FloatArray:
    coords, error = obs.rows.coords, obs.copy_variance(noise_variance)
    units = axis_units(kernel, np.ptp(coords, axis=0))
    k = min(limits.OUTLIER_NEIGHBOURS, len(others) - 1)
    mean, variance = left_out(kernel, error / obs.weight, coords, residual, rows, others, k, units)
    return np.asarray((residual[rows] - mean) / np.sqrt(np.maximum(variance + error[rows], 1e-300)))
