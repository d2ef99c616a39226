"""Evidence: its gradient, in both views, against finite differences, and its value against plain densities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, stats

from bochner.features import Rows
from bochner.frequencies import MonteCarlo, Orthogonal, QuasiMonteCarlo, StructuredOrthogonal, shares_of
from bochner.inference import Observations, merge_equal_rows
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.feature_evidence import linear_objective
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.learning.evidence import Theta
from bochner.inference.observed.task import scale_of
from bochner.kernels import Cauchy, Laplacian, Matern, Polynomial, RationalQuadratic, SquaredExponential
from tests.inference.learning.evidences import exact, slopes
from tests.laws.registry import DIMS
from tests.laws.registry_models import OBSERVATIONS, observe, waves

RULES = [MonteCarlo(), QuasiMonteCarlo(), Orthogonal(), StructuredOrthogonal()]
ROTATIONS = {2: 0.4, 3: (0.4, -0.2, 0.3)}
KERNELS = {
    "squared-exponential": lambda dim: SquaredExponential(0.7, 1.3),
    "matern-per-axis": lambda dim: Matern((0.6, 0.9, 1.2)[:dim], 1.4),
    "matern-rotated": lambda dim: Matern((0.6, 0.9, 1.2)[:dim], rotation=ROTATIONS[dim]) if dim > 1 else Matern(0.6),
    "learn-nu": lambda dim: Matern(0.7, 1.3, nu=1.1, learn_nu=True),
    "laplacian": lambda dim: Laplacian(1.0, 0.8),
    "rational-quadratic": lambda dim: RationalQuadratic(0.8, 1.5, alpha=1.2),
    "sum": lambda dim: Matern(0.4, 0.7, nu=0.5) + SquaredExponential(1.5, 1.1),
    "product": lambda dim: Matern(0.9, 1.2) * Cauchy(2.0, 0.7),
}

every_kernel = pytest.mark.parametrize("kernel_of", KERNELS.values(), ids=KERNELS.keys())
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
every_observations = pytest.mark.parametrize("observe_in", OBSERVATIONS.values(), ids=OBSERVATIONS.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)
both_criteria = pytest.mark.parametrize("reml", [True, False], ids=["evidence", "likelihood"])


def check_exact(kernel, obs: Observations, noise: float, reml: bool) -> None:
    def value_at(point):
        return evidence.value(Theta(kernel.with_theta(point[:-1]), float(np.exp(point[-1]))))[0]

    evidence = exact(obs, reml=reml)
    gradient = evidence.at(Theta(kernel, noise)).gradient
    # central differences of values near 100: h^2 = 1e-8 and rounding 1e-14 * 100 / h = 1e-8
    assert_allclose(gradient, slopes(value_at, np.r_[kernel.theta, np.log(noise)]), rtol=1e-5, atol=1e-5)


@every_kernel
@every_dimension
def test_information_is_that_of_dense_matrices(kernel_of, dim):
    """1/2 alpha' dSigma Pi dSigma alpha, with Pi the inverse on what the trend leaves open."""
    kernel, obs, noise = kernel_of(dim), observe(dim), 0.3
    _, gradients = kernel.covariance_and_gradient(obs.rows.coords, obs.rows.coords)
    spread = np.diag(noise / obs.weight)
    sigma = kernel.covariance(obs.rows.coords, obs.rows.coords) + spread + np.diag(obs.error / obs.weight)
    left = linalg.null_space(obs.rows.trend.T)
    pi = left @ np.linalg.solve(left.T @ sigma @ left, left.T)
    moved = np.column_stack([change @ (pi @ obs.y) for change in (*gradients, spread)])
    expected = 0.5 * moved.T @ pi @ moved
    expected[-1, -1] += 0.5 * (obs.total - len(obs))
    assert_allclose(exact(obs).at(Theta(kernel, noise)).information, expected, rtol=1e-7, atol=1e-9)


def check_linear(rule, kernel, obs: Observations, noise: float, reml: bool, m: int = 15) -> None:
    dim, shares = obs.rows.coords.shape[1], shares_of(kernel, m)

    def draw(theta):
        return rule.draw(kernel.with_theta(theta), m, dim, np.random.default_rng(0), shares=shares)

    def value_at(point):
        return linear_objective(draw, point[:-1], obs, float(np.exp(point[-1])), reml=reml)[0]

    _, gradient = linear_objective(draw, kernel.theta, obs, noise, reml=reml)
    # the fastest waves of heavy tails turn by omega h, omega up to 1e4: a smaller h, and rounding of 1e-12 / h
    assert_allclose(gradient, slopes(value_at, np.r_[kernel.theta, np.log(noise)], 1e-7), rtol=1e-4, atol=1e-4)


