"""Presence and few trials, as users have them: rare, clustered, with 0/1 covariates and factors; always tuned."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import optimize, special

from bochner import SpatialClassifier, SpatialRegressor
from bochner.families import family_named
from bochner.features import FourierMap, Rows
from bochner.frequencies import lattice_frequencies
from bochner.inference.fits.fixed_effects import fixed_effects, held_where_separated
from bochner.inference.fits.lattice_evidence import LatticeBound, lattice_plan
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.ladder import _parts, with_shared_trend
from bochner.inference.learning.other_families import Parts
from bochner.inference.observed.responses import Responses
from bochner.kernels import Matern
from tests.inference.learning.evidences import laplace, slopes_at

TRUTH = Matern(0.25, 1.5, nu=1.5)


def table(n: int, prevalence: float, seed: int = 0, rare: float = 0.03) -> tuple[np.ndarray, np.ndarray]:
    """Places, a continuous, a common and a rare 0/1 covariate; presence on a smooth field."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(n, 2))
    features = FourierMap(lattice_frequencies(TRUTH, np.ones(2), missing=1e-3, maximum=3_000))
    field = features.forward(places, rng.standard_normal(features.n_columns))
    common, seldom = (rng.uniform(size=n) < 0.3) * 1.0, (rng.uniform(size=n) < rare) * 1.0
    smooth = rng.standard_normal(n)
    eta = field + 0.5 * smooth - 0.7 * common + 0.8 * seldom
    eta += optimize.brentq(lambda level: np.mean(special.expit(eta + level)) - prevalence, -30, 30)
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))) * 1.0
    return np.column_stack([places, smooth, common, seldom]), y


def default(X: np.ndarray, y: np.ndarray, **parts) -> SpatialRegressor:
    """Fitted by default; any warning is an error."""
    model = SpatialRegressor(family="bernoulli", coords=[0, 1], covariates=list(range(2, X.shape[1])), **parts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y)


def assert_tuned(model: SpatialRegressor) -> None:
    """Learned, near the truth, and said without sentinel numbers."""
    assert model.choices_["tuning"].value in ("lattice", "exact", "composite")
    assert 0.02 < model.kernel_.length_scale < 3 and 0.1 < model.kernel_.variance < 30
    assert "e+25" not in model.summary() and "00000000" not in model.summary()


@pytest.mark.slow
def test_one_percent_of_two_thousand_rows():
    X, y = table(2_000, 0.012)
    assert 10 <= y.sum() <= 50
    assert_tuned(default(X, y, kernel=Matern(nu=1.5)))


@pytest.mark.slow
def test_a_cluster_of_one_class_and_a_rare_covariate():
    X, y = table(4_000, 0.3)
    X[:600, :2] = 0.03 * X[:600, :2]  # a dense corner where nothing was ever found
    y[:600] = 0.0
    model = default(X, y, kernel=Matern(nu=1.5))
    assert_tuned(model)
    mean, _ = model.fitted_.fixed_effects
    assert np.sign(mean[1]) == 1 and np.sign(mean[2]) == -1


@pytest.mark.slow
def test_five_percent_of_six_thousand_rows_are_asked_as_a_whole():
    """Parts of them hold some dozen cases and prefer any range; all of them know it."""
    model = default(*table(6_000, 0.05), kernel=Matern(nu=1.5))
    assert model.choices_["tuning"].value == "lattice"
    assert 0.12 < model.kernel_.length_scale < 0.6 and 0.5 < model.kernel_.variance < 5


@pytest.mark.slow
def test_villages_far_apart_are_not_taken_for_a_long_field():
    """Households share what their village does, and nothing beyond: too short for waves, and found by parts."""
    rng = np.random.default_rng(3)
    villages = rng.uniform(size=(200, 2))
    home = np.repeat(np.arange(200), 8)
    places = villages[home] + 0.001 * rng.standard_normal((1_600, 2))
    y = (rng.uniform(size=1_600) < special.expit(2.0 * rng.standard_normal(200)[home] - 1.0)) * 1.0
    model = SpatialRegressor(Matern(nu=1.5), family="bernoulli", features="lattice").fit(places, y)
    assert 0.001 < model.kernel_.length_scale < 0.05 and 2 < model.kernel_.variance < 8


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_parts_of_one_class_have_an_evidence(family):
    """A flat trend in each part had none, and failed the sum of all."""
    X, y = table(2_000, 0.05)
    y[X[:, 0] < 0.6] = 0.0
    parts = _parts(with_shared_trend(responses(X, y, family)), 0)
    assert any(part.y.sum() == 0 for part in parts)
    point = Parts([laplace(part) for part in parts]).at(Theta(Matern(0.2, 1.0, nu=1.5), 0.0))
    assert np.isfinite(point.value) and np.all(np.isfinite(point.gradient))


