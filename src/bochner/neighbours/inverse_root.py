"""A sparse root of the inverse covariance: Vecchia's approximation as a matrix."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray
from bochner.kernels import measured
from bochner.neighbours import batches
from bochner.neighbours.compiled import CompiledKernel, compiled_kernel, in_runs, loops
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
    W and W' are all that a preconditioner needs: nothing is ever solved. Cost n k^3, memory n k. Rows of W are those of
    `coords`: where these go along axes, products pass near places one after the other, some three times as fast.
    """
    near = measured(coords, scales)
    order = maximin_order(near, seed)
    return whitening_rows(kernel, noise, coords, order, n_neighbours, np.argsort(order), near)


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
    ready = compiled_kernel(kernel, coords.shape[1], len(targets))
    if ready is not None:
        return _compiled_rows(ready, noise, coords, targets, neighbours)

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
    return _sparse(columns, values, len(coords))


def _compiled_rows(
    kernel: CompiledKernel, noise: FloatArray, coords: FloatArray, targets: IntArray, neighbours: IntArray
) -> sparse.csr_array:
    size = neighbours.shape[1] + 1
    columns, values = np.empty((len(targets), size), dtype=np.int32), np.empty((len(targets), size))
    places, noise = np.ascontiguousarray(coords), np.ascontiguousarray(np.broadcast_to(noise, (len(coords),)))

    def whiten(run: slice) -> None:
        given = np.ascontiguousarray(neighbours[run], dtype=np.int64)
        found = np.empty((len(given), size), dtype=np.int64)
        loops().whitening(*kernel, places, noise, targets[run], given, found, values[run])
        columns[run] = found

    in_runs(whiten, len(targets))
    return _sparse(columns, values, len(coords))


def _sparse(columns: IntArray, values: FloatArray, n: int) -> sparse.csr_array:
    """Sparse rows from columns, -1 where there is none, and values, both (t, k)."""
    kept = columns >= 0
    pointer = np.r_[0, np.cumsum(kept.sum(axis=1))]
    values = values[kept]
    index = np.int32 if max(n, len(values)) < 2**31 else np.int64
    columns = columns[kept].astype(index, copy=False)
    return sparse.csr_array((values, columns, pointer.astype(index)), shape=(len(pointer) - 1, n))
