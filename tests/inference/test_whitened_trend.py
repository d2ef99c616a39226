"""Effects of covariates beside a field: by generalised least squares wherever rows are held out or looked at singly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import SpatialRegressor
from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.fit_checks import outliers, pair_scatter
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.folds import WhitenedTrend, has_covariates, held_out_locally, residual_beside
from bochner.inference.observed.task import residual_of
from bochner.kernels import Matern

NOISE = 0.01


def confounded(n: int, dim: int = 2, seed: int = 0) -> tuple[Observations, float]:
    """A smooth surface that falls where the covariate is high, on which the covariate acts upwards from row to row."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n, dim))
    slope = 3 * coords.sum(axis=1)
    height = slope + rng.normal(size=n)
    y = 0.5 * height - 2 * slope + np.sqrt(NOISE) * rng.normal(size=n)
    one, zero = np.ones(n), np.zeros(n)
    return Observations(Rows(coords, np.column_stack([one, height - height.mean()])), y, one, zero, zero), 0.5


def exactly(kernel: Matern, obs: Observations, noise: float) -> np.ndarray:
    covariance = kernel.covariance(obs.rows.coords, obs.rows.coords) + np.diag(obs.copy_variance(noise) / obs.weight)
    solved = np.linalg.solve(covariance, np.column_stack([obs.rows.trend, obs.y]))
    return np.linalg.solve(obs.rows.trend.T @ solved[:, :-1], obs.rows.trend.T @ solved[:, -1])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_it_is_generalised_least_squares_where_all_rows_are_neighbours(dim):
    obs, _ = confounded(21, dim)
    kernel = Matern(0.5, 2.0, nu=1.5)
    assert_allclose(WhitenedTrend.of(kernel, 0.1, obs).coefficients(), exactly(kernel, obs, 0.1), atol=0.01)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_neighbours_tell_an_effect_that_plain_least_squares_turns_round(dim):
    obs, effect = confounded(600, dim)
    kernel = Matern(1.0, 9.0, nu=1.5)
    plain = np.linalg.lstsq(obs.rows.trend, obs.y, rcond=None)[0][1]
    found, wanted = WhitenedTrend.of(kernel, NOISE, obs).coefficients()[1], exactly(kernel, obs, NOISE)[1]
    assert plain < 0
    assert found == pytest.approx(wanted, abs=0.01) and found == pytest.approx(effect, abs=0.05)


def test_many_rows_are_sampled():
    obs, effect = confounded(600)
    some = WhitenedTrend.of(Matern(1.0, 9.0, nu=1.5), NOISE, obs, most=150)
    assert len(some.rows) == 150 and len(np.unique(some.rows)) == 150
    assert some.coefficients()[1] == pytest.approx(effect, abs=0.1)


def test_rows_that_are_held_out_say_nothing_of_the_effects():
    """A level that only they have has none."""
    obs, _ = confounded(200)
    trend = np.column_stack([obs.rows.trend, np.arange(200) < 20])
    obs = Observations(Rows(obs.rows.coords, trend), obs.y + 50 * trend[:, 2], obs.weight, obs.error, obs.scatter)
    white = WhitenedTrend.of(Matern(1.0, 9.0, nu=1.5), 1.0, obs)
    assert white.coefficients()[2] == pytest.approx(50, abs=1)
    assert white.coefficients(np.arange(10, 200))[2] == pytest.approx(50, abs=2)
    assert_allclose(white.coefficients(np.arange(200)), white.coefficients())


def test_a_level_that_hardly_any_row_has_stays_near_plain_least_squares():
    """Whitened rows that meet it as a distant neighbour only must not give it an effect without end."""
    obs, _ = confounded(400)
    rare = np.zeros(400)
    rare[:3] = 1
    trend = np.column_stack([obs.rows.trend, (rare - rare.mean()) / rare.std()])
    obs = Observations(Rows(obs.rows.coords, trend), obs.y, obs.weight, obs.error, obs.scatter)
    white = WhitenedTrend.of(Matern(1.0, 9.0, nu=1.5), NOISE, obs, most=100)
    among = np.setdiff1d(np.arange(400), np.arange(3))
    moved = np.abs(trend @ white.coefficients(among) - trend @ np.linalg.lstsq(trend, obs.y, rcond=None)[0])
    assert moved.max() < 20 * np.std(obs.y)


def test_a_constant_alone_is_left_as_it_is():
    obs, _ = confounded(50)
    level = Observations(Rows(obs.rows.coords, np.ones((50, 1))), obs.y, obs.weight, obs.error, obs.scatter)
    assert has_covariates(obs) and not has_covariates(level)
    assert_array_equal(residual_beside(Matern(0.3), NOISE, level), residual_of(level))


def test_rows_held_out_are_predicted_about_as_the_whole_model_does():
    obs, _ = confounded(700)
    kernel = Matern(1.0, 9.0, nu=1.5)
    parts = np.array_split(np.random.default_rng(1).permutation(700), 5)
    folds = [(np.setdiff1d(np.arange(700), part), part) for part in parts]
    near = held_out_locally(kernel, obs, NOISE, folds)
    whole = ExactEngine(kernel, NOISE).of(obs.rows).fit(obs).leave_out(obs, folds)
    order = np.argsort(whole.index)[np.argsort(np.argsort(near.index))]
    assert_array_equal(whole.index[order], near.index)
    error = np.sqrt(np.mean((near.mean - whole.mean[order]) ** 2))
    assert error < 0.2 * np.sqrt(np.mean((obs.y[near.index] - near.mean) ** 2))


def test_rows_are_looked_at_singly_beside_the_effects_of_the_field():
    """What a covariate does is no outlier, and no scatter of close rows."""
    obs, _ = confounded(800)
    kernel = Matern(1.0, 9.0, nu=1.5)
    assert not len(outliers(kernel, NOISE, obs, 0))
    close = obs.rows.coords.copy()
    close[400:] = close[:400] + 1e-4
    trend = obs.rows.trend
    y = 0.5 * trend[:, 1] - 6 * close.sum(axis=1) + np.sqrt(NOISE) * np.random.default_rng(2).normal(size=800)
    pairs = Observations(Rows(close, trend), y, obs.weight, obs.error, obs.scatter)
    assert pair_scatter(kernel, NOISE, pairs) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("seed", [0, 1])
def test_intervals_of_many_rows_with_such_a_covariate_are_as_wide_as_they_should_be(seed):
    rng = np.random.default_rng(seed)
    n = 1_300
    X = rng.uniform(size=(n, 2))
    root = np.linalg.cholesky(Matern(0.3, 1.0, nu=1.5).covariance(X[:, :2], X[:, :2]) + 1e-9 * np.eye(n))
    field = root @ rng.normal(size=n)
    height = 3 * X.sum(axis=1) + rng.normal(size=n)
    y = field + 0.5 * height - 6 * X.sum(axis=1) + 0.1 * rng.normal(size=n)
    table = np.column_stack([X, height])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpatialRegressor(coords=[0, 1], covariates=[2]).fit(table[:1_100], y[:1_100])
    law = model.predict_distribution(table[1_100:], include_noise=True)
    width = np.mean(law.quantile(0.975) - law.quantile(0.025)) / (2 * 1.96 * 0.1)
    inside = np.mean((y[1_100:] >= law.quantile(0.025)) & (y[1_100:] <= law.quantile(0.975)))
    assert 1.0 < width < 1.35 and inside > 0.9
