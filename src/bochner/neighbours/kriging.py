"""Kriging from the nearest observations only."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.neighbours import batches
from bochner.neighbours.replicates import merge

JITTER = 1e-10  # least noise, relative to the variance of the field


class Covariance(Protocol):
    """Anything that gives covariances as a kernel does."""

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Covariances of places x (..., n, dim) with places z (..., m, dim): (..., n, m)."""
        ...


def local_kriging(
    kernel: Covariance,
    noise: FloatArray | float,
    coords: FloatArray,
    residual: FloatArray,
    targets: FloatArray,
    n_neighbours: int = 60,
    scales: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a zero-mean field, each target from its nearest observations.

    Rows at the same place are merged first, so that no target spends its neighbours on one place.

    Parameters
    ----------
    kernel : Covariance
        A kernel, or any object with its `covariance`; it is asked for batches of pairs, x and z of (p, b, 1, dim).
    noise : float or array, shape (n,)
        Noise variance of each row; lifted to 1e-10 of the field's variance.
    coords, residual : array, shapes (n, dim) and (n,)
        Observations: where, and what is left of them without the trend.
    targets : array, shape (m, dim)
        Places to predict.
    n_neighbours : int
        Observations per target; all of them give the exact Gaussian process.
    scales : array, shape (dim,), optional
        Unit of each axis in which neighbours are near (default: as the coordinates are).

    Returns
    -------
    mean, variance : array, shape (m,)
        Of the field without noise. Cost m k^3 in batches: memory does not grow with m.
    """
    prior = kernel.covariance(coords[:, None, :], coords[:, None, :])[:, 0, 0]
    places = merge(coords, residual, 1 / np.maximum(noise, JITTER * prior + 1e-300))
    known, values, variances = coords[places.rows], places.mean, 1 / places.weight
    unit = np.ones(coords.shape[1]) if scales is None else scales
    tree = cKDTree(known / unit)
    k = min(n_neighbours, len(known))

    def krige(batch: slice) -> FloatArray:
        rows = tree.query(targets[batch] / unit, k=np.arange(1, k + 1))[1].T  # (k, b)
        corners = np.concatenate([known[rows], targets[None, batch]]).transpose(2, 0, 1)
        covariance = batches.packed(kernel.covariance(*batches.pairs(corners)))
        noises = np.concatenate([variances[rows], np.zeros((1, rows.shape[1]))])
        factor = batches.cholesky(covariance, noises)
        (whitened,) = batches.solve_lower(factor[:k, :k], values[None, rows])
        # The last row of the factor is k*' L^-T, and its pivot the conditional sd.
        return np.stack([np.einsum("kb,kb->b", factor[k, :k], whitened), factor[k, k] ** 2])

    done = list(batches.in_batches(krige, len(targets), k + 1))
    mean, variance = np.concatenate(done, axis=1) if done else np.empty((2, 0))
    return mean, variance


def nearest_sd(
    kernel: Covariance,
    noise: FloatArray | float,
    coords: FloatArray,
    targets: FloatArray,
    n_neighbours: int = 60,
    scales: FloatArray | None = None,
) -> FloatArray:
    """Standard deviation of the field at the targets, given the nearest observations; see `local_kriging`."""
    _, variance = local_kriging(kernel, noise, coords, np.zeros(len(coords)), targets, n_neighbours, scales)
    return np.sqrt(variance)
