"""Many small covariance matrices at once: factor, solve and multiply, with the batch on the last axis.

One numpy call then works on one entry of all the matrices: twice as fast as `numpy.linalg` for 20 rows,
as fast for 100, and a pivot lost to rounding is lifted instead of failing the whole batch. Symmetric
matrices are packed: the lower triangle row by row, shape (k (k + 1) / 2, b).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.neighbours import limits
from bochner.resources import block_bytes, current, in_threads

T = TypeVar("T")


def in_batches(work: Callable[[slice], T], n: int, k: int) -> Iterator[T]:
    """`work` on slices of n matrices with k rows, in order; threads share it, memory is bounded."""
    size = batch_size(k)
    return in_threads(work, (slice(start, min(start + size, n)) for start in range(0, n, size)))


def batch_size(k: int) -> int:
    """How many matrices with k rows to take at once."""
    n_pairs = k * (k + 1) // 2
    # under a limit, room for the factor and for the ends of every pair of places as well
    largest = limits.LARGEST_ENTRIES if current().memory_limit is None else block_bytes() // 128
    return max(1, limits.CACHED_ENTRIES // n_pairs, min(limits.EFFICIENT_BATCH, largest // n_pairs))


def pairs(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both ends of every pair of places, (dim, k, b) -> twice (k (k + 1) / 2, b, 1, dim), for a kernel."""
    rows, columns = np.tril_indices(places.shape[1])
    x, z = (places[:, ends].transpose(1, 2, 0)[:, :, None, :] for ends in (rows, columns))
    return x, z


def packed(covariance: FloatArray) -> FloatArray:
    """What a kernel gives for `pairs`, (k (k + 1) / 2, b, 1, 1), without its last axes."""
    return covariance[:, :, 0, 0]


def cholesky(matrix: FloatArray, added_diagonal: FloatArray) -> FloatArray:
    """Lower Cholesky factors (k, k, b) of packed matrices plus diagonals (k, b)."""
    k, b = added_diagonal.shape
    factor = np.zeros((k, k, b))
    factor[np.tril_indices(k)] = matrix
    factor[np.diag_indices(k)] += added_diagonal
    for j in range(k):
        smallest = limits.SMALLEST_PIVOT * factor[j, j]
        if j:
            factor[j:, j] -= np.einsum("ipb,pb->ib", factor[j:, :j], factor[j, :j])
        factor[j, j] = np.sqrt(np.maximum(factor[j, j], smallest))
        factor[j + 1 :, j] /= factor[j, j]
    return factor


def solve_lower(factor: FloatArray, columns: FloatArray) -> FloatArray:
    """L^-1 z for columns z of shape (p, k, b)."""
    z = columns.copy()
    for j in range(z.shape[1]):
        if j:
            z[:, j] -= np.einsum("pib,ib->pb", z[:, :j], factor[j, :j])
        z[:, j] /= factor[j, j]
    return z


def solve_upper(factor: FloatArray, columns: FloatArray) -> FloatArray:
    """L^-T z for columns z of shape (p, k, b)."""
    z = columns.copy()
    last = z.shape[1] - 1
    for j in range(last, -1, -1):
        if j < last:
            z[:, j] -= np.einsum("pib,ib->pb", z[:, j + 1 :], factor[j + 1 :, j])
        z[:, j] /= factor[j, j]
    return z


def multiply(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Packed symmetric matrices times vectors (k, b)."""
    product = np.empty_like(vector)
    start = 0
    for i in range(len(vector)):
        row = matrix[start : start + i + 1]
        product[i] = np.einsum("jb,jb->b", row, vector[: i + 1])
        product[:i] += row[:i] * vector[i]
        start += i + 1
    return product
