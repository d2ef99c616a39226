"""Laws of every factor: all agree with dense algebra, and primal, dual and Woodbury are one model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import ConvergenceError
from bochner.features import Rows
from bochner.frequencies import MonteCarlo, QuasiMonteCarlo
from bochner.inference import Observations
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.kernels import Matern, SquaredExponential
from bochner.solvers import Factor, LeastSquares, cholesky_factor, least_squares, linear_solver
from bochner.solvers.woodbury import Woodbury
from tests.laws.registry import DIMS
from tests.laws.registry_models import FACTORS, LEAST_SQUARES, OBSERVATIONS, SYSTEMS, System, WaveKernel, waves

ALL_FACTORS = {**FACTORS, **LEAST_SQUARES}

every_factor = pytest.mark.parametrize("make", ALL_FACTORS.values(), ids=ALL_FACTORS.keys())
every_proper_factor = pytest.mark.parametrize("make", FACTORS.values(), ids=FACTORS.keys())
every_system = pytest.mark.parametrize("system_of", SYSTEMS.values(), ids=SYSTEMS.keys())
every_observations = pytest.mark.parametrize("observe_in", OBSERVATIONS.values(), ids=OBSERVATIONS.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


def dense_covariance(factor: Factor, system: System) -> np.ndarray:
    """Posterior covariance of the coefficients, by explicit inverse."""
    if not isinstance(factor, LeastSquares):
        return np.linalg.inv(system.matrix)
    U, s, Vt = np.linalg.svd(system.columns, full_matrices=False)
    kept = s > (s[0] * 0.05 if factor.rank < np.linalg.matrix_rank(system.columns) else s[0] * 1e-12)
    assert factor.rank == kept.sum()
    coef = (Vt[kept].T / s[kept]) @ (U[:, kept].T @ system.y)
    assert_allclose(factor.coef, coef, rtol=1e-7, atol=1e-9)
    spare = len(system.y) - factor.rank
    variance = np.sum((system.y - system.columns @ coef) ** 2) / spare if spare else 0.0
    return variance * (Vt[kept].T / s[kept] ** 2) @ Vt[kept]


class InRows(Woodbury):
    """Solved in the rows, however many they are."""

    def suits(self, n_rows: int, n_columns: int) -> str | None:
        return "as asked"


def fit_in_rows(engine: LinearEngine, obs: Observations, monkeypatch: pytest.MonkeyPatch) -> LinearFit:
    """Fit of an engine that knows no other solver."""
    with monkeypatch.context() as only:
        only.setattr(linear_solver, "SOLVERS", [InRows()])
        return engine.fit(obs)


@every_factor
@every_system
@every_dimension
def test_solve_is_the_product_with_the_inverse(make, system_of, dim):
    system = system_of(dim)
    factor, rng = make(system), np.random.default_rng(0)
    covariance = dense_covariance(factor, system)
    for b in (rng.normal(size=len(covariance)), rng.normal(size=(len(covariance), 3))):
        assert_allclose(factor.solve(b), covariance @ b, rtol=1e-8, atol=1e-10)


@every_factor
@every_system
@every_dimension
def test_quadratic_form_is_the_diagonal(make, system_of, dim):
    system = system_of(dim)
    factor = make(system)
    phi = np.random.default_rng(1).normal(size=(7, system.columns.shape[1]))
    found = factor.quadratic_form(phi)
    assert_allclose(found, np.diag(phi @ dense_covariance(factor, system) @ phi.T), rtol=1e-8, atol=1e-10)
    assert np.all(found >= 0)


@every_factor
@every_system
@every_dimension
def test_draws_have_the_covariance(make, system_of, dim):
    system, n = system_of(dim), 20_000
    factor = make(system)
    covariance = dense_covariance(factor, system)
    draws = factor.draw(n, np.random.default_rng(2))
    assert draws.shape == (len(covariance), n)
    # an entry of a sample covariance of n Gaussian draws has variance (C_ii C_jj + C_ij^2) / n
    diagonal = np.diag(covariance)
    error = np.sqrt((np.outer(diagonal, diagonal) + covariance**2) / n)
    assert np.all(np.abs(draws @ draws.T / n - covariance) <= 6 * error + 1e-12)
    assert np.all(np.abs(draws.mean(axis=1)) <= 6 * np.sqrt(diagonal / n) + 1e-12)


@every_proper_factor
@every_system
@every_dimension
def test_log_determinants(make, system_of, dim):
    """Of P, and of the trend's part once the features are eliminated: the Schur complement."""
    system = system_of(dim)
    factor, p = make(system), system.phi.shape[1]
    matrix = system.matrix
    schur = matrix[p:, p:] - matrix[p:, :p] @ np.linalg.solve(matrix[:p, :p], matrix[:p, p:])
    assert_allclose(factor.logdet(), np.linalg.slogdet(matrix)[1], rtol=1e-10)
    assert_allclose(factor.trend_logdet(), np.linalg.slogdet(schur)[1], rtol=1e-8, atol=1e-12)


