"""Leverage: scores against dense algebra, and a draw that leaves the kernel unbiased."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import InputError
from bochner.features import FourierMap, Rows
from bochner.frequencies import Frequencies, QuasiMonteCarlo, leverage_scores, leverage_scores_of_rows, resample
from bochner.frequencies.leverage import inclusion_probabilities
from bochner.inference import Observations
from bochner.inference.schemes import adaptive_waves as pools
from bochner.kernels import Kernel, Matern, SquaredExponential
from tests.laws.registry import DIMS

KERNELS: dict[str, Kernel] = {
    "matern": Matern(0.6, 2.0),
    "smooth": SquaredExponential(1.5),
    "sum": Matern(0.4, 0.5, nu=0.5) + SquaredExponential(2.0, 3.0),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


def observations(dim: int, n: int = 60) -> Observations:
    rng = np.random.default_rng(dim)
    coords = rng.uniform(-2, 2, size=(n, dim))
    return Observations(Rows(coords, np.ones((n, 1))), rng.normal(size=n), np.ones(n), np.zeros(n), np.zeros(n))


@every_dimension
def test_scores_are_those_of_unscaled_waves_with_the_ridge_of_the_noise(dim):
    """M (M + n lambda I)^-1 with M = Z'Z / s and n lambda = s2 / variance, cosine and sine together."""
    variance, noise, size = 2.0, 0.3, 20
    pool = QuasiMonteCarlo().draw(Matern(0.6, variance), size, dim, np.random.default_rng(0))
    obs = observations(dim)
    phase = obs.rows.coords @ pool.omega.T
    z = np.hstack([np.cos(phase), np.sin(phase)])
    m = z.T @ z / size
    expected = np.diag(m @ np.linalg.inv(m + noise / variance * np.eye(2 * size)))
    score, n_rows = pools.pool_scores(pool, obs, noise)
    assert n_rows == len(obs)
    assert_allclose(score, expected[:size] + expected[size:], rtol=1e-8)


@every_dimension
def test_freedom_bounds_the_sum_of_the_scores(dim):
    pool = QuasiMonteCarlo().draw(Matern(0.3), 30, dim, np.random.default_rng(0))
    phi = FourierMap(pool).block(observations(dim).rows.coords)
    gram = phi.T @ phi / 0.01
    spent = leverage_scores(gram).sum()
    assert_allclose(leverage_scores(gram, spent / 3).sum(), spent / 3, rtol=1e-6)
    assert_allclose(leverage_scores(gram, 2 * spent), leverage_scores(gram))


@every_dimension
@pytest.mark.parametrize("freedom", [None, 5.0])
def test_scores_through_the_rows_are_the_same(dim, freedom):
    pool = QuasiMonteCarlo().draw(Matern(0.3), 50, dim, np.random.default_rng(0))
    columns = FourierMap(pool).block(observations(dim).rows.coords) / 0.1
    assert_allclose(leverage_scores_of_rows(columns, freedom), leverage_scores(columns.T @ columns, freedom), atol=1e-7)


@pytest.mark.parametrize("n", [1, 7, 25, 40])
def test_inclusion_probabilities_sum_to_the_number_drawn(n):
    score = np.random.default_rng(1).exponential(size=40) ** 2
    share = inclusion_probabilities(score, n)
    assert_allclose(share.sum(), n)
    assert np.all((share > 0) & (share <= 1 + 1e-12))
    free = share < 1 - 1e-9
    if free.any():
        assert_allclose(share[free] / score[free], (share[free] / score[free])[0], rtol=1e-6)


