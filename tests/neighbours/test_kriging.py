"""Kriging from the nearest observations against the exact Gaussian process."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.kernels import Matern, SquaredExponential
from bochner.neighbours import left_out, local_kriging, nearest_sd

every_dimension = pytest.mark.parametrize("dim", [1, 2, 3])


def exact(kernel, noise, coords, residual, targets):
    """Mean and variance by dense algebra."""
    covariance = kernel(coords) + np.diag(np.broadcast_to(noise, len(coords)))
    cross = kernel(targets, coords)
    solved = np.linalg.solve(covariance, cross.T)
    return solved.T @ residual, kernel.diag(targets) - np.sum(cross * solved.T, axis=1)


def observations(n, dim, seed=0):
    """Places, values, and targets inside and outside."""
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, dim)), rng.normal(size=n), rng.uniform(-0.5, 1.5, size=(40, dim))


@every_dimension
@pytest.mark.parametrize("n", [1, 7, 50])
def test_all_neighbours_give_the_exact_process(dim, n):
    """More neighbours than rows, one row included; noise of its own for each."""
    coords, residual, targets = observations(n, dim)
    noise = np.linspace(0.05, 0.5, n)
    kernel = Matern(0.5, variance=2.0)
    mean, variance = local_kriging(kernel, noise, coords, residual, targets)
    expected_mean, expected_variance = exact(kernel, noise, coords, residual, targets)
    assert_allclose(mean, expected_mean, atol=1e-10)
    assert_allclose(variance, expected_variance, atol=1e-10)
    assert_allclose(nearest_sd(kernel, noise, coords, targets), np.sqrt(expected_variance), atol=1e-10)


@every_dimension
def test_sixty_neighbours_come_close(dim):
    """The sd nearly, and the mean as nearly as the variances say."""
    coords, _, targets = observations(400, dim, seed=1)
    rng = np.random.default_rng(2)
    kernel = Matern(0.2)
    residual = np.linalg.cholesky(kernel(coords) + 0.05 * np.eye(400)) @ rng.normal(size=400)
    mean, variance = local_kriging(kernel, 0.05, coords, residual, targets)
    expected_mean, expected_variance = exact(kernel, 0.05, coords, residual, targets)
    assert_allclose(np.sqrt(variance), np.sqrt(expected_variance), atol=0.01)
    # the exact mean is a projection: the two means differ with variance (local - exact)
    assert (np.abs(mean - expected_mean) < 5 * np.sqrt(variance - expected_variance + 1e-12)).all()


def test_repeated_places_are_merged_exactly():
    """Copies with different noise equal the dense answer, and do not crowd out other places."""
    coords, residual, targets = observations(20, 2)
    coords, residual = np.repeat(coords, 5, axis=0), np.repeat(residual, 5) + 0.1 * np.tile(np.arange(5.0), 20)
    noise = np.tile([0.1, 0.2, 0.3, 0.4, 0.5], 20)
    mean, variance = local_kriging(Matern(0.5), noise, coords, residual, targets, n_neighbours=20)
    expected_mean, expected_variance = exact(Matern(0.5), noise, coords, residual, targets)
    assert_allclose(mean, expected_mean, atol=1e-10)
    assert_allclose(variance, expected_variance, atol=1e-10)


@pytest.mark.parametrize("kernel", [Matern(0.3, nu=0.5), Matern(0.3), SquaredExponential(0.3)])
def test_without_noise_the_data_are_interpolated(kernel):
    """No noise, repeated places, smooth kernels: the values come back with an sd near zero."""
    coords, _, _ = observations(300, 2)
    coords[10:20] = coords[:10]
    residual = np.sin(4 * coords).sum(axis=1)
    mean, variance = local_kriging(kernel, 0.0, coords, residual, coords)
    assert_allclose(mean, residual, atol=1e-4)
    assert (variance >= 0).all()
    assert (variance < 1e-6).all()


@pytest.mark.parametrize("n_systems", [0, 5_000], ids=["numpy", "compiled"])
@pytest.mark.parametrize("kernel", [SquaredExponential(3.0, 1e4), Matern(0.4, nu=18.0), Matern(2.0, 100.0, nu=8.0)])
def test_systems_that_rounding_makes_singular_are_solved(kernel, n_systems):
    rng = np.random.default_rng(0)
    coords, targets = rng.uniform(size=(1_200, 2)), rng.uniform(size=(200, 2))
    mean, variance = local_kriging(kernel, 0.0, coords, coords[:, 0], targets, 60, n_far=20, n_systems=n_systems)
    assert np.all(variance > 0) and np.all(variance < 1e-6 * kernel.variance)
    assert np.median(np.abs(mean - targets[:, 0])) < 1e-3


def test_far_away_the_prior_returns():
    """Mean zero and the field's variance."""
    coords, residual, _ = observations(100, 2)
    mean, variance = local_kriging(Matern(0.1, variance=3.0), 0.1, coords, residual, np.full((1, 2), 50.0))
    assert_allclose(mean, 0, atol=1e-12)
    assert_allclose(variance, 3.0, rtol=1e-12)


