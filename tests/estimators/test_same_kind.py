"""What predictions are asked with is what they are answered with: tables, GeoDataFrames, images."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor

from bochner import SpatialClassifier, SpatialRegressor
from bochner.exceptions import ColumnError, InputError
from bochner.kernels import Matern

FIXED = {"kernel": Matern(200.0), "noise_variance": 0.01, "tune": None}


def table(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    places = {"lon": rng.uniform(5, 9, n), "lat": rng.uniform(45, 48, n), "height": rng.normal(size=n)}
    return pd.DataFrame(places, index=[f"station {i}" for i in range(n)])


def response(places: pd.DataFrame) -> pd.Series:
    return np.sin(places["lon"]) + 2 * places["height"]


@pytest.fixture(scope="module")
def model() -> SpatialRegressor:
    fixed = SpatialRegressor(coords=["lon", "lat"], covariates=["height"], **FIXED)
    return fixed.fit(table(), response(table()))


@pytest.fixture
def same(model) -> SpatialRegressor:
    copy = clone(model).set_output(predict="same")
    copy.set_fitted(model.fitted_)
    for name in ("n_features_in_", "feature_names_in_"):
        setattr(copy, name, getattr(model, name))
    return copy


def test_arrays_are_scikit_learns_default(model):
    """Of a pandas table the answer is an array, which wrappers of scikit-learn count on."""
    mean, sd = model.predict(table(), return_std=True)
    assert type(mean) is np.ndarray and type(sd) is np.ndarray
    wrapped = TransformedTargetRegressor(clone(model), func=np.arcsinh, inverse_func=np.sinh)
    assert wrapped.fit(table(), response(table())).predict(table()).shape == (40,)


def test_pandas_in_pandas_out_with_its_index(model, same):
    mean, sd = model.predict(table(), return_std=True)
    found = same.predict(table(), return_std=True)
    assert list(found.columns) == ["mean", "sd"] and found.index.equals(table().index)
    assert_allclose(found, np.column_stack([mean, sd]))
    assert list(same.predict(table()).columns) == ["mean"]
    assert list(same.predict_interval(table()).columns) == ["lower", "upper"]
    assert list(same.predict_quantiles(table(), [0.1, 0.9]).columns) == ["q0.1", "q0.9"]
    assert list(same.predict_exceedance(table(), 0.0).columns) == ["exceedance"]
    assert type(same.predict(same.fitted_.layout.frame(table()))) is pd.DataFrame
    joined = table().join(found)
    assert joined.notna().all().all()


def test_polars_in_polars_out(model, same):
    pl = pytest.importorskip("polars")
    given = pl.from_pandas(table())
    assert type(model.predict(given)) is np.ndarray
    found = same.predict(given, return_std=True)
    assert isinstance(found, pl.DataFrame) and found.columns == ["mean", "sd"]
    assert_allclose(found["mean"].to_numpy(), model.predict(table()))


def test_polars_text_and_dates_are_read_as_those_of_pandas():
    """Soils and days of a polars table give the model of the same pandas table, and are answered in kind."""
    pl = pytest.importorskip("polars")
    given = (
        table().drop(columns="height").assign(soil=["clay", "sand"] * 20, day=pd.date_range("2024-01-01", periods=40))
    )
    y = response(table())
    wanted = {"coords": ["lon", "lat"], "covariates": ["soil", "day"], **FIXED}
    own = SpatialRegressor(**wanted).fit(given, y)
    other = SpatialRegressor(**wanted).fit(pl.from_pandas(given), y.to_numpy()).set_output(predict="same")
    found = other.predict(pl.from_pandas(given))
    assert isinstance(found, pl.DataFrame)
    assert_allclose(found["mean"].to_numpy(), own.predict(given))
    classes = SpatialClassifier(
        Matern(200.0), tune=None, noise_variance=0.0, covariates=["soil"], coords=["lon", "lat"]
    )
    labels = np.where(given["lon"] > 7, "east", "west")
    assert classes.fit(pl.from_pandas(given), labels).predict(pl.from_pandas(given)).shape == (40,)


def test_output_is_kept_by_clone_and_can_be_taken_back(same):
    assert type(clone(same).fit(table(), response(table())).predict(table())) is pd.DataFrame
    assert type(same.set_output(predict="default").predict(table())) is np.ndarray
    assert same.set_output() is same
    with pytest.raises(InputError, match="'default', 'same'"):
        same.set_output(predict="pandas")


def test_arrays_stay_arrays_whatever_is_asked(same):
    plain = SpatialRegressor(**FIXED).set_output(predict="same")
    X = np.random.default_rng(0).uniform(size=(30, 2))
    assert type(plain.fit(X, X[:, 0]).predict(X)) is np.ndarray


def grid() -> object:
    xr = pytest.importorskip("xarray")
    pytest.importorskip("rioxarray")
    rng = np.random.default_rng(1)
    height = rng.normal(size=(4, 5))
    height[1, 2] = np.nan
    axes = {"lat": np.linspace(45, 48, 4), "lon": np.linspace(5, 9, 5)}
    return xr.Dataset({"height": (("lat", "lon"), height)}, axes)


def test_xarray_in_dataset_out(model):
    """Pixels are places; a pixel without a covariate has no prediction; dimensions keep their order."""
    cube = grid()
    found = model.predict(cube, return_std=True)
    assert set(found.data_vars) == {"mean", "sd"} and found["mean"].dims == ("lat", "lon")
    assert (found["mean"].isnull() == cube["height"].isnull()).all()
    rows = cube.to_dataframe().reset_index()
    assert_allclose(found["mean"].values.ravel()[rows.height.notna()], model.predict(rows.dropna()))
    turned = model.predict(cube.transpose("lon", "lat"))
    assert turned["mean"].dims == ("lon", "lat")
    assert_allclose(turned["mean"].T, found["mean"])
    assert (found["mean"] - cube["height"]).shape == (4, 5)
    assert model.predict_interval(cube)["lower"].dims == ("lat", "lon")
    draws = model.sample_y(cube, 3)
    assert draws.dims == ("lat", "lon", "draw") and draws.shape == (4, 5, 3)


def test_coordinates_alone_are_enough(model):
    """A Dataset without variables, stations along one dimension, and what is missing."""
    xr = pytest.importorskip("xarray")
    pytest.importorskip("rioxarray")
    axes = xr.Dataset(coords={"lon": [6.0, 7.0, 8.0], "lat": [46.0, 47.0], "height": 0.5})
    found = model.predict(axes)["mean"]
    assert found.dims == ("lat", "lon") and found.shape == (2, 3)
    stations = xr.Dataset.from_dataframe(table().rename_axis("station"))
    assert_allclose(model.predict(stations)["mean"], model.predict(table()))
    with pytest.raises(ColumnError, match=r"uses 'height'.*assign_coords\(height="):
        model.predict(axes.drop_vars("height"))


def test_another_projection_is_brought_to_the_models(model):
    """An image in metres, whose axes are x and y, is predicted where it lies."""
    xr = pytest.importorskip("xarray")
    pytest.importorskip("rioxarray")
    pyproj = pytest.importorskip("pyproj")
    x, y = np.array([4e5, 4.5e5]), np.array([5.2e6, 5.1e6])
    image = xr.DataArray(np.zeros((2, 2)), {"y": y, "x": x}, ("y", "x"), "height").rio.write_crs("EPSG:32632")
    found = model.predict(image)["mean"]
    lon, lat = pyproj.Transformer.from_crs(32632, 4326, always_xy=True).transform(*np.meshgrid(x, y))
    rows = pd.DataFrame({"lon": lon.ravel(), "lat": lat.ravel(), "height": 0.0})
    assert found.dims == ("y", "x")
    assert_allclose(found.values.ravel(), model.predict(rows), rtol=1e-6)


def test_classes_in_kind():
    """A column or a variable for each class, and labels."""
    places = table()
    labels = np.where(places["lon"] > 7, "east", "west")
    model = SpatialClassifier(Matern(200.0), tune=None, noise_variance=0.0, coords=["lon", "lat"]).fit(places, labels)
    assert type(model.predict_proba(places)) is np.ndarray
    cube = model.predict_proba(grid())
    assert set(cube.data_vars) == {"east", "west"} and cube["east"].shape == (4, 5)
    assert_allclose(cube["east"] + cube["west"], 1.0)
    assert model.predict(grid())["label"].values[0, -1] == "east"
    model.set_output(predict="same")
    shares, found = model.predict_proba(places), model.predict(places)
    assert list(shares.columns) == ["east", "west"] and shares.index.equals(places.index)
    assert (found["label"] == shares.idxmax(axis=1)).all()
