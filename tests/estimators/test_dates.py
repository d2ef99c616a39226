"""Dates of training and of prediction are read in one order, which the model keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.exceptions import InputError
from bochner.kernels import Matern
from bochner.maps import aggregate
from bochner.sources.opening import open_source

FIXED = {"kernel": Matern(length_scale=0.5), "tune": None, "coords": ["x", "y"], "covariates": ["date"]}
DAYS = pd.date_range("2015-01-01", "2015-07-25", periods=60).normalize()


def rows(written: str | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(60, 2)), columns=["x", "y"])
    days = pd.Series(DAYS)
    table["date"] = days if written is None else days.dt.strftime(written)
    table["z"] = (days - days.min()).dt.days / 100 + 0.01 * rng.normal(size=60)
    return table


def fitted(table: pd.DataFrame) -> SpatialRegressor:
    return SpatialRegressor(**FIXED).fit(table[["x", "y", "date"]], table["z"])


@pytest.mark.parametrize(("written", "first"), [("%d/%m/%Y", "day first"), ("%m/%d/%Y", "month first")])
def test_the_order_is_learned_kept_and_used(written, first, tmp_path):
    model, plain = fitted(rows(written)), fitted(rows())
    assert first in model.choices_["time"] and model.choices_["time"].value == "2015-01-01"
    model.save(tmp_path / "a.bochner")
    kept = load(tmp_path / "a.bochner")
    new = rows().iloc[:1].assign(date=pd.Timestamp("2015-07-01"))
    told = new.assign(date=pd.Timestamp("2015-07-01").strftime(written))  # alone, it could be 7 January
    assert_allclose(kept.predict(told[["x", "y", "date"]]), plain.predict(new[["x", "y", "date"]]))
    assert kept.fitted_.layout.moment("date", told["date"].iloc[0]) == 181.0
    with pytest.raises(InputError, match="as the training rows are"):
        other = "%m/%d/%Y" if first == "day first" else "%d/%m/%Y"
        kept.predict(new.assign(date=pd.Timestamp("2015-07-25").strftime(other))[["x", "y", "date"]])


def test_a_model_that_knows_no_order_refuses_a_date_of_either():
    layout = fitted(rows()).fitted_.layout
    with pytest.raises(InputError, match="day first and month first"):
        layout.moment("date", "01/07/2015")
    assert layout.moment("date", "25/01/2015") == 24.0


@pytest.mark.parametrize("written", ["%d/%m/%Y", "%d.%m.%y"])
def test_rows_read_in_parts_have_the_same_order(written, tmp_path):
    table = rows(written)
    table.to_csv(tmp_path / "rows.csv", index=False)
    streamed = SpatialRegressor(**FIXED).fit(open_source(tmp_path / "rows.csv"), target="z")
    assert streamed.fitted_.layout.encoding.orders == {"date": "day first"}
    assert "day first" in " ".join(open_source(tmp_path / "rows.csv").notes)
    new = table[["x", "y"]].assign(date="01/07/2015")
    assert_allclose(streamed.predict(new), fitted(table).predict(new))
    table["date"] = [f"0{1 + i % 9}/07/2015" for i in range(60)]
    table.to_csv(tmp_path / "either.csv", index=False)
    with pytest.raises(InputError, match="day first and month first"):
        SpatialRegressor(**FIXED).fit(open_source(tmp_path / "either.csv"), target="z")


def test_eight_digits_are_dates_in_fit_and_prediction():
    table = rows("%Y%m%d").astype({"date": int})
    model, plain = fitted(table), fitted(rows())
    assert "yyyymmdd" in model.choices_["time"]
    assert_allclose(model.predict(table[["x", "y", "date"]]), plain.predict(rows()[["x", "y", "date"]]))


def test_a_year_is_no_number_of_days():
    layout = fitted(rows()).fitted_.layout
    for ask in (lambda: layout.moment("date", 2016), lambda: layout.numbers(rows()[["x", "y"]].assign(date=2016))):
        with pytest.raises(InputError, match=r"2016 was given.*days since 2015-01-01.*2016-07-01"):
            ask()
    assert layout.moment("date", 181) == 181.0  # days since the first
    old = replace(layout, encoding=replace(layout.encoding, orders={}, spans={}))  # a file of an earlier version
    assert old.moment("date", 2016) == 2016.0


def test_one_date_that_is_missing_is_the_only_one_told():
    table = rows()
    table.loc[3, "date"] = pd.NaT
    with pytest.raises(InputError, match="1 in date; the first is in row 3"):
        SpatialRegressor(kernel=Matern(0.5), tune=None, coords=["x", "y", "date"]).fit(table, table["z"])


def test_means_over_areas_and_pages_take_the_date_of_a_map():
    """As maps do: a date, or days of the model."""
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    table = rows().assign(x=lambda t: 5e5 + 1e4 * t["x"], y=lambda t: 5e6 + 1e4 * t["y"])
    given = {"kernel": Matern(length_scale=5.0), "tune": None, "coords": ["x", "y", "date"], "crs": "EPSG:32633"}
    model = SpatialRegressor(**given).fit(table[["x", "y", "date"]], table["z"])
    boxes = [shapely.box(5e5 + west, 5e6, 5.05e5 + west, 5.01e6) for west in (0, 5e3)]
    areas = geopandas.GeoDataFrame(geometry=boxes, crs="EPSG:32633")
    means = [
        aggregate(model, areas, covariates={"date": day}, n_points=30, random_state=0)["mean"]
        for day in ("2015-04-01", pd.Timestamp("2015-04-01"), 90)
    ]
    assert_allclose(means[0], means[1])
    assert_allclose(means[0], means[2])