def test_a_factor_level_with_a_single_class():
    """No case goes with a level: its effect has no finite estimate, a weak prior holds it, and `check` names it."""
    X, y = table(700, 0.3)
    level = np.zeros(len(y))
    level[:40], y[:40] = 1.0, 0.0
    X = np.column_stack([X, level])
    model = default(X, y, kernel=Matern(0.25, 1.0, nu=1.5), tune=None)
    assert "no finite estimate" in model.choices_["fixed effects"]
    mean, covariance = model.fitted_.fixed_effects
    assert -6 < mean[-1] < -1 and 0.3 < np.sqrt(covariance[-1, -1]) < 4
    plain = default(X[40:, :5], y[40:], kernel=Matern(0.25, 1.0, nu=1.5), tune=None)
    others, _ = plain.fitted_.fixed_effects
    np.testing.assert_allclose(mean[1:4], others[1:4], atol=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert any("x5" in text and "x4" not in text for text in model.check())


def test_nothing_but_absence_is_still_refused():
    X, _ = table(200, 0.3)
    with pytest.raises(ValueError, match="no finite fit"):
        default(X[:, :2], np.zeros(200), kernel=Matern(0.25, 1.0), tune=None)


def test_a_classifier_of_a_separated_covariate():
    X, y = table(400, 0.3)
    X[:, 4] = y * (X[:, 2] > 0.5)  # only ever seen with presence
    model = SpatialClassifier(Matern(0.25, 1.0), coords=[0, 1], covariates=[2, 3, 4], tune=None).fit(X, y)
    p = model.predict_proba(X)
    assert np.all((p > 0) & (p < 1))


@pytest.mark.parametrize("family", ["bernoulli", "binomial", "poisson"])
def test_evidence_on_waves_is_that_of_the_kernel(family):
    """Waves that leave out next to nothing: the dense Laplace evidence, and the gradient by differences."""
    X, y = table(500, 0.3)
    data = responses(X, y, family)
    kernel, noise = Matern(0.3, 1.2, nu=2.5), 0.0 if family == "bernoulli" else 0.2
    plan = lattice_plan(kernel, data.rows.coords, 1e3, 200)
    theta, waves = Theta(kernel, noise), laplace(data, lambda at, _: LatticeBound(plan, at.kernel, at.noise))
    found, exact = waves.at(theta), laplace(data).at(theta)
    # the margin of the plan lets the ends of the box see each other by 3e-3 of the variance
    assert abs(found.value - exact.value) < 0.1
    np.testing.assert_allclose(found.gradient, exact.gradient, atol=0.5)
    np.testing.assert_allclose(found.gradient, slopes_at(waves, theta), rtol=1e-3, atol=1e-3)


def test_fixed_effects_without_a_field_are_those_of_a_glm():
    X, y = table(600, 0.3)
    data = responses(X, y, "bernoulli")
    found = fixed_effects(data)
    score = data.rows.trend.T @ (y - 1 / (1 + np.exp(-data.rows.trend @ found.coef)))
    np.testing.assert_allclose(score, 0, atol=1e-4)
    assert not len(found.separated) and held_where_separated(data)[1] == ()


def responses(X: np.ndarray, y: np.ndarray, family: str) -> Responses:
    """As a fit would see them."""
    one, zero = np.ones(len(y)), np.zeros(len(y))
    rows = Rows(X[:, :2], np.column_stack([one, X[:, 2:] - X[:, 2:].mean(axis=0)]))
    return Responses(family_named(family), rows, y, one, zero, one, zero)


@pytest.mark.slow
def test_households_and_districts_are_two_scales():
    """Presence by household: a field of the villages and one of the country, and places between villages know both."""
    rng = np.random.default_rng(3)
    villages = rng.uniform(size=(80, 2))
    places = np.repeat(villages, 50, axis=0) + 0.004 * rng.normal(size=(4_000, 2))
    phase = rng.uniform(0, 2 * np.pi, (2, 400))
    far, near = (
        1.5 * np.sqrt(2 / 400) * np.cos(places @ rng.normal(size=(2, 400)) / length + p).sum(axis=1)
        for length, p in zip((0.35, 0.003), phase, strict=True)
    )
    y = (rng.uniform(size=4_000) < 1 / (1 + np.exp(1 - far - near))).astype(float)
    model = SpatialRegressor(family="bernoulli").fit(places, y)
    assert model.choices_["kernel"].value == "near-far"
    short, long = sorted(float(np.exp(np.mean(np.log(k.length_scale)))) for k in model.kernel_.leaves())
    assert short < 0.05 < long
