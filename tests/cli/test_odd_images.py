"""Odd images: without a gap, a value, or order in their axes: right, or one clear line."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import QUICK


def field(lon, lat):
    return np.sin(3 * lon) * np.cos(4 * lat) + 20


def holed(lon, lat):
    return np.where(np.hypot(lon - 11, lat - 41) < 0.3, np.nan, field(lon, lat))


def one_value(lon, lat):
    values = np.full(lon.shape, np.nan)
    values[3, 4] = 1.0
    return values


def test_an_image_without_a_gap_has_none_to_fill(run, raster):
    done = run("fit", raster("whole.tif", field, side=0.2), *QUICK, "--predict-at", "gaps", "-o", "m.bochner")
    assert done.code == 2 and "no gaps" in done.err and "--predict-at" in done.err


def test_an_image_without_a_value_is_refused(run, raster):
    empty = raster("empty.tif", lambda lon, lat: np.full(lon.shape, np.nan), side=0.2)
    done = run("fit", empty, *QUICK, "-o", "m.bochner")
    assert done.code == 2 and "no pixel with a value" in done.err


def test_an_image_of_one_value_is_refused(run, raster):
    done = run("fit", raster("one.tif", one_value, side=0.2), "--predict-at", "gaps", "-o", "m.bochner")
    assert done.code == 2 and "1 sample" in done.err and "at least 2" in done.err


def test_infinite_pixels_have_no_value(ok, raster):
    def infinite(lon, lat):
        values = holed(lon, lat)
        values[0, 0], values[1, 1] = np.inf, -np.inf
        return values

    plain = ok("fit", raster("plain.tif", holed, side=0.2), *QUICK, "-o", "m.bochner")
    done = ok("fit", raster("infinite.tif", infinite, side=0.2), *QUICK, "-o", "m.bochner")
    n = [int(told.err.split(" of ")[0].split()[-1]) for told in (plain, done)]
    assert n[1] == n[0] + 2 and "have no value" in done.err


def test_whole_rows_and_columns_may_be_missing(ok, raster, tmp_path):
    import rasterio

    def striped(lon, lat):
        values = holed(lon, lat)
        values[4:6], values[:, 3], values[:, -1], values[0] = (np.nan,) * 4
        return values

    image = raster("striped.tif", striped, side=0.15)
    ok("fit", image, *QUICK, "--predict-at", "gaps", "-o", "m.bochner")
    ok("map", "m.bochner", "--like", image, "--fill-only", "-o", "filled.tif")
    with rasterio.open(tmp_path / "filled.tif") as filled:
        mean, sd = filled.read()
    assert np.all(np.isfinite(mean)) and np.all(sd[4:6] > 0)


@pytest.mark.parametrize("axes", ["descending", "uneven", "antimeridian"])
def test_axes_in_any_order_and_across_the_antimeridian(run, tmp_path, axes):
    import xarray

    rng = np.random.default_rng(0)
    lat, lon = np.linspace(40, 41, 12), np.linspace(5, 6.2, 14)
    if axes == "descending":
        lat, lon = lat[::-1], lon[::-1]
    if axes == "uneven":
        lat = 40 + np.cumsum(rng.uniform(0.03, 0.1, 12))
    if axes == "antimeridian":
        lon = (np.linspace(179.4, 180.6, 14) + 180) % 360 - 180
    i, j = np.indices((12, 14))
    values = np.where(np.hypot(i - 6, j - 7) < 3, np.nan, np.sin(i / 3) + np.cos(j / 4))
    array = xarray.DataArray(values, dims=("lat", "lon"), coords={"lat": lat, "lon": lon}, name="temp")
    array.to_dataset().to_netcdf(tmp_path / "image.nc", engine="h5netcdf")
    done = run("fit", "image.nc", *QUICK, "--noise-variance", "0.01", "-o", "m.bochner")
    if axes == "uneven":
        assert done.code == 2 and "not evenly spaced along lat; resample it" in done.err
        return
    assert done.code == 0, done.err
    across = float(done.out.split("region ")[1].split(" km")[0])
    assert 100 < across < 200
