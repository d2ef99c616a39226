"""A sparse root of the inverse covariance: Vecchia's approximation as a matrix."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray
from bochner.neighbours import batches
from bochner.neighbours.nearest_kriging import Covariance
from bochner.neighbours.ordering import maximin_order, predecessors


def inverse_root(
    kernel: Covariance,
    noise: FloatArray,
    coords: FloatArray,
    n_neighbours: int = 20,
    scales: FloatArray | None = None,
    seed: int = 0,
) -> sparse.csr_array:
    """Sparse W, (n, n), with W'W close to the inverse of K + diag(noise).

    Each row whitens one observation given its nearest predecessors in a coarse-to-fine order. Products with
    W and W' are all that a preconditioner needs: nothing is ever solved. Cost n k^3, memory n k.
    """
    near = coords if scales is None else coords / scales
    order = maximin_order(near, seed)
    return whitening_rows(kernel, noise, coords, order, n_neighbours, np.arange(len(order)), near)


def whitening_rows(
    kernel: Covariance,
    noise: FloatArray,
    coords: FloatArray,
    order: IntArray,
    n_neighbours: int,
    positions: IntArray,
    near: FloatArray | None = None,
) -> sparse.csr_array:
    """Rows of W for the places at some positions of an order, (len(positions), n)."""
    neighbours = predecessors(coords if near is None else near, order, n_neighbours, positions)
    targets = order[positions]

    def rows_of(batch: slice) -> tuple[IntArray, FloatArray]:
        rows = np.vstack([neighbours[batch].T, targets[batch]])  # (k + 1, b), the target last
        present = rows >= 0
        covariance = batches.packed(kernel.covariance(*batches.pairs(coords.T[:, rows])))
        if not present.all():
            a, b = np.tril_indices(len(rows))
            covariance = np.where(present[a] & present[b], covariance, 0.0)
        factor = batches.cholesky(covariance, np.where(present, noise[rows], 1.0))
        last = np.zeros((1, *rows.shape))
        last[0, -1] = 1.0
        # C w is a multiple of the last unit vector: w'y is the whitened residual of the target
        (w,) = batches.solve_upper(factor, last)
        return rows.T, np.where(present, w, 0.0).T

    parts = list(batches.in_batches(rows_of, len(targets), neighbours.shape[1] + 1))
    columns = np.concatenate([rows for rows, _ in parts])
    values = np.concatenate([w for _, w in parts])
    kept = columns >= 0
    pointer = np.r_[0, np.cumsum(kept.sum(axis=1))].astype(np.int32)
    return sparse.csr_array((values[kept], columns[kept].astype(np.int32), pointer), shape=(len(targets), len(coords)))
