"""Responses and coordinates in units so small or large that their squares are no doubles."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.exceptions import CheckWarning, InputError
from bochner.kernels import Matern, Separable


def survey(n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    return X, 3 + np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=n), rng.uniform(size=(20, 2))


@cache
def fitted(family: str, unit: float) -> SpatialRegressor:
    X, y, _ = survey(50)
    return SpatialRegressor(Matern(0.3), family=family).fit(X, unit * y)


@pytest.mark.parametrize(
    ("unit", "family"),
    [*((unit, "gaussian") for unit in (1e-150, 1e-100, 1e100, 1e150)), (1e-150, "student"), (1e150, "student")],
)
def test_tiny_and_huge_responses_have_the_same_map(unit, family, tmp_path):
    places = survey()[2]
    plain, other = fitted(family, 1.0), fitted(family, unit)
    for ours, theirs in zip(
        other.predict(places, return_std=True), plain.predict(places, return_std=True), strict=True
    ):
        assert_allclose(ours / unit, theirs, rtol=1e-4)
    # densities of y and of c y differ by the factor c in each row, fixed effects integrated out
    assert other.log_evidence_ == pytest.approx(plain.log_evidence_ - 49 * np.log(unit), rel=1e-9)
    assert other.kernel_.variance / unit**2 == pytest.approx(plain.kernel_.variance, rel=1e-3)
    assert other.intercept_ / unit == pytest.approx(plain.intercept_, rel=1e-4)
    assert "unit" in other.choices_ and "unit" not in plain.choices_
    held = [m.cross_validate(None).prediction.mean for m in (plain, other)]
    assert_allclose(held[1] / unit, held[0], rtol=1e-4)
    other.save(tmp_path / "model.bochner")
    assert_allclose(load(tmp_path / "model.bochner").predict(places), other.predict(places), rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_responses_whose_variance_no_double_holds_are_refused(unit):
    X, y, _ = survey()
    with pytest.raises(InputError, match=r"no double can hold the variance.*divide it by 1e[+-]160"):
        SpatialRegressor().fit(X, unit * y)


def test_given_values_are_in_the_unit_of_the_response():
    X, y, places = survey()
    plain = SpatialRegressor(Matern(0.3, 2.0), noise_variance=0.01, tune=None).fit(X, y)
    small = SpatialRegressor(Matern(0.3, 2e-200), noise_variance=1e-202, tune=None).fit(X, 1e-100 * y)
    assert_allclose(1e100 * small.predict(places), plain.predict(places), rtol=1e-9)
    assert small.noise_variance_ == pytest.approx(1e-202)


def test_ordinary_responses_are_not_touched():
    X, y, _ = survey()
    assert "unit" not in SpatialRegressor(Matern(0.3), tune=None).fit(X, 1e30 * y).choices_


def test_coordinates_beyond_squares_are_refused():
    X, y, _ = survey()
    with pytest.raises(InputError, match=r"coordinates extend over 1e\+155.*another unit"):
        SpatialRegressor().fit(1e155 * X, y)


def test_lengths_in_metres_are_told_where_places_are_in_km():
    X, y, _ = survey()
    model = SpatialRegressor(Matern(30_000.0), noise_variance=0.01, tune=None, crs="EPSG:32633")
    with pytest.warns(CheckWarning, match=r"length scale of the kernel is 30,000 km.*span 9\d\.\d+ km.*write 30\."):
        model.fit(5e5 + 1e5 * X, y)
    assert "30,000 km" in model.check()[0]
    for kernel, crs in ((Matern(30.0), "EPSG:32633"), (Matern(30_000.0), None)):
        fine = SpatialRegressor(kernel, noise_variance=0.01, tune=None, crs=crs).fit(5e5 + 1e5 * X, y)
        assert not any("length scale" in told for told in fine.check())
    # of space alone: a time has its own unit
    table = np.column_stack([5e5 + 1e5 * X, 1e4 * X[:, 0]])
    for space, told in ((30.0, False), (30_000.0, True)):
        apart = Separable(Matern(space), Matern(30_000.0))
        model = SpatialRegressor(apart, noise_variance=0.01, tune=None, crs="EPSG:32633").fit(table, y)
        assert any("length scale" in text for text in model.check()) == told
