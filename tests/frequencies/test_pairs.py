"""Pairs of frequencies: stationary when tied, half stationary when independent, and the same as their features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import InputError
from bochner.features import FourierMap, PairedMap
from bochner.frequencies import PairedFrequencies, QuasiMonteCarlo, draw_pairs, tied
from bochner.kernels import Laplacian, Matern, SquaredExponential
from tests.laws.registry import DIMS

every_dimension = pytest.mark.parametrize("dim", DIMS)
KERNELS = [SquaredExponential(0.8, 1.5), Matern(0.7, 2.0, nu=0.5) + Laplacian(1.5, 0.5)]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=["gaussian", "sum"])


@every_dimension
def test_tied_pairs_are_the_stationary_waves_exactly(dim):
    waves = QuasiMonteCarlo().draw(Matern(0.7, 2.0), 12, dim, np.random.default_rng(0))
    coords = np.random.default_rng(1).normal(size=(9, dim))
    features = PairedMap(tied(waves))
    assert_allclose(features.block(coords), FourierMap(waves).block(coords), atol=1e-12)
    lag = (coords[:, None] - coords[None]).reshape(-1, dim)
    assert_allclose(tied(waves).covariance(coords, coords).ravel(), waves.covariance(lag), atol=1e-12)
    assert_allclose(features.prior_variance(coords), 2.0)


@every_kernel
@every_dimension
def test_full_correlation_returns_the_kernel(kernel, dim):
    n = 20_000
    pairs = draw_pairs(kernel, n, dim, np.random.default_rng(2), correlation=1.0)
    x, z = np.random.default_rng(3).normal(size=(2, 10, dim))
    exact = kernel.covariance(x, z)
    # a mean of n cosines has standard error at most variance / sqrt(n)
    assert_allclose(pairs.covariance(x, z), exact, atol=6 * kernel.variance / np.sqrt(n))


@every_kernel
@every_dimension
@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_both_frequencies_follow_the_spectral_measure(kernel, dim, correlation):
    n = 20_000
    pairs = draw_pairs(kernel, n, dim, np.random.default_rng(4), correlation=correlation)
    lag = np.random.default_rng(5).normal(size=(20, dim))
    for omega in (pairs.first, pairs.second):
        approximate = np.cos(lag @ omega.T) @ pairs.mass
        assert_allclose(approximate, kernel.at(lag), atol=6 * kernel.variance / np.sqrt(n))


@every_dimension
def test_independent_pairs_are_half_the_kernel_and_a_bump(dim):
    """1/4 [2 k(x - z) + 2 k(x) k(z)] for a unit variance: nothing that varies but a bump at the origin."""
    kernel, n = SquaredExponential(0.9), 40_000
    pairs = draw_pairs(kernel, n, dim, np.random.default_rng(6), correlation=0.0)
    # one frequency covers half the circle in two dimensions, so that both signs must be taken together
    sign = np.random.default_rng(7).choice([-1.0, 1.0], size=(2, n, 1))
    pairs = PairedFrequencies(sign[0] * pairs.first, sign[1] * pairs.second, pairs.mass)
    x, z = np.random.default_rng(8).normal(size=(2, 6, dim))
    bump = np.outer(kernel.at(x), kernel.at(z))
    assert_allclose(pairs.covariance(x, z), (kernel.covariance(x, z) + bump) / 2, atol=6 / np.sqrt(n))


@every_dimension
def test_features_make_the_covariance_of_their_pairs(dim):
    pairs = draw_pairs(Matern(0.7, 2.0), 15, dim, np.random.default_rng(9), correlation=0.6)
    x = np.random.default_rng(10).normal(size=(8, dim))
    phi = PairedMap(pairs).block(x)
    assert_allclose(phi @ phi.T, pairs.covariance(x, x), atol=1e-12)
    assert np.ptp(np.diag(phi @ phi.T)) > 0.1  # the variance varies: it is no stationary field


def test_wrong_pairs_are_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        draw_pairs(Matern(), 5, 2, np.random.default_rng(0), correlation=1.5)
    with pytest.raises(InputError, match="two frequencies"):
        PairedFrequencies(np.ones((3, 2)), np.ones((2, 2)), np.ones(3))