@every_factor
def test_factors_report_how_they_solved(make):
    report = make(SYSTEMS["more-rows"](2)).report
    assert report.method and report.size > 0


@every_observations
@every_dimension
@pytest.mark.parametrize("n_waves", [10, 40])  # fewer columns than rows, and more
def test_primal_dual_and_woodbury_are_one_model(observe_in, dim, n_waves, monkeypatch):
    """Solved in the columns, in the rows, or with the kernel Phi Phi': equal to 1e-8."""
    obs, s2 = observe_in(dim), 0.2
    features = waves(QuasiMonteCarlo(), Matern(0.6, 1.5) + SquaredExponential(2.0, 0.5), n_waves, dim)
    engine = LinearEngine(features, s2)
    primal, woodbury = engine.fit_moments(engine.moments(obs), obs.n_trend), fit_in_rows(engine, obs, monkeypatch)
    dual = ExactEngine(WaveKernel(features.frequencies), s2).fit(obs)
    rng = np.random.default_rng(3)
    new = Rows(rng.uniform(-1, 1, size=(15, dim)), rng.normal(size=(15, obs.n_trend)))
    for fit in (woodbury, dual):
        for view in ("mean", "variance", "covariance"):
            found, expected = getattr(fit.posterior, view)(new), getattr(primal.posterior, view)(new)
            assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        assert_allclose(fit.posterior.trend_coef, primal.posterior.trend_coef, rtol=1e-8)
        assert_allclose(fit.posterior.trend_covariance(), primal.posterior.trend_covariance(), rtol=1e-8)
        assert_allclose(fit.log_evidence, primal.log_evidence, rtol=1e-8)
        assert_allclose(fit.log_likelihood, primal.log_likelihood, rtol=1e-8)


@every_dimension
def test_evidence_is_the_density_of_the_data(dim, monkeypatch):
    """Without a trend: the log density of N(0, Phi Phi' + noise), computed plainly."""
    obs, s2 = OBSERVATIONS["plain"](dim), 0.3
    features = waves(MonteCarlo(), Matern(), 12, dim)
    phi = features.block(obs.rows.coords)
    sigma = phi @ phi.T + s2 * np.eye(len(obs))
    expected = -0.5 * (
        len(obs) * np.log(2 * np.pi) + np.linalg.slogdet(sigma)[1] + obs.y @ np.linalg.solve(sigma, obs.y)
    )
    fit = fit_in_rows(LinearEngine(features, s2), obs, monkeypatch)
    assert_allclose([fit.log_evidence, fit.log_likelihood], expected, rtol=1e-10)


@pytest.mark.parametrize("shape", [(30, 5), (5, 30), (20, 20), (6, 1), (1, 6), (8, 0)])
@pytest.mark.parametrize("rank_deficient", [False, True])
def test_least_squares_is_the_minimum_norm_answer(shape, rank_deficient):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    if rank_deficient and shape[1] > 1:
        X[:, -1] = X[:, 0]
    found = least_squares(X, y)
    expected, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    assert_allclose(found.coef, expected, rtol=1e-9, atol=1e-11)
    assert found.rank == rank
    assert np.isnan(found.logdet()) and np.isnan(found.trend_logdet())


def test_columns_of_very_different_size_are_factored():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 6)) * np.logspace(-8, 8, 6)
    factor = cholesky_factor(X.T @ X)
    assert "jitter" not in factor.report.details
    b = rng.normal(size=50)
    assert_allclose(factor.solve(X.T @ b), np.linalg.lstsq(X / np.logspace(-8, 8, 6), b)[0] / np.logspace(-8, 8, 6))


def test_singular_matrices_get_jitter_and_indefinite_ones_an_error():
    ones = np.ones((4, 4))
    assert cholesky_factor(ones).report.details == {"jitter": 1e-9}
    with pytest.raises(ConvergenceError, match=r"not positive definite.*raise noise_variance"):
        cholesky_factor(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_many_quadratic_forms_are_those_of_few():
    """Once many are asked for they are products with the inverse, which travels with no factor."""
    rng = np.random.default_rng(6)
    X, phi = rng.normal(size=(60, 40)), rng.normal(size=(30, 40))
    factor = cholesky_factor(X.T @ X + 1e-6 * np.eye(40))
    few = np.concatenate([factor.quadratic_form(phi[i : i + 3]) for i in range(0, 15, 3)])
    size = len(pickle.dumps(factor))
    many = factor.quadratic_form(phi)
    assert_allclose(many[:15], few, rtol=1e-9)
    assert np.array_equal(factor.quadratic_form(phi[:3]), few[:3])  # whatever was asked before
    assert_allclose(factor.quadratic_form(phi.astype(np.float32)), many, rtol=1e-4)
    assert len(pickle.dumps(factor)) < size + 100
    assert_allclose(pickle.loads(pickle.dumps(factor)).quadratic_form(phi), many, rtol=1e-9)
