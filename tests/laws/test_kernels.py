"""Laws of every kernel: covariance, spectral density, gradient and algebra, in one to three dimensions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from sklearn.base import clone

from bochner.exceptions import InputError, KernelError
from bochner.kernels import (
    AxisKernel,
    Cauchy,
    IsotropicKernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    SquaredExponential,
    spectral_density,
    total_variance,
)
from tests.laws.registry import DIMS, KERNELS, NOT_SHIFT_INVARIANT, RICH_KERNELS, SIMPLE_KERNELS, WITH_DENSITY

STATIONARY = {**KERNELS, **RICH_KERNELS}
ALL_KERNELS = {**STATIONARY, **NOT_SHIFT_INVARIANT}
DENSE = {**KERNELS, **WITH_DENSITY}

every_kernel = pytest.mark.parametrize("kernel_of", ALL_KERNELS.values(), ids=ALL_KERNELS.keys())
every_stationary_kernel = pytest.mark.parametrize("kernel_of", STATIONARY.values(), ids=STATIONARY.keys())
every_kernel_with_a_density = pytest.mark.parametrize("kernel_of", DENSE.values(), ids=DENSE.keys())
every_simple_kernel = pytest.mark.parametrize("kernel_of", SIMPLE_KERNELS.values(), ids=SIMPLE_KERNELS.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)

# Grid for radial integrals: logarithmic where densities turn, and with equal steps, half a radian at lag 1, where only
# waves do. The highest frequency leaves out a mass of at most 1e-4 (Matern 1/2).
W = np.r_[np.geomspace(1e-8, 30, 60_000, endpoint=False), np.arange(30, 3e4, 0.5)]


def radial_integral(kernel, dim, distance):
    """Integral of S(omega) cos(omega'tau) at scaled distance |tau / l|, in polar coordinates of omega l."""
    scales = kernel.scales(dim)
    direction = np.ones(dim) / np.sqrt(dim)
    density = kernel.spectral_density(W[:, None] * direction / scales) / np.prod(scales)
    wave = {
        1: lambda t: 2 * np.cos(t),
        2: lambda t: 2 * np.pi * special.j0(t),
        3: lambda t: 4 * np.pi * np.sinc(t / np.pi),
    }[dim](W * distance)
    return np.trapezoid(density * wave * W ** (dim - 1), W)


def axis_integral(kernel, dim, lag):
    """Integral of S(omega) cos(omega'tau), axis by axis."""
    at_zero = kernel.spectral_density(np.zeros((1, dim)))[0]
    integrals = []
    for j in range(dim):
        omega = np.zeros((len(W), dim))
        omega[:, j] = W
        along = kernel.spectral_density(omega) / at_zero
        integrals.append(2 * np.trapezoid(along * np.cos(W * lag[j]), W))
    return at_zero * np.prod(integrals)


@every_simple_kernel
@every_dimension
def test_spectral_density_integrates_to_the_variance_and_transforms_to_the_covariance(kernel_of, dim):
    kernel = kernel_of(dim)
    for distance in (0.0, 0.7):
        lag = distance * kernel.scales(dim) / np.sqrt(dim)
        if isinstance(kernel, IsotropicKernel):
            integral = radial_integral(kernel, dim, distance)
        else:
            integral = axis_integral(kernel, dim, lag)
        assert_allclose(integral, kernel.at(lag[None, :])[0], rtol=3e-4)


@every_simple_kernel
@every_dimension
def test_spectral_density_has_the_shape_of_its_class(kernel_of, dim):
    """Isotropic: it depends on |omega l| alone. Per axis: it is a product over the axes."""
    rng = np.random.default_rng(0)
    kernel = kernel_of(dim)
    omega = rng.normal(size=(20, dim))
    found = kernel.spectral_density(omega)
    if isinstance(kernel, AxisKernel):
        along = [kernel.spectral_density(omega * np.eye(dim)[j]) for j in range(dim)]
        at_zero = kernel.spectral_density(np.zeros((1, dim)))
        expected = at_zero * np.prod([a / at_zero for a in along], axis=0)
    else:
        norm = np.linalg.norm(omega * kernel.scales(dim), axis=1, keepdims=True)
        expected = kernel.spectral_density(norm * np.eye(dim)[0] / kernel.scales(dim))
    assert_allclose(found, expected, rtol=1e-10)


@every_simple_kernel
@every_dimension
def test_quantiles_follow_the_density(kernel_of, dim):
    """The mass of the spectral measure below its quantile of u is u."""
    kernel = kernel_of(dim).replace(length_scale=1.0, variance=1.0)
    u = np.array([0.001, 0.05, 0.3, 0.5, 0.8, 0.99])
    if isinstance(kernel, IsotropicKernel):
        area = 2 * np.pi ** (dim / 2) / special.gamma(dim / 2)
        shell = area * kernel.radial_density(W, dim) * W ** (dim - 1)
        below = np.trapezoid(shell[None, :] * (W <= kernel.radial_quantile(u, dim)[:, None]), W)
    else:
        assert_allclose(kernel.axis_quantile(1 - u), -kernel.axis_quantile(u), rtol=1e-9, atol=1e-12)
        half = kernel.axis_density(W)
        below = 0.5 + np.trapezoid(half[None, :] * (W <= kernel.axis_quantile(0.5 + u / 2)[:, None]), W)
        u = 0.5 + u / 2
    assert_allclose(below, u, atol=3e-4)


@every_kernel_with_a_density
def test_density_of_a_sum_or_product_integrates_to_its_variance(kernel_of):
    kernel = kernel_of(1)
    # w = sinh(t) reaches 5e4, beyond which lies a mass of at most 1e-4
    t = np.linspace(-11.5, 11.5, 2000)
    density = spectral_density(kernel, np.sinh(t)[:, None])
    # products are convolved by 1,024 quasi Monte Carlo points
    assert_allclose(np.trapezoid(density * np.cosh(t), t), total_variance(kernel), rtol=5e-3)


@every_dimension
def test_density_of_a_product_is_the_convolution(dim):
    """Squared exponentials multiply to a squared exponential of a shorter length scale."""
    product = SquaredExponential(2.0, 1.5) * SquaredExponential(1.0, 0.5)
    same = SquaredExponential(1 / np.sqrt(1 / 2.0**2 + 1), 0.75)
    omega = np.random.default_rng(0).normal(size=(10, dim))
    # 1,024 quasi Monte Carlo points leave an error of about 1 % of the largest density
    peak = same.spectral_density(np.zeros((1, dim)))[0]
    assert_allclose(product.spectral_density(omega), same.spectral_density(omega), atol=0.02 * peak)


@every_kernel
@every_dimension
def test_gradient_matches_finite_differences(kernel_of, dim):
    rng = np.random.default_rng(1)
    kernel = kernel_of(dim)
    x, z = rng.normal(size=(6, dim)), rng.normal(size=(5, dim))
    z[0] = x[0]  # a lag of zero
    k, gradient = kernel.covariance_and_gradient(x, z)
    assert_allclose(k, kernel.covariance(x, z), rtol=1e-12, atol=1e-14)
    assert len(gradient) == len(kernel.theta) == len(kernel.hyperparameters)
    h = 1e-5
    for j, slope in enumerate(gradient):
        step = h * np.eye(len(kernel.theta))[j]
        up, down = (kernel.with_theta(kernel.theta + s * step).covariance(x, z) for s in (1, -1))
        # central differences: h^2 and rounding / h are both below 1e-9 of the largest covariance
        assert_allclose(slope, (up - down) / (2 * h), rtol=1e-6, atol=1e-8 * np.abs(k).max())


@every_kernel
@every_dimension
def test_theta_round_trip(kernel_of, dim):
    kernel = kernel_of(dim)
    x = np.random.default_rng(2).normal(size=(5, dim))
    assert_allclose(kernel.with_theta(kernel.theta)(x), kernel(x), rtol=1e-12)


@every_kernel
@every_dimension
def test_covariance_is_symmetric_and_positive_semi_definite(kernel_of, dim):
    kernel = kernel_of(dim)
    x = np.random.default_rng(3).normal(size=(60, dim))
    k = kernel(x)
    assert_allclose(k, k.T, rtol=1e-12, atol=1e-14)
    assert_allclose(np.diag(k), kernel.diag(x), rtol=1e-12)
    assert np.linalg.eigvalsh(k).min() >= -1e-12 * np.trace(k)


@every_stationary_kernel
@every_dimension
def test_shift_invariance(kernel_of, dim):
    """The covariance depends on the lag alone, and is the variance at lag zero."""
    kernel = kernel_of(dim)
    x = np.random.default_rng(4).normal(size=(8, dim))
    assert_allclose(kernel(x + 3.0), kernel(x), rtol=1e-9)
    assert_allclose(kernel(x, x[:1])[:, 0], kernel.at(x - x[:1]), rtol=1e-9)
    assert_allclose(kernel.at(np.zeros((1, dim))), total_variance(kernel), rtol=1e-12)


@every_kernel
@every_dimension
def test_what_checks_and_what_trusts_are_the_same(kernel_of, dim):
    """`kernel(X)`, `diag` and `at` refuse what is not finite; the methods behind them do not look."""
    kernel, x = kernel_of(dim), np.random.default_rng(2).normal(size=(6, dim))
    assert_allclose(kernel.covariance(x, x), kernel(x), rtol=0)
    assert_allclose(kernel.variances(x), kernel.diag(x), rtol=0)
    bad = np.where(np.arange(6)[:, None] == 3, np.nan, x)
    for checked in (kernel, kernel.diag, *([kernel.at] if kernel.stationary else [])):
        with pytest.raises(InputError, match="NaN or infinite"):
            checked(bad)
    if kernel.stationary:
        assert_allclose(kernel.lag_covariance(x), kernel.at(x), rtol=0)
    else:
        with pytest.raises(KernelError, match="depends on the places"):
            kernel.at(x)


@every_kernel
@every_dimension
def test_kernels_add_multiply_and_scale(kernel_of, dim):
    kernel, other = kernel_of(dim), Matern(2.0, 0.5)
    x = np.random.default_rng(5).normal(size=(7, dim))
    assert_allclose((kernel + other)(x), kernel(x) + other(x), rtol=1e-12)
    assert_allclose((kernel * other)(x), kernel(x) * other(x), rtol=1e-12)
    assert_allclose((2.5 * kernel)(x), 2.5 * kernel(x), rtol=1e-12)
    assert_allclose((kernel * 2.5)(x), 2.5 * kernel(x), rtol=1e-12)


@every_kernel
@every_dimension
def test_kernels_multiply_out_to_terms(kernel_of, dim):
    kernel = kernel_of(dim)
    x = np.random.default_rng(6).normal(size=(6, dim))
    expanded = sum(np.prod([factor(x) for factor in term], axis=0) for term in kernel.terms())
    assert_allclose(expanded, kernel(x), rtol=1e-12)


@every_kernel
def test_kernels_are_values(kernel_of):
    """Frozen, equal and hashed by content, cloned by scikit-learn."""
    kernel = kernel_of(2)
    assert kernel == kernel_of(2)
    assert hash(kernel) == hash(kernel_of(2))
    assert clone(kernel, safe=False) == kernel
    assert kernel.with_params(**kernel.get_params(deep=False)) == kernel
    field = dataclasses.fields(kernel)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(kernel, field, 2.0)


def test_lists_and_arrays_of_length_scales_become_tuples():
    assert Matern([1.0, 2.0]) == Matern(np.array([1.0, 2.0])) == Matern((1.0, 2.0))


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "long", None, (1.0, -2.0)])
@pytest.mark.parametrize("kind", [SquaredExponential, Matern, Laplacian, Cauchy, RationalQuadratic, Polynomial, Linear])
def test_bad_length_scales_and_variances_are_refused(kind, value):
    with pytest.raises(KernelError, match="length_scale"):
        kind(length_scale=value)
    if not isinstance(value, tuple):
        with pytest.raises(KernelError, match="variance"):
            kind(variance=value)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Matern(nu=0), "nu"),
        (lambda: RationalQuadratic(alpha=-1), "alpha"),
        (lambda: Polynomial(degree=1.5), "degree"),
        (lambda: Polynomial(degree=0), "degree"),
        (lambda: Polynomial(offset=-1), "offset"),
        (lambda: Matern() * 0, "0"),
        (lambda: -1.0 * Matern(), "-1.0"),
        (lambda: Matern().replace(lenght_scale=2), "lenght_scale"),
        (lambda: Matern((2.0, 1.0), rotation=np.nan), "rotation"),
        (lambda: Matern((2.0, 1.0), rotation="north"), "rotation"),
        (lambda: Matern((1.0, 2.0))(np.zeros((3, 3))), "2 length scales for 3 coordinates"),
        (lambda: Linear().at(np.zeros((1, 2))), "Linear"),
        (lambda: spectral_density(Linear(), np.zeros((1, 2))), "Linear"),
    ],
)
def test_bad_parameters_are_refused_by_name(make, named):
    with pytest.raises(KernelError, match=named):
        make()


def test_kernels_times_words_are_refused():
    with pytest.raises(TypeError, match="multiply"):
        Matern() * "ten"  # type: ignore[operator]
