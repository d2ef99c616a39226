"""Batches of small matrices against numpy's own algebra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.kernels import Linear, Matern
from bochner.neighbours import batches, limits


@pytest.fixture
def matrices():
    """Seven positive definite matrices of nine rows, whole and packed."""
    a = np.random.default_rng(0).normal(size=(7, 9, 12))
    whole = a @ a.swapaxes(1, 2)
    rows, columns = np.tril_indices(9)
    return whole, np.ascontiguousarray(whole[:, rows, columns].T)


def test_cholesky_and_solves(matrices):
    """Factor with a diagonal added, and both triangular solves."""
    whole, packed = matrices
    added = np.random.default_rng(1).uniform(size=(9, 7))
    expected = np.linalg.cholesky(whole + np.einsum("kb,kj->bkj", added, np.eye(9)))
    factor = batches.cholesky(packed, added)
    assert_allclose(factor.transpose(2, 0, 1), expected, atol=1e-12)

    columns = np.random.default_rng(2).normal(size=(3, 9, 7))
    lower, upper = batches.solve_lower(factor, columns), batches.solve_upper(factor, columns)
    assert_allclose(np.einsum("ijb,pjb->pib", factor, lower), columns, atol=1e-11)
    assert_allclose(np.einsum("jib,pjb->pib", factor, upper), columns, atol=1e-11)


def test_multiply(matrices):
    """Packed symmetric times vector."""
    whole, packed = matrices
    vector = np.random.default_rng(3).normal(size=(9, 7))
    assert_allclose(batches.multiply(packed, vector), np.einsum("bij,jb->ib", whole, vector), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Matern(0.7), Matern((0.5, 2.0), nu=0.5) + Linear()])
def test_pairs_give_the_kernel_matrix(kernel):
    """A kernel asked by pairs answers as for whole sets of places."""
    places = np.random.default_rng(4).normal(size=(2, 5, 3))
    rows, columns = np.tril_indices(5)
    packed = batches.packed(kernel.covariance(*batches.pairs(places)))
    expected = kernel.covariance(places.transpose(2, 1, 0), places.transpose(2, 1, 0))
    assert_allclose(packed.T, expected[:, rows, columns], rtol=1e-12)


def test_singular_matrix_is_lifted():
    """Repeated rows without noise leave a factor that is finite and still reproduces the matrix."""
    factor = batches.cholesky(np.ones((6, 1)), np.zeros((3, 1)))[:, :, 0]
    assert_allclose(factor @ factor.T, np.ones((3, 3)), atol=1e-12)
    assert (np.diag(factor) > 0).all()


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_batches_cover_all_in_order(n):
    """Every index once, in order, however many threads."""
    parts = list(batches.in_batches(lambda batch: np.arange(n)[batch], n, 60))
    assert np.array_equal(np.concatenate([np.arange(0), *parts]), np.arange(n))


def test_memory_of_a_batch_is_bounded():
    """Large matrices come a few at a time."""
    for k in (2, 21, 101, 1000):
        assert batches.batch_size(k) * k * (k + 1) / 2 <= limits.LARGEST_ENTRIES
