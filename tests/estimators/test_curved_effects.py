"""Effects of covariates that bend: found where the data say so, and otherwise nothing changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import SpatialRegressor, load
from bochner.diagnostics import diagnose
from bochner.families import family_named
from bochner.inference import Domain, Settings
from bochner.layout import Curve, Given, bent, lay_out
from bochner.layout.columns import resolve_columns
from bochner.report import words


def survey(bend: float, n: int = 150, family: str = "gaussian", seed: int = 0) -> pd.DataFrame:
    """Places, two covariates of which the first may bend, and responses on a smooth field."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=(2, n))
    height, rain = rng.normal(500, 100, n), rng.gamma(2.0, size=n)
    z = (height - 500) / 100
    eta = np.sin(5 * x) * np.cos(4 * y) + 0.5 * z + bend * (z**2 - 1) + 0.3 * rain
    if family == "poisson":
        target = rng.poisson(np.exp(0.5 * eta + 1)).astype(float)
    elif family == "bernoulli":
        target = (rng.uniform(size=n) < 1 / (1 + np.exp(-2 * eta))) * 1.0
    else:
        target = eta + 0.3 * rng.standard_normal(n)
    return pd.DataFrame({"x": x, "y": y, "height": height, "rain": rain, "target": target})


def fitted(data: pd.DataFrame, family: str = "gaussian", covariates: tuple[str, ...] = ("height", "rain")):
    model = SpatialRegressor(family=family, coords=["x", "y"], covariates=list(covariates))
    return model.fit(data.drop(columns="target"), data["target"])


def asked(data: pd.DataFrame, family: str = "gaussian", covariates: tuple[str, ...] = ("height", "rain")):
    """Which covariates bend, without the fit that follows."""
    return laid_out(data, family, covariates)[2][0].value


def laid_out(data: pd.DataFrame, family: str, covariates: tuple[str, ...]):
    """Layout, responses and what is told, as a fit begins with them."""
    columns = resolve_columns(["x", "y", *covariates], ["x", "y"], list(covariates))
    table = data[["x", "y", *covariates]].to_numpy()
    known = family_named(family)
    layout, responses = lay_out(
        table, data["target"].to_numpy(), Given(), known, columns, fit_intercept=True, centred=True
    )
    return bent(layout, responses, table, Settings(), Domain())


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ------------------------------------------------------------------------------------ columns


def test_columns_of_a_curve_are_apart_from_its_line(rng):
    """Of variance one, uncorrelated with constant, line and each other, under the weights of the rows."""
    x, weight = rng.gamma(1.5, size=400)[:, None], rng.integers(1, 4, 400).astype(float)
    columns = Curve.learn(0, x[:, 0], weight, 5).columns(x)
    whole = np.column_stack([np.ones(400), x, columns]) * np.sqrt(weight / weight.sum())[:, None]
    assert_allclose(whole.T[2:] @ whole, np.eye(7)[2:], atol=1e-8)


def test_copies_and_weights_make_one_curve(rng):
    x, weight = rng.normal(size=60), rng.integers(1, 4, 60)
    weighted = Curve.learn(0, x, weight.astype(float), 4)
    copied = Curve.learn(0, np.repeat(x, weight), np.ones(weight.sum()), 4)
    assert_allclose(weighted.columns(x[:, None]) ** 2, copied.columns(x[:, None]) ** 2, rtol=1e-6, atol=1e-9)


def test_a_curve_goes_on_straight_beyond_its_knots(rng):
    curve = Curve.learn(0, rng.normal(size=200), np.ones(200), 5)
    beyond = np.linspace(4, 40, 30)[:, None] * np.array([[1.0]])
    for side in (beyond, -beyond):
        bend = np.diff(curve.columns(side), n=2, axis=0)
        assert np.abs(bend).max() < 1e-8 * np.abs(curve.columns(side)).max()


def test_few_values_bend_at_each_of_them(rng):
    """Classes of wealth from 1 to 5: three ways to bend."""
    assert Curve.learn(0, rng.integers(1, 6, 300).astype(float), np.ones(300), 6).n_columns == 3


@pytest.mark.parametrize("values", [np.full(50, 3.0), np.repeat([0.0, 1.0], 25)], ids=["constant", "0/1"])
def test_what_cannot_bend_offers_no_curve(values):
    assert Curve.learn(0, values, np.ones(50), 3) is None


