"""Images and stacks of xarray and NetCDF: fitted, filled, and handed back as they came."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.cli import main
from bochner.exceptions import InputError
from bochner.kernels import Matern

xr = pytest.importorskip("xarray")
pytest.importorskip("rioxarray")


def truth(days: int = 3) -> np.ndarray:
    lat, lon = np.linspace(10, 14, 22), np.linspace(30, 35, 26)
    surface = np.sin(lon[None] * 2) + np.cos(lat[:, None] * 2)
    return surface + 0.2 * np.arange(days)[:, None, None]


def stack(days: int = 3, seed: int = 0) -> xr.DataArray:
    """Days of an image in degrees, in single precision, each with a cloud."""
    rng = np.random.default_rng(seed)
    values = truth(days) + 0.02 * rng.standard_normal(truth(days).shape)
    for image in values:
        row, col = rng.integers(2, 12, 2)
        image[row : row + 6, col : col + 7] = np.nan
    coords = {
        "time": pd.date_range("2020-01-01", periods=days),
        "lat": np.linspace(10, 14, 22).astype("f4"),
        "lon": np.linspace(30, 35, 26).astype("f4"),
    }
    return xr.DataArray(values, coords, ("time", "lat", "lon"), "sst", {"units": "degC"})


def fitted(array: xr.DataArray) -> SpatialRegressor:
    scale = (150.0,) * 2 if array.ndim == 2 else (150.0, 150.0, 8.0)
    model = SpatialRegressor(Matern(scale), noise_variance=4e-4, tune=None)
    return model.fit(array)


@pytest.fixture(scope="module")
def in_time() -> SpatialRegressor:
    return fitted(stack())


def test_image_is_filled_as_it_came():
    """Name, dimensions, coordinates and observed values are the template's; the gap is near the truth."""
    image = stack()[0].drop_vars("time")
    filled, sd = fitted(image).fill(image, return_std=True)
    assert filled.dims == image.dims and filled.name == "sst" and filled.attrs == image.attrs
    difference = filled - image
    assert difference.shape == image.shape and float(abs(difference).max()) == 0
    gap = image.isnull().values
    assert not filled.isnull().any() and (sd.values[gap] > 0).all() and (sd.values[~gap] == 0).all()
    assert_allclose(filled.values[gap], truth()[0][gap], atol=0.2)  # a hole of 6 by 7 pixels, 4 sd of what is left


def test_turned_dimensions_stay_turned():
    image = stack()[0].drop_vars("time").transpose("lon", "lat")
    filled = fitted(image).fill(image)
    assert filled.dims == ("lon", "lat") and not filled.isnull().any()


def test_stack_is_filled_in_space_and_time(in_time):
    cube = stack()
    filled = in_time.fill(cube)
    gap = cube.isnull().values
    assert filled.dims == cube.dims and not filled.isnull().any()
    # other days show what is under a cloud
    assert np.sqrt(np.mean((filled.values - truth())[gap] ** 2)) < 0.1


def test_dataset_comes_back_as_dataset(in_time):
    cube = stack().to_dataset()
    filled = in_time.fill(cube)
    assert set(filled.data_vars) == {"sst", "sst_sd"} and filled["sst"].dims == cube["sst"].dims


def test_dataset_with_a_target_is_filled_without_naming_it_again():
    """The model is that of the variable itself, and knows which one it learned."""
    image = stack()[0].drop_vars("time")
    cube = image.to_dataset().assign(depth=-image.fillna(0.0))
    model = SpatialRegressor(Matern((150.0, 150.0)), noise_variance=4e-4, tune=None).fit(cube, target="sst")
    filled = model.fill(cube)
    assert set(filled.data_vars) == {"sst", "sst_sd", "depth"}
    assert_allclose(filled["sst"], fitted(image).fill(image))
    with pytest.raises(InputError, match=r"name one: fit\(dataset, target="):
        SpatialRegressor().fit(cube)


@pytest.mark.parametrize("swath", [False, True])
def test_covariates_of_a_dataset_are_its_variables(swath):
    """A trend of a variable that varies in time, or not, is learned and carried into the gaps."""
    rng = np.random.default_rng(1)
    cube = stack()
    warmth = xr.DataArray(rng.normal(size=cube.shape), cube.coords, cube.dims)
    relief = xr.DataArray(rng.normal(size=cube.shape[1:]), {d: cube[d] for d in cube.dims[1:]}, cube.dims[1:])
    data = xr.Dataset({"sst": cube + 3 * warmth - 2 * relief, "warmth": warmth, "relief": relief})
    if swath:
        lon, lat = xr.broadcast(data["lon"], data["lat"])
        turned = {"lon": (("lat_", "lon_"), lon.values.T), "lat": (("lat_", "lon_"), lat.values.T)}
        data = data.rename(lat="lat_", lon="lon_").drop_vars(["lat_", "lon_"]).assign_coords(turned)
    model = SpatialRegressor(
        Matern((150.0, 150.0, 8.0)), covariates=["warmth", "relief"], noise_variance=4e-4, tune=None
    ).fit(data, target="sst")
    assert_allclose(model.coef_[1:3], [3, -2], atol=0.02)
    gap = cube.isnull().values
    left = model.fill(data)["sst"].values - (truth() + 3 * warmth.values - 2 * relief.values)
    assert np.sqrt(np.mean(left[gap] ** 2)) < 0.15


