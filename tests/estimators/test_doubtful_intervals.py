"""Intervals that blocks find too narrow: said by `check`, and not of those that are as wide as they should be."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import CheckWarning
from bochner.kernels import Matern


def field(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    root = np.linalg.cholesky(Matern(0.2, nu=0.5).covariance(X, X) + 1e-8 * np.eye(n))
    return X, root @ rng.normal(size=n) + 0.2 * rng.normal(size=n)


def test_a_field_taken_to_be_too_flat_is_named():
    X, y = field()
    model = SpatialRegressor(Matern(2.0, 1.0, nu=2.5), noise_variance=0.04, tune=None).fit(X, y)
    with pytest.warns(CheckWarning, match=r"95 % intervals hold \d\d% of the rows held out in \d+ blocks"):
        model.check()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_true_kernel_is_not(seed):
    X, y = field(seed=seed)
    model = SpatialRegressor(Matern(0.2, nu=0.5), noise_variance=0.04, tune=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.check() == []


def test_stations_are_held_out_whole():
    """Noise that a station's rows share is seen only if the station is held out."""
    rng = np.random.default_rng(0)
    station = np.repeat(np.arange(40), 10)
    X = rng.uniform(size=(40, 2))[station] + 1e-3 * rng.normal(size=(400, 2))
    y = rng.normal(size=40)[station] + 0.1 * rng.normal(size=400)
    model = SpatialRegressor(Matern(1.0, 1.0, nu=1.5), noise_variance=0.01, tune=None).fit(X, y, groups=station)
    with pytest.warns(CheckWarning, match=r"held out in 40 groups"):
        model.check()


def test_few_rows_and_single_trials_are_not_judged():
    X, y = field(40)
    assert SpatialRegressor(Matern(2.0, nu=2.5), noise_variance=0.04, tune=None).fit(X, y).check() == []
    X, y = field()
    presence = SpatialRegressor(Matern(2.0, nu=2.5), family="bernoulli", tune=None).fit(X, y > 0)
    assert not any("intervals hold" in finding for finding in presence.check())


def test_errors_given_as_standard_deviations_of_another_unit_are_doubted():
    X, y = field(200)
    with pytest.warns(CheckWarning, match=r"50 % intervals hold \d+% .* the given errors"):
        SpatialRegressor(Matern(0.2, nu=0.5), tune=None).fit(X, y, measurement_variance=np.full(200, 20.0)).check()
    true = SpatialRegressor(Matern(0.2, nu=0.5), noise_variance=1e-6, tune=None)
    assert true.fit(X, y, measurement_variance=np.full(200, 0.04)).check() == []


