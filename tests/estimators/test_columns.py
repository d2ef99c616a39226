"""What becomes of the columns of a table: named by what the user did."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bochner import SpatialClassifier, SpatialRegressor, load
from bochner.exceptions import CheckWarning, ColumnError, InputError
from bochner.kernels import Matern


def stations(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Stations of a small country, with a row number, a soil and a date."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": np.arange(n), "lon": rng.uniform(5, 9, n), "lat": rng.uniform(45, 48, n)})
    frame["soil"] = rng.choice(["clay", "loam", "sand"], n, p=[0.2, 0.5, 0.3])
    frame["when"] = pd.date_range("2015-01-01", periods=n, freq="12h")
    frame["temp"] = np.sin(frame.lon) + 2.0 * (frame.soil == "sand") + 0.1 * rng.standard_normal(n)
    return frame


def fixed(**parameters) -> SpatialRegressor:
    return SpatialRegressor(Matern(100.0), noise_variance=0.01, tune=None, **parameters)


def test_a_row_number_is_no_coordinate():
    table = stations()
    with pytest.raises(ColumnError, match=r"\['id'\] are neither coordinates \(lon, lat\) nor covariates"):
        fixed().fit(table[["id", "lon", "lat"]], table.temp)
    other = table.rename(columns={"lon": "u", "lat": "v"})
    with pytest.raises(ColumnError, match=r"\['id'\] are neither coordinates \(u, v\)"):
        fixed().fit(other[["id", "u", "v"]], table.temp)


def test_the_response_among_the_columns_is_passed_over():
    table = stations()
    model = fixed().fit(table[["lon", "lat", "temp"]], table.temp)
    assert model.fitted_.layout.columns.coord_names == ("lon", "lat")


def test_columns_that_were_not_named_are_told():
    table = stations()
    with pytest.warns(CheckWarning, match=r"columns not used: id, soil, when\. .*covariates=\[\.\.\.\]"):
        model = fixed(coords=["lon", "lat"]).fit(table, table.temp)
    assert model.choices_["columns"].value == ("id", "soil", "when")
    for covariates in (["soil"], []):
        with warnings.catch_warnings():
            warnings.simplefilter("error", CheckWarning)
            model = fixed(coords=["lon", "lat"], covariates=covariates).fit(table, table.temp)
        assert "not used: id, " in model.choices_["columns"]


@pytest.mark.parametrize("pandas_out", [True, False])
def test_columns_that_a_pipeline_brings_and_nothing_uses_are_warned_of(pandas_out):
    table = stations()
    kinds = ColumnTransformer(
        [("soil", OneHotEncoder(sparse_output=False), ["soil"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    coords, unused = [3, 4], "0, 1, 2"
    if pandas_out:
        kinds.set_output(transform="pandas")
        coords, unused = ["lon", "lat"], "soil_clay, soil_loam, soil_sand"
    pipeline = make_pipeline(kinds, fixed(coords=coords))
    with pytest.warns(CheckWarning, match=f"columns not used: {unused}"):
        pipeline.fit(table[["soil", "lon", "lat"]], table.temp)


def test_many_columns_that_are_not_used_are_counted():
    rng = np.random.default_rng(0)
    with pytest.warns(CheckWarning, match=r"columns not used: 2, 3, 4, 5, 6, 7, 8, 9, 4 more\. Name those"):
        fixed(coords=[0, 1]).fit(rng.random((60, 14)), rng.random(60))


def test_one_hot_columns_of_an_array_without_coords_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 6)), rng.random(60)
    X[:, 2:5] = np.eye(3)[rng.integers(3, size=60)]
    told = r"6 columns are taken as coordinates: 0, 1, 2, 3, 4, 5\. .*\(2, 3, 4\) look like categories.*coords="
    with pytest.warns(CheckWarning, match=told):
        fixed().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckWarning)
        model = fixed().fit(rng.random((60, 6)), y)
        assert model.choices_["columns"] == "6 columns are taken as coordinates: 0, 1, 2, 3, 4, 5."
        fixed(coords=[0, 1], covariates=[2, 3, 4, 5]).fit(X, y)
        assert "columns" not in fixed().fit(X[:, :2], y).choices_


def test_a_column_named_twice_is_refused():
    table = stations()[["lon", "lat"]]
    with pytest.raises(ColumnError, match="2 columns 'lat'"):
        fixed().fit(pd.concat([table, table[["lat"]]], axis=1), np.arange(60.0))


def test_names_asked_of_an_array_are_explained():
    table = stations()
    pipeline = make_pipeline(StandardScaler(), fixed(coords=["lon", "lat"]))
    with pytest.raises(ColumnError, match="set_output"):
        pipeline.fit(table[["lon", "lat"]], table.temp)
    pipeline.set_output(transform="pandas").fit(table[["lon", "lat"]], table.temp)


def test_text_is_a_category(tmp_path):
    table = stations()
    model = fixed(covariates=["soil"]).fit(table[["lon", "lat", "soil"]], table.temp)
    assert model.choices_["categories"].value == {"soil": ["loam", "clay", "sand"]}
    assert model.fitted_.layout.trend.names == ("intercept", "soil[clay]", "soil[sand]")
    assert abs(model.coef_[2] - 2.0) < 0.2
    by_hand = fixed(covariates=["clay", "sand"])
    table["clay"], table["sand"] = (table.soil == "clay").astype(float), (table.soil == "sand").astype(float)
    by_hand.fit(table[["lon", "lat", "clay", "sand"]], table.temp)
    assert_allclose(model.predict(table), by_hand.predict(table), rtol=1e-10)
    model.save(tmp_path / "m.bochner")
    assert np.array_equal(load(tmp_path / "m.bochner").predict(table), model.predict(table))
    with pytest.raises(InputError, match="'peat' in row 1, a level that the training rows have not"):
        model.predict(table.assign(soil=["loam", "peat"] + ["clay"] * 58))


def test_a_name_of_every_row_is_no_category():
    table = stations().assign(village=[f"village {i}" for i in range(60)])
    with pytest.raises(InputError, match="60 levels in 60 rows"):
        fixed(covariates=["village"]).fit(table[["lon", "lat", "village"]], table.temp)


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_dates_are_days_whatever_their_unit(unit):
    table = stations()
    model = fixed(coords=["lon", "lat", "when"]).fit(table.astype({"when": f"datetime64[{unit}]"}), table.temp)
    assert model.choices_["time"].value == "2015-01-01"
    days = table.assign(when=np.arange(60) / 2)
    as_days = fixed(coords=["lon", "lat", "when"]).fit(days, table.temp)
    assert_allclose(model.predict(table), as_days.predict(days), rtol=1e-10)
    assert_allclose(model.predict(table.assign(when=table.when.astype(str))), as_days.predict(days), rtol=1e-10)


def test_a_swapped_row_is_named():
    table = stations()
    table.loc[7, ["lon", "lat"]] = table.loc[7, ["lat", "lon"]].to_numpy().copy()
    with pytest.warns(CheckWarning, match="row 7 .*Swapped"):
        model = fixed().fit(table[["lon", "lat"]], table.temp)
    with pytest.warns(CheckWarning):
        assert any("Swapped" in finding and "--" not in finding for finding in model.check())


def test_a_far_row_is_named_and_a_second_region_is_not():
    table = stations()
    table.loc[3, "lon"] = 60.0
    with pytest.warns(CheckWarning, match="row 3 .*Check its coordinates"):
        fixed().fit(table[["lon", "lat"]], table.temp)
    table = stations()
    table.loc[:9, "lon"] += 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed().fit(table[["lon", "lat"]], table.temp)


def test_copies_are_counted():
    table = pd.concat([stations(), stations()[:4]])
    model = fixed().fit(table[["lon", "lat"]], table.temp)
    with pytest.warns(CheckWarning):
        assert any("4 of 64 rows are exact copies" in finding for finding in model.check())


def test_masked_values_are_missing():
    x = np.ma.masked_greater(stations()[["lon", "lat"]].to_numpy(), 47.5)
    with pytest.raises(InputError, match="contains NaN"):
        fixed().fit(x, np.zeros(60))
    with pytest.raises(ValueError, match="NaN"):
        fixed().fit(x.data, np.ma.masked_equal(np.arange(60.0), 3))


def test_arrays_of_degrees_with_their_crs():
    table = stations()
    named = fixed().fit(table[["lon", "lat"]], table.temp)
    array = fixed(crs="EPSG:4326").fit(table[["lon", "lat"]].to_numpy(), table.temp)
    assert array.choices_["places"].value == named.choices_["places"].value != "planar"
    assert_allclose(array.predict(table[["lon", "lat"]].to_numpy()), named.predict(table), rtol=1e-12)
    with pytest.raises(InputError, match="CRS"):
        fixed(crs="EPSG:3857").fit(table[["lon", "lat"]], table.temp)


def test_labels_of_several_kinds_are_refused():
    table = stations()
    with pytest.raises(InputError, match="several kinds"):
        SpatialClassifier().fit(table[["lon", "lat"]], np.array(["a", 1] * 30, dtype=object))


def test_groups_have_one_label_per_row():
    table = stations()
    with pytest.raises(InputError, match="groups has 3 values"):
        fixed().fit(table[["lon", "lat"]], table.temp, groups=[1, 2, 3])


def test_codes_written_as_text_are_classes():
    """Flooding frequencies "1", "2", "3" as text are names; the same as numbers are numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(60, 2)), columns=["x", "y"])
    table["class"] = rng.choice(["1", "2", "3"], 60)
    y = table["class"].map({"1": 0.0, "2": 5.0, "3": 1.0}) + 0.1 * rng.normal(size=60)
    options = {"coords": ["x", "y"], "covariates": ["class"], "kernel": Matern(), "noise_variance": 0.01, "tune": None}
    names = SpatialRegressor(**options).fit(table, y)
    assert "class: 3 levels" in names.summary()
    numbers = SpatialRegressor(**options).fit(table.astype({"class": int}), y)
    assert "levels" not in numbers.summary()


