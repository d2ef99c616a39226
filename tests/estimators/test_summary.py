"""What a fitted model says of itself: summary, findings, choices."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import CheckWarning, CollinearityWarning, InputError
from bochner.kernels import Linear, Matern, SquaredExponential
from tests.estimators.fields import KINDS, draw, field

every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())


@every_kind
def test_summary_names_everything(make):
    X, y = field()
    text = make(covariates=[2]).fit(np.column_stack([X, np.cos(9 * y)]), y).summary()
    for word in ("kernel", "Matern(", "noise variance", "log evidence", "intercept", "x2", "std. error", "features"):
        assert word in text
    assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize(("n", "nearly"), [(200, False), (3_100, True)])
def test_summary_says_of_which_evidence_the_determinant_is_by_neighbours(n, nearly):
    rng = np.random.default_rng(0)
    model = SpatialRegressor(Matern(0.1, nu=0.5), tune=None, noise_variance=0.1)
    assert ("by neighbours" in model.fit(rng.uniform(size=(n, 2)), rng.normal(size=n)).summary()) is nearly


def test_summary_holds_the_fixed_effects():
    X, y = field()
    model = KINDS["exact"](covariates=[2]).fit(np.column_stack([X, np.cos(9 * y)]), y)
    mean, covariance = model.fitted_.fixed_effects
    row = re.search(r"x2 +(\S+) +(\S+) +(\S+)", model.summary())
    expected = [mean[1], np.sqrt(covariance[1, 1]), mean[1] / np.sqrt(covariance[1, 1])]
    assert_allclose([float(value) for value in row.groups()], expected, rtol=2e-3, atol=6e-3)


@every_kind
def test_choices_give_their_reasons(make):
    X, y = field()
    model = make().fit(X, y)
    choices, text = model.choices_, model.summary()
    assert {"features", "tuning", "solver"} <= set(choices)
    assert all(choice.name == name and len(choice) > 8 for name, choice in choices.items())
    assert all(choice in text for choice in choices.values())


def test_a_good_fit_has_no_findings():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 2))
    y = draw(Matern(0.2), X, rng)[0] + 0.3 * rng.normal(size=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SpatialRegressor(Matern(), features="exact").fit(X, y).check() == []
        assert SpatialRegressor(Linear()).fit(X, X[:, 0] + 0.1 * y).check() == []


def test_a_flat_map_is_found():
    rng = np.random.default_rng(1)
    model = SpatialRegressor(Matern(0.2, 0.001), noise_variance=1.0, tune=None).fit(
        rng.uniform(size=(50, 2)), rng.normal(size=50)
    )
    with pytest.warns(CheckWarning, match="the map is flat"):
        (finding,) = model.check()
    assert "0.001" in finding


def test_values_at_a_bound_are_found():
    """A trend that no covariate explains drives the length scale to its bound when nothing holds it back."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(80, 1))
    y = 1e3 * X[:, 0] + rng.normal(size=80)
    model = SpatialRegressor(SquaredExponential(), tune="likelihood", fit_intercept=False).fit(X, y)
    with pytest.warns(CheckWarning, match="stopped at a bound"):
        findings = model.check()
    assert any("length_scale" in finding for finding in findings)


def test_too_few_waves_are_found():
    X, y = field(100)
    with pytest.warns(UserWarning, match="coarser than"):
        model = SpatialRegressor(
            Matern(0.05, nu=0.5), features="monte-carlo", tolerance=1e-3, noise_variance=0.05, tune=None
        ).fit(X, y)
    with pytest.warns(CheckWarning, match="too few waves"):
        model.check()


@pytest.fixture(scope="module")
def rough():
    """3,000 rows of a rough field, and what the exact kernel says of 200 places between them."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(3000, 2))
    y = np.sin(9 * X[:, 0]) + 0.3 * rng.normal(size=3000)
    exact = SpatialRegressor(Matern(0.3, nu=0.5), features="exact", noise_variance=0.1, tune=None).fit(X, y)
    new = rng.uniform(size=(200, 2))
    return X, y, new, exact.predict(new, return_std=True)[1]


@pytest.mark.parametrize("n_frequencies", [100, 400])
@pytest.mark.parametrize("features", ["monte-carlo", "quasi"])
def test_variance_starvation_is_found(rough, features, n_frequencies):
    """MATH.md 3: Matern 1/2, 3,000 rows and a few hundred waves are far too sure of themselves."""
    X, y, new, exact_sd = rough
    model = SpatialRegressor(
        Matern(0.3, nu=0.5), features=features, n_frequencies=n_frequencies, noise_variance=0.1, tune=None
    ).fit(X, y)
    with pytest.warns(CheckWarning, match="standard deviations are too small"):
        (finding,) = model.check()
    assert "features='auto'" in finding
    said = float(re.search(r"typically (\S+) of those", finding)[1])
    truth = np.median(model.predict(new, return_std=True)[1] / exact_sd)
    assert truth < 0.5
    # medians over 200 places each, half of which lie near data in one case and not in the other
    assert_allclose(said, truth, atol=0.1)


@pytest.mark.parametrize("n_rows", [400, 2000])
def test_enough_waves_and_nystroem_are_not_found_starved(n_rows):
    """Smooth fields take as much from far rows as from near ones: no reason for an alarm."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(n_rows, 2))
    y = np.sin(9 * X[:, 0]) + 0.3 * rng.normal(size=n_rows)
    parts = {"noise_variance": 0.1, "tune": None}
    smooth = SpatialRegressor(SquaredExponential(0.3), features="quasi", n_frequencies=300, **parts).fit(X, y)
    nystroem = SpatialRegressor(Matern(0.3, nu=0.5), features="nystroem", n_frequencies=50, **parts).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckWarning)
        assert smooth.check() == [] and nystroem.check() == []