@every_kernel
@every_dimension
def test_reweighted_kernel_is_unbiased(kernel, dim):
    """The mean over many draws returns the covariance of the pool, and so of the kernel."""
    obs = observations(dim)
    pool = pools.pool_of(kernel, 64, dim, seed=0)
    score, _ = pools.pool_scores(pool, obs, 0.2, freedom=6)
    lag = np.random.default_rng(2).normal(size=(15, dim))
    rng = np.random.default_rng(3)
    n_draws = 120
    draws = np.array([resample(pool, score, 12, rng).frequencies.covariance(lag) for _ in range(n_draws)])
    # five standard errors of the mean, estimated from the draws themselves
    error = draws.std(axis=0) / np.sqrt(n_draws)
    assert np.all(np.abs(draws.mean(axis=0) - pool.covariance(lag)) < 5 * error + 1e-9)


@every_dimension
def test_draw_has_the_number_asked_for_and_tells_its_variance(dim):
    pool = QuasiMonteCarlo().draw(Matern(0.5, 3.0), 50, dim, np.random.default_rng(0))
    score = np.random.default_rng(4).uniform(0.1, 2, size=50)
    drawn = resample(pool, score, 20, np.random.default_rng(5))
    assert drawn.frequencies.n == 20 == len(set(drawn.index))
    assert_allclose(drawn.total, drawn.frequencies.mass.sum() / 3.0)
    assert 0 < drawn.spread < 1
    whole = resample(pool, score, 50, np.random.default_rng(5))
    assert_allclose(np.sort(whole.frequencies.mass), np.sort(pool.mass))
    assert_allclose(whole.spread, 0, atol=1e-9)


@every_dimension
def test_draw_is_spread_out_over_the_pool(dim):
    """Neighbours compete: the covariance varies less from draw to draw than with independent draws."""
    kernel = Matern(0.6, nu=2.5)
    pool = QuasiMonteCarlo().draw(kernel, 128, dim, np.random.default_rng(0))
    lag, rng = np.random.default_rng(1).normal(0, 0.3, size=(10, dim)), np.random.default_rng(2)
    draws = [resample(pool, np.ones(128), 16, rng).frequencies for _ in range(60)]
    apart = [Frequencies(pool.omega[i], np.full(16, 1 / 16)) for i in (rng.integers(128, size=16) for _ in range(60))]
    spread, independent = (np.mean(np.std([f.covariance(lag) for f in fs], axis=0)) for fs in (draws, apart))
    assert spread < 0.7 * independent


@pytest.mark.parametrize("seed", range(5))
def test_every_draw_has_as_many_as_were_asked_for(seed):
    rng = np.random.default_rng(seed)
    pool = QuasiMonteCarlo().draw(Matern(0.6), 90, 2, rng)
    score = rng.exponential(size=90) ** 3
    for n in (1, 2, 13, 60, 89, 90):
        assert resample(pool, score, n, rng).frequencies.n == n


def test_pool_of_a_sum_holds_as_many_of_every_term():
    """A field of small variance is not starved of candidates."""
    kernel = SquaredExponential(5.0, 100.0) + Matern(0.3, 1.0)
    pool = pools.pool_of(kernel, 101, 2, seed=0)
    assert pool.n == 101
    assert np.sum(np.isclose(pool.mass, 100 / 51)) == 51 and np.sum(np.isclose(pool.mass, 1 / 50)) == 50


def test_scores_of_many_rows_come_from_a_part_of_them():
    obs = observations(2, 400)
    pool = QuasiMonteCarlo().draw(Matern(0.8), 25, 2, np.random.default_rng(0))
    whole, _ = pools.pool_scores(pool, obs, 0.5)
    part, n_rows = pools.pool_scores(pool, obs, 0.5, most=200)
    assert n_rows == 200
    assert np.corrcoef(whole, part)[0, 1] > 0.95


def test_wrong_requests_are_refused():
    pool = Frequencies(np.ones((3, 2)), np.ones(3))
    with pytest.raises(InputError, match="pool of 3"):
        resample(pool, np.ones(3), 4, np.random.default_rng(0))
    with pytest.raises(InputError, match="a cosine and a sine"):
        leverage_scores(np.eye(3))
