"""Laws of every family: derivatives of the log density, its integral and its domain."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import InputError
from bochner.families import family_named
from tests.laws.registry_models import FAMILIES

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=20), rng.normal(size=20), rng.uniform(0.1, 3.0, size=20)


@every_family
def test_score_is_the_first_derivative(family):
    (y, eta, variance), h = rows(), 1e-5
    slope = (family.log_density(y, eta + h, variance) - family.log_density(y, eta - h, variance)) / (2 * h)
    # central differences: h^2 and rounding / h are both below 1e-9
    assert_allclose(family.score(y, eta, variance), slope, rtol=1e-7, atol=1e-8)


@every_family
def test_curvature_is_minus_the_second_derivative(family):
    (y, eta, variance), h = rows(), 1e-5
    slope = (family.score(y, eta + h, variance) - family.score(y, eta - h, variance)) / (2 * h)
    assert_allclose(family.curvature(y, eta, variance), -slope, rtol=1e-7, atol=1e-8)


@every_family
def test_density_integrates_to_one_with_its_mean(family):
    y = np.linspace(-30, 30, 60_001)
    density = np.exp(family.log_density(y, np.full_like(y, 0.7), np.full_like(y, 2.0)))
    assert_allclose(np.trapezoid(density, y), 1.0, rtol=1e-9)
    assert_allclose(np.trapezoid(density * y, y), family.mean(np.array([0.7])), rtol=1e-9)


@every_family
def test_responses_outside_the_domain_are_refused(family):
    family.check(np.array([0.5, 1.0]))
    with pytest.raises(InputError, match=r"NaN or infinite.*\(1,\)"):
        family.check(np.array([0.5, np.nan]))


@every_family
def test_families_are_found_by_name(family):
    assert type(family_named(family.name)) is type(family)
    assert family_named(family) is family


def test_unknown_family_is_refused():
    with pytest.raises(InputError, match=r"gausian.*choose from"):
        family_named("gausian")
