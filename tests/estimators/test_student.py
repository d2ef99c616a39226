"""Responses with outliers: family="student" from the fit to the file."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import SpatialRegressor, load
from bochner.exceptions import InputError, PartError
from bochner.families import Student
from bochner.kernels import Matern
from bochner.validation import BlockKFold
from bochner.validation.scores import crps_mixture_rows, crps_widened_rows


def soundings(n: int = 250, share: float = 0.03, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Places, clean responses, the same with a few far off, new places and the surface there."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(n + 300, 2))
    surface = 5 + np.sin(6 * places[:, 0]) * np.cos(5 * places[:, 1]) + places[:, 1]
    clean = surface[:n] + 0.1 * rng.normal(size=n)
    bad = rng.choice(n, int(share * n), replace=False)
    spoiled = clean.copy()
    spoiled[bad] += 2.0 * rng.choice([-1, 1], len(bad))
    return places[:n], clean, spoiled, places[n:], surface[n:]


def rmse(model: SpatialRegressor, places: np.ndarray, surface: np.ndarray) -> float:
    return float(np.sqrt(np.mean((model.predict(places) - surface) ** 2)))


@pytest.mark.parametrize("n", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_a_few_blunders_hardly_bend_the_surface(n):
    """3 % of the rows are off by 20 standard deviations; n = 1,500 is tuned by neighbours."""
    X, clean, spoiled, places, surface = soundings(n)
    kernel = Matern(0.4, nu=2.5)
    without = rmse(SpatialRegressor(kernel).fit(X, clean), places, surface)
    robust = SpatialRegressor(kernel, family="student").fit(X, spoiled)
    assert rmse(robust, places, surface) < 1.25 * without
    assert rmse(SpatialRegressor(kernel).fit(X, spoiled), places, surface) > 1.5 * without
    assert robust.family_.dof < 4
    assert set(robust.choices_) >= {"dispersion", "dof"}
    assert "dof" in robust.summary() and robust.noise_variance_ == 0


@pytest.mark.parametrize(("n", "kernel"), [(200, Matern(0.4, nu=2.5)), pytest.param(400, None, marks=pytest.mark.slow)])
def test_intervals_of_new_observations_hold_what_they_say(n, kernel):
    X, _, spoiled, places, surface = soundings(n)
    model = SpatialRegressor(kernel, family="student").fit(X, spoiled)
    rng = np.random.default_rng(1)
    new = surface + 0.1 * rng.normal(size=300) + 2.0 * (rng.uniform(size=300) < 0.03)
    low, high = model.predict_distribution(places, include_noise=True).interval(0.95).T
    # 300 rows: the standard error of a coverage of 95 % is 1.3 %
    assert 0.91 < np.mean((low < new) & (new < high)) < 0.99


def test_data_without_outliers_are_found_to_be_gaussian():
    X, clean, _, places, _ = soundings(150)
    plain, robust = (SpatialRegressor(Matern(0.4), family=name).fit(X, clean) for name in ("gaussian", "student"))
    assert robust.family_.dof > 10
    assert_allclose(robust.predict(places), plain.predict(places), atol=0.03)
    # a bound of the same evidence
    assert robust.log_evidence_ == pytest.approx(plain.log_evidence_, abs=5)


@pytest.mark.slow
def test_blunders_make_student_the_likelier_family():
    """Whatever the kernel: none is given."""
    X, _, spoiled, _, _ = soundings(150)
    plain, robust = SpatialRegressor().fit(X, spoiled), SpatialRegressor(family="student").fit(X, spoiled)
    assert robust.log_evidence_ > plain.log_evidence_ + 20


def test_given_degrees_of_freedom_and_scale_are_kept():
    X, _, spoiled, places, _ = soundings(120)
    model = SpatialRegressor(Matern(0.4), family=Student(dof=4, dispersion=0.01), tune=None).fit(X, spoiled)
    assert model.family_ == Student(dof=4.0, dispersion=0.01)
    # one scale of the errors
    sd = model.predict_distribution(places, include_noise=True).sd
    assert_allclose(sd**2 - model.predict(places, return_std=True)[1] ** 2, 0.02, rtol=1e-6)


@pytest.mark.parametrize("features", ["exact", "orthogonal", "lattice"])
def test_every_kind_of_features_takes_it(features):
    X, _, spoiled, places, surface = soundings()
    model = SpatialRegressor(
        Matern(0.4, nu=2.5), family=Student(dispersion=0.01, dof=3), features=features, tune=None, random_state=0
    ).fit(X, spoiled)
    assert rmse(model, places, surface) < 0.12


@pytest.mark.slow
def test_held_out_rows_are_scored_by_their_law():
    X, _, spoiled, _, _ = soundings(150)
    scores = {}
    for family in ("gaussian", "student"):
        model = SpatialRegressor(Matern(0.4, nu=2.5), family=family).fit(X, spoiled)
        scores[family] = model.cross_validate(BlockKFold(5, random_state=0))
    assert scores["student"]["crps"] < 0.8 * scores["gaussian"]["crps"]
    assert 0.9 < scores["student"]["coverage"] <= 1


def test_a_saved_model_answers_the_same(tmp_path):
    X, _, spoiled, places, _ = soundings(100)
    model = SpatialRegressor(Matern(0.4), family="student").fit(X, spoiled)
    model.save(tmp_path / "model.bochner")
    again = load(tmp_path / "model.bochner")
    assert again.family_ == model.family_
    for q in (0.025, 0.5):
        law, same = (m.predict_distribution(places, include_noise=True) for m in (model, again))
        assert_array_equal(law.quantile(q), same.quantile(q))


def test_the_unit_of_the_response_makes_no_difference():
    X, _, spoiled, places, _ = soundings(100)
    plain, *others = (SpatialRegressor(Matern(0.4), family="student").fit(X, c * spoiled) for c in (1.0, 1e-6, 1e6))
    for unit, other in zip((1e-6, 1e6), others, strict=True):
        assert_allclose(other.predict(places) / unit, plain.predict(places), rtol=1e-3)
        assert other.family_.dof == pytest.approx(plain.family_.dof, rel=0.05)


def test_mistakes_are_named():
    with pytest.raises(InputError, match="dof is -1"):
        Student(dof=-1)
    with pytest.raises(PartError, match=r"dof of family 'student' is None.*replace\(dof=4\)"):
        Student(dispersion=1.0).cdf(np.zeros(1), np.zeros(1), np.ones(1))


@pytest.mark.parametrize("dispersion", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("dof", [2.5, 4.0, 30.0])
def test_the_score_of_a_widened_mixture_is_that_of_all_its_components(dof, dispersion):
    """Noise of two observations at once, for c^2 m in place of (c m)^2."""
    rng = np.random.default_rng(0)
    means, variances, mass = rng.normal(size=(4, 20)), rng.gamma(2, 0.3, size=(4, 20)), rng.dirichlet(np.ones(4))
    y = 3 * rng.normal(size=20)
    at, share = Student(dof=dof, dispersion=dispersion).noise_parts()
    sds = np.sqrt(np.repeat(variances, len(at), axis=0) + np.tile(at, 4)[:, None])
    expected = crps_mixture_rows(y, np.repeat(means, len(at), axis=0), sds, np.outer(mass, share).ravel())
    assert_allclose(crps_widened_rows(y, means, variances, mass, (at, share)), expected, rtol=2e-6)
    alone = crps_widened_rows(y, means, variances, mass, (np.array([0.3]), np.ones(1)))
    assert_allclose(alone, crps_mixture_rows(y, means, np.sqrt(variances + 0.3), mass), rtol=1e-12)
