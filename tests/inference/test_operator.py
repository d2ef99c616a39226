"""Conjugate gradients on the exact covariance, against the dense factor."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import ApproximationWarning
from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.fits.exact import ExactEngine, leave_out_exact
from bochner.inference.fits.iterative import IterativeEngine, NearestEngine, leave_out_iterative
from bochner.kernels import Matern, SquaredExponential


def test_few_rows_that_do_not_settle_are_factored(monkeypatch):
    monkeypatch.setattr("bochner.inference.fits.iterative_system.CG_ITERATIONS", 4)
    kernel = Matern(0.2, nu=1.5)
    obs = observed(kernel, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = IterativeEngine(kernel, 0.01).fit(obs)
    exact = ExactEngine(kernel, 0.01).fit(obs)
    assert fit.solver == exact.solver
    at = places(2)
    assert_allclose(fit.posterior.mean_and_variance(at), exact.posterior.mean_and_variance(at), rtol=1e-9)


def test_warns_when_conjugate_gradients_do_not_settle(monkeypatch):
    """Rows too many for a factor: means are from the nearest; without noise these interpolate as well, in silence."""
    monkeypatch.setattr("bochner.inference.fits.iterative_system.MAX_DENSE_ROWS", 0)
    monkeypatch.setattr("bochner.inference.fits.iterative_system.CG_ITERATIONS", 2)
    kernel = Matern(0.2, nu=1.5)
    obs = observed(kernel, 2)
    with pytest.warns(ApproximationWarning, match="unsettled after 2 iterations"):
        fit = IterativeEngine(kernel, 0.01).fit(obs)
    assert fit.solver.value == "nearest rows"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert IterativeEngine(kernel, 0.0).fit(obs).solver.value == "nearest rows"


def observed(kernel, dim, n=800, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(2 * n, dim))
    X = X[~np.all(np.abs(X - 0.5) < 0.15, axis=1)][:n]  # a gap in the middle
    field = np.linalg.cholesky(kernel(X) + 1e-9 * np.eye(n)) @ rng.standard_normal(n)
    trend = np.column_stack([np.ones(n), rng.standard_normal(n)])
    y = field + trend @ [40.0, 2.0] + np.sqrt(noise) * rng.standard_normal(n)
    return Observations(Rows(X, trend), y, np.ones(n), np.zeros(n), np.zeros(n))


def places(dim, n=150):
    rng = np.random.default_rng(9)
    return Rows(rng.uniform(size=(n, dim)), np.column_stack([np.ones(n), rng.standard_normal(n)]))


CASES = [
    (1, Matern(0.1, nu=0.5)),
    (2, Matern(0.1, nu=0.5)),
    (2, Matern(0.3, nu=1.5)),
    (2, Matern((0.5, 0.2), nu=0.8, rotation=0.4)),
    (2, Matern(0.1, 0.3, nu=0.5) + Matern(2.0, 4.0)),
    (3, Matern(0.3, nu=0.5)),  # the slowest: a torus of a million coefficients
]


@pytest.mark.parametrize(("dim", "kernel"), CASES)
def test_agrees_with_the_dense_factor(dim, kernel):
    obs, rows = observed(kernel, dim), places(dim)
    dense, fast = ExactEngine(kernel, 0.01).fit(obs), IterativeEngine(kernel, 0.01).fit(obs)
    sd = np.sqrt(dense.posterior.variance(rows))
    assert np.abs(fast.posterior.mean(rows) - dense.posterior.mean(rows)).max() < 0.02 * sd.max()
    error = (fast.posterior.mean(rows) - dense.posterior.mean(rows)) / sd
    assert np.sqrt(np.mean(error**2)) < 0.01
    # neighbours know less than all rows: the sd is never smaller, and hardly larger
    ratio = np.sqrt(fast.posterior.variance(rows)) / sd
    assert ratio.min() > 0.999 and np.median(ratio) < 1.05
    se = np.sqrt(np.diag(dense.posterior.trend_covariance()))
    assert np.all(np.abs(fast.posterior.trend_coef - dense.posterior.trend_coef) < 0.02 * se)
    # the log determinant is Vecchia's, which is never too small: less than half a per cent of a nat a row
    assert -0.005 * len(obs) < fast.log_evidence - dense.log_evidence < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_evidence_ranks_kernels_as_the_dense_factor_does(noise):
    """Differences of evidence between kernels, in nats: what is compared."""
    obs = observed(Matern(0.2, nu=0.5), 2, n=300)
    kernels = [Matern(0.1, nu=0.5), Matern(0.2, nu=0.5), Matern(0.4, nu=0.5), Matern(0.2, nu=1.5)]
    fast, dense = (
        np.array([engine(kernel, noise).fit(obs).log_evidence for kernel in kernels])
        for engine in (IterativeEngine, ExactEngine)
    )
    assert_allclose(fast - fast[1], dense - dense[1], atol=1.0)
    assert np.array_equal(np.argsort(fast), np.argsort(dense))


def test_interpolates_a_smooth_field_without_noise():
    kernel = Matern(0.3, nu=1.5)
    obs, rows = observed(kernel, 2, noise=0.0), places(2)
    dense, fast = ExactEngine(kernel, 0.0).fit(obs), IterativeEngine(kernel, 0.0).fit(obs)
    assert fast.posterior.report.details["converged"]
    near = np.sqrt(dense.posterior.variance(rows))
    assert np.median(np.abs(fast.posterior.mean(rows) - dense.posterior.mean(rows)) / near) < 0.05


def test_leaving_out_agrees_with_the_dense_factor():
    kernel = Matern(0.2, nu=0.5)
    obs = observed(kernel, 2, n=500)
    for folds in (None, [(np.arange(100, 500), np.arange(100)), (np.arange(400), np.arange(400, 500))]):
        fast = leave_out_iterative(kernel, obs, 0.01, folds, most_factored=0)
        dense = leave_out_exact(kernel, obs, 0.01, folds)
        assert_allclose(fast.index, dense.index)
        sd = np.sqrt(dense.variance)
        assert np.sqrt(np.mean(((fast.mean - dense.mean) / sd) ** 2)) < 0.05
        assert np.median(fast.variance / dense.variance) == pytest.approx(1, abs=0.05)


def test_a_row_left_out_does_not_vouch_for_the_trend():
    """Few rows and many fixed effects: what each row says of them is gone with it, as in the dense formula."""
    kernel, rng = Matern(0.2, nu=0.5), np.random.default_rng(3)
    seen = observed(kernel, 2, n=50)
    obs = replace(seen, rows=Rows(seen.rows.coords, np.column_stack([np.ones(50), rng.standard_normal((50, 4))])))
    fast = leave_out_iterative(kernel, obs, 0.1, None, most_factored=0)
    dense = leave_out_exact(kernel, obs, 0.1, None)
    assert_allclose(fast.variance, dense.variance, rtol=0.05)
    assert_allclose(fast.mean, dense.mean, atol=0.05)


@pytest.mark.parametrize("kernel", [Matern(0.2, nu=0.5), pytest.param(SquaredExponential(0.2), marks=pytest.mark.slow)])
def test_blocks_left_out_are_those_of_a_new_fit(kernel):
    """Few folds are solved, many come from a factor, or from neighbours; a buffer belongs to neither side."""
    obs = observed(kernel, 2, n=500)
    cell = np.floor(obs.rows.coords * 5).astype(int) @ [5, 1]
    blocks = [np.flatnonzero(cell == c) for c in range(25) if np.any(cell == c)]
    few = [(np.setdiff1d(np.arange(500), np.union1d(b, blocks[(i + 1) % 4])), b) for i, b in enumerate(blocks[:4])]
    many = [(np.setdiff1d(np.arange(500), b), b) for b in blocks]
    for folds, close, factored in ((few, 0.01, 0), (many, 0.3, 0), (many, 1e-6, 6_000)):
        fast = leave_out_iterative(kernel, obs, 0.01, folds, most_factored=factored)
        dense = leave_out_exact(kernel, obs, 0.01, folds)
        assert_allclose(fast.index, dense.index)
        assert_allclose(fast.fold, dense.fold)
        sd = np.sqrt(dense.variance)
        assert np.sqrt(np.mean(((fast.mean - dense.mean) / sd) ** 2)) < close
        assert np.median(np.sqrt(fast.variance) / sd) == pytest.approx(1, abs=0.03)


def test_draws_vary_as_the_posterior_says():
    kernel = Matern(0.3, nu=0.5)
    obs, rows = observed(kernel, 2), places(2, 40)
    posterior = IterativeEngine(kernel, 0.01).fit(obs).posterior
    draws = posterior.draw(rows, 4000, np.random.default_rng(0))
    # the sd of 4,000 draws has a standard error of 1.1 %
    assert_allclose(draws.std(axis=0), np.sqrt(posterior.variance(rows)), rtol=0.08)
    assert_allclose(draws.mean(axis=0), posterior.mean(rows), atol=0.1)


def test_far_outside_only_trend_and_prior_are_left():
    kernel = Matern(0.2, 2.0, nu=1.5)
    obs = observed(kernel, 2)
    posterior = IterativeEngine(kernel, 0.01).fit(obs).posterior
    far = Rows(np.array([[3.0, 3.0], [500.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert_allclose(posterior.mean(far), posterior.trend_coef[0], atol=1e-3)
    trend_variance = posterior.trend_covariance()[0, 0]
    assert_allclose(posterior.variance(far), 2.0 + trend_variance, rtol=1e-3)
    # just outside the data the field goes on
    beside = Rows(np.array([[1.1, 0.5]]), np.array([[1.0, 0.0]]))
    dense = ExactEngine(kernel, 0.01).fit(obs).posterior
    assert_allclose(posterior.mean(beside), dense.mean(beside), atol=0.02)


def test_a_hard_system_is_solved_or_told():
    kernel = SquaredExponential(0.5)
    obs = observed(kernel, 2, n=300, noise=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        fit = IterativeEngine(kernel, 1e-4).fit(obs)
    dense = ExactEngine(kernel, 1e-4).fit(obs)
    rows = places(2, 50)
    gap = np.abs(fit.posterior.mean(rows) - dense.posterior.mean(rows)).max()
    assert gap < 0.05 * dense.posterior.mean(rows).std()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_nearest_rows_have_the_sd_of_the_mean_that_they_give(dim):
    """Under noise a smooth field is known from far rows, too: a mean that left them out would not have such an sd."""
    rng = np.random.default_rng(dim)
    coords, kernel = rng.uniform(0, 10, size=(1_500, dim)), SquaredExponential(4.0)
    waves = rng.normal(size=(300, dim)) / 4.0
    field = np.sqrt(2 / 300) * np.cos(coords @ waves.T + rng.uniform(0, 7, 300)).sum(axis=1)
    y = field + 0.5 * rng.normal(size=1_500)
    obs = Observations(Rows(coords, np.ones((1_500, 1))), y, np.ones(1_500), np.zeros(1_500), np.zeros(1_500))
    near = NearestEngine(kernel, 0.25).fit(obs).posterior
    assert near.companion is not None
    mean, variance = near.mean_and_variance(obs.rows)
    expected, least = ExactEngine(kernel, 0.25).fit(obs).posterior.mean_and_variance(obs.rows)
    assert_allclose(near.mean(obs.rows), mean)
    assert np.all(np.abs(mean - expected) < 0.3 * np.sqrt(least))
    alone = replace(near, companion=None)  # whose mean is further off, and its sd says so
    mean, wider = alone.mean_and_variance(obs.rows)
    assert np.sqrt(np.mean((mean - expected) ** 2 / (wider - least).clip(1e-12))) < 1.5
    assert np.all(variance <= wider)
