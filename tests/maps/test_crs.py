"""CRS: one survey in three CRSs gives one map."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.geo import RasterGrid
from bochner.kernels import Matern
from bochner.maps import make_grid, predict_on_grid
from tests.maps.surveys import survey

geopandas = pytest.importorskip("geopandas")
CODES = ("EPSG:4326", "EPSG:32633", "EPSG:3857")


@pytest.fixture(scope="module")
def models():
    data = survey(120)
    points = geopandas.points_from_xy(14 + 2 * data["x"], 48 + 1.5 * data["y"])
    frame = geopandas.GeoDataFrame(geometry=points, crs="EPSG:4326")
    made = {}
    for code in CODES:
        model = SpatialRegressor(Matern(60.0), noise_variance=0.01, tune=None)
        made[code] = model.fit(frame.to_crs(code), data["response"])
    return made


@pytest.mark.parametrize("target", CODES)
def test_same_survey_same_map(models, target):
    """Longitude/latitude, UTM and web Mercator agree within 1 % of the map's range, on grids in any of them."""
    grid = {
        "EPSG:4326": RasterGrid((0.04, 0, 14, 0, -0.04, 49.5), 37, 50, "EPSG:4326"),
        "EPSG:32633": RasterGrid((3_000.0, 0, 430_000.0, 0, -3_000.0, 5_480_000.0), 50, 45, "EPSG:32633"),
        "EPSG:3857": RasterGrid((4_000.0, 0, 1_560_000.0, 0, -4_000.0, 6_350_000.0), 55, 50, "EPSG:3857"),
    }[target]
    maps = np.array([next(iter(predict_on_grid(models[code], grid)))[1] for code in CODES])
    size = np.ptp(maps[0, 0])
    assert np.abs(maps - maps[0]).max() < 0.01 * size


def test_grid_takes_the_models_crs(models):
    """A resolution in km makes square pixels on the ground, in the CRS of the data."""
    for code, model in models.items():
        grid = make_grid(model, "5km")
        assert grid.crs.to_epsg() == int(code[5:])
    degrees = make_grid(models["EPSG:4326"], "5km").resolution
    assert np.isclose(degrees[0] * np.cos(np.radians(48.75)), degrees[1], rtol=0.02)


def test_antimeridian_is_no_edge():
    """A survey around 180 degrees gives the same map as the same survey elsewhere on the equator."""
    data = survey(60)
    maps = []
    for shift in (0.0, 179.5):
        lon = (data["x"] + shift + 180) % 360 - 180
        frame = data.assign(lon=lon, lat=data["y"] - 0.5)
        model = SpatialRegressor(Matern(40.0), noise_variance=0.01, tune=None, coords=["lon", "lat"])
        grid = RasterGrid((0.02, 0, shift, 0, -0.02, 0.5), 50, 50, "EPSG:4326")
        maps.append(next(iter(predict_on_grid(model.fit(frame, data["response"]), grid)))[1])
    assert np.abs(maps[1] - maps[0]).max() < 1e-3 * np.ptp(maps[0][0])


def test_the_whole_globe_on_a_grid():
    """How far the field reaches is asked of pixels on the map, none beyond the poles."""
    rng = np.random.default_rng(2)
    X = np.c_[rng.uniform(-180, 180, 80), np.degrees(np.arcsin(rng.uniform(-1, 1, 80)))]
    model = SpatialRegressor(Matern(3_000.0), tune=None, noise_variance=0.01, crs=4326).fit(
        X, np.cos(np.radians(X[:, 1]))
    )
    quick, exact = (model.predict_grid(10.0, bounds=(-180, -90, 180, 90), tolerance=t) for t in (1e-3, None))
    assert quick["mean"].shape == (18, 36)
    assert float(np.max(np.abs(quick["mean"] - exact["mean"]) / exact["sd"])) < 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_the_default_grid_ends_at_the_poles(seed):
    """Places all over the globe: no pixel has its centre beyond a pole."""
    places = np.random.default_rng(seed).standard_normal((300, 3))
    lat = np.degrees(np.arcsin(places[:, 2] / np.linalg.norm(places, axis=1)))
    X = np.c_[np.degrees(np.arctan2(places[:, 1], places[:, 0])), lat]
    model = SpatialRegressor(Matern(2_000.0), tune=None, noise_variance=0.01, crs=4326).fit(X, places[:, 0])
    for resolution in (None, 7.0, "300km"):
        assert np.abs(make_grid(model, resolution).y).max() <= 90