@every_kernel
@every_dimension
@both_criteria
def test_exact_gradient_for_every_kernel(kernel_of, dim, reml):
    check_exact(kernel_of(dim), OBSERVATIONS["trend"](dim), 0.2, reml)


@every_observations
@every_dimension
@both_criteria
def test_exact_gradient_for_all_observations(observe_in, dim, reml):
    check_exact(Matern(0.7, 1.3), observe_in(dim), 0.2, reml)


def test_exact_gradient_of_a_kernel_that_is_not_shift_invariant():
    check_exact(Polynomial(degree=2, offset=0.5) + Matern(0.4), OBSERVATIONS["trend"](2), 0.2, True)


@every_rule
@every_kernel
@both_criteria
def test_linear_gradient_for_every_rule_and_kernel(rule, kernel_of, reml):
    check_linear(rule, kernel_of(2), OBSERVATIONS["trend"](2), 0.2, reml)


@every_rule
@pytest.mark.parametrize("dim", [1, 3])
def test_linear_gradient_in_other_dimensions(rule, dim):
    check_linear(rule, Matern(0.6, 1.4) + Laplacian(2.0), OBSERVATIONS["trend"](dim), 0.2, True)


@every_observations
@both_criteria
@pytest.mark.parametrize("m", [8, 30])  # solved in the columns, and in the rows
def test_linear_gradient_for_all_observations(observe_in, reml, m):
    check_linear(QuasiMonteCarlo(), Matern(0.7, 1.3), observe_in(2), 0.2, reml, m)


@both_criteria
def test_gradient_without_noise_is_finite(reml):
    """noise_variance=0 may be held while the kernel is tuned: an interpolator."""
    obs, kernel = OBSERVATIONS["trend"](2), Matern(0.3, 1.3, nu=0.5)
    evidence = exact(obs, reml=reml)
    point = evidence.at(Theta(kernel, 0.0))
    assert np.isfinite(point.value) and point.gradient[-1] == 0

    def value_at(theta):
        return evidence.value(Theta(kernel.with_theta(theta), 0.0))[0]

    assert_allclose(point.gradient[:-1], slopes(value_at, kernel.theta), rtol=1e-5, atol=1e-5)
    draw = lambda theta: QuasiMonteCarlo().draw(kernel.with_theta(theta), 60, 2, np.random.default_rng(0))  # noqa: E731
    value, gradient = linear_objective(draw, kernel.theta, obs, 0.0, reml=reml)
    assert np.isfinite(value) and gradient[-1] == 0


@pytest.mark.parametrize("trend", [0, 2])
@pytest.mark.parametrize("m", [10, 60])  # solved in the columns, and in the rows
def test_evidence_holds_for_tiny_noise(m, trend):
    """Against an orthogonal factorisation: no digits are lost where the field is a billion times the noise."""
    obs, noise = observe(2, trend=trend), 1e-6
    features = waves(QuasiMonteCarlo(), Matern(0.05, 1e3), m, 2)
    n, p = len(obs), 2 * m
    columns = np.column_stack([features.block(obs.rows.coords), obs.rows.trend])
    augmented = np.r_[columns / np.sqrt(noise), np.eye(p, p + trend)]
    target = np.r_[obs.y / np.sqrt(noise), np.zeros(p)]
    Q, R = np.linalg.qr(augmented)
    misfit = np.sum((target - Q @ (Q.T @ target)) ** 2)
    logdet = 2 * np.sum(np.log(np.abs(np.diag(R))))
    expected = -0.5 * (misfit + logdet + n * np.log(noise) + (n - trend) * np.log(2 * np.pi))
    found = LinearEngine(features, noise).fit(obs).log_evidence
    # a search stops at differences far below 1; the sizes are up to 1e7
    assert_allclose(found, expected, rtol=1e-8, atol=1e-3)


