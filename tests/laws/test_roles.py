"""Laws of every role of a hyperparameter: bounds hold starts, priors have the slope they say, units are followed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.kernels import Scale, Start
from bochner.kernels.roles import ROLES
from tests.laws.registry import DIMS, KERNELS, RICH_KERNELS

every_role = pytest.mark.parametrize("role", ROLES.values(), ids=ROLES.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


def scale_of(dim, unit=1.0):
    return Scale(unit * np.array([3.0, 5.0, 2.0])[:dim], spacing=0.04, variance=1.7)


@every_role
@every_dimension
def test_bounds_are_an_interval_that_holds_every_start(role, dim):
    scale = scale_of(dim)
    low, high = role.bounds(scale.extent, scale)
    assert 0 < low < high < np.inf
    for reach in (0.05, 0.2, 0.6):
        begin = role.start(np.log(np.sqrt(low * high)), scale.extent, scale, Start(reach, scale.variance))
        assert np.log(low) <= begin <= np.log(high)


@every_role
@every_dimension
def test_prior_has_the_slope_it_says(role, dim):
    scale = scale_of(dim)
    low, high = np.log(role.bounds(scale.extent, scale))
    for theta in np.linspace(low, high, 7):
        h = 1e-5
        up, down = (role.log_prior(theta + s * h, scale.extent, scale)[0] for s in (1, -1))
        slope = role.log_prior(theta, scale.extent, scale)[1]
        # central differences: h^2 and rounding / h are both below 1e-9 of the largest value
        assert_allclose(slope, (up - down) / (2 * h), rtol=1e-6, atol=1e-9 * (1 + abs(up)))


@every_role
@every_dimension
def test_what_has_a_unit_follows_it(role, dim):
    """Coordinates in metres instead of kilometres: bounds move by the power of a length that the role declares."""
    in_km, in_m = scale_of(dim), scale_of(dim, 1000.0)
    moved = np.divide(role.bounds(in_m.extent, in_m), role.bounds(in_km.extent, in_km))
    assert_allclose(moved, 1000.0**role.power_of_length, rtol=1e-12)


@every_role
def test_variances_follow_the_variance_of_the_data(role):
    scale = scale_of(2)
    larger = replace(scale, variance=100 * scale.variance)
    moved = np.divide(role.bounds(scale.extent, larger), role.bounds(scale.extent, scale))
    assert_allclose(moved, 100.0 if role.is_variance else 1.0, rtol=1e-12)


@pytest.mark.parametrize("kernel_of", [*KERNELS.values(), *RICH_KERNELS.values()], ids=[*KERNELS, *RICH_KERNELS])
@every_dimension
def test_every_hyperparameter_has_a_registered_role(kernel_of, dim):
    for h in kernel_of(dim).hyperparameters:
        assert ROLES[h.role.name] is h.role
        assert len(h.sides(scale_of(dim))) >= 1
