"""Covariates and weights out of NetCDF and Zarr: every command takes them as it takes GeoTIFF."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner.cli import main
from bochner.exceptions import InputError
from bochner.geo import raster_at

xr = pytest.importorskip("xarray")
pytest.importorskip("rioxarray")
rasterio = pytest.importorskip("rasterio")

LAT, LON = np.linspace(10.1, 13.9, 20), np.linspace(30.1, 34.9, 25)  # south first, as many models write


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    assert not ended.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table whose response follows relief, and relief as GeoTIFF, NetCDF and Zarr."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("covariates")
    relief = np.sin(LON) * 300 + LAT[:, None] ** 2
    cube = xr.Dataset({"relief": (("lat", "lon"), relief)}, {"lat": LAT, "lon": LON})
    cube = cube.assign(rain=cube["relief"] * 0 + 2)
    cube.to_netcdf(folder / "cube.nc", engine="h5netcdf")
    cube.to_zarr(folder / "cube.zarr", zarr_format=2)
    place = rasterio.transform.from_origin(30.0, 14.0, 0.2, 0.2)
    with rasterio.open(folder / "relief.tif", "w", driver="GTiff", height=20, width=25, count=1, dtype="float64",
                       crs="EPSG:4326", transform=place, nodata=np.nan) as file:  # fmt: skip
        file.write(relief[::-1], 1)
    places = np.column_stack([rng.uniform(30.3, 34.7, 60), rng.uniform(10.3, 13.7, 60)])
    table = pd.DataFrame(places, columns=["lon", "lat"])
    table["temp"] = 20 - 0.01 * raster_at(folder / "relief.tif", places, "EPSG:4326") + 0.1 * rng.normal(size=60)
    table.to_csv(folder / "table.csv", index=False)
    return folder


@pytest.mark.parametrize("source", ["cube.nc", "cube.zarr"])
def test_values_are_those_of_the_same_geotiff(folder, source):
    from bochner.geo.cube_bands import named_band

    places = np.random.default_rng(1).uniform([30, 10], [35, 14], size=(50, 2))
    found = raster_at(named_band(folder / source, "relief"), places, "EPSG:4326")
    assert_allclose(found, raster_at(folder / "relief.tif", places, "EPSG:4326"), rtol=1e-9)


def test_fit_map_and_predict_take_a_variable_by_the_covariates_name(folder, tmp_path):
    model, maps = tmp_path / "m.bochner", {}
    raster = ("--covariate", f"relief={folder / 'cube.nc'}")
    run("fit", folder / "table.csv", "--target", "temp", *raster, "--kernel", "matern32", "-o", model)
    for source in ("relief.tif", "cube.nc"):
        run(
            "map", model, "--covariate", f"relief={folder / source}", "--resolution", "0.5deg", "-o", tmp_path / "m.tif"
        )
        with rasterio.open(tmp_path / "m.tif") as file:
            maps[source] = file.read(1)
    assert_allclose(maps["cube.nc"], maps["relief.tif"], rtol=1e-6)
    table = pd.read_csv(folder / "table.csv")[["lon", "lat"]]
    table.to_csv(tmp_path / "places.csv", index=False)
    run("predict", model, tmp_path / "places.csv", *raster, "-o", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["mean"].notna().all()


def test_what_cannot_be_a_raster_is_told(folder, tmp_path):
    cube = xr.open_dataset(folder / "cube.nc").load()
    with pytest.raises(InputError, match=r"variables \['relief', 'rain'\].*none is called 'height'"):
        from bochner.geo.cube_bands import named_band

        raster_at(named_band(folder / "cube.nc", "height"), [[31.0, 11.0]], "EPSG:4326")
    stack = cube[["relief"]].expand_dims(time=pd.date_range("2020-01-01", periods=3))
    stack.to_netcdf(tmp_path / "stack.nc", engine="h5netcdf")
    with pytest.raises(InputError, match=r"3 images along 'time'.*isel\(time=0\)"):
        raster_at(tmp_path / "stack.nc", [[31.0, 11.0]], "EPSG:4326")
