"""Laws of every Gaussian fit: weights, evidence and rows left out, against dense algebra with the same covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference.fits.folds import each_fold
from tests.laws.registry import DIMS
from tests.laws.registry_fits import ENGINES, NOISE, observations

every_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)
with_and_without_copies = pytest.mark.parametrize("copies", [False, True], ids=["single rows", "copies"])


def dense(case, obs):
    """Sigma, beta and X'Sigma^-1 X by explicit inverse."""
    sigma = case.of_rows(obs.rows.coords) + np.diag(obs.copy_variance(NOISE) / obs.weight)
    inverse, X = np.linalg.inv(sigma), obs.rows.trend
    schur = X.T @ inverse @ X
    return sigma, inverse, np.linalg.solve(schur, X.T @ inverse @ obs.y), schur


@every_engine
@every_dimension
@with_and_without_copies
def test_row_weights_solve_the_kriging_system(make, dim, copies):
    case, obs = make(dim), observations(dim, copies=copies)
    fit = case.engine.fit(obs)
    _, inverse, beta, schur = dense(case, obs)
    assert_allclose(fit.row_weights(obs), inverse @ (obs.y - obs.rows.trend @ beta), rtol=1e-4, atol=1e-4)
    assert_allclose(fit.posterior.trend_coef, beta, rtol=1e-5, atol=1e-5)
    assert_allclose(fit.posterior.trend_covariance(), np.linalg.inv(schur), rtol=1e-4)
    assert fit.noise_variance == NOISE


@every_engine
@every_dimension
@with_and_without_copies
def test_evidence_and_likelihood_are_those_of_the_gaussian(make, dim, copies):
    """REML and ML, normalising constants and what merged copies leave out included."""
    case, obs = make(dim), observations(dim, copies=copies)
    fit = case.engine.fit(obs)
    sigma, inverse, beta, schur = dense(case, obs)
    residual, (n, q) = obs.y - obs.rows.trend @ beta, obs.rows.trend.shape
    common = -0.5 * (np.linalg.slogdet(sigma)[1] + residual @ inverse @ residual) + obs.replicate_terms(NOISE)[0]
    assert_allclose(fit.log_likelihood, common - 0.5 * n * np.log(2 * np.pi), rtol=1e-6)
    reml = common - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(schur)[1]
    assert_allclose(fit.log_evidence, reml, rtol=1e-6)


@every_engine
@every_dimension
@pytest.mark.parametrize("blocks", [None, 3], ids=["one by one", "blocks"])
def test_rows_left_out_are_predicted_as_by_a_fit_without_them(make, dim, blocks):
    case, obs = make(dim), observations(dim, copies=True)
    n = len(obs)
    folds = None
    if blocks is not None:
        parts = np.array_split(np.random.default_rng(0).permutation(n), blocks)
        folds = [(np.setdiff1d(np.arange(n), part), np.sort(part)) for part in parts]
    held = case.engine.fit(obs).leave_out(obs, folds)

    def refit(out, keep):
        posterior = case.engine.fit(obs[np.setdiff1d(np.arange(n), out)]).posterior
        return posterior.mean_and_variance(obs[out[keep]].rows)

    some = np.arange(0, n, 1 if blocks else 9)  # a fit for each
    single = [(np.setdiff1d(np.arange(n), [i]), np.array([i])) for i in some]
    true = each_fold(single if folds is None else folds, n, refit)
    where = np.arange(len(held.index)) if blocks else some
    assert np.array_equal(held.index[where], true.index)
    assert_allclose(held.mean[where], true.mean, rtol=2e-4, atol=2e-4)
    # the waves beside conjugate gradients may leave out 1 % of what is unknown of the surface
    assert_allclose(held.variance[where], true.variance, rtol=1e-2, atol=2e-4)


@every_engine
@every_dimension
def test_a_draft_knows_the_weights_and_the_trend(make, dim):
    """All that Newton's method asks of it."""
    case, obs = make(dim), observations(dim)
    draft, fit = case.engine.draft(obs), case.engine.fit(obs)
    scale = float(np.abs(fit.row_weights(obs)).max())
    assert_allclose(draft.row_weights(obs), fit.row_weights(obs), atol=1e-2 * scale)
    assert_allclose(draft.posterior.trend_coef, fit.posterior.trend_coef, atol=1e-2)


@every_engine
@every_dimension
def test_the_engine_of_a_fit_makes_it_again(make, dim):
    case, obs = make(dim), observations(dim)
    fit = case.engine.fit(obs)
    again = fit.engine.fit(obs)
    assert again.log_evidence == fit.log_evidence
    assert np.array_equal(again.row_weights(obs), fit.row_weights(obs))
    assert fit.solver.name == "solver" and fit.solver.value


@every_engine
@every_dimension
def test_a_weight_is_as_many_copies(make, dim):
    """Rows with weight two, and the same rows twice: one posterior, where features leave nothing out to share."""
    case, obs = make(dim), observations(dim, 10)
    if case.missing(obs.rows.coords).any():
        pytest.skip("copies of a row share what these features leave out of the field; rows apart do not")
    twice, weighted = obs[np.repeat(np.arange(10), 2)], replace(obs, weight=np.full(10, 2.0))
    probe = observations(dim, 5).rows
    (mean, variance), (other_mean, other_variance) = (
        case.engine.fit(o).posterior.mean_and_variance(probe) for o in (weighted, twice)
    )
    assert_allclose(mean, other_mean, rtol=1e-4, atol=1e-4)
    assert_allclose(variance, other_variance, rtol=1e-3, atol=1e-4)
