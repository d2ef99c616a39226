"""Codes for missing values that are written as numbers."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import CheckWarning
from bochner.geo import raster_at
from bochner.geo.missing_codes import missing_code, told_of_code

MEASURED = np.random.default_rng(0).uniform(10, 30, 60)


@pytest.mark.parametrize("code", [-9999.0, -999.0, 9999.0, -99.9, -32768.0, 1e20, -3.4028235e38, 9.96921e36])
def test_codes_far_from_all_others_are_found(code):
    assert missing_code(np.r_[MEASURED, code, code, np.nan]) == (code, 2)


@pytest.mark.parametrize("value", [99.0, -500.0, 31.0, 29.9, 0.0, np.nan, np.inf])
def test_one_value_that_may_have_been_measured_is_no_code(value):
    assert missing_code(np.r_[MEASURED, value]) is None


def test_values_among_others_few_values_and_equal_ones_tell_nothing():
    assert missing_code(np.r_[np.linspace(-20_000, 0, 50), -9999.0]) is None
    assert missing_code(np.array([1.0, 2.0, -9999.0])) is None
    assert missing_code(np.r_[np.zeros(50), -9999.0]) is None
    assert missing_code(np.full(3, np.nan)) is None
    assert told_of_code("x", MEASURED, "mend it.") is None


def test_a_fit_warns_of_codes_in_response_and_covariates():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.uniform(size=(80, 4)), columns=["x", "y", "height", "rain"])
    table.loc[:4, "height"] = -9999
    table.loc[7, "rain"] = -999
    model = SpatialRegressor(coords=["x", "y"], covariates=["height"])
    with pytest.warns(CheckWarning) as warned:
        model.fit(table[["x", "y", "height"]], table["rain"])
    told = " ".join(str(each.message) for each in warned)
    assert "height is -9999 in 5 of 80 rows" in told and "rain is -999 in 1 of 80 rows" in told
    assert any("height is -9999" in finding for finding in model.check())


def test_a_raster_that_does_not_declare_its_nodata_is_told_of(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    values = np.random.default_rng(2).uniform(100, 200, size=(12, 12))
    values[:5, :5] = -9999
    profile = {"driver": "GTiff", "height": 12, "width": 12, "count": 1, "dtype": "float64", "crs": "EPSG:32632"}
    with rasterio.open(
        tmp_path / "height.tif", "w", **profile, transform=rasterio.transform.from_origin(0, 12, 1, 1)
    ) as file:
        file.write(values, 1)
    places = np.stack(np.meshgrid(np.arange(0.5, 12), np.arange(0.5, 12)), axis=-1).reshape(-1, 2)
    with pytest.warns(CheckWarning, match="height.tif is -9999 in 25 of 144 places"):
        raster_at(tmp_path / "height.tif", places)
