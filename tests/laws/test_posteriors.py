"""Laws of every posterior: mean, variance, covariance and draws tell one story, in 1, 2 and 3 dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import Rows
from tests.laws.registry import DIMS
from tests.laws.registry_fits import ENGINES, NOISE, observations

every_posterior = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


def probes(dim, n=7):
    rng = np.random.default_rng(10 + dim)
    coords = rng.uniform(-1.2, 1.2, size=(n, dim))
    return Rows(coords, np.column_stack([np.ones(n), coords[:, 0]]))


@every_posterior
@every_dimension
def test_mean_and_covariance_are_those_of_universal_kriging(make, dim):
    """By dense algebra with the covariance that the engine stands for."""
    case, obs, rows = make(dim), observations(dim), probes(dim)
    posterior = case.engine.fit(obs).posterior
    X, T, x, z = obs.rows.trend, rows.trend, obs.rows.coords, rows.coords
    cross, prior = case.carried(x, z), case.of_places(z)
    inverse = np.linalg.inv(case.of_rows(x) + NOISE * np.eye(len(x)))
    schur = X.T @ inverse @ X
    beta = np.linalg.solve(schur, X.T @ inverse @ obs.y)
    mean = T @ beta + cross.T @ inverse @ (obs.y - X @ beta)
    drift = T.T - X.T @ inverse @ cross
    covariance = prior - cross.T @ inverse @ cross + drift.T @ np.linalg.solve(schur, drift)
    assert_allclose(posterior.mean(rows), mean, rtol=1e-4, atol=2e-4)
    assert_allclose(posterior.variance(rows), np.diag(covariance), rtol=5e-3, atol=1e-4)
    # conjugate gradients have no covariance but that of 2,000 draws: standard error sqrt(2 / 2000) of a variance
    size = float(np.diag(covariance).max())
    assert_allclose(posterior.covariance(rows), covariance, atol=0.15 * size)


@every_posterior
@every_dimension
def test_both_at_once_are_both_one_by_one(make, dim):
    posterior, rows = make(dim).engine.fit(observations(dim)).posterior, probes(dim)
    mean, variance = posterior.mean_and_variance(rows)
    assert_allclose(mean, posterior.mean(rows), rtol=1e-12, atol=1e-12)
    assert_allclose(variance, posterior.variance(rows), rtol=1e-12)
    assert (variance > 0).all()


@every_posterior
@every_dimension
def test_an_answer_does_not_depend_on_what_else_is_asked(make, dim):
    posterior, rows = make(dim).engine.fit(observations(dim)).posterior, probes(dim)
    parts = [posterior.mean_and_variance(rows[i : i + 2]) for i in range(0, len(rows), 2)]
    whole = posterior.mean_and_variance(rows)
    for one, other in zip(zip(*parts, strict=True), whole, strict=True):
        assert_allclose(np.concatenate(one), other, rtol=1e-7, atol=1e-9)


@every_posterior
@every_dimension
def test_draws_have_the_mean_and_the_variance(make, dim):
    posterior, rows = make(dim).engine.fit(observations(dim)).posterior, probes(dim)
    mean, variance = posterior.mean_and_variance(rows)
    draws = posterior.draw(rows, 4_000, np.random.default_rng(0))
    # the mean of 4,000 draws has standard error sd / 63, their variance sqrt(2 / 4000) of itself: five of either
    assert_allclose(draws.mean(axis=0), mean, atol=5 * float(np.sqrt(variance.max())) / 63)
    assert_allclose(draws.var(axis=0), variance, rtol=5 * np.sqrt(2 / 4_000) + 5e-3)


@every_posterior
@every_dimension
def test_far_away_the_prior_is_back(make, dim):
    """Where rows are far off, or the waves do not reach, the field has its prior variance and the mean is the trend."""
    case, obs = make(dim), observations(dim)
    posterior = case.engine.fit(obs).posterior
    coords = np.full((1, dim), 40.0)
    here = Rows(coords, np.array([[1.0, 40.0]]))
    outside = posterior.outside(coords)[0]
    if not outside and len(posterior.feature_coef):
        pytest.skip("waves without a box go on for ever")
    assert_allclose(posterior.mean(here), here.trend @ posterior.trend_coef, rtol=1e-6)
    trend = float((here.trend @ posterior.trend_covariance() @ here.trend.T)[0, 0])
    assert_allclose(posterior.variance(here), case.of_places(coords)[0, 0] + trend, rtol=1e-4)
    assert not outside or posterior.beyond


@every_posterior
@every_dimension
def test_cost_and_coefficients(make, dim):
    posterior, obs = make(dim).engine.fit(observations(dim)).posterior, observations(dim)
    assert posterior.cost.numbers > 0 and posterior.cost.work > 0
    assert posterior.trend_coef.shape == (2,) and posterior.trend_covariance().shape == (2, 2)
    assert posterior.row_coef is None or posterior.row_coef.shape == (len(obs),)
    empty = posterior.mean_and_variance(Rows(np.zeros((0, dim)), np.zeros((0, 2))))
    assert [len(part) for part in empty] == [0, 0]
