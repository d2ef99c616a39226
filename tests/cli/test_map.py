"""`bochner map`: rasters out, the gaps of an image filled, nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio
import shapely

from .conftest import QUICK

FIT = ("fit", "data.csv", "--target", "temp", "--covariates", "height", *QUICK)


def wave(lon, lat):
    return np.sin(3 * lon) * np.cos(4 * lat)


def cloudy(lon, lat):
    """A noisy image of a field with a cloud, and a strip that the satellite did not see."""
    cloud = np.hypot(lon - 11, lat - 41) < 0.2
    seen = wave(lon, lat) + 0.05 * np.random.default_rng(0).normal(size=lon.shape)
    return np.where(cloud | (lon > 11.8), np.nan, seen)


def test_gaps_of_an_image_are_filled_and_its_georeference_is_kept(ok, raster, tmp_path):
    image = raster("image.tif", cloudy, side=0.08)
    done = ok("fit", image, *QUICK, "--predict-at", "gaps", "-o", "image.bochner")
    assert "pixels of image.tif have no value" in done.err
    ok("map", "image.bochner", "--like", image, "-o", "whole.tif")
    ok("map", "image.bochner", "--like", image, "--fill-only", "-o", "filled.tif")
    with rasterio.open(image) as given, rasterio.open(tmp_path / "filled.tif") as filled:
        assert filled.crs == given.crs and filled.transform == given.transform and filled.shape == given.shape
        assert filled.descriptions == ("mean", "sd")
        seen, (mean, sd) = given.read(1, masked=True), filled.read()
    centre = 0.08 * (np.arange(len(mean)) + 0.5)
    lon, lat = np.meshgrid(9.9 + centre, 42.1 - centre)
    gap = np.ma.getmaskarray(seen)
    assert np.array_equal(mean[~gap], seen.compressed()) and not sd[~gap].any()
    assert np.all(sd[gap] > 0)
    cloud = gap & (lon < 11.8)  # beyond the strip the map extrapolates
    error = (mean - wave(lon, lat))[cloud] / sd[cloud]
    assert np.abs(error).max() < 4 and np.sqrt(np.mean(((mean - wave(lon, lat))[cloud]) ** 2)) < 0.1
    with rasterio.open(tmp_path / "whole.tif") as whole:
        np.testing.assert_allclose(whole.read(1)[gap], mean[gap], atol=1e-5)


def test_bands_within_polygons_in_three_formats(ok, data, raster, tmp_path):
    import xarray

    dem = raster("dem.tif", lambda lon, lat: 0.1 * (lon - 11), side=0.1)
    land = shapely.Point(11, 41).buffer(0.8)
    gpd.GeoDataFrame(geometry=[land], crs=4326).to_crs(32632).to_file(tmp_path / "land.gpkg")
    ok(*FIT, "-o", "m.bochner")
    wanted = ("--resolution", "0.1deg", "--within", "land.gpkg", "--covariate", f"height={dem}", "--exceed", "0.5")
    told = json.loads(ok("map", "m.bochner", *wanted, "--quantile", "0.9", "--json", "-o", "map.tif").out)
    assert told["bands"] == ["mean", "sd", "exceedance_0.5", "q0.9"] and told["crs"] == "EPSG:4326"
    assert told["pixels"]["n_outside"] > 0
    with rasterio.open(tmp_path / "map.tif") as file:
        bands, row, col = file.read(), *file.index(11.05, 41.05)
    for name in ("map.nc", "map.zarr"):
        ok("map", "m.bochner", *wanted, "--quantile", "0.9", "-o", name)
        with xarray.open_dataset(tmp_path / name, decode_coords="all") as cube:
            for band, values in zip(told["bands"], bands, strict=True):
                np.testing.assert_allclose(cube[band.replace(".", "_")].values, values, atol=1e-6)
    # a pixel is what predict says at its centre
    pd.DataFrame({"lon": [11.05], "lat": [41.05], "height": [0.005]}).to_csv(tmp_path / "one.csv", index=False)
    ok("predict", "m.bochner", "one.csv", "--latent", "--exceed", "0.5", "-o", "one-out.csv")
    one = pd.read_csv(tmp_path / "one-out.csv").iloc[0]
    np.testing.assert_allclose(bands[:3, row, col], [one["mean"], one.sd, one["exceedance_0.5"]], atol=2e-3)


def test_counts_are_mapped_with_a_raster_of_exposure(ok, data, raster, tmp_path):
    people = raster("people.tif", lambda lon, lat: 50 + 0 * lon, side=0.2)
    ok("fit", "data.csv", "--target", "positive", "--family", "poisson", "--exposure", "examined", *QUICK, "-o", "m")
    ok("map", "m", "--like", people, "-o", "rate.tif")
    ok("map", "m", "--like", people, "--exposure", people, "-o", "cases.tif")
    with rasterio.open(tmp_path / "rate.tif") as rate, rasterio.open(tmp_path / "cases.tif") as cases:
        np.testing.assert_allclose(cases.read(1), 50 * rate.read(1), rtol=1e-4)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.slow
def test_killed_in_the_middle_it_leaves_nothing_and_runs_again(ok, data, tmp_path):
    ok("fit", "data.csv", "--target", "temp", *QUICK, "-o", "m.bochner")
    mapping = ["map", "m.bochner", "--resolution", "0.0015deg", "-o", "map.tif"]
    program = "from bochner.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *mapping], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(".map.tif.partial*/*")) and time.monotonic() < deadline:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert list(tmp_path.glob(".map.tif.partial*")) and not (tmp_path / "map.tif").exists()
    mapping[mapping.index("0.0015deg")] = "0.02deg"
    ok(*mapping)
    assert not list(tmp_path.glob(".map.tif.partial*"))
    with rasterio.open(tmp_path / "map.tif") as file:
        assert np.isfinite(file.read(1)).all()
