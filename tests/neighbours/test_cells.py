"""Kriging cell by cell against the exact Gaussian process, and against neighbours of single places."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.kernels import Matern, SquaredExponential
from bochner.neighbours import CellKriging, local_kriging

from .test_kriging import every_dimension, exact, observations


@every_dimension
@pytest.mark.parametrize("n", [1, 7, 50])
def test_all_neighbours_give_the_exact_process(dim, n):
    """More neighbours than rows; several residuals share the work."""
    coords, residual, targets = observations(n, dim)
    noise, kernel = np.linspace(0.05, 0.5, n), Matern(0.5, variance=2.0)
    mean, variance = CellKriging(kernel, noise, coords, 60).at(targets, np.column_stack([residual, np.ones(n)]))
    for column, values in zip(mean.T, (residual, np.ones(n)), strict=True):
        expected, expected_variance = exact(kernel, noise, coords, values, targets)
        assert_allclose(column, expected, atol=1e-10)
        assert_allclose(variance, expected_variance, atol=1e-10)


@every_dimension
def test_cells_know_more_than_single_places(dim):
    """Never surer than all rows together, and on the mean surer than from the neighbours of each place alone."""
    coords, _, targets = observations(600, dim, seed=1)
    kernel, noise = Matern(0.2), np.full(600, 0.05)
    _, variance = CellKriging(kernel, noise, coords, 20, 5).at(targets)
    _, all_rows = exact(kernel, noise, coords, np.zeros(600), targets)
    _, alone = local_kriging(kernel, noise, coords, np.zeros(600), targets, 20, None, 5)
    assert (variance >= all_rows - 1e-10).all()
    assert np.mean(variance - all_rows) <= np.mean(alone - all_rows) + 1e-12


def test_a_place_does_not_depend_on_what_else_is_asked():
    coords, residual, _ = observations(800, 2)
    targets = np.random.default_rng(3).uniform(-0.2, 1.2, size=(300, 2))
    kriging = CellKriging(Matern(0.2), np.full(800, 0.1), coords, 20, 5)
    mean, variance = kriging.at(targets, residual[:, None])
    some = kriging.at(targets[::7], residual[:, None])
    assert_allclose(some[0], mean[::7], rtol=1e-9)
    assert_allclose(some[1], variance[::7], rtol=1e-9)
    assert kriging.at(targets[:0])[1].shape == (0,)


def test_repeated_places_and_no_noise_are_no_trouble():
    """Rows on top of each other, and a kernel whose matrix is singular to rounding."""
    coords, _, targets = observations(300, 2)
    coords = np.repeat(coords, 3, axis=0)
    _, variance = CellKriging(SquaredExponential(0.5), np.zeros(900), coords, 40).at(targets)
    assert np.isfinite(variance).all() and (variance >= 0).all()
    one = np.zeros((5, 2))
    mean, _ = CellKriging(Matern(), np.ones(5), one, 40).at(one[:1], np.ones((5, 1)))
    assert_array_equal(mean.shape, (1, 1))
    assert_allclose(mean[0, 0], 5 / 6)  # five values of 1 with noise 1, and a prior of variance 1 around 0
