"""A field whose amplitude varies in space: its fit is that of the product kernel, and it is found where it is there."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from bochner import SpatialRegressor, load
from bochner.features import Amplitude, ArealRows, Rows
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.iterative import IterativeEngine
from bochner.inference.fits.modulated_fit import ModulatedFit, steadied
from bochner.inference.observed.observations import Observations
from bochner.kernels import Matern

KERNEL, NOISE = Matern(0.5, 1.3, nu=1.5), 0.04


def case(dim: int, n: int = 60) -> tuple[Observations, Rows, Amplitude]:
    """Observations with copies and known errors, rows to predict at, and an amplitude."""
    rng = np.random.default_rng(dim)
    coords, places = rng.uniform(-1, 1, size=(n, dim)), rng.uniform(-1, 1, size=(7, dim))
    rows, wanted = (Rows(x, np.column_stack([np.ones(len(x)), x[:, 0]])) for x in (coords, places))
    weight, error = rng.integers(1, 4, size=n).astype(float), rng.uniform(0, 0.05, size=n)
    obs = Observations(rows, rng.normal(size=n), weight, error, np.zeros(n))
    return obs, wanted, Amplitude(rng.uniform(-1, 1, size=(5, dim)), rng.normal(0, 0.5, size=5), np.full(dim, 0.7))


def fitted(obs: Observations, amplitude: Amplitude, engine: type = ExactEngine) -> ModulatedFit:
    inner, least = steadied(obs, amplitude, NOISE)
    sizes = float(obs.weight @ np.log(amplitude.at(obs.rows.coords)))
    return ModulatedFit(engine(KERNEL, least).fit(inner), amplitude, NOISE, sizes)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_fit_is_that_of_the_product_kernel(dim):
    """Universal kriging with a(x) k(x, x') a(x'), written out."""
    obs, wanted, amplitude = case(dim)
    fit = fitted(obs, amplitude)
    here, there = amplitude.at(obs.rows.coords), amplitude.at(wanted.coords)
    v = here[:, None] * KERNEL.covariance(obs.rows.coords, obs.rows.coords) * here + np.diag(
        (NOISE + obs.error) / obs.weight
    )
    c = there[:, None] * KERNEL.covariance(wanted.coords, obs.rows.coords) * here
    prior = there[:, None] * KERNEL.covariance(wanted.coords, wanted.coords) * there
    t, inverse = obs.rows.trend, linalg.inv(v)
    schur = t.T @ inverse @ t
    beta = linalg.solve(schur, t.T @ inverse @ obs.y)
    rest = wanted.trend - c @ inverse @ t
    mean = wanted.trend @ beta + c @ inverse @ (obs.y - t @ beta)
    covariance = prior - c @ inverse @ c.T + rest @ linalg.solve(schur, rest.T)
    posterior = fit.posterior
    assert_allclose(posterior.mean(wanted), mean, rtol=1e-8)
    assert_allclose(posterior.covariance(wanted), covariance, rtol=1e-6, atol=1e-10)
    assert_allclose(posterior.variance(wanted), np.diag(covariance), rtol=1e-6)
    assert_allclose(np.stack(posterior.mean_and_variance(wanted)), [mean, np.diag(covariance)], rtol=1e-6)
    assert_allclose(posterior.trend_coef, beta, rtol=1e-8)
    assert_allclose(posterior.trend_covariance(), linalg.inv(schur), rtol=1e-7)
    assert_allclose(fit.row_weights(obs), inverse @ (obs.y - t @ beta), rtol=1e-7, atol=1e-9)
    assert fit.noise_variance == NOISE
    draws = posterior.draw(wanted, 4_000, np.random.default_rng(0))
    assert_allclose(draws.mean(axis=0), mean, atol=5 * np.sqrt(np.diag(covariance).max() / 4_000))
    once = obs.weight == 1
    alone = fitted(obs[np.flatnonzero(once)], amplitude)
    part = np.ix_(once, once)
    r = obs.y[once] - t[once] @ alone.posterior.trend_coef
    value = -0.5 * (r @ linalg.solve(v[part], r) + np.linalg.slogdet(2 * np.pi * v[part])[1])
    assert_allclose(alone.log_likelihood, value, rtol=1e-8)


@pytest.mark.parametrize("engine", [ExactEngine, IterativeEngine])
def test_rows_left_out_are_those_of_a_fit_without_them(engine):
    obs, _, amplitude = case(2)
    train, test = np.arange(10, 60), np.arange(10)
    held = fitted(obs, amplitude, engine).leave_out(obs, [(train, test)])
    alone = fitted(obs[train], amplitude).posterior
    mean, variance = alone.mean_and_variance(obs.rows[test])
    assert_allclose(held.mean, mean, rtol=1e-4, atol=1e-4)
    assert_allclose(held.variance, variance, rtol=2e-2)


def test_means_over_areas_are_means_of_the_points():
    obs, wanted, amplitude = case(2)
    posterior = fitted(obs, amplitude).posterior
    group = np.array([0, 0, 0, 1, 1, 1, 1])
    share = np.array([0.2, 0.3, 0.5, 0.25, 0.25, 0.25, 0.25])
    trend = np.stack([share[group == g] @ wanted.trend[group == g] for g in (0, 1)])
    areas = ArealRows(np.zeros((2, 2)), trend, wanted.coords, group, share)
    averaging = np.stack([share * (group == g) for g in (0, 1)])
    assert_allclose(posterior.mean(areas), averaging @ posterior.mean(wanted), rtol=1e-9)
    assert_allclose(posterior.covariance(areas), averaging @ posterior.covariance(wanted) @ averaging.T, rtol=1e-7)


def field(n: int, seed: int, *, varies: bool) -> tuple[np.ndarray, np.ndarray]:
    """A rough field on scattered places; its amplitude grows eightfold from west to east, or not at all."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    root = linalg.cholesky(Matern(0.1, nu=0.5).covariance(X, X) + 1e-9 * np.eye(n), lower=True)
    size = 0.35 * np.exp(2.1 * X[:, 0]) if varies else 1.0
    return X, size * (root @ rng.normal(size=n)) + 0.1 * rng.normal(size=n)


@pytest.mark.slow
def test_an_amplitude_that_varies_is_found_and_intervals_are_as_wide_as_it_says(tmp_path):
    X, y = field(3_000, 0, varies=True)
    new, truth = X[2_400:], y[2_400:]
    model = SpatialRegressor().fit(X[:2_400], y[:2_400])
    assert "varies in space" in str(model.choices_["amplitude"])
    law = model.predict_distribution(new, include_noise=True)
    low, high = law.interval(0.95).T
    inside = (truth >= low) & (truth <= high)
    for side in (new[:, 0] < 0.5, new[:, 0] >= 0.5):
        assert 0.9 < inside[side].mean() < 0.985
    width = high - low
    assert np.median(width[new[:, 0] > 0.8]) > 2 * np.median(width[new[:, 0] < 0.2])
    model.save(tmp_path / "model.bochner")
    again = load(tmp_path / "model.bochner").predict(new, return_std=True)
    assert_allclose(again, model.predict(new, return_std=True), rtol=1e-12)


@pytest.mark.slow
def test_one_amplitude_for_all_places_stays_alone():
    X, y = field(2_400, 1, varies=False)
    assert "amplitude" not in SpatialRegressor().fit(X, y).choices_
