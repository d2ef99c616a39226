"""Formulas: terms of a table to the columns of a model, the same for new tables and after a file."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from bochner import SpatialRegressor, load
from bochner.exceptions import ColumnError, InputError, MissingExtraError
from bochner.kernels import Matern
from bochner.layout.formula import parse_formula

pytest.importorskip("formulaic")
pd = pytest.importorskip("pandas")

FIXED = {"kernel": Matern(0.4), "noise_variance": 0.05, "tune": None}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 60
    table = pd.DataFrame(
        {
            "lon": rng.uniform(0, 1, n),
            "lat": rng.uniform(0, 1, n),
            "elevation": rng.uniform(50, 900, n),
            "soil": rng.choice(["clay", "loam", "sand"], n),
            "year": rng.choice([2019, 2020], n),
            "examined": rng.integers(5, 40, n),
            "people": rng.uniform(100, 1000, n),
        }
    )
    eta = -1.5 + 0.002 * table["elevation"] + 0.5 * (table["soil"] == "loam")
    table["positive"] = rng.binomial(table["examined"], 1 / (1 + np.exp(-eta)))
    table["cases"] = rng.poisson(table["people"] * np.exp(eta - 4))
    table["temperature"] = eta + 0.2 * rng.normal(size=n)
    # a plane, not the Earth: names that say nothing
    return table.rename(columns={"lon": "east", "lat": "north"})


def by_hand(table, columns: dict, response: str = "temperature", **parts) -> SpatialRegressor:
    """The same model with its columns made one by one."""
    made = pd.DataFrame({"east": table["east"], "north": table["north"], **columns})
    known = {name: table[parts.pop(name)] for name in ("trials", "exposure", "offset") if name in parts}
    model = SpatialRegressor(coords=["east", "north"], covariates=list(columns) or None, **FIXED, **parts)
    return model.fit(made, table[response], **known)


def test_a_coordinate_that_is_a_linear_term_as_well_is_told_how():
    table = pd.DataFrame(np.random.default_rng(0).uniform(size=(40, 3)), columns=["x", "y", "z"])
    with pytest.raises(InputError, match=r"write I\(x\)"):
        SpatialRegressor.from_formula("z ~ x + gp(x, y)", **FIXED).fit(table)
    assert SpatialRegressor.from_formula("z ~ I(x) + gp(x, y)", **FIXED).fit(table).predict(table).shape == (40,)


def test_linear_terms(table):
    model = SpatialRegressor.from_formula("temperature ~ elevation + gp(east, north)", **FIXED).fit(table)
    expected = by_hand(table, {"elevation": table["elevation"]})
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    frame = table[["east", "north", "elevation"]]
    assert_allclose(model.predict(table), expected.predict(frame), rtol=1e-9)
    # the table of a prediction needs only what the formula names
    assert_array_equal(model.predict(frame), model.predict(table))
    assert "elevation" in model.summary() and list(model.feature_names_in_) == ["east", "north", "elevation"]


def test_factors_become_indicators(table):
    model = SpatialRegressor.from_formula("temperature ~ soil + C(year) + gp(east, north)", **FIXED).fit(table)
    columns = {f"soil[T.{s}]": 1.0 * (table["soil"] == s) for s in ("loam", "sand")}
    expected = by_hand(table, {**columns, "C(year)[T.2020]": 1.0 * (table["year"] == 2020)})
    assert_allclose(model.coef_, expected.coef_, atol=1e-9)
    assert "soil[T.loam]" in model.summary()
    # a new table need not have every level, and keeps the meaning of those it has
    loam = table[table["soil"] == "loam"]
    assert_allclose(model.predict(loam), model.predict(table)[table["soil"] == "loam"], rtol=1e-9)


def test_transforms_remember_what_they_learned(table):
    model = SpatialRegressor.from_formula("temperature ~ center(elevation) + log(people) + gp(east, north)", **FIXED)
    model.fit(table)
    columns = {"a": table["elevation"] - table["elevation"].mean(), "b": np.log(table["people"])}
    assert_allclose(model.coef_, by_hand(table, columns).coef_, rtol=1e-7)
    # centred by the mean of the fit, not by that of the new table
    assert_allclose(model.predict(table[:7]), model.predict(table)[:7], rtol=1e-9)


def test_signs_inside_brackets_are_none_of_ours():
    formula = parse_formula("y ~ I(a - 1) + log(b + 1) - a:b + gp(east, north)")
    assert formula.intercept and formula.terms == "I(a - 1) + log(b + 1) - a:b"
    assert not parse_formula("y ~ a - 1 + gp(east, north)").intercept


def test_interactions_and_polynomials(table):
    model = SpatialRegressor.from_formula(
        "temperature ~ elevation * soil + I(elevation ** 2) + gp(east, north)", **FIXED
    ).fit(table)
    assert len(model.coef_) == 1 + 1 + 2 + 2 + 1
    assert_allclose(model.predict(table[:9]), model.predict(table)[:9], rtol=1e-9)


@pytest.mark.parametrize("without", ["0 + elevation + gp(east, north)", "elevation + gp(east, north) - 1"])
def test_without_an_intercept(table, without):
    model = SpatialRegressor.from_formula(f"temperature ~ {without}", **FIXED).fit(table)
    assert model.intercept_ == 0 and len(model.coef_) == 1


@pytest.mark.parametrize("right", ["gp(east, north)", "1 + gp(east, north)", "gp(east,north) + 1"])
def test_a_field_alone(table, right):
    model = SpatialRegressor.from_formula(f"temperature ~ {right}", **FIXED).fit(table)
    assert_allclose(model.predict(table), by_hand(table, {}).predict(table[["east", "north"]]), rtol=1e-9)
    assert model.intercept_ != 0 and len(model.coef_) == 1


@pytest.mark.parametrize(
    ("response", "family", "sizes"),
    [
        ("positive", "binomial", {"trials": "examined"}),
        ("cases", "poisson", {"exposure": "people"}),
        ("cases", "negative-binomial", {"exposure": "people"}),
    ],
)
def test_sizes_are_columns(table, response, family, sizes):
    model = SpatialRegressor.from_formula(
        f"{response} ~ elevation + gp(east, north)", family=family, **sizes, **FIXED
    ).fit(table)
    expected = by_hand(table, {"elevation": table["elevation"]}, response, family=family, **sizes)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
    rate = model.predict(table)
    (name, column) = next(iter(sizes.items()))
    # prevalence or rate unless a size is asked for, by the name of a column or as numbers
    assert_allclose(model.predict(table, **{name: column}), rate * table[column], rtol=1e-9)
    assert_allclose(model.predict(table, **{name: table[column].to_numpy()}), rate * table[column], rtol=1e-9)
    assert model.predict_interval(table, include_noise=True, **{name: column}).shape == (60, 2)


def test_offsets_weights_and_errors_by_name(table):
    table = table.assign(logp=np.log(table["people"]), copies=np.arange(60) % 3, error=0.1)
    model = SpatialRegressor.from_formula("cases ~ gp(east, north)", family="poisson", offset="logp", **FIXED)
    model.fit(table, sample_weight="copies", measurement_variance="error")
    expected = SpatialRegressor(coords=["east", "north"], family="poisson", **FIXED).fit(
        table, table["cases"], offset=table["logp"], sample_weight=table["copies"], measurement_variance=table["error"]
    )
    assert_allclose(model.predict(table, offset="logp"), expected.predict(table, offset=table["logp"]), rtol=1e-9)


def test_a_response_of_ones_own(table):
    model = SpatialRegressor.from_formula("temperature ~ gp(east, north)", **FIXED).fit(table, table["elevation"])
    assert model.predict(table).mean() > 50


@pytest.mark.parametrize(
    "right",
    [
        "elevation + soil",
        "center(elevation) + C(year)",
        "scale(elevation):soil",
        "log(people)",
        "poly(elevation, 3)",
        "bs(elevation, df=4)",
        "I(people - 1) + soil * elevation - elevation",
    ],
)
def test_saved_and_loaded(table, right, tmp_path):
    model = SpatialRegressor.from_formula(
        f"positive ~ {right} + gp(east, north)", family="binomial", trials="examined", **FIXED
    ).fit(table)
    model.save(tmp_path / "survey.bochner")
    again = load(tmp_path / "survey.bochner")
    assert_allclose(again.predict(table), model.predict(table), rtol=1e-9)
    assert_allclose(again.predict(table[5:9], return_std=True), model.predict(table[5:9], return_std=True), rtol=1e-9)
    assert again.formula == model.formula and again.trials == "examined"
    assert again.summary() == model.summary()


def test_cloned_and_pickled(table):
    model = SpatialRegressor.from_formula(
        "positive ~ soil + gp(east, north)", family="binomial", trials="examined", **FIXED
    ).fit(table)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "coef_")
    assert_array_equal(copy.fit(table).predict(table), model.predict(table))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(table), model.predict(table))
    assert "kernel__length_scale" in model.get_params()
    assert model.set_params(kernel__length_scale=0.7).fit(table).kernel_.length_scale == 0.7


def test_everything_else_takes_the_table(table):
    model = SpatialRegressor.from_formula(
        "positive ~ soil + gp(east, north)", family="binomial", trials="examined", **FIXED
    ).fit(table)
    assert model.predict_exceedance(table, 0.2).shape == (60,)
    assert model.sample_y(table, 3).shape == (60, 3)
    assert model.predict_latent(table)[0].shape == (60,)
    assert model.score(table, table["positive"], trials="examined") > 0
    assert 0 < model.cross_validate(4)["brier"] < 0.3


def test_polars_tables(table):
    pl = pytest.importorskip("polars")
    formula = "temperature ~ elevation + soil + gp(east, north)"
    model = SpatialRegressor.from_formula(formula, **FIXED).fit(pl.from_pandas(table))
    expected = SpatialRegressor.from_formula(formula, **FIXED).fit(table)
    assert_allclose(model.predict(pl.from_pandas(table)), expected.predict(table), rtol=1e-9)


# ----------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("temperature", r"needed is 'response ~ terms \+ gp\(coordinates\)'"),
        ("~ gp(east, north)", "needed is 'response ~"),
        ("a ~ b ~ gp(east, north)", "needed is 'response ~"),
        ("temperature ~ elevation", r"has 0 fields; needed is exactly one gp\(...\)"),
        ("temperature ~ gp(east) + gp(north)", "has 2 fields; needed is exactly one"),
        ("temperature ~ gp()", "names no coordinates; write e.g. gp"),
        ("temperature ~ elevation * gp(east, north)", r"gp\(...\) is part of another term"),
    ],
)
def test_formulas_that_are_none(formula, message):
    with pytest.raises(InputError, match=message):
        parse_formula(formula)


def test_columns_that_are_not_there(table):
    with pytest.raises(ColumnError, match=r"there is no column 'rain'; the table has \['east'"):
        SpatialRegressor.from_formula("rain ~ gp(east, north)", **FIXED).fit(table)
    with pytest.raises(ColumnError, match="there is no column 'up'"):
        SpatialRegressor.from_formula("temperature ~ gp(east, up)", **FIXED).fit(table)
    with pytest.raises(InputError, match="the terms 'rain' of the formula cannot be made from the table"):
        SpatialRegressor.from_formula("temperature ~ rain + gp(east, north)", **FIXED).fit(table)
    model = SpatialRegressor.from_formula("temperature ~ elevation + gp(east, north)", **FIXED).fit(table)
    with pytest.raises(InputError, match="'elevation'"):
        model.predict(table.drop(columns="elevation"))
    with pytest.raises(ColumnError, match="there is no column 'tested'"):
        SpatialRegressor.from_formula("positive ~ gp(east, north)", family="binomial", trials="tested", **FIXED).fit(
            table
        )


def test_missing_values_are_refused(table):
    table.loc[3, "elevation"] = np.nan
    with pytest.raises(InputError, match="no missing values"):
        SpatialRegressor.from_formula("temperature ~ elevation + gp(east, north)", **FIXED).fit(table)


def test_levels_that_the_fit_had_not(table):
    model = SpatialRegressor.from_formula("temperature ~ soil + gp(east, north)", **FIXED).fit(table)
    with pytest.raises(InputError, match="peat"):
        model.predict(table.assign(soil="peat"))


def test_arrays_have_no_names(table):
    with pytest.raises(InputError, match="a formula needs a table with named columns, and X is a ndarray"):
        SpatialRegressor.from_formula("temperature ~ gp(east, north)", **FIXED).fit(np.ones((5, 3)))


def test_text_where_numbers_are_needed(table):
    with pytest.raises(InputError, match=r"column 'soil' .* numbers"):
        SpatialRegressor.from_formula("soil ~ gp(east, north)", **FIXED).fit(table)


def test_the_extra_is_named(monkeypatch, table):
    import sys

    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingExtraError, match=r"bochner\[formula\]"):
        SpatialRegressor.from_formula("temperature ~ elevation + gp(east, north)", **FIXED).fit(table)


def test_a_level_that_the_fit_had_not_is_told_by_its_column_and_row():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=40), "y": rng.uniform(size=40), "soil": ["clay", "sand"] * 20})
    table["temp"] = rng.normal(size=40)
    for term in ("soil", "C(soil)"):
        model = SpatialRegressor.from_formula(f"temp ~ {term} + gp(x, y)", tune=None).fit(table)
        with pytest.raises(
            InputError, match=r"'soil' is 'peat' in row 1, a level .* have not; they have 'clay', 'sand'"
        ):
            model.predict(table.head(3).assign(soil=["clay", "peat", "sand"]))


def test_dates_are_no_linear_term():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=40), "y": rng.uniform(size=40), "temp": rng.normal(size=40)})
    table["when"] = pd.date_range("2020-01-01", periods=40)
    with pytest.raises(InputError, match=r"column 'when' holds dates.*table\['days'\].*gp\(x, y, when\)"):
        SpatialRegressor.from_formula("temp ~ when + gp(x, y)", tune=None).fit(table)
