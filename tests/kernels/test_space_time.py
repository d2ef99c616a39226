"""Kernels of space and time: axes, separable and not, and what they must agree with."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from bochner.exceptions import KernelError
from bochner.frequencies import MonteCarlo
from bochner.kernels import (
    Axes,
    Gneiting,
    Matern,
    OnAxes,
    Product,
    RationalQuadratic,
    Separable,
    SquaredExponential,
    axis_units,
    spectral_density,
)
from bochner.kernels.gneiting import _log_kanter, _tilted_angle

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(12, 3)), RNG.normal(size=(9, 3))


def test_separable_squared_exponentials_are_one_with_scales_per_axis():
    separable = Separable(SquaredExponential(2.0, 1.5), SquaredExponential(0.5))
    joint = SquaredExponential((2.0, 2.0, 0.5), 1.5)
    assert_allclose(separable(X), joint(X), rtol=1e-12)
    assert_allclose(separable.spectral_density(W), joint.spectral_density(W), rtol=1e-12)
    assert separable.variance == 1.5


def test_axes_can_be_named_in_every_way():
    space, time = Matern((1.0, 2.0)), Matern(0.5, nu=0.5)
    last = Separable(space, time)
    assert_allclose(Separable(space, time, time_axes=2)(X), last(X))
    assert_allclose(Separable(space, time, space_axes=(0, 1))(X), last(X))
    assert_allclose(Separable(space, time, space_axes=(0, 1), time_axes=(-1,))(X), last(X))
    assert_allclose(Separable(space, time, time_axes=0)(X[:, [2, 0, 1]]), last(X))
    assert_allclose((OnAxes(space, (0, 1)) * OnAxes(time, -1))(X), last(X))
    assert_allclose((OnAxes(space, without=2) * OnAxes(time, without=(0, 1)))(X), last(X))
    # in the kernel's own order
    assert_allclose(OnAxes(space, (1, 0))(X), Matern((2.0, 1.0))(X[:, :2]))
    assert_allclose(OnAxes(OnAxes(time, 1), (0, 2))(X), time(X[:, 2:]))


def test_hyperparameters_know_their_axes():
    kernel = Separable(Matern((1.0, 2.0)), Matern())
    assert [h.name for h in kernel.hyperparameters] == [
        "space__length_scale[0]",
        "space__length_scale[1]",
        "space__variance",
        "time__length_scale",
    ]
    assert [h.axis for h in kernel.hyperparameters if h.role.name == "length_scale"] == [0, 1, Axes((-1,))]
    assert OnAxes(Matern(), (0, 2)).hyperparameters[0].axis == Axes((0, 2))
    assert Gneiting().hyperparameters[1].axis == -1


def test_waves_of_one_axis_leave_the_others_alone():
    waves = MonteCarlo().draw(OnAxes(Matern(), 1) + OnAxes(Matern(), (0, 2)), 40, 3, np.random.default_rng(1))
    assert np.all((waves.omega[:20, [0, 2]] == 0) & (waves.omega[:20, [1]] != 0))
    assert np.all((waves.omega[20:, 1] == 0) & (waves.omega[20:, 0] != 0))


@pytest.mark.parametrize("d", [1, 2])
def test_gneiting_without_interaction_is_separable(d):
    """Matern in space times (1 + (u / l)^2)^(-d/2), a rational quadratic."""
    x = X[:, : d + 1]
    gneiting = Gneiting(1.3, 0.7, 2.0, interaction=0.0, nu=1.5, alpha=1.0)
    same = Separable(Matern(1.3, 2.0, nu=1.5), RationalQuadratic(0.7 / np.sqrt(d), alpha=d / 2))
    assert_allclose(gneiting(x), same(x), rtol=1e-12)
    assert len(gneiting.theta) == 3  # an interaction of 0 stays


def test_gneiting_is_its_formula_and_widens_with_time():
    kernel = Gneiting(2.0, 0.5, 1.5, interaction=0.6, nu=0.5, alpha=0.5)
    h, u = np.array([0.8, -0.4]), 0.9
    psi = 1 + u / 0.5
    expected = 1.5 / psi * np.exp(-np.linalg.norm(h) / 2.0 / psi**0.3)
    assert_allclose(kernel.at([[*h, u]]), [expected], rtol=1e-12)
    far, near = np.array([3.0, 0.0]), np.zeros(2)
    share = [kernel.at([[*far, t]])[0] / kernel.at([[*near, t]])[0] for t in (0.0, 1.0, 5.0)]
    assert share[0] < share[1] < share[2]


def test_gneiting_draws_its_law_exactly():
    """150,000 waves: five standard errors, 0.013, would show any other law of the time variance."""
    for beta, alpha in ((0.3, 1.0), (0.7, 0.5)):
        kernel = Gneiting(1.0, 1.0, interaction=beta, alpha=alpha)
        lag = np.array([[0.5, 0.3, 0.4], [1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [2.0, 1.0, 0.1], [0.3, 0.1, 6.0]])
        waves = MonteCarlo().draw(kernel, 150_000, 3, np.random.default_rng(3))
        assert_allclose(waves.covariance(lag), kernel.at(lag), atol=5 / np.sqrt(150_000))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: OnAxes(Matern()), "give one of them"),
        (lambda: OnAxes(Matern(), 0, without=1), "give one of them"),
        (lambda: OnAxes(Matern(), (0.5,)), "whole numbers"),
        (lambda: OnAxes("matern", 0), "needed is a kernel"),
        (lambda: OnAxes(Matern(), 3)(X), "axes .* for 3 coordinates"),
        (lambda: OnAxes(Matern(), (2, -1))(X), "different numbers"),
        (lambda: OnAxes(Matern(), without=(0, 1, 2))(X), "leaves none"),
        (lambda: OnAxes(Matern((1.0, 2.0, 3.0)), (0, 1))(X), "3 length scales for 2 coordinates"),
        (lambda: Separable(Matern(), 1.0), "time is 1.0"),
        (lambda: Separable(Matern(), Matern())(X[:, :1]), "two or more"),
        (lambda: Separable(Matern(), Matern(), space_axes=(0, 1), time_axes=(1, 2))(X), "axis 1 is both"),
        (lambda: Gneiting(interaction=1.2), "interaction"),
        (lambda: Gneiting(alpha=2.0), "alpha"),
        (lambda: Gneiting()(X[:, :1]), "two or more"),
        (lambda: Gneiting((1.0, 2.0, 3.0))(X), "3 length scales for 2 coordinates in space"),
        (lambda: Gneiting().spectral_density(W), "no closed form"),
        (lambda: spectral_density(OnAxes(Matern(), (0, 1)), W), "constant along axis 2"),
        (lambda: spectral_density(Matern() + OnAxes(Matern(), 1), W), "Matern on axes .1,. is constant along axis 0"),
    ],
)
def test_refusals_say_what_is_wrong(make, named):
    with pytest.raises(KernelError, match=named):
        make()


def test_separable_holds_the_variance_of_time():
    kernel = Separable(Matern(variance=2.0), Matern(variance=3.0))
    assert [h.name for h in kernel.hyperparameters if h.role.name == "variance"] == ["space__variance"]
    assert_allclose(kernel.with_theta(kernel.theta).time.variance, 3.0, rtol=1e-12)
    assert isinstance(kernel.product, Product)
    assert kernel.with_params(space__length_scale=4.0).space == Matern(4.0, 2.0)


def test_units_of_axes_are_those_of_the_kernel_where_they_differ_much():
    extent = np.array([800.0, 600.0, 365.0])
    unit = axis_units(Matern((100.0, 100.0, 2.0)), extent)
    assert unit is not None
    assert_allclose(unit[:2] / unit[2], 50.0, rtol=0.1)
    assert axis_units(Matern((100.0, 80.0, 60.0)), extent) is None
    assert axis_units(Matern(100.0), extent) is None


@pytest.mark.parametrize("beta", [0.2, 0.7])
def test_quantiles_of_the_tilted_angle_invert_its_distribution(beta):
    """At the ends, too, where its density is not zero: integrated anew, what lies below a quantile is its level."""

    def density(u: float) -> float:
        return float(np.exp(-_log_kanter(np.array([u]), beta)[0]))  # d = 2

    whole = integrate.quad(density, 1e-12, np.pi - 1e-12)[0]
    for level in (2e-5, 2e-4, 0.3, 0.9):
        below = integrate.quad(density, 1e-12, float(_tilted_angle(beta, 2, np.array([level]))[0]))[0]
        assert_allclose(below / whole, level, rtol=1e-2)
