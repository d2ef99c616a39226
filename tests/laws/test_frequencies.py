"""Laws of every frequency rule, for every shift-invariant kernel, in one to three dimensions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import KernelError
from bochner.frequencies import MonteCarlo, Orthogonal, QuasiMonteCarlo, StructuredOrthogonal, measure_error, shares_of
from bochner.kernels import Cauchy, Laplacian, Matern, RationalQuadratic, SquaredExponential, total_variance
from tests.laws.registry import DIMS, KERNELS, NOT_SHIFT_INVARIANT, RULES

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
every_kernel = pytest.mark.parametrize("kernel_of", KERNELS.values(), ids=KERNELS.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


@every_rule
@every_kernel
@every_dimension
def test_rule_reproduces_its_kernel(rule, kernel_of, dim):
    """Many frequencies together return the covariance they were drawn from."""
    n = 20_000
    rng = np.random.default_rng(7)
    kernel = kernel_of(dim)
    lag = rng.normal(size=(20, dim))
    frequencies = rule.draw(kernel, n, dim, rng)
    assert frequencies.omega.shape == (n, dim)
    assert_allclose(frequencies.mass.sum(), total_variance(kernel), rtol=1e-12)
    # a mean of n cosines has standard error at most sqrt(1 / n)
    assert_allclose(frequencies.covariance(lag), kernel.at(lag), atol=6 * total_variance(kernel) / np.sqrt(n))


@pytest.mark.parametrize("rule", [Orthogonal(), StructuredOrthogonal()], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    "kernel",
    [SquaredExponential(2.0), Matern(2.0, nu=0.5), RationalQuadratic(2.0), Laplacian(8.0), Cauchy(4.0)],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.parametrize("dim", [16, 20, 32])
def test_orthogonal_rules_reproduce_kernels_in_many_dimensions(rule, kernel, dim):
    """Structured blocks, padded to a power of two where needed, keep the kernel's law."""
    n = 20_000
    rng = np.random.default_rng(3)
    lag = rng.normal(size=(15, dim)) * rng.uniform(0, 1, size=(15, 1))
    approx = rule.draw(kernel, n, dim, rng).covariance(lag)
    assert_allclose(approx, kernel.at(lag), atol=6 / np.sqrt(n))


@pytest.mark.parametrize(
    ("rule", "n_seeds"),
    [(rule, 1000 if isinstance(rule, Orthogonal) else 150) for rule in RULES.values()],
    ids=RULES.keys(),
)
@pytest.mark.parametrize("kernel", [SquaredExponential(), Laplacian(1.5)], ids=["isotropic", "per-axis"])
@pytest.mark.parametrize("dim", [2, 3])
def test_few_frequencies_are_unbiased(rule, n_seeds, kernel, dim):
    """Averaged over seeds, even five frequencies return the kernel."""
    rng = np.random.default_rng(11)
    lag = np.linspace(0.3, 2.0, 5)[:, None] * np.array([1.0, 0.5, 0.2])[:dim]
    draws = np.array([rule.draw(kernel, 5, dim, rng).covariance(lag) for _ in range(n_seeds)])
    standard_error = draws.std(axis=0) / np.sqrt(n_seeds)
    assert np.all(np.abs(draws.mean(axis=0) - kernel.at(lag)) <= 5 * standard_error)


def test_monte_carlo_has_its_textbook_standard_error():
    """sqrt(((1 + k(2 tau)) / 2 - k(tau)^2) / m), MATH.md 3."""
    m, kernel, lag = 50, Matern(), np.array([[0.5, 0.2], [1.0, -1.0]])
    rng = np.random.default_rng(5)
    draws = np.array([MonteCarlo().draw(kernel, m, 2, rng).covariance(lag) for _ in range(2000)])
    expected = np.sqrt(((1 + kernel.at(2 * lag)) / 2 - kernel.at(lag) ** 2) / m)
    # the sd of 2,000 draws is known to 1 / sqrt(4,000) = 1.6 %
    assert_allclose(draws.std(axis=0), expected, rtol=0.08)


