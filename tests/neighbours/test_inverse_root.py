"""The sparse inverse root and the draws made with it, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.kernels import Matern
from bochner.neighbours import conditional_draws, inverse_root


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_with_all_neighbours_it_is_the_inverse(dim):
    rng = np.random.default_rng(dim)
    X, noise = rng.uniform(size=(40, dim)), rng.uniform(0.1, 0.5, size=40)
    kernel = Matern(0.3, 2.0)
    root = inverse_root(kernel, noise, X, n_neighbours=39)
    assert_allclose((root.T @ root).toarray(), np.linalg.inv(kernel(X) + np.diag(noise)), atol=1e-8)


def test_with_few_neighbours_it_is_a_good_preconditioner():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 2))
    kernel = Matern(0.3, nu=0.5)
    root = inverse_root(kernel, np.full(600, 1e-3), X, n_neighbours=15).toarray()
    values = np.linalg.eigvalsh(root @ (kernel(X) + 1e-3 * np.eye(600)) @ root.T)
    assert values.max() / values.min() < 20  # the matrix itself: more than 10,000


def test_draws_have_the_posterior_covariance():
    rng = np.random.default_rng(1)
    X, T = rng.uniform(size=(60, 2)), rng.uniform(size=(15, 2))
    kernel = Matern(0.3)
    draws = conditional_draws(kernel, np.full(60, 0.05), X, T, 20_000, rng, n_neighbours=80)
    S = kernel(X) + 0.05 * np.eye(60)
    exact = kernel(T) - kernel(T, X) @ np.linalg.solve(S, kernel(X, T))
    # covariances of 20,000 draws have a standard error of about 1 / sqrt(20,000) of the variances
    assert_allclose(np.cov(draws.T), exact, atol=5 / np.sqrt(20_000) * exact.diagonal().max())
    assert_allclose(draws.mean(axis=0), 0, atol=5 * np.sqrt(exact.diagonal().max() / 20_000))