# ------------------------------------------------------------------------- collinearity


@pytest.mark.parametrize("features", ["exact", "quasi", "least-squares"])
def test_collinear_covariates_are_named_and_predict_as_one(features):
    pd = pytest.importorskip("pandas")
    X, y = field()
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "height": np.cos(9 * y), "rain": X[:, 0] * X[:, 1]})
    frame["feet"] = 3.28 * frame["height"]
    parts = {"features": "exact"} if features == "exact" else {"features": "quasi", "n_frequencies": 5}
    noise = 0 if features == "least-squares" else 0.05
    make = lambda covariates: SpatialRegressor(  # noqa: E731
        Matern(0.4), coords=["x", "y"], covariates=covariates, noise_variance=noise, tune=None, **parts
    )
    with pytest.warns(CollinearityWarning, match=r"trend columns \['height', 'feet'\] are collinear: 3 of 4"):
        both = make(["height", "rain", "feet"]).fit(frame, y)
    one = make(["height", "rain"]).fit(frame, y)
    assert_allclose(both.predict(frame), one.predict(frame), rtol=1e-6)
    # least norm, in units of each column's own spread: both carry half of it
    assert_allclose(both.coef_[1], one.coef_[1] / 2, rtol=1e-6)
    assert_allclose(both.coef_[3], one.coef_[1] / 2 / 3.28, rtol=1e-6)
    assert_allclose(both.coef_[2], one.coef_[2], rtol=1e-6)


def test_a_constant_covariate_is_named():
    X, y = field()
    with pytest.warns(CollinearityWarning, match="x2"):
        model = KINDS["exact"](covariates=[2]).fit(np.column_stack([X, np.full(60, 5.0)]), y)
    assert_allclose(model.predict(np.column_stack([X, np.full(60, 5.0)])), KINDS["exact"]().fit(X, y).predict(X))


def test_more_covariates_than_rows_are_warned_of():
    X, y = field(10)
    with pytest.warns(CollinearityWarning, match="10 of 16 directions"):
        model = KINDS["exact"](covariates=list(range(2, 17))).fit(
            np.column_stack([X, np.random.default_rng(0).normal(size=(10, 15))]), y
        )
    assert np.isfinite(model.coef_).all()


def test_a_covariate_that_is_the_same_in_every_row_is_named():
    X, y = field(60)
    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "year": 2020.0, "land": "forest"})
    with pytest.warns(CollinearityWarning, match=r"year is the same in every row and can say nothing"):
        model = SpatialRegressor(Matern(0.3), covariates=["year", "land"], tune=None).fit(table, y)
    assert "land: 'forest' in every row, which says nothing" in str(model.choices_["categories"])


def test_text_that_names_rows_is_no_category():
    X, y = field(60)
    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "village": [f"v{i}" for i in range(60)]})
    with pytest.raises(InputError, match=r"differs in nearly every row \(60 levels in 60 rows\)"):
        SpatialRegressor(covariates=["village"]).fit(table, y)


def test_a_field_that_hardly_changes_along_an_axis_is_told_as_that():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(180, 2))
    model = SpatialRegressor(SquaredExponential([0.2, 0.2])).fit(X, np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=180))
    with pytest.warns(CheckWarning, match="hardly changes along this axis"):
        (finding,) = model.check()
    assert finding.startswith("length_scale[1] stopped at a bound")


def test_covariates_of_any_size_are_not_called_collinear():
    X, y = field()
    rng = np.random.default_rng(0)
    table = np.column_stack([X, 1e9 + rng.normal(size=60), 1e-9 * rng.normal(size=60), 1e6 * rng.normal(size=60)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollinearityWarning)
        KINDS["exact"](covariates=[2, 3, 4]).fit(table, y)
