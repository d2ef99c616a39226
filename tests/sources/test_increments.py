"""Models grow by rows and by each other, from sums alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, like, load, merge
from bochner.exceptions import InputError, PartError
from bochner.kernels import SquaredExponential

from .conftest import FIXED, write_parts

COLUMNS = ["x", "y", "height"]
MODEL = {**FIXED, "coords": ["x", "y"], "covariates": ["height"]}


@pytest.fixture(scope="module")
def whole(table: pd.DataFrame) -> SpatialRegressor:
    """All rows at once."""
    return SpatialRegressor(**MODEL).fit(table[COLUMNS], table["z"])


def first(table: pd.DataFrame) -> SpatialRegressor:
    """Some rows, with waves over the box of all."""
    some = table.iloc[:600]
    return SpatialRegressor(**MODEL).partial_fit(some[COLUMNS], some["z"], predict_at=table[["x", "y"]])


def assert_equal(model: SpatialRegressor, whole: SpatialRegressor, places: pd.DataFrame) -> None:
    for a, b in zip(model.predict(places, return_std=True), whole.predict(places, return_std=True), strict=True):
        assert_allclose(a, b, rtol=1e-8)
    # centres and scales of the trend are those of the first rows; the user's units know nothing of them
    assert_allclose(model.coef_[:2], whole.coef_[:2], rtol=1e-7)
    assert_allclose(model.log_evidence_, whole.log_evidence_, rtol=1e-8)


def test_rows_in_turn_are_rows_together(
    table: pd.DataFrame, places: pd.DataFrame, whole: SpatialRegressor, tmp_path: Path
) -> None:
    model = first(table)
    middle = table.iloc[600:1_100]
    model.partial_fit(middle[COLUMNS], middle["z"])
    model.partial_fit(str(write_parts(table.iloc[1_100:], tmp_path / "rest")), target="z")
    assert_equal(model, whole, places)


def test_models_of_sites_merge_without_their_rows(
    table: pd.DataFrame, places: pd.DataFrame, whole: SpatialRegressor, tmp_path: Path
) -> None:
    """Through files, as sites would send them."""
    a = first(table)
    a.save(tmp_path / "a.bochner")
    rest = table.iloc[600:]
    b = like(load(tmp_path / "a.bochner")).partial_fit(rest[COLUMNS], rest["z"])
    b.save(tmp_path / "b.bochner")
    model = merge(load(tmp_path / "a.bochner"), load(tmp_path / "b.bochner"))
    assert_equal(model, whole, places)


def test_models_that_do_not_fit_together_are_refused(table: pd.DataFrame, whole: SpatialRegressor) -> None:
    other = SpatialRegressor(**{**MODEL, "noise_variance": 0.2}).fit(table[COLUMNS], table["z"])
    with pytest.raises(PartError, match=r"different noise variances.*--like"):
        merge(whole, other)
    exact = SpatialRegressor(**{**MODEL, "features": "exact", "n_frequencies": "auto"})
    exact.fit(table[COLUMNS].iloc[:200], table["z"].iloc[:200])
    with pytest.raises(PartError, match="whose rows are no sums"):
        merge(exact, exact)
    with pytest.raises(InputError, match="at least two"):
        merge(whole)


def test_rows_outside_the_waves_are_refused(table: pd.DataFrame) -> None:
    model = SpatialRegressor(**MODEL).partial_fit(table[COLUMNS].iloc[:500], table["z"].iloc[:500])
    far = table.iloc[:5].assign(x=9.0)
    with pytest.raises(InputError, match=r"5 rows lie outside the box that the waves cover.*predict_at"):
        model.partial_fit(far[COLUMNS], far["z"])


def test_other_families_do_not_add(table: pd.DataFrame) -> None:
    with pytest.raises(AttributeError, match="partial_fit") as refused:
        SpatialRegressor(family="poisson").partial_fit(table[["x", "y"]], table["count"])
    assert "do not add" in str(refused.value.__cause__)
    assert not hasattr(SpatialRegressor(family="poisson"), "partial_fit")


def test_summary_and_check_of_added_rows(table: pd.DataFrame) -> None:
    model = first(table)
    assert "lattice" in model.summary()
    assert not model.has_training
    assert np.isfinite(model.log_likelihood_)


def test_rows_of_a_fit_are_the_first_to_be_added_to(table: pd.DataFrame, places: pd.DataFrame) -> None:
    """`fit`, then `partial_fit`: the model knows both, as if all had been added."""
    # a smooth field, of which the lattice that is chosen has few waves
    plain = {**MODEL, "features": "auto", "n_frequencies": "auto", "kernel": SquaredExponential(0.3)}
    some, others = table.iloc[:300], table.iloc[300:400]
    box = {"predict_at": table[["x", "y"]]}
    fitted = SpatialRegressor(**plain).fit(some[COLUMNS], some["z"])
    begun = SpatialRegressor(**plain).partial_fit(some[COLUMNS], some["z"], **box)
    for model in (fitted, begun):
        model.partial_fit(others[COLUMNS], others["z"], **box)
    assert_allclose(fitted.predict(places), begun.predict(places), rtol=1e-9)


def test_models_in_a_list_are_merged_too(table: pd.DataFrame, places: pd.DataFrame) -> None:
    a, b = first(table), like(first(table)).partial_fit(table.iloc[600:][COLUMNS], table.iloc[600:]["z"])
    assert_allclose(merge([a, b]).predict(places), merge(a, b).predict(places))
