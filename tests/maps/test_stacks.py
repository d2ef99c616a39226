"""Images and stacks of xarray and NetCDF: fitted, filled, and handed back as they came."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.cli import main
from bochner.exceptions import FallbackWarning, InputError
from bochner.geo.stacks import Stack
from bochner.kernels import Matern
from bochner.maps.filling import FillImage, filled_images, write_filled

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
    model = fitted(swath)
    filled = model.fill(swath)
    assert filled.dims == ("r", "c") and not filled.isnull().any()
    mean, _, high = filled_images(FillImage(model, quantiles=[0.9]), Stack.of(swath), {})
    assert_allclose(mean[0], filled.values)
    assert ((high > mean)[0] == image.isnull().values).all()


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
    with xr.open_dataset(tmp_path / "filled.nc", decode_coords="all") as filled:
        assert filled["mean"].rio.crs.to_epsg() == filled["sd"].rio.crs.to_epsg() == 4326
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


DAY = "2020-01-02"


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Temperatures of two days, packed by CF beside codes of quality, with a CRS of their own: as .nc and as .zarr."""
    folder = tmp_path_factory.mktemp("packed")
    some = stack(2)[:, ::2, ::2]
    some["lat"], some["lon"] = np.linspace(10, 14, 11), np.linspace(30, 35, 13)
    crs = pytest.importorskip("pyproj").CRS.from_epsg(4258).to_cf()
    cube = xr.Dataset({"lst": some, "quality": (some.dims, np.arange(some.size, dtype="u1").reshape(some.shape))})
    cube = cube.assign(crs=((), 0, crs)).assign_attrs(title="Days of a sea", institution="Nobody", history="measured")
    for name in ("lst", "quality"):
        cube[name].attrs["grid_mapping"] = "crs"
    cube["lst"].encoding = {"dtype": "int16", "scale_factor": 0.001, "add_offset": 1.0, "_FillValue": -32768}
    cube.to_netcdf(folder / "packed.nc", engine="h5netcdf")
    cube.to_zarr(folder / "two.zarr", zarr_format=2)
    cube.to_zarr(folder / "three.zarr", zarr_format=3, consolidated=False)
    return folder


def opened(path):
    return xr.open_dataset(
        path, decode_coords="all", **({"engine": "zarr", "consolidated": False} if path.suffix == ".zarr" else {})
    )


@pytest.mark.parametrize(
    ("source", "end"), [("packed.nc", "nc"), ("packed.nc", "zarr"), ("two.zarr", "zarr"), ("three.zarr", "zarr"),
                        ("three.zarr", "nc")],
)  # fmt: skip
def test_a_filled_file_keeps_all_that_the_input_has(packed, source, end, tmp_path, capsys):
    """CRS, single precision, other variables, title; the one variable with gaps needs no name."""
    out = tmp_path / f"filled.{end}"
    run(
        "fill",
        packed / source,
        "--layer",
        DAY,
        "--kernel",
        "matern32",
        "--exceed",
        "0.5",
        "--quantile",
        "0.9",
        "-o",
        out,
    )
    said = capsys.readouterr()
    assert f"note: fills 'lst', the only variable of {source} with gaps" in said.err
    assert "and lst_sd, lst_exceedance_0_5, lst_q0_9" in said.out
    with opened(out) as filled, opened(packed / source) as given:
        day = given.sel(time=DAY).squeeze()
        assert set(filled.data_vars) == {"lst", "lst_sd", "lst_exceedance_0_5", "lst_q0_9", "quality"}
        assert all(one.rio.crs.to_epsg() == 4258 for one in filled.data_vars.values())
        assert {str(one.dtype) for name, one in filled.data_vars.items() if name != "quality"} == {"float32"}
        assert filled["quality"].dtype == "u1" and (filled["quality"] == day["quality"]).all()
        assert (filled.attrs["title"], filled.attrs["institution"]) == ("Days of a sea", "Nobody")
        first, second = filled.attrs["history"].splitlines()
        assert first.endswith("gaps of lst filled") and second == "measured"
        assert float(abs(filled["lst"] - day["lst"]).max()) < 1e-6 and not filled["lst"].isnull().any()
        assert filled["lst"].attrs == day["lst"].attrs | {"long_name": "lst"} and filled["time"] == day["time"]
        gap = day["lst"].isnull().values
        assert (filled["lst_q0_9"].values > filled["lst"].values)[gap].all()
    assert (out / "zarr.json").exists() == (source == "three.zarr" and end == "zarr")
    assert [one.name for one in tmp_path.iterdir()] == [out.name]