def test_swath_is_filled_row_by_row():
    """Longitudes and latitudes pixel by pixel."""
    image = stack()[0].drop_vars("time")
    lon, lat = np.meshgrid(image.lon.values + 0.0, image.lat.values + 0.0)
    swath = xr.DataArray(
        image.values, {"lon": (("r", "c"), lon + 0.1 * lat), "lat": (("r", "c"), lat)}, ("r", "c"), "sst"
    )
    filled = fitted(swath).fill(swath)
    assert filled.dims == ("r", "c") and not filled.isnull().any()


def test_mistakes_are_told(in_time):
    cube = stack()
    with pytest.raises(InputError, match="y was given as well"):
        SpatialRegressor().fit(cube, np.zeros(3))
    with pytest.raises(InputError, match="'time'"):
        in_time.fill(cube[0].drop_vars("time"))
    with pytest.raises(InputError, match=r"name one: target"):
        in_time.fill(cube.rename("a").to_dataset().assign(b=cube))
    with pytest.raises(InputError, match="further dimensions"):
        SpatialRegressor().fit(cube.expand_dims(depth=[0.0, 1.0]))
    with pytest.raises(InputError, match="DataArray"):
        in_time.fill(np.zeros((3, 3)))


@pytest.fixture(scope="module")
def files(tmp_path_factory, in_time):
    folder = tmp_path_factory.mktemp("stack")
    stack().to_netcdf(folder / "stack.nc", engine="h5netcdf")
    stack()[0].drop_vars("time").to_netcdf(folder / "image.nc", engine="h5netcdf")
    stack()[0].drop_vars("time").to_dataset().to_zarr(folder / "image.zarr", zarr_format=2)
    in_time.save(folder / "time.bochner")
    fitted(stack()[0].drop_vars("time")).save(folder / "image.bochner")
    return folder


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    assert ended.value.code in (0, None)


@pytest.mark.parametrize("template", ["image.nc", "image.zarr"])
def test_fill_only_keeps_dimensions_and_values_of_a_cube(files, template, tmp_path):
    run("map", files / "image.bochner", "--like", files / template, "--fill-only", "-o", tmp_path / "filled.nc")
    image = stack()[0].drop_vars("time")
    with xr.open_dataset(tmp_path / "filled.nc") as filled:
        assert filled["mean"].dims == ("lat", "lon")
        difference = filled["mean"] - image
        assert difference.shape == image.shape
        assert float(abs(difference).max()) < 1e-6  # single precision of the file


def test_one_day_of_a_stack_is_filled_by_its_label(files, tmp_path):
    day = "2020-01-02"
    run("map", files / "time.bochner", "--like", files / "stack.nc", "--layer", day, "--fill-only",
        "--covariate", f"time={day}", "-o", tmp_path / "day.nc")  # fmt: skip
    with xr.open_dataset(tmp_path / "day.nc") as filled:
        assert not filled["mean"].isnull().any()
        assert float(abs(filled["mean"] - stack().sel(time=day)).max()) < 1e-6


@pytest.mark.parametrize("suffix", [".nc", pytest.param(".zarr", marks=pytest.mark.slow)])
def test_stack_file_is_filled_in_one_command(files, tmp_path, suffix):
    path = tmp_path / f"filled{suffix}"
    run("fill", files / "stack.nc", "--kernel", "matern32", "-o", path)
    with xr.open_dataset(path) as filled, xr.open_dataset(files / "stack.nc") as template:
        assert filled["sst"].dims == template["sst"].dims
        difference = filled["sst"] - template["sst"]
        assert difference.shape == template["sst"].shape and float(abs(difference).max()) < 1e-6
        assert not filled["sst"].isnull().any()
        assert (filled.time.values == template.time.values).all()


def test_one_layer_of_a_stack_says_its_time_itself(in_time):
    """A single image of the stack, which carries its time as a coordinate, is filled as it is in the stack."""
    array = stack()
    whole = in_time.fill(array)
    assert_allclose(in_time.fill(array.isel(time=1)), whole.isel(time=1))
