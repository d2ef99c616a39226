"""Numbers at the edge of doubles: the answer of the same problem in friendlier numbers, or one of our errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import BochnerError
from bochner.families import Poisson
from bochner.kernels import Matern, SquaredExponential
from bochner.posterior import Latent, Response
from tests.properties.problems import FAMILIES, SCHEMES, Problem, problem

every_scheme = pytest.mark.parametrize("features", SCHEMES)
every_family = pytest.mark.parametrize("family", FAMILIES)
DIRECT = ("exact", "lattice", "nystroem")
ADDITIVE = pytest.mark.parametrize("family", ["gaussian", "student"])


def smooth(n: int = 40, seed: int = 0) -> Problem:
    """Nearly noise-free rows of a smooth surface."""
    told = problem("gaussian", seed, n=n)
    surface = np.sin(5 * told.X[:, 0]) * np.cos(3 * told.X[:, 1])
    return replace(told, y=surface)


def kriged(told: Problem, kernel, noise: float) -> np.ndarray:
    """Mean and sd at the new places by plain dense algebra, with a constant of flat prior."""
    X, at, ones = told.X[:, :2], told.at[:, :2], np.ones(len(told.y))
    k, cross = kernel(X) + noise * np.eye(len(X)), kernel.covariance(X, at)
    of_ones, weights = np.linalg.solve(k, ones), np.linalg.solve(k, cross)
    level = of_ones @ told.y / of_ones.sum()
    variance = kernel.variances(at) - np.sum(weights * cross, axis=0) + (1 - weights.sum(axis=0)) ** 2 / of_ones.sum()
    return np.stack([level + weights.T @ (told.y - level), np.sqrt(np.maximum(variance, 0))])


@every_scheme
@pytest.mark.parametrize("length", 10.0 ** np.arange(-4, 5))
def test_length_scales_over_eight_orders(length, features):
    """A field much shorter than the spacing is the mean, one much longer is flat; never anything else, nor NaN."""
    told = replace(smooth(), features=features)
    model = told.model(kernel=Matern(length, nu=1.5), covariates=None, coords=None, noise_variance=0.01)
    model.fit(told.X[:, :2], told.y)
    mean, sd = model.predict(told.at[:, :2], return_std=True)
    assert np.isfinite(mean).all() and (sd >= 0).all()
    wanted = kriged(told, Matern(length, nu=1.5), 0.01)
    if features == "exact":
        assert_allclose(mean, wanted[0], atol=1e-5)
        assert_allclose(sd, wanted[1], atol=1e-5)
    elif features == "lattice" and length >= 0.1:
        assert_allclose(mean, wanted[0], atol=0.1)
    assert np.abs(mean).max() < 10 * np.abs(told.y).max()


@every_scheme
@every_family
def test_the_offset_of_utm_changes_nothing(family, features):
    told = problem(family, 4, features).with_coords(lambda places: 1e3 * places)
    told = replace(told, length=1e3)
    utm = told.with_coords(lambda places: places + np.array([5e5, 5e6]))
    # 5e6 m is held to 1e-9 m, a millionth of a millionth of the scale
    assert_allclose(utm.answers(), told.answers(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("features", DIRECT)
@every_family
def test_places_nearly_the_same_are_as_good_as_the_same(family, features):
    """Also where waves or landmarks hold all of the field: what they leave out, every row has for itself."""
    told = problem(family, 5, features)
    same = told.taken(np.r_[np.arange(len(told.y)), np.arange(10)])
    X = same.X.copy()
    X[-10:, :2] += 1e-9
    waves = {"exact": "auto", "nystroem": 60, "lattice": 400}[features]
    parts = {"kernel": SquaredExponential(0.4, 0.8), "n_frequencies": waves}
    # the weight of a Student row follows from what the other rows say of it, and a copy beside it is another row
    close = 0.05 if family == "student" else 1e-4
    assert_allclose(replace(same, X=X).answers(**parts), same.answers(**parts), rtol=close, atol=close)


@pytest.mark.parametrize("features", DIRECT)
@pytest.mark.parametrize("kernel", [Matern(0.4, nu=1.5), SquaredExponential(0.4)])
def test_noise_of_a_millionth_of_a_millionth_interpolates(kernel, features):
    told = replace(smooth(), features=features)
    model = told.model(kernel=kernel, noise_variance=1e-12, coords=None, covariates=None, n_frequencies="auto").fit(
        told.X[:, :2], told.y
    )
    mean, sd = model.predict(told.at[:, :2], return_std=True)
    truth = np.sin(5 * told.at[:, 0]) * np.cos(3 * told.at[:, 1])
    assert np.isfinite(sd).all() and (sd >= 0).all()
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.15
    assert np.abs(mean - truth).max() <= 6 * sd.max() + 0.02


@every_scheme
@ADDITIVE
@pytest.mark.parametrize("unit", [1e-150, 1e-60, 1e60, 1e150])
def test_responses_of_any_size_have_the_same_map(unit, family, features):
    told = problem(family, 6, features)
    big = replace(told, y=unit * told.y, unit=unit)
    assert_allclose(big.answers(), told.answers(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("features", ["exact", "lattice"])
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_what_is_learned_has_the_unit_of_the_response(unit, features):
    told = problem("gaussian", 7, features)
    parts = {"tune": "evidence", "noise_variance": None}
    small, big = (
        SpatialRegressor(Matern(0.4), features=features, **parts).fit(told.X[:, :2], c * told.y) for c in (1.0, unit)
    )
    assert_allclose(big.predict(told.at[:, :2]) / unit, small.predict(told.at[:, :2]), rtol=1e-3, atol=1e-4)


@every_scheme
@pytest.mark.parametrize("level", [0.0, 3.0, 1e100])
def test_a_constant_response_is_that_constant(level, features):
    told = problem("gaussian", 8, features)
    for tune in (None, "evidence"):
        model = SpatialRegressor(Matern(0.4), features=features, tune=tune, noise_variance=None, n_frequencies=20)
        if features == "exact":
            model.set_params(n_frequencies="auto")
        mean, sd = model.fit(told.X[:, :2], np.full(len(told.y), level)).predict(told.at[:, :2], return_std=True)
        assert_allclose(mean, level, rtol=1e-6, atol=1e-9)
        assert np.isfinite(sd).all() and (sd >= 0).all()


@every_scheme
@pytest.mark.parametrize("value", [0.0, 7.0, 5e6])
def test_a_constant_coordinate_says_nothing(value, features):
    """Exactly as if it were not there, by kernels that are the same on a line."""
    told = problem("gaussian", 9, features)
    flat = told.with_coords(lambda places: np.column_stack([places[:, 0], np.full(len(places), value)]))
    if features == "exact":
        line = replace(told, X=told.X[:, [0, 2]], at=told.at[:, [0, 2]])
        assert_allclose(flat.answers(), line.answers(coords=[0], covariates=[1]), rtol=1e-6, atol=1e-6)
    zero = told.with_coords(lambda places: np.column_stack([places[:, 0], np.zeros(len(places))]))
    assert_allclose(flat.answers(), zero.answers(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("features", DIRECT)
@pytest.mark.parametrize("parts", [{"length": 1e-100}, {"length": 1e100}, {"variance": 1e-300}, {"variance": 1e300}])
def test_scales_beyond_reason_are_answered_or_refused(parts, features):
    told = problem("gaussian", 10, features)
    kernel = Matern(parts.get("length", 0.4), parts.get("variance", 1.0))
    try:
        mean, sd = told.answers(kernel=kernel)
    except BochnerError:
        return
    assert np.isfinite(mean).all() and np.isfinite(sd).all() and (sd >= 0).all()


def test_a_mean_beyond_all_numbers_has_no_sd_that_is_none():
    """A component of a mixture without mass says nothing, though its moments overflow."""
    eta = Latent(np.array([[5e5, 0.0], [5e5, 1.0]]), np.array([[1e6, 1.0], [1e6, 1.0]]), np.array([0.0, 1.0]))
    for new in (False, True):
        law = Response(Poisson(), eta, np.ones(2), new)
        assert np.isfinite(law.mean).all() and not np.isnan(law.sd).any()
        assert law.sd[1] < 10


def test_one_row_to_spare_has_a_residual_variance():
    """Least squares with one row more than columns: the square of what is left, for the one degree of freedom."""
    X = np.array([[0.0], [0.4], [0.7], [1.0]])
    y = np.array([0.3, -1.0, 2.0, 0.5])
    model = SpatialRegressor(Matern(0.5), features="quasi", n_frequencies=1, noise_variance=0.0, tune=None).fit(X, y)
    left = np.sum((y - model.predict(X)) ** 2)
    assert left > 0.01
    assert_allclose(model.fitted_.model.fits[0].engine.noise_variance, left, rtol=1e-6)