def test_quasi_monte_carlo_beats_monte_carlo_fourfold():
    """RMS error at m = 2,048, d = 2, squared exponential: at most a quarter, and falling faster."""

    def rms(rule, m):
        kernel = SquaredExponential()
        errors = [
            measure_error(rule.draw(kernel, m, 2, np.random.default_rng(seed)), kernel, (5.0, 5.0), n_lags=500).rms
            for seed in range(4)
        ]
        return np.sqrt(np.mean(np.square(errors)))

    for sequence in ("auto", "radial", "sobol", "halton"):
        assert rms(QuasiMonteCarlo(sequence), 2048) <= rms(MonteCarlo(), 2048) / 4
    # Monte Carlo gains a factor of 4 from 16 times the frequencies, quasi Monte Carlo more than 8
    assert rms(QuasiMonteCarlo(), 128) / rms(QuasiMonteCarlo(), 2048) > 8


def test_orthogonal_beats_monte_carlo_in_many_dimensions():
    kernel, dim = SquaredExponential(np.sqrt(16.0)), 16

    def rms(rule):
        errors = [
            measure_error(rule.draw(kernel, 256, dim, np.random.default_rng(seed)), kernel, np.full(dim, 3.0)).rms
            for seed in range(6)
        ]
        return np.sqrt(np.mean(np.square(errors)))

    assert rms(Orthogonal()) < 0.6 * rms(MonteCarlo())
    assert rms(StructuredOrthogonal()) < 0.6 * rms(MonteCarlo())


@every_rule
@every_kernel
@every_dimension
def test_frequencies_are_smooth_in_theta(rule, kernel_of, dim):
    """For one seed omega has a derivative in every hyperparameter, so that tuning can follow it."""
    kernel = kernel_of(dim)
    n = 40
    shares = shares_of(kernel, n)

    def omega(theta):
        return rule.draw(kernel.with_theta(theta), n, dim, np.random.default_rng(2), shares=shares).omega

    here = omega(kernel.theta)
    for j in range(len(kernel.theta)):
        direction = np.eye(len(kernel.theta))[j]
        slopes = [
            (omega(kernel.theta + h * direction) - omega(kernel.theta - h * direction)) / (2 * h) for h in (1e-3, 1e-4)
        ]
        # a jump or a reordering would change a slope by |omega| / h
        assert np.all(np.abs(slopes[0] - slopes[1]) <= 1e-3 * np.linalg.norm(here, axis=1, keepdims=True) + 1e-6)


@every_rule
def test_shares_can_be_held_while_the_variances_move(rule):
    """Held shares leave the frequencies where they are; the masses follow the variances."""
    kernel = Matern(variance=3.0) + SquaredExponential(variance=1.0)
    shares = shares_of(kernel, 64)
    assert shares == (48, 16)
    moved = kernel.with_params(k1__variance=1.0, k2__variance=5.0)
    a = rule.draw(kernel, 64, 2, np.random.default_rng(0), shares=shares)
    b = rule.draw(moved, 64, 2, np.random.default_rng(0), shares=shares)
    assert_array_equal(a.omega, b.omega)
    assert_allclose([b.mass[:48].sum(), b.mass[48:].sum()], [1.0, 5.0])


@every_rule
@every_kernel
def test_same_generator_gives_the_same_bits(rule, kernel_of):
    a, b, c = (rule.draw(kernel_of(2), 33, 2, np.random.default_rng(seed)) for seed in (4, 4, 5))
    assert_array_equal(a.omega, b.omega)
    assert_array_equal(a.mass, b.mass)
    assert not np.array_equal(a.omega, c.omega)


@every_rule
@pytest.mark.parametrize("n", [1, 2, 3, 5, 100, 1000])
@every_dimension
def test_any_number_of_frequencies_without_a_warning(rule, n, dim):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frequencies = rule.draw(Matern(nu=0.5), n, dim, np.random.default_rng(1))
    assert frequencies.n == n
    assert np.isfinite(frequencies.omega).all()


@every_rule
@pytest.mark.parametrize("wrong_of", NOT_SHIFT_INVARIANT.values(), ids=NOT_SHIFT_INVARIANT.keys())
def test_kernels_that_are_not_shift_invariant_are_refused(rule, wrong_of):
    with pytest.raises(KernelError, match="not shift-invariant"):
        rule.draw(wrong_of(2), 10, 2, np.random.default_rng(0))


@every_rule
def test_wrong_number_of_length_scales_is_refused(rule):
    with pytest.raises(KernelError, match="3 length scales for 2 coordinates"):
        rule.draw(SquaredExponential((1.0, 2.0, 3.0)), 10, 2, np.random.default_rng(0))
