"""GeoDataFrames and longitude/latitude in the estimators: places in km, frames back, areas as observations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.exceptions import InputError, PartError
from bochner.kernels import Matern

gpd = pytest.importorskip("geopandas")
pd = pytest.importorskip("pandas")
shapely = pytest.importorskip("shapely")


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(0)
    n = 60
    lon, lat = rng.uniform(35, 37, n), rng.uniform(-2, 0, n)
    elevation = rng.normal(size=n)
    y = np.sin(3 * lon) + np.cos(2 * lat) + 0.3 * elevation + 0.1 * rng.standard_normal(n)
    frame = gpd.GeoDataFrame(
        {"elevation": elevation, "name": [f"village {i}" for i in range(n)]},
        geometry=gpd.points_from_xy(lon, lat),
        crs=4326,
        index=np.arange(100, 100 + n),
    )
    return frame, y


@pytest.fixture(scope="module")
def model(survey):
    frame, y = survey
    return SpatialRegressor(Matern(nu=1.5), covariates=["elevation"]).fit(frame, y)


def test_the_same_survey_in_three_systems_gives_the_same_map(survey, model):
    frame, y = survey
    reference = model.predict(frame)["mean"].to_numpy()
    for code in (32737, 3857):
        other = SpatialRegressor(Matern(nu=1.5), covariates=["elevation"]).fit(frame.to_crs(code), y)
        # EPSG:3857 stretches lengths by up to 1 % here
        assert_allclose(other.predict(frame)["mean"], reference, atol=0.01 * np.std(y))
        assert other.crs_ == f"EPSG:{code}"


def test_named_longitude_and_latitude_are_treated_like_a_geometry(survey, model):
    frame, y = survey
    table = pd.DataFrame({"lon": frame.geometry.x, "lat": frame.geometry.y, "elevation": frame.elevation})
    plain = SpatialRegressor(Matern(nu=1.5), coords=["lon", "lat"], covariates=["elevation"]).fit(table, y)
    assert plain.kernel_.length_scale == pytest.approx(model.kernel_.length_scale)
    assert (
        plain.choices_["places"].value == plain.fitted_.layout.placement.kind == "equirectangular"
        and plain.crs_ == "EPSG:4326"
    )
    assert_allclose(plain.predict(table), model.predict(frame)["mean"])


def test_an_array_of_degrees_is_planar(survey):
    frame, y = survey
    X = np.column_stack([frame.geometry.x, frame.geometry.y])
    plain = SpatialRegressor(Matern(nu=1.5)).fit(X, y)
    assert plain.crs_ is None and "places" not in plain.choices_


def test_frames_come_back_with_index_and_system(survey, model):
    frame, _ = survey
    utm = frame.to_crs(32737)
    answer = model.predict(utm, return_std=True)
    assert list(answer.columns) == ["mean", "sd", "geometry"]
    assert answer.crs == utm.crs and answer.index.equals(utm.index)
    assert_allclose(answer["mean"], model.predict(frame)["mean"], atol=1e-6)
    assert list(model.predict_interval(utm).columns) == ["lower", "upper", "geometry"]
    assert model.predict_exceedance(utm, 0.5)["exceedance"].between(0, 1).all()
    assert list(model.predict_quantiles(utm, [0.1, 0.9]).columns) == ["q0.1", "q0.9", "geometry"]


def test_a_saved_model_keeps_its_system(survey, model, tmp_path):
    frame, _ = survey
    model.save(tmp_path / "m.bochner")
    again = load(tmp_path / "m.bochner")
    assert again.crs_ == "EPSG:4326"
    assert_allclose(again.predict(frame.to_crs(3857))["mean"], model.predict(frame)["mean"], atol=1e-9)


def test_a_frame_without_a_system_is_refused_where_one_is_needed(survey, model):
    frame, _ = survey
    with pytest.raises(InputError, match="set_crs"):
        model.predict(frame.set_crs(None, allow_override=True))


def test_folds_and_places_to_be_predicted_are_laid_out_too(survey):
    frame, y = survey
    model = SpatialRegressor(Matern(nu=1.5), tune="spatial-cv").fit(frame, y, predict_at=frame.to_crs(3857)[:20])
    assert model.cross_validate(4)["rmse"] < 1.5


# ----------------------------------------------------------------------------------- areas


@pytest.fixture(scope="module")
def mixed():
    """Points and 20 km cells of one field, in metres of UTM 33N."""
    rng = np.random.default_rng(1)
    corners = [(i, j) for i in range(0, 100, 20) for j in range(0, 100, 20)]
    steps = np.linspace(0.5, 19.5, 20)
    means = [truth(*np.meshgrid(i + steps, j + steps)).mean() for i, j in corners]
    cells = [shapely.box(1e3 * i, 1e3 * j, 1e3 * (i + 20), 1e3 * (j + 20)) for i, j in corners]
    places = rng.uniform(0, 100, size=(40, 2))
    points = list(gpd.points_from_xy(*(1e3 * places).T))
    y = np.r_[truth(*places.T), means] + 0.03 * rng.standard_normal(40 + len(cells))
    return gpd.GeoDataFrame(geometry=[*points, *cells], crs=32633), y, np.array(means)


def truth(x, y):
    return np.sin(x / 20) + np.cos(y / 15)


@pytest.mark.slow
def test_areas_and_points_enter_one_model(mixed):
    frame, y, _ = mixed
    rng = np.random.default_rng(2)
    new = rng.uniform(5, 95, size=(300, 2))
    places = gpd.GeoDataFrame(geometry=gpd.points_from_xy(*(1e3 * new).T), crs=32633)
    errors = {}
    for name, rows in (("points", slice(0, 40)), ("both", slice(None))):
        model = SpatialRegressor(Matern(nu=2.5)).fit(frame[rows], y[rows])
        answer = model.predict(places, return_std=True)
        misfit = answer["mean"] - truth(*new.T)
        errors[name] = np.sqrt(np.mean(misfit**2))
        assert np.mean(np.abs(misfit) < 1.96 * answer["sd"]) > 0.85
    assert errors["both"] < 0.9 * errors["points"]


def test_the_mean_over_an_area_is_that_of_its_points(mixed):
    """Exactly: dense algebra on the averaged covariance."""
    frame, y, _ = mixed
    kernel = Matern(nu=1.5, length_scale=30.0, variance=1.5)
    model = SpatialRegressor(kernel, tune=None, noise_variance=0.01, fit_intercept=False).fit(frame, y)
    rows = model.training_responses().rows
    a = rows.averaging.toarray()
    k = a @ kernel(rows.points) @ a.T
    alpha = np.linalg.solve(k + 0.01 * np.eye(len(y)), y)
    assert_allclose(model.predict(frame)["mean"], k @ alpha, atol=1e-9)
    sd = np.sqrt(np.diag(k - k @ np.linalg.solve(k + 0.01 * np.eye(len(y)), k)))
    assert_allclose(model.predict(frame, return_std=True)["sd"], sd, atol=1e-7)


@pytest.mark.slow
def test_areas_are_predicted_and_saved(mixed, tmp_path):
    frame, y, means = mixed
    model = SpatialRegressor(Matern(nu=2.5)).fit(frame, y)
    model.save(tmp_path / "m.bochner")
    answer = load(tmp_path / "m.bochner").predict(frame[40:], return_std=True)
    assert np.sqrt(np.mean((answer["mean"].to_numpy() - means) ** 2)) < 0.05
    assert model.cross_validate()["rmse"] < 0.3


def test_areas_need_the_exact_kernel_and_a_gaussian(mixed):
    frame, y, _ = mixed
    with pytest.raises(PartError, match="exact"):
        SpatialRegressor(Matern(), features="orthogonal").fit(frame, y)
    with pytest.raises(PartError, match="gaussian"):
        SpatialRegressor(Matern(), family="poisson").fit(frame, np.arange(len(y)) % 5)


def dated(survey):
    frame, y = survey
    days = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.arange(len(frame)) % 7, "D")
    return frame.assign(visit=days, height=1.0), y


def test_points_and_a_date_are_a_place_and_a_time(survey):
    frame, y = dated(survey)
    model = SpatialRegressor(Matern(nu=1.5), coords=["geometry", "visit"]).fit(frame, y)
    assert model.fitted_.layout.columns.coord_names == ("x", "y", "visit")
    assert model.fitted_.layout.last_is_time
    by_names = SpatialRegressor(Matern(nu=1.5), coords=["x", "y", "visit"]).fit(frame, y)
    assert_allclose(model.predict(frame.to_crs(32737))["mean"], by_names.predict(frame)["mean"], rtol=1e-6)
    plain = pd.DataFrame(frame.drop(columns="geometry")).assign(lon=frame.geometry.x, lat=frame.geometry.y)
    lonlat = SpatialRegressor(Matern(nu=1.5), coords=["lon", "lat", "visit"]).fit(plain, y)
    assert_allclose(model.predict(frame)["mean"], lonlat.predict(plain), rtol=1e-6)


def test_a_date_that_is_not_used_is_told_of(survey):
    frame, y = dated(survey)
    told = str(SpatialRegressor(Matern(nu=1.5)).fit(frame, y).choices_["columns"])
    assert "not used: elevation, name, visit, height" in told and "a place and a time" not in told
    frame = frame.rename(columns={"visit": "date", "height": "week"})
    told = str(SpatialRegressor(Matern(nu=1.5)).fit(frame, y).choices_["columns"])
    assert "coords=['geometry', 'date']" in told
    told = str(SpatialRegressor(Matern(nu=1.5), coords=["geometry", "date"]).fit(frame, y).choices_["columns"])
    assert told == "not used: elevation, name, week."
    plain = pd.DataFrame({"lon": frame.geometry.x, "lat": frame.geometry.y, "date": frame.date})
    told = str(SpatialRegressor(Matern(nu=1.5), coords=["lon", "lat"]).fit(plain, y).choices_["columns"])
    assert "coords=['lon', 'lat', 'date']" in told
    braces = plain.rename(columns={"lon": "x {m}", "lat": "y {m}"})
    told = str(SpatialRegressor(Matern(nu=1.5), coords=["x {m}", "y {m}"]).fit(braces, y).choices_["columns"])
    assert "coords=['x {m}', 'y {m}', 'date']" in told


def test_longitudes_beyond_a_turn_are_refused_and_0_to_360_is_not():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"lon": rng.uniform(350, 360, 40), "lat": rng.uniform(0, 4, 40)})
    model = SpatialRegressor(Matern(100.0), tune=None).fit(table, rng.random(40))
    assert_allclose(model.predict(table.assign(lon=table.lon - 360)), model.predict(table), rtol=1e-9)
    amiss = table.copy()
    amiss.loc[7, "lon"] = 430
    for ask in (model.predict, lambda X: SpatialRegressor(Matern(100.0), tune=None).fit(X, X.lat)):
        with pytest.raises(InputError, match="first row 7: longitude 430"):
            ask(amiss)
        with pytest.raises(InputError, match=r"longitude reaches 4.*no angle in degrees"):
            ask(table.assign(lon=table.lon + 60))


def test_an_image_across_greenwich_counted_from_0_to_360_keeps_its_longitudes():
    xarray = pytest.importorskip("xarray")
    lon = np.r_[np.arange(350.0, 360), np.arange(10.0)]
    image = xarray.DataArray(np.arange(100.0).reshape(5, 20), {"lat": np.arange(5.0), "lon": lon}, name="t")
    model = SpatialRegressor(Matern(100.0), tune=None).fit(image)
    assert_allclose(model.predict(image).lon, lon)
    with pytest.raises(InputError, match="no angle in degrees"):
        SpatialRegressor(Matern(100.0), tune=None).fit(image.assign_coords(lon=np.arange(400.0, 420)))