@pytest.mark.parametrize("trend", [0, 2])
def test_merged_rows_have_the_likelihood_of_their_copies(trend):
    """Scattered responses at one place, merged to their mean, keep every digit of the density."""
    obs = observe(2, n=12, trend=trend, errors=True)
    index = np.repeat(np.arange(12), np.arange(12) % 3 + 1)
    y = obs.y[index] + np.random.default_rng(0).normal(size=len(index))
    copies = Observations(obs.rows[index], y, np.ones(len(y)), obs.error[index], np.zeros(len(y)))
    merged = merge_equal_rows(copies)
    assert len(merged) == 12 and merged.total == len(y)
    kernel, noise = Matern(0.7, 1.3), 0.2
    a, b = (ExactEngine(kernel, noise).fit(obs) for obs in (copies, merged))
    assert_allclose([b.log_evidence, b.log_likelihood], [a.log_evidence, a.log_likelihood], rtol=1e-10)
    if not trend:
        sigma = kernel(copies.rows.coords) + np.diag(noise + copies.error)
        expected = stats.multivariate_normal(np.zeros(len(y)), sigma).logpdf(y)
        assert_allclose(b.log_evidence, expected, rtol=1e-10)


def test_evidence_integrates_the_trend_out_and_likelihood_maximises_it():
    """REML is the integral over a flat prior; ML is the density at the best coefficients."""
    obs, kernel, noise = observe(1, n=15, trend=1), Matern(0.7, 1.3), 0.2
    fit = ExactEngine(kernel, noise).fit(obs)
    density = stats.multivariate_normal(np.zeros(15), kernel(obs.rows.coords) + noise * np.eye(15))
    levels = np.linspace(-30, 30, 20_001)
    values = density.logpdf(obs.y - levels[:, None])
    peak = values.max()
    integral = peak + np.log(np.trapezoid(np.exp(values - peak), levels))
    assert_allclose(fit.log_evidence, integral, rtol=1e-8)
    assert_allclose(fit.log_likelihood, density.logpdf(obs.y - fit.posterior.trend_coef[0]), rtol=1e-10)
    assert fit.log_likelihood >= peak - 1e-9


def test_the_prior_of_fixed_effects_is_a_density():
    """Log density at zero of a normal law with this precision; directions of which nothing is known count as one."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    precision = root @ root.T
    rows = Rows(rng.uniform(size=(12, 2)), rng.normal(size=(12, 3)))
    obs = Observations(rows, rng.normal(size=12), np.ones(12), np.zeros(12), np.zeros(12), precision)
    wanted = stats.multivariate_normal(np.zeros(3), np.linalg.inv(precision)).logpdf(np.zeros(3))
    assert_allclose(obs.trend_constant, wanted)
    flat = replace(obs, trend_precision=np.diag([4.0, 0.0, 0.0]))
    assert_allclose(flat.trend_constant, stats.norm(0, 0.5).logpdf(0))
    assert replace(obs, trend_precision=None).trend_constant == 0


def test_spacing_of_some_rows_is_that_of_all():
    """Of every k-th row the nearest other lies farther off, by the k-th part of the space: the same in 1, 2 and 3."""
    for dim in (1, 2, 3):
        coords = np.random.default_rng(dim).uniform(size=(4_000, dim))
        one, zero = np.ones(4_000), np.zeros(4_000)
        obs = Observations(Rows(coords, one[:, None]), zero, one, zero, zero)
        whole = scale_of(obs).spacing
        assert_allclose(scale_of(obs, most=400).spacing, whole, rtol=0.15)


@pytest.mark.parametrize("noise", [1e-8, 3e-11, 1e-13])
def test_gradient_where_the_noise_is_less_than_any_row_may_have(noise):
    """Smooth rows without noise: the least error of a row is a share of the field's variance, and moves with it."""
    X = np.random.default_rng(3).uniform(size=(12, 2))
    obs = Observations(
        Rows(X, np.ones((12, 1))), X[:, 0] ** 2 + X[:, 0] * X[:, 1], np.ones(12), np.zeros(12), np.zeros(12)
    )
    evidence, kernel = exact(obs), Matern((0.8, 1.2), nu=2.5)
    gradient = evidence.at(Theta(kernel, noise)).gradient

    def value(x):
        return evidence.value(Theta(kernel.with_theta(x[:-1]), float(np.exp(x[-1]))))[0]

    assert_allclose(gradient, slopes(value, np.r_[kernel.theta, np.log(noise)]), rtol=1e-3, atol=1e-3)