def test_a_response_called_y_is_no_third_coordinate():
    """Longitude, latitude and a column y: one pair says where a row lies; the other column is named as a stray."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(40, 3)), columns=["lon", "lat", "y"])
    with pytest.raises(ColumnError, match=r"columns \['y'\] are neither coordinates \(lon, lat\)"):
        fixed().fit(table, rng.normal(size=40))
    assert list(fixed().fit(table[["lon", "lat"]], table["y"]).fitted_.layout.columns.coord_names) == ["lon", "lat"]


def test_two_pairs_of_coordinates_are_asked_about():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(40, 4)), columns=["lon", "lat", "x", "y"])
    with pytest.raises(ColumnError, match=r"all look like coordinates; name two of them: coords=\['lon', 'lat'\]"):
        fixed().fit(table, rng.normal(size=40))


def test_missing_responses_are_counted():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    y[[7, 9]] = np.nan
    with pytest.raises(InputError, match=r"y contains NaN: 2 of 40 rows, first row 7"):
        fixed().fit(rng.uniform(size=(40, 2)), y)


def test_one_group_for_all_rows_is_refused_at_the_door():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"groups is 0\.0 in every row; needed are at least two"):
        fixed().fit(rng.uniform(size=(40, 2)), rng.normal(size=40), groups=np.zeros(40))


def test_one_impossible_latitude_is_named_not_called_swapped():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"lon": rng.uniform(30, 35, 40), "lat": rng.uniform(0, 5, 40)})
    table.loc[10, "lat"] = 95.0
    with pytest.raises(InputError, match=r"1 of 40 rows are no place on Earth, first row 10: .* latitude 95"):
        fixed().fit(table, rng.normal(size=40))


def test_a_row_of_a_frame_with_an_index_is_named_by_both_and_rows_without_weight_are_counted():
    table = stations()
    table.loc[7, ["lon", "lat"]] = table.loc[7, ["lat", "lon"]].to_numpy().copy()
    weight = np.ones(len(table))
    weight[2] = 0
    with pytest.warns(CheckWarning, match=r"row 7 \(lon .*Swapped"):
        fixed().fit(table[["lon", "lat"]], table.temp, sample_weight=weight)
    table.index = [f"s{i}" for i in range(len(table))]
    with pytest.warns(CheckWarning, match=r"row 7 \(index s7\) .*Swapped"):
        fixed().fit(table[["lon", "lat"]], table.temp)


def test_unusual_names_of_degrees_are_known():
    table = stations().rename(columns={"lon": "decimalLongitude", "lat": "decimalLatitude"})
    named = fixed(coords=["decimalLatitude", "decimalLongitude"]).fit(table, table.temp)
    assert named.crs_ == "EPSG:4326" and named.fitted_.layout.map_axes == ("decimalLongitude", "decimalLatitude")
    plain = fixed(coords=["lat", "lon"]).fit(stations(), table.temp)
    assert_allclose(named.predict(table), plain.predict(stations()), rtol=1e-10)
    found = fixed().fit(table[["decimalLongitude", "decimalLatitude"]], table.temp)
    assert found.crs_ == "EPSG:4326"


def test_a_plane_that_could_be_degrees_is_told():
    table = stations().rename(columns={"lon": "a", "lat": "b"})
    model = fixed(coords=["a", "b"]).fit(table, table.temp)
    assert "a, b have no CRS" in model.choices_["places"] and "EPSG:4326" in model.choices_["places"]
    for scale in (0.001, 1000):
        far = fixed(coords=["a", "b"]).fit(table.assign(a=table.a * scale, b=table.b * scale), table.temp)
        assert "places" not in far.choices_
