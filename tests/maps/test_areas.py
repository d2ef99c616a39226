"""Means over areas: joint draws agree with the exact covariance, weights count, and what is wrong is told."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.diagnostics import remember
from bochner.exceptions import ApproximationWarning, FallbackWarning, InputError, OutsideWarning
from bochner.geo import RasterGrid, area_points
from bochner.kernels import Matern
from bochner.maps import aggregate
from tests.maps.surveys import hills_on, survey, write_raster

geopandas = pytest.importorskip("geopandas")
from shapely.geometry import Polygon, box  # noqa: E402

CRS = "EPSG:32633"
SIDE = 100_000.0  # metres; the kernel counts in km


@cache
def frame():
    data = survey()
    points = geopandas.points_from_xy(SIDE * data["x"], SIDE * data["y"])
    return geopandas.GeoDataFrame(data[["elevation"]], geometry=points, crs=CRS), data


@cache
def model(family: str = "gaussian", covariate: bool = False) -> SpatialRegressor:
    places, data = frame()
    made = SpatialRegressor(
        Matern(40.0), family=family, noise_variance=0.02, tune=None, covariates=["elevation"] if covariate else None
    )
    table = places if covariate else places[["geometry"]]
    if family == "binomial":
        return made.fit(table, data["positive"], trials=data["trials"])
    return made.fit(table, data["response"])


def districts():
    shapes = [
        box(0, 0, 50_000, 50_000),
        box(60_000, 10_000, 62_000, 12_000),
        Polygon([(10_000, 60_000), (95_000, 60_000), (50_000, 99_000)]),
    ]
    return geopandas.GeoDataFrame({"name": ["south", "town", "hill"]}, geometry=shapes, crs=CRS, index=[7, 8, 9])


def test_means_agree_with_the_exact_covariance():
    """Mean and sd of a weighted mean are w'm and the root of w'Cw, and its law is Gaussian; nothing is drawn."""
    areas = districts()
    found = aggregate(model(), areas, n_points=60, exceed=1.0)
    coords, index, weight = area_points(areas, n_points=60)
    for i in range(3):
        here = index == i
        points = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*coords[here].T), crs=CRS)
        mean, covariance = model().predict(points, return_cov=True)
        sd = np.sqrt(weight[here] @ np.asarray(covariance) @ weight[here])
        row = found.iloc[i]
        assert_allclose(row["sd"], sd, rtol=1e-8)
        assert_allclose([row["lower"], row["upper"]], row["mean"] + np.array([-1, 1]) * 1.959964 * sd, rtol=1e-6)
        assert_allclose(row["exceedance_1"], _normal_tail(1.0, row["mean"], sd), rtol=1e-6, atol=1e-12)
        rough = weight[here] @ np.asarray(mean).ravel()
        assert_allclose(row["discretisation_error"], abs(row["mean"] - rough), rtol=1e-6, atol=1e-9)


def test_mean_is_that_of_a_fine_grid():
    """The mean comes from four times the points; against 100 times as many it errs by less than a tenth of the sd."""
    areas = districts()
    found = aggregate(model(), areas, n_points=60, n_draws=200)
    coords, index, weight = area_points(areas, n_points=6_000)
    points = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*coords.T), crs=CRS)
    mean = np.bincount(index, weight * np.asarray(model().predict(points)["mean"]))
    assert (np.abs(found["mean"] - mean) < 0.1 * found["sd"]).all()
    assert (found["discretisation_error"] < 0.2 * found["sd"]).all()


def test_a_mean_is_surer_than_a_point_but_not_as_sure_as_independent_pixels():
    """Neighbouring pixels go up and down together."""
    areas = districts().iloc[:1]
    found = aggregate(model(), areas, n_points=100, n_draws=1_000).iloc[0]
    coords, _, weight = area_points(areas, n_points=100)
    points = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*coords.T), crs=CRS)
    sd = np.asarray(model().predict(points, return_std=True)["sd"])
    assert np.sqrt(np.sum((weight * sd) ** 2)) * 2 < found["sd"] < weight @ sd


def test_areas_come_back_as_they_were():
    """Columns, index, geometry and CRS are kept; other CRSs give the same numbers."""
    areas = districts()
    found = aggregate(model(), areas, n_draws=200, n_points=50)
    assert list(found.index) == [7, 8, 9] and list(found["name"]) == ["south", "town", "hill"]
    assert found.crs == areas.crs and found.geometry.equals(areas.geometry)
    degrees = aggregate(model(), areas.to_crs("EPSG:4326"), n_draws=200, n_points=50)
    assert degrees.crs.to_epsg() == 4326
    assert_allclose(degrees["mean"], found["mean"], atol=0.1 * found["sd"].max())


def test_same_seed_same_numbers():
    """The draws repeat, and another seed changes the sd a little."""
    first, again, other = (
        aggregate(model("binomial"), districts(), n_draws=100, n_points=30, random_state=s)["sd"] for s in (1, 1, 2)
    )
    assert (first == again).all() and not (first == other).any()


def test_prevalence_by_district():
    """A binomial model gives prevalences, with intervals inside 0 and 1."""
    found = aggregate(model("binomial"), districts(), n_draws=500, n_points=50, exceed=[0.2, 0.99])
    assert ((found["lower"] > 0) & (found["lower"] < found["mean"]) & (found["mean"] < found["upper"])).all()
    assert (found["upper"] < 1).all()
    assert (found["exceedance_0.2"] >= found["exceedance_0.99"]).all()


@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_what_is_told_of_a_skewed_mean_is_that_of_its_draws(family):
    """Outside the rows the law of a mean has a long tail: the largest of the draws must not move all others."""
    rng = np.random.default_rng(1)
    X = 5e5 + rng.uniform(0, 60e3, (90, 2))
    u = (X - 5e5) / 1e4
    field = 1.2 * (np.sin(1.3 * u[:, 0]) + np.cos(1.1 * u[:, 1] + 0.4 * u[:, 0]))
    chance = 1 / (1 + np.exp(-2 * field))
    y = rng.poisson(np.exp(0.3 + 1.3 * field)) if family == "poisson" else rng.binomial(1, chance)
    fitted = SpatialRegressor(Matern(9.0, 5.0, nu=1.5), family=family, crs="EPSG:32632", tune=None).fit(X, y)
    areas = geopandas.GeoDataFrame(
        geometry=[box(x, 5.2e5, x + 4e3, 5.24e5) for x in (5.63e5, 5.69e5, 5.78e5)], crs=32632
    )
    at = 5.0 if family == "poisson" else 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideWarning)
        found = aggregate(fitted, areas, exceed=at, n_draws=500)
    inside = (0, np.inf) if family == "poisson" else (0, 1)
    assert found.lower.min() > inside[0] and found.upper.max() < inside[1]
    for area, chance in zip(areas.geometry, found[f"exceedance_{at:g}"], strict=True):
        left, bottom, *_ = area.bounds
        side = np.linspace(200, 3800, 8)
        points = np.stack(np.meshgrid(left + side, bottom + side), axis=-1).reshape(-1, 2)
        drawn = fitted.sample_y(points, 4_000, random_state=2, include_noise=False).mean(axis=0)
        assert chance == pytest.approx(np.mean(drawn > at), abs=0.08)


def test_weights_pull_the_mean_to_the_people(tmp_path):
    """All people in one corner: the mean is that of the corner, and totals are mean times people."""
    grid = RasterGrid((2_000.0, 0, 0, 0, -2_000.0, SIDE), 50, 50, CRS)
    people = np.zeros(grid.shape)
    people[45:, :5] = 10.0  # the south-western 10 km
    raster = write_raster(tmp_path / "people.tif", grid, people)
    south = districts().iloc[:1]
    found = aggregate(model(), south, weights_raster=raster, n_draws=200, n_points=400).iloc[0]
    corner = geopandas.GeoDataFrame(geometry=[box(0, 0, 10_000, 10_000)], crs=CRS)
    expected = aggregate(model(), corner, n_draws=200, n_points=400).iloc[0]
    assert_allclose(found["mean"], expected["mean"], atol=0.1 * expected["sd"])
    assert found["weight"] == 250.0
    assert_allclose(found["total"], 250 * found["mean"])
    assert found["total_lower"] < found["total"] < found["total_upper"]


def test_covariates_are_read_at_the_points(tmp_path):
    """The mean over an area follows the covariate there; areas without it are left empty, with a message."""
    grid = RasterGrid((1_000.0, 0, 0, 0, -1_000.0, SIDE), 100, 100, CRS)
    unit = RasterGrid((0.01, 0, 0, 0, -0.01, 1), 100, 100)
    elevation = hills_on(unit)
    elevation[:, 55:70] = np.nan  # no elevation where the town is
    raster = write_raster(tmp_path / "elevation.tif", grid, elevation)
    with pytest.warns(FallbackWarning, match="1 of 3 areas have no point"):
        found = aggregate(
            model(covariate=True), districts(), covariates={"elevation": raster}, n_draws=200, n_points=100
        )
    assert np.isnan(found.loc[8, "mean"]) and np.isnan(found.loc[8, "sd"]) and found.loc[8, "n_points"] == 0
    coords, index, weight = area_points(districts(), n_points=400)
    here = index == 0
    table = geopandas.GeoDataFrame(
        {"elevation": _at(grid, elevation, coords[here])}, geometry=geopandas.points_from_xy(*coords[here].T), crs=CRS
    )
    mean = weight[here] @ np.asarray(model(covariate=True).predict(table)["mean"])
    assert_allclose(found.loc[7, "mean"], mean, atol=0.05 * found.loc[7, "sd"])
    with pytest.raises(InputError, match="--covariate elevation=RASTER"):
        aggregate(model(covariate=True), districts())


def test_areas_far_from_the_data_are_told():
    """A district where only the prior is left."""
    far = geopandas.GeoDataFrame(geometry=[box(900_000, 0, 950_000, 50_000)], crs=CRS)
    with pytest.warns(FallbackWarning, match="only the trend and the prior"):
        aggregate(model(), far, n_draws=50, n_points=20)


def test_areas_without_data_are_marked_by_name(tmp_path):
    """An area between the rows is none of them, though no row lies in it; the file of the model knows its rows."""
    places, data = frame()
    x, y = places.geometry.x.to_numpy(), places.geometry.y.to_numpy()
    away = (abs(x - 50_000) > 4_000) | (abs(y - 50_000) > 4_000)
    fitted = SpatialRegressor(Matern(20.0), noise_variance=0.01, tune=None)
    fitted.fit(places.loc[away, ["geometry"]], data["response"][away])
    shapes = [box(0, 0, 100_000, 46_000), box(47_000, 47_000, 53_000, 53_000), box(900_000, 0, 950_000, 50_000)]
    areas = geopandas.GeoDataFrame({"name": ["South", "Gap", "Island"]}, geometry=shapes, crs=CRS)
    with pytest.warns(OutsideWarning, match=r"1 of 3 areas .* are left: Island\.$"):
        found = aggregate(fitted, areas.to_crs(4326), n_draws=50, n_points=20)
    assert found["no_data"].tolist() == [False, False, True] and found["no_data"].dtype == bool
    assert found["rows"].tolist() == [int((away & (y < 46_000)).sum()), 0, 0]
    fitted.save(tmp_path / "bare.bochner")
    remember(fitted)
    fitted.save(tmp_path / "model.bochner")
    with pytest.warns(OutsideWarning, match="rows counted from 1: 3"):
        again = aggregate(load(tmp_path / "model.bochner"), areas[["geometry"]], n_draws=50, n_points=20)
        bare = aggregate(load(tmp_path / "bare.bochner"), areas[["geometry"]], n_draws=50, n_points=20)
    assert again["rows"].tolist() == found["rows"].tolist()
    assert "rows" not in bare and bare["no_data"].tolist() == [False, False, True]


def test_rows_put_together_are_not_counted_from_a_file(tmp_path):
    """Of equal rows a file holds one; the model in memory counts them all."""
    places, data = frame()
    twice = geopandas.GeoDataFrame(pd.concat([places, places], ignore_index=True), crs=places.crs)[["geometry"]]
    fitted = SpatialRegressor(Matern(20.0), noise_variance=0.01, tune=None, features="exact")
    fitted.fit(twice, np.tile(data["response"], 2))
    remember(fitted)
    fitted.save(tmp_path / "model.bochner")
    whole = geopandas.GeoDataFrame(geometry=[box(-1e5, -1e5, 2e5, 2e5)], crs=CRS)
    assert aggregate(fitted, whole, n_draws=50, n_points=20)["rows"].tolist() == [len(twice)]
    assert "rows" not in aggregate(load(tmp_path / "model.bochner"), whole, n_draws=50, n_points=20)


def test_too_few_points_are_told():
    """Six points cannot stand for an area over which the surface waves."""
    places, data = frame()
    rough = SpatialRegressor(Matern(4.0), noise_variance=0.001, tune=None).fit(places[["geometry"]], data["response"])
    with pytest.warns(ApproximationWarning, match="Raise n_points"):
        aggregate(rough, districts().iloc[:1], n_draws=400, n_points=9)


def test_own_columns_of_the_same_name_are_kept():
    """A column called mean does not vanish."""
    areas = districts().assign(mean=[1.0, 2.0, 3.0])
    with pytest.warns(FallbackWarning, match="mean_given"):
        found = aggregate(model(), areas, n_draws=50, n_points=20)
    assert list(found["mean_given"]) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"level": 1.5}, "level=1.5"), ({"n_draws": 1}, "n_draws=1"), ({"n_points": 0}, "n_points=0")],
)
def test_wrong_options_are_told(options, words):
    with pytest.raises(InputError, match=words):
        aggregate(model(), districts(), **options)


def _normal_tail(threshold: float, mean: float, sd: float) -> float:
    from scipy.special import ndtr

    return float(ndtr((mean - threshold) / sd))


def _at(grid: RasterGrid, values: np.ndarray, coords: np.ndarray) -> np.ndarray:
    """Bilinear interpolation between the centres of pixels."""
    from scipy.interpolate import RegularGridInterpolator

    return RegularGridInterpolator((grid.y[::-1], grid.x), values[::-1])(coords[:, ::-1])