def test_a_variable_of_the_name_of_an_answer_is_kept(packed, in_time, tmp_path, capsys):
    """The standard deviations of the measurements, say: they go on as NAME_given, with a warning."""
    with opened(packed / "packed.nc") as cube:
        cube.assign(lst_sd=0 * cube["lst"] + 7).to_netcdf(tmp_path / "sd.nc", engine="h5netcdf")
    run("fill", tmp_path / "sd.nc", "--target", "lst", "--layer", DAY, "--kernel", "matern32", "-o", tmp_path / "f.nc")
    assert "['lst_sd'] already; those are kept as ['lst_sd_given']" in capsys.readouterr().err
    with opened(tmp_path / "f.nc") as filled:
        assert float(filled["lst_sd_given"].max()) == 7 and float(filled["lst_sd"].max()) < 7
    with pytest.warns(FallbackWarning, match="kept as .'sst_sd_given'"):
        assert set(in_time.fill(xr.Dataset({"sst": stack(), "sst_sd": stack()}), target="sst").data_vars) == {
            "sst", "sst_sd", "sst_sd_given",
        }  # fmt: skip


def test_of_two_variables_with_gaps_one_is_to_be_named(packed, tmp_path, capsys):
    with opened(packed / "packed.nc") as cube:
        cube.assign(other=cube["lst"]).drop_encoding().to_netcdf(tmp_path / "two.nc", engine="h5netcdf")
    with pytest.raises(SystemExit):
        main(["fill", str(tmp_path / "two.nc"), "-o", str(tmp_path / "f.nc")])
    assert "has the variables ['lst', 'quality', 'other']; name one with --target" in capsys.readouterr().err


def test_what_cannot_be_written_is_told_before_anything_is_learned(packed, tmp_path, capsys, monkeypatch):
    """NetCDF holds no attribute that is an object; nothing is left beside the output."""
    with opened(packed / "three.zarr") as cube:
        cube.assign_attrs(proj={"code": 4258}).to_zarr(tmp_path / "odd.zarr", zarr_format=3, consolidated=False)
    monkeypatch.setattr(SpatialRegressor, "fit", lambda *_: pytest.fail("it was fitted"))
    with pytest.raises(SystemExit):
        main(["fill", str(tmp_path / "odd.zarr"), "-o", str(tmp_path / "f.nc")])
    said = capsys.readouterr().err
    assert "f.nc could not be written" in said and "write another format" in said
    assert [one.name for one in tmp_path.iterdir()] == ["odd.zarr"]
    swath = xr.DataArray(
        stack()[0].values,
        {"lat": (("r", "c"), np.add.outer(np.arange(22.0), 0.1 * np.arange(26)) / 9),
         "lon": (("r", "c"), np.add.outer(0.1 * np.arange(22.0), np.arange(26)) / 9)},
        ("r", "c"), "sst",
    )  # fmt: skip
    swath.to_netcdf(tmp_path / "swath.nc", engine="h5netcdf")
    with pytest.raises(SystemExit):
        main(["fill", str(tmp_path / "swath.nc"), "-o", str(tmp_path / "f.tif")])
    assert "not evenly spaced, which GeoTIFF cannot hold; write .nc" in capsys.readouterr().err


def test_a_crs_that_is_given_is_written(packed, tmp_path, in_time):
    """Of a file that does not say; numbers that are in double precision stay so."""
    cube = stack().rename(lon="x", lat="y").assign_coords(x=np.arange(26.0), y=np.arange(22.0))
    plane, fill_image = Stack.of(cube, "EPSG:32633"), FillImage(in_time)
    values = np.stack([plane.images, 0 * plane.images])
    write_filled(in_time, plane, fill_image.bands, values, tmp_path / "f.nc")
    with opened(tmp_path / "f.nc") as filled:
        assert filled["sst"].rio.crs.to_epsg() == 32633 and filled["sst_sd"].rio.crs.to_epsg() == 32633
        assert filled["sst"].dtype == "f8"


def test_bands_where_a_value_was_seen_are_that_value(in_time):
    cube = Stack.of(stack())
    fill_image = FillImage(in_time, exceed=[0.5], quantiles=[0.1, 0.9])
    mean, sd, above, low, high = filled_images(fill_image, cube, {})
    seen = np.isfinite(cube.images)
    assert (mean[seen] == cube.images[seen]).all() and (low[seen] == mean[seen]).all() and (sd[seen] == 0).all()
    assert (above[seen] == (mean[seen] > 0.5)).all()
    assert (low[~seen] < mean[~seen]).all() and (mean[~seen] < high[~seen]).all()
    assert ((above[~seen] > 0) & (above[~seen] < 1)).any()