# -------------------------------------------------------------------------------------- fits


def test_a_linear_truth_stays_linear():
    """And is then nearly the model of a formula, whose effects have flat priors."""
    data = survey(bend=0.0)
    model = fitted(data)
    assert model.choices_["curves"].value == {}
    formula = SpatialRegressor.from_formula("target ~ height + rain + gp(x, y)").fit(data)
    assert "curves" not in formula.choices_
    new = survey(bend=0.0, n=20, seed=5)
    assert_allclose(model.predict(new.drop(columns="target")), formula.predict(new), atol=0.05)


def test_a_bend_is_found_and_told(tmp_path):
    data, new = survey(bend=0.4), survey(bend=0.4, n=300, seed=3)
    model = fitted(data)
    assert list(model.choices_["curves"].value) == ["height"]
    assert "height" in str(model.choices_["curves"]) and "straight lines serve rain" in str(model.choices_["curves"])
    assert "height, bend 1" in model.summary()
    X = new.drop(columns="target")
    error = np.std(new["target"] - model.predict(X))
    straight = SpatialRegressor.from_formula("target ~ height + rain + gp(x, y)").fit(data)
    assert error < 0.4 < 0.8 * np.std(new["target"] - straight.predict(new))
    held = model.cross_validate(None)
    assert np.mean(np.abs(held.observed - held.law.mean) < 1.96 * held.law.sd) > 0.9
    known = diagnose(model)
    assert "a linear effect of rain, a curved effect of height" in words.model_words(model.fitted_, known, "target")
    figure, *more = words.curves(model.fitted_, known)
    assert figure.title == "Effect of height" and not more
    at, mean = ((value - 500) / 100 for value in (float(figure.rows[-1][0]), data["height"].mean()))
    effect = 0.5 * (at - mean) + 0.4 * (at**2 - mean**2)
    assert abs(float(figure.rows[-1][1]) - effect) < 0.3 < 0.2 * effect
    model.save(tmp_path / "bent.bochner")
    assert_array_equal(load(tmp_path / "bent.bochner").predict(X), model.predict(X))


def test_the_unit_of_a_covariate_does_not_matter():
    data = survey(bend=0.4)
    feet = data.assign(height=3.28 * data["height"] - 1e4)
    metres, other = (laid_out(table, "gaussian", ("height",))[1].rows.trend for table in (data, feet))
    assert metres.shape[1] > 2
    assert_allclose(np.abs(other), np.abs(metres), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_bends_of_other_families(family):
    assert asked(survey(bend=0.5, n=300, family=family), family).keys() == {"height"}


def test_a_square_that_was_given_is_not_offered_again():
    data = survey(bend=0.4)
    data["square"] = (data["height"] - 500) ** 2
    assert asked(data, covariates=("height", "square")) == {}


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_many_rows_are_asked_in_compact_parts(family):
    """A covariate that follows the field does not bend, nor do classes that parts of the rows have none of."""
    data = survey(bend=0.0, n=1_300, seed=2, family=family)
    data["height"] = 300 * np.sin(4 * data["x"] + 1) + 20 * data["rain"]
    data["north"] = (data["y"] > 0.9) * 1.0
    assert asked(data, family, covariates=("height", "north")) == {}


def test_many_rows_show_a_bend():
    assert list(asked(survey(bend=0.3, n=1_300, family="bernoulli"), "bernoulli")) == ["height"]


def test_what_keeps_a_curve_from_being_asked_is_told():
    data = survey(1.0, 60)[["x", "y", "height", "target"]]
    model = SpatialRegressor("matern32", covariates=["height"], fit_intercept=False)
    model.fit(data.drop(columns="target"), data["target"])
    assert "there is no intercept" in str(model.choices_["curves"])


def test_levels_of_a_category_take_no_curve_from_the_others(rng):
    data = survey(1.0, 240)
    levels = {f"soil[{i}]": (rng.integers(18, size=240) == i) * 1.0 for i in range(17)}
    assert list(asked(data.assign(**levels), covariates=("height", *levels))) == ["height"]


def test_a_step_gets_as_many_columns_as_it_needs(rng):
    """With the noise of a straight line alone it would have too few."""
    data = survey(0.0, 300)
    data["target"] += 5 * np.tanh(4 * (data["height"] - 500) / 100)
    assert asked(data)["height"] == 6
