"""Rows left out one by one: each predicted from its nearest others."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.kernels import measured
from bochner.neighbours import batches
from bochner.neighbours.compiled import compiled_kernel
from bochner.neighbours.nearest_kriging import Covariance, compiled_kriging, least_noise


def left_out(
    kernel: Covariance,
    noise: FloatArray,
    coords: FloatArray,
    residual: FloatArray,
    rows: IntArray,
    others: IntArray,
    n_neighbours: int,
    scales: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a zero-mean field at some rows, each from the nearest of `others` but itself.

    Parameters
    ----------
    kernel : Covariance
        A kernel, or any object with its `covariance`.
    noise : array, shape (n,)
        Noise variance of each row; lifted to 1e-11 of the field's variance.
    coords, residual : array, shapes (n, dim) and (n,)
        Observations: where, and what is left of them without the trend.
    rows, others : array of int
        Rows to predict, and rows to predict them from. They may have rows in common.
    n_neighbours : int
        Rows that each is predicted from; there must be one more than that of the others.
    scales : array, shape (dim,) or (dim, dim), optional
        In which neighbours are near, as `local_kriging` takes them.

    Returns
    -------
    mean, variance : array, shape (len(rows),)
        Of the field without noise. Cost m k^3 in batches.
    """
    near = measured(coords, scales)
    tree = cKDTree(near[others])

    def given(run: slice) -> IntArray:
        """Rows (b, k) that some are predicted from."""
        found = others[tree.query(near[rows[run]], k=np.arange(1, n_neighbours + 2))[1]]
        first = np.argsort(found == rows[run, None], axis=1, kind="stable")[:, :n_neighbours]
        return np.asarray(np.take_along_axis(found, first, axis=1))

    noise = np.maximum(noise, least_noise(kernel, coords))
    ready = compiled_kernel(kernel, coords.shape[1], len(rows))
    if ready is not None:
        return compiled_kriging(ready, noise, coords, residual, coords[rows], given)

    def krige(batch: slice) -> FloatArray:
        known = given(batch).T
        corners = np.concatenate([coords[known], coords[None, rows[batch]]]).transpose(2, 0, 1)
        covariance = batches.packed(kernel.covariance(*batches.pairs(corners)))
        factor = batches.cholesky(covariance, np.concatenate([noise[known], np.zeros((1, known.shape[1]))]))
        (whitened,) = batches.solve_lower(factor[:-1, :-1], residual[known][None])
        return np.stack([np.einsum("kb,kb->b", factor[-1, :-1], whitened), factor[-1, -1] ** 2])

    done = list(batches.in_batches(krige, len(rows), n_neighbours + 1))
    mean, variance = np.concatenate(done, axis=1) if done else np.empty((2, 0))
    return mean, variance