def test_a_field_learned_from_few_counts_is_doubted():
    """Where intervals of the surface are known to hold less, `check` says so; not of more rows, or a given kernel."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 2))
    y = rng.binomial(8, 1 / (1 + np.exp(-2 * np.sin(6 * X[:, 0]))))
    known = {"family": "binomial", "noise_variance": 0.0}
    models = [(40, SpatialRegressor(Matern(), **known)), (100, SpatialRegressor(Matern(), **known))]
    told = []
    for n, model in (*models, (40, SpatialRegressor(Matern(0.3), tune=None, **known))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model.fit(X[:n], y[:n], trials=np.full(n, 8)).check()
        told.append(any("say little of the range" in finding for finding in found))
    assert told == [True, False, False]


def test_a_field_that_the_rows_cannot_show_is_doubted():
    """Rows that say nothing of one another leave open what is field; `check` says so, unless the kernel was given."""
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(120, 2))
    smooth = 2 * np.sin(6 * X[:, 0])
    scattered = {
        "student": rng.standard_t(5, size=120),
        "gamma": rng.gamma(2.0, size=120),
    }
    shown = {"gaussian": smooth + 0.3 * rng.standard_normal(120), "student": smooth + 0.2 * rng.standard_t(5, size=120)}
    for responses, expected in ((scattered, True), (shown, False)):
        for family, y in responses.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SpatialRegressor(Matern(nu=1.5), family=family).fit(X, y)
                found = any("hardly predict each other" in finding for finding in model.check())
            assert found is expected, family
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = SpatialRegressor(Matern(0.02), noise_variance=1.0, tune=None).fit(X, scattered["student"])
        assert not any("hardly predict each other" in finding for finding in given.check())


def test_counts_of_towns_and_villages_show_a_field():
    """A few large exposures do not drown what all the others say of one another."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 2))
    eta = 1.5 * np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1])
    exposure = np.exp(2 * rng.normal(size=200)) * 20
    model = SpatialRegressor(family="poisson").fit(X, rng.poisson(exposure * np.exp(eta)), exposure=exposure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not any("hardly predict each other" in finding for finding in model.check())


def test_single_trials_of_a_rough_field_learned_as_a_smooth_one_are_doubted(monkeypatch):
    """Taken to the next order, the evidence prefers a rough and large field, as the one that they were drawn from."""
    monkeypatch.setattr("bochner.estimators.limits.RIVAL_NATS", 0.5)  # 400 rows do not say more
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    rough = np.linalg.cholesky(Matern(0.05, 10.0, nu=0.5)(X) + 1e-9 * np.eye(400)) @ rng.standard_normal(400)
    for eta, doubted in ((rough, True), (2 * np.sin(5 * X[:, 0]), False)):
        y = (rng.uniform(size=400) < 1 / (1 + np.exp(-eta))).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SpatialRegressor(Matern(0.2, nu=2.5), family="bernoulli").fit(X, y)
            found = [finding for finding in model.check() if "to the next order" in finding]
        assert len(found) == doubted
        assert all("nu=0.5" in finding and "tune=None" in finding for finding in found)


def counts(n: int, seed: int, empty: float) -> tuple[np.ndarray, np.ndarray]:
    """Poisson counts of a smooth field, some of which are zero for no reason of the field's."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    root = np.linalg.cholesky(Matern(0.2, 0.5, nu=1.5).covariance(X, X) + 1e-9 * np.eye(n))
    y = rng.poisson(4 * np.exp(root @ rng.normal(size=n)))
    return X, y * (rng.uniform(size=n) > empty)


@pytest.mark.parametrize(("empty", "told"), [(0.3, True), (0.0, False)])
def test_counts_that_are_zero_too_often_are_told(empty, told):
    X, y = counts(150, 1, empty)
    model = SpatialRegressor(Matern(nu=1.5), family="poisson").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckWarning)
        found = [finding for finding in model.check() if "held out are zero" in finding]
    assert bool(found) == told
    assert all("family='negative-binomial'" in finding for finding in found)


def test_surveys_that_find_none_where_others_find_many_are_told():
    rng = np.random.default_rng(0)
    X, _ = counts(150, 0, 0.0)
    trials = rng.integers(20, 40, 150)
    share = 1 / (1 + np.exp(1 - np.sin(5 * X[:, 0])))
    cases = rng.binomial(trials, share)
    for y, told in ((cases, False), (cases * (rng.uniform(size=150) > 0.2), True)):
        model = SpatialRegressor(Matern(0.3, 0.5), family="binomial", noise_variance=0.1, tune=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckWarning)
            found = model.fit(X, y, trials=trials).check()
        assert any("held out are zero" in finding for finding in found) == told
        assert not any("negative-binomial" in finding for finding in found)


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (lambda f: np.exp(f), True),
        (lambda f: 1e-9 * np.exp(f), True),  # whatever the unit
        (lambda f: 10 + f, False),
        (lambda f: np.exp(f) - np.exp(f.min()), False),  # a zero has no logarithm
        (lambda f: -np.exp(f), False),
    ],
    ids=["lognormal", "tiny unit", "Gaussian", "with a zero", "negative"],
)
def test_errors_in_proportion_to_a_positive_response_are_named(made, named):
    X, f = field(300, seed=4)
    y = made(f + 0.3 * np.random.default_rng(5).normal(size=300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = SpatialRegressor().fit(X, y).check()
    assert any("in proportion to the response" in finding for finding in found) == named


def test_the_advice_on_errors_in_proportion_is_followed_without_a_word():
    X, f = field(300, seed=4)
    y = np.exp(f + 0.3 * np.random.default_rng(5).normal(size=300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (SpatialRegressor(family="gamma").fit(X, y), SpatialRegressor().fit(X, np.log(y) + 20)):
            assert not any("in proportion" in finding for finding in model.check())
