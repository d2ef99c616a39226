"""The logarithm of K: right where SciPy's own is finite, finite where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from bochner.kernels import Matern, RationalQuadratic, SquaredExponential
from bochner.kernels.bessel import bessel_k_and_slope, log_bessel_k


@pytest.mark.parametrize("order", [0.0, 0.5, -1.5, 7.3, 19.9, 20.0, 25.0, -40.0, 60.0])
def test_matches_scipy_where_that_is_finite(order):
    t = np.geomspace(1e-2, 1e4, 200)
    assert_allclose(log_bessel_k(order, t), np.log(special.kve(order, t)) - t, rtol=0, atol=1e-8)


@pytest.mark.parametrize("order", [0.0, 0.02, 0.37, 0.5, 1.0, 2.2, 5.0, 7.7, 19.99])
def test_ratio_and_slope_in_the_order_come_with_the_logarithm(order):
    """From the nearest to the farthest arguments; the slope is that of SciPy's values, by differences."""
    t = np.geomspace(1e-9, 1e3, 700).reshape(7, 100)
    log_k, ratio, slope = bessel_k_and_slope(order, t)
    expected = np.log(special.kve(order, t)) - t
    assert_allclose(log_k, expected, rtol=1e-11, atol=1e-11)
    assert_allclose(ratio, special.kve(order - 1, t) / special.kve(order, t), rtol=1e-11)
    h = 3e-4
    near, far = (np.log(special.kve(order + d, t) / special.kve(abs(order - d), t)) for d in (h, 2 * h))
    differences = (8 * near - far) / (12 * h)
    assert_allclose(slope, differences, rtol=1e-7, atol=1e-8)


def test_no_arguments_have_no_values():
    """Places that are all one have no distance at which a slope is asked for."""
    assert [each.shape for each in bessel_k_and_slope(0.8, np.empty(0))] == [(0,)] * 3
    kernel = Matern(nu=0.8, learn_nu=True)
    for distance in (np.zeros(3), np.empty((0, 2))):
        assert all(np.all(slope == 0) for slope in kernel.shape_slopes(distance))
        assert [each.shape for each in kernel.profile(distance)] == [distance.shape] * 3


@pytest.mark.parametrize("order", [150.0, 1e4, 1e6])
def test_is_finite_for_large_orders(order):
    """K_order(t) is Gamma(order) / 2 (2 / t)^order for small t, where SciPy's overflows."""
    t = np.geomspace(1e-10, 1e-1, 20)
    # the next term of the series is a factor 1 - t^2 / (4 (order - 1))
    expected = special.gammaln(order) - np.log(2) + order * np.log(2 / t) - t**2 / (4 * (order - 1))
    assert_allclose(log_bessel_k(order, t), expected, rtol=1e-13, atol=1e-8)


@pytest.mark.parametrize("dim", [1, 2, 3, 64])
def test_kernels_of_large_shape_approach_the_squared_exponential(dim):
    u = np.linspace(0.001, 0.999, 50)
    limit = SquaredExponential()
    distance = np.linspace(0, 4, 30)
    assert_allclose(Matern(nu=1e5).correlation(distance), limit.correlation(distance), atol=1e-4)
    assert_allclose(Matern(nu=1e5).radial_quantile(u, dim), limit.radial_quantile(u, dim), rtol=1e-3)
    assert_allclose(RationalQuadratic(alpha=1e5).radial_quantile(u, dim), limit.radial_quantile(u, dim), rtol=1e-3)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 5.0, 50.0])
@pytest.mark.parametrize("dim", [1, 2, 3, 64])
def test_rational_quadratic_is_a_scale_mixture(alpha, dim):
    """|omega|^2 = g chi-squared(dim) with g ~ Gamma(alpha, rate alpha): check its distribution function."""
    u = np.array([0.6, 0.8, 0.95])
    w = RationalQuadratic(alpha=alpha).radial_quantile(u, dim)
    strata = (np.arange(20_000) + 0.5) / 20_000
    g = np.maximum(special.gammaincinv(alpha, strata) / alpha, 1e-300)
    assert_allclose([special.gammainc(dim / 2, v**2 / (2 * g)).mean() for v in w], u, atol=3e-4)