def test_any_object_with_a_covariance_serves():
    """A remainder: here the difference of a kernel and a long-range part of it."""

    class Remainder:
        def covariance(self, x, z):
            return (Matern(0.1) + Matern(0.5)).covariance(x, z) - Matern(0.5).covariance(x, z)

    coords, residual, targets = observations(200, 2)
    given = local_kriging(Remainder(), 0.1, coords, residual, targets)
    assert_allclose(given, local_kriging(Matern(0.1), 0.1, coords, residual, targets), atol=1e-9)


def test_a_field_of_no_variance():
    """Nothing to krige: zero mean, zero variance."""

    class Nothing:
        def covariance(self, x, z):
            return np.zeros((*x.shape[:-1], z.shape[-2]))

    coords, residual, targets = observations(30, 2)
    assert_allclose(local_kriging(Nothing(), 0.0, coords, residual, targets), 0.0)


def test_scales_choose_the_neighbours():
    """Neighbours in the kernel's own units give a smaller error."""
    rng = np.random.default_rng(1)
    coords, targets = rng.uniform(size=(600, 2)), rng.uniform(size=(50, 2))
    kernel = Matern((0.02, 2.0))
    best = np.sqrt(exact(kernel, 0.1, coords, np.zeros(600), targets)[1])
    plain = nearest_sd(kernel, 0.1, coords, targets, 15)
    scaled = nearest_sd(kernel, 0.1, coords, targets, 15, scales=np.array([0.02, 2.0]))
    assert np.abs(scaled - best).max() < 0.5 * np.abs(plain - best).max()


@every_dimension
def test_farther_rows_see_around_a_gap(dim):
    """The same number of rows tells more in a gap under noise; never more than all rows do."""
    rng = np.random.default_rng(3)
    coords = rng.uniform(size=(3000, dim))
    coords = coords[~np.all(np.abs(coords - 0.5) < 0.15, axis=1)][:1500]
    targets = np.full((1, dim), 0.5) + rng.uniform(-0.14, 0.14, size=(20, dim))
    kernel, zeros = Matern(0.5), np.zeros(1500)
    best = exact(kernel, 0.01, coords, zeros, targets)[1]
    nearest = local_kriging(kernel, 0.01, coords, zeros, targets, 60)[1]
    spread = local_kriging(kernel, 0.01, coords, zeros, targets, 36, n_far=12)[1]
    assert (spread > (1 - 1e-9) * best).all()
    # in three dimensions the nearest rows lie on all sides of a gap already
    bound = 0.5 + 0.5 * np.median(nearest / best) if dim < 3 else 1.1
    assert np.median(spread / best) < bound
    # the values are used as the variances say: where rows are many, the mean of a plane comes back
    flat, _ = local_kriging(kernel, 0.01, coords, coords[:, 0], targets, 36, n_far=12)
    assert np.abs(flat - targets[:, 0]).max() < 0.1


def test_farther_rows_are_others_than_the_nearest():
    """On a grid, where distances tie: no row is counted twice, or the variance would fall below that of all rows."""
    nodes = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), -1).reshape(-1, 2)
    targets = nodes[::37] + np.array([0.5, 0.0])
    kernel, zeros = Matern(5.0, nu=0.5), np.zeros(len(nodes))
    best = exact(kernel, 1.0, nodes, zeros, targets)[1]
    assert (local_kriging(kernel, 1.0, nodes, zeros, targets, 20, n_far=10)[1] > (1 - 1e-9) * best).all()


def test_no_targets():
    """Empty in, empty out."""
    coords, residual, _ = observations(5, 2)
    mean, variance = local_kriging(Matern(), 0.1, coords, residual, np.empty((0, 2)))
    assert mean.shape == variance.shape == (0,)


def test_a_row_is_predicted_from_all_others():
    """As many neighbours as there are others: kriging without the row itself, by the dense formula."""
    rng, kernel = np.random.default_rng(5), Matern(0.5, 2.0, nu=0.5)
    coords, residual, noise = rng.uniform(size=(15, 2)), rng.standard_normal(15), rng.uniform(0.1, 0.5, 15)
    rows = np.arange(0, 15, 4)
    mean, variance = left_out(kernel, noise, coords, residual, rows, np.arange(15), 14)
    for i, row in enumerate(rows):
        others = np.setdiff1d(np.arange(15), [row])
        weights = np.linalg.solve(
            kernel(coords[others]) + np.diag(noise[others]), kernel(coords[others], coords[[row]])
        )
        assert_allclose(mean[i], weights[:, 0] @ residual[others], rtol=1e-8)
        assert_allclose(variance[i], 2.0 - kernel(coords[[row]], coords[others])[0] @ weights[:, 0], rtol=1e-8)
