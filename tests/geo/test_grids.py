"""Grids of pixels: by resolution, like a template, in windows, within polygons; rasters sampled onto them."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pytest
import rasterio
import rioxarray  # noqa: F401  (gives xarray objects their .rio)
import shapely
import xarray as xr
from affine import Affine
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import InputError
from bochner.geo import (
    RasterGrid,
    areas_bounds,
    bounds_of,
    choose_placement,
    grid_like,
    grid_over,
    mask_within,
    parse_resolution,
    raster_at,
    same_crs,
    sample_raster,
    transform,
)


def write_tif(path, values, grid, **profile):
    values = np.atleast_3d(np.asarray(values).T).T
    crs = None if grid.crs is None else grid.crs.to_wkt()
    options = {"count": len(values), "dtype": values.dtype, "height": grid.height, "width": grid.width}
    with rasterio.open(
        path, "w", driver="GTiff", transform=Affine(*grid.transform), crs=crs, **{**options, **profile}
    ) as out:
        out.write(values)
    return path


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [("5km", 5, "km"), ("250 m", 250, "m"), ("0.05deg", 0.05, "deg"), ("0.1", 0.1, ""), (2, 2, ""), ("1e3", 1e3, "")],
)
def test_resolution_is_read(text, value, unit):
    resolution = parse_resolution(text)
    assert (resolution.value, resolution.unit) == (value, unit)
    assert parse_resolution(str(resolution)) == resolution


@pytest.mark.parametrize("text", ["", "km", "-5km", "0", "5 miles", "5kmm", "nan", "1e999", "--1"])
def test_resolution_is_refused(text):
    with pytest.raises(InputError, match="positive length"):
        parse_resolution(text)


def test_grid_of_degrees_lies_on_multiples():
    grid = grid_over((9.98, 47.02, 11.03, 48.0), "0.05deg", "EPSG:4326")
    assert_allclose(grid.bounds, (9.95, 47.0, 11.05, 48.0))
    assert grid.shape == (20, 22) and grid.resolution == (0.05, 0.05) and grid.n_pixels == 440
    assert_allclose(grid.centres()[:2], [[9.975, 47.975], [10.025, 47.975]])
    assert_allclose(grid.centres()[-1], [11.025, 47.025])
    assert_allclose(grid.x[[0, -1]], [9.975, 11.025])
    assert_allclose(grid.y[[0, -1]], [47.975, 47.025])


def test_grid_of_kilometres_has_square_pixels_on_the_ground():
    grid = grid_over((36, -3, 39, 0), "5km", 4326)
    placement = choose_placement(grid.centres(), 4326)
    places = placement.forward(grid.centres()).reshape(*grid.shape, 2)
    assert_allclose(np.diff(places[..., 0], axis=1), 5, rtol=0.01)
    assert_allclose(np.diff(places[..., 1], axis=0), -5, rtol=0.01)
    metres = grid_over((3e5, 5e6, 3.1e5, 5.02e6), "5km", "EPSG:32632")
    assert metres.shape == (4, 2) and metres.resolution == (5000, 5000)


@pytest.mark.parametrize(("resolution", "crs"), [("5km", None), ("0.1deg", "EPSG:32632"), ("0.1deg", None)])
def test_resolution_must_fit_the_crs(resolution, crs):
    with pytest.raises(InputError, match="give a number in the units"):
        grid_over((0, 0, 10, 10), resolution, crs)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (((1, 0, 0, 0, 0, 0), 5, 5), "no area"),
        (((1, 0, 0, 0), 5, 5), "six"),
        (((1, 0, 0, 0, -1, 0), 0, 5), "at least one"),
        (((1, 0, np.nan, 0, -1, 0), 5, 5), "finite"),
    ],
)
def test_grids_without_pixels_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        RasterGrid(*values)


@pytest.mark.parametrize("max_pixels", [1, 7, 40, 41, 100, 10**9])
@pytest.mark.parametrize("multiple", [1, 4])
def test_windows_tile_the_grid(max_pixels, multiple):
    grid = RasterGrid((1, 0, 0, 0, -1, 0), 23, 40)
    seen = np.zeros(grid.shape, dtype=int)
    for row0, row1, col0, col1 in grid.windows(max_pixels, multiple):
        seen[row0:row1, col0:col1] += 1
        assert (row1 - row0) * (col1 - col0) <= max_pixels
        if max_pixels >= multiple**2:
            assert row0 % multiple == 0 and col0 % multiple == 0
    assert np.all(seen == 1)


def test_centres_of_windows_are_those_of_the_grid():
    grid = RasterGrid((2, 0.5, 100, -0.25, -3, 50), 6, 9)
    whole = grid.centres().reshape(6, 9, 2)
    for window in grid.windows(20):
        row0, row1, col0, col1 = window
        assert_allclose(grid.centres(window), whole[row0:row1, col0:col1].reshape(-1, 2))
        assert_allclose(grid.part(window).centres(), grid.centres(window))
    with pytest.raises(InputError, match="rotated"):
        _ = grid.x


def test_bounds_cross_the_antimeridian_the_short_way():
    coords = [[178.0, -18], [-179, -16], [179.5, -17]]
    assert_allclose(bounds_of(coords, 4326), (178, -18, 181, -16))
    assert_allclose(bounds_of(coords, 4326, margin=0.1), (177.7, -18.2, 181.3, -15.8))
    assert_allclose(bounds_of([[0.0, 89], [10, 90]], 4326, margin=0.5)[3], 90)
    assert_allclose(bounds_of(coords), (-179, -18, 179.5, -16))


def test_grid_like_a_raster(tmp_path):
    grid = grid_over((3e5, 5e6, 3.1e5, 5.02e6), 1000, "EPSG:32632")
    path = write_tif(tmp_path / "a.tif", np.zeros(grid.shape, "f4"), grid)
    for template in (path, str(path), grid):
        assert grid_like(template) == grid
    with rasterio.open(path) as dataset:
        assert grid_like(dataset) == grid


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_grid_like_an_xarray_dataset(tmp_path):
    grid = grid_over((3e5, 5e6, 3.1e5, 5.02e6), 1000, "EPSG:32632")
    cube = xr.Dataset({"t": (("y", "x"), np.zeros(grid.shape))}, {"y": grid.y, "x": grid.x}).rio.write_crs(32632)
    cube.to_netcdf(tmp_path / "a.nc")
    cube.to_zarr(tmp_path / "a.zarr")
    for template in (cube, cube["t"], tmp_path / "a.nc", tmp_path / "a.zarr"):
        assert grid_like(template) == grid
    uneven = cube.isel(x=[0, 1, 5])
    with pytest.raises(InputError, match="evenly"):
        grid_like(uneven)
    with pytest.raises(InputError, match="no coordinates"):
        grid_like(cube.drop_vars("x"))
    by_name = xr.Dataset({"t": (("lat", "lon"), np.zeros((3, 4)))}, {"lat": [2.0, 1, 0], "lon": [5.0, 6, 7, 8]})
    assert same_crs(grid_like(by_name).crs, 4326)


def test_template_without_georeference_is_refused(tmp_path):
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        path = write_tif(tmp_path / "a.tif", np.zeros((3, 3), "f4"), RasterGrid((1, 0, 0, 0, 1, 0), 3, 3))
    with pytest.raises(InputError, match="no georeference"):
        grid_like(path)
    for name, message in (("b.tif", "does not exist"), ("a.csv", "needed is a raster")):
        with pytest.raises(InputError, match=message):
            grid_like(tmp_path / name)
    (tmp_path / "c.tif").write_text("no raster")
    with pytest.raises(InputError, match="cannot be read"):
        grid_like(tmp_path / "c.tif")


def test_mask_within_polygons_takes_centres():
    grid = grid_over((0, 0, 10, 10), 1, "EPSG:32632")
    shapes = [shapely.Polygon([(0, 0), (6, 0), (0, 6)]), shapely.box(8.4, 8.4, 9.6, 9.6)]
    areas = gpd.GeoDataFrame(geometry=shapes, crs="EPSG:32632")
    mask = mask_within(grid, areas)
    inside = shapely.contains_xy(areas.union_all(), *grid.centres().T).reshape(grid.shape)
    edge = shapely.distance(areas.union_all().boundary, shapely.points(grid.centres())).reshape(grid.shape) < 1e-9
    assert_array_equal(mask[~edge], inside[~edge])
    assert mask[1, 8] and mask[1, 9] == inside[1, 9]
    for window in grid.windows(13):
        row0, row1, col0, col1 = window
        assert_array_equal(mask_within(grid, areas, window), mask[row0:row1, col0:col1])
    assert not mask_within(grid_over((100, 100, 110, 110), 1, "EPSG:32632"), areas).any()


def test_mask_reprojects_polygons_and_crosses_the_antimeridian():
    areas = gpd.GeoDataFrame(geometry=[shapely.box(178, -18, 180, -16), shapely.box(-180, -18, -179, -16)], crs=4326)
    grid = grid_over((177, -19, 183, -15), 0.5, 4326)
    mask = mask_within(grid, areas)
    inside = (grid.x > 178) & (grid.x < 181)
    assert_array_equal(mask, np.outer((grid.y > -18) & (grid.y < -16), inside))
    projected = gpd.GeoDataFrame(geometry=[shapely.box(178, -18, 179, -17)], crs=4326).to_crs(3832)
    assert_array_equal(
        mask_within(grid, projected), np.outer((grid.y > -18) & (grid.y < -17), abs(grid.x - 178.5) < 0.5)
    )
    with pytest.raises(InputError, match="polygons have no CRS"):
        mask_within(grid, areas.set_crs(None, allow_override=True))
    assert_allclose(areas_bounds(projected.to_crs(4326)), (178, -18, 179, -17))
    assert_allclose(areas_bounds(areas), (178, -18, 181, -16))
    globe = gpd.GeoDataFrame(geometry=[shapely.box(-180, -90, 180, 90), shapely.box(0, 0, 1, 1)], crs=4326)
    assert_allclose(areas_bounds(globe), (-180, -90, 180, 90))
    wide = gpd.GeoDataFrame(geometry=[shapely.box(100, 0, 200, 1), shapely.box(-170, 0, -60, 1)], crs=4326)
    assert_allclose(areas_bounds(wide), (100, 0, 300, 1))


def smooth(x, y):
    return 3 + 2 * x - y


def test_raster_resampled_to_a_grid_of_its_crs(tmp_path):
    fine = grid_over((0, 0, 20, 10), 0.5, "EPSG:32632")
    values = smooth(*fine.centres().T).reshape(fine.shape).astype("f4")
    path = write_tif(tmp_path / "a.tif", values, fine)
    grid = RasterGrid((0.5, 0, 3.2, 0, -0.5, 8.1), 9, 12, "EPSG:32632")
    expected = smooth(*grid.centres().T).reshape(grid.shape)
    assert_allclose(sample_raster(path, grid), expected, rtol=1e-4)
    for window in grid.windows(30):
        row0, row1, col0, col1 = window
        assert_allclose(sample_raster(path, grid, window), expected[row0:row1, col0:col1], rtol=1e-4)
    assert_allclose(raster_at(path, grid.centres(), "EPSG:32632"), expected.ravel(), rtol=1e-4)
    assert_allclose(sample_raster(path, fine), values)
    outside = sample_raster(path, RasterGrid((0.5, 0, 18, 0, -0.5, 12), 8, 8, "EPSG:32632"))
    assert np.isnan(outside[:4]).all() and np.isnan(outside[:, 4:]).all() and np.isfinite(outside[4:, :4]).all()


def test_raster_is_reprojected(tmp_path):
    degrees = grid_over((9, 47, 11, 48.5), 0.01, 4326)
    path = write_tif(tmp_path / "a.tif", smooth(*degrees.centres().T).reshape(degrees.shape), degrees)
    metres = grid_over((5.3e5, 5.23e6, 5.9e5, 5.3e6), "2km", "EPSG:32632")
    expected = smooth(*transform(metres.centres(), "EPSG:32632", 4326).T)
    # GDAL's re-projection is right to an eighth of a pixel of the raster, 0.01 degrees, on slopes of 2 and 1
    assert_allclose(sample_raster(path, metres).ravel(), expected, atol=0.01 * 3 / 8)
    assert_allclose(raster_at(path, metres.centres(), "EPSG:32632"), expected, atol=1e-6)


def test_integer_rasters_are_classes_and_nodata_is_nan(tmp_path):
    grid = grid_over((0, 0, 4, 4), 1, "EPSG:32632")
    classes = np.arange(16, dtype="i2").reshape(4, 4)
    path = write_tif(tmp_path / "a.tif", classes, grid, nodata=5)
    finer = grid_over((0, 0, 4, 4), 0.5, "EPSG:32632")
    expected = np.where(classes == 5, np.nan, classes).repeat(2, 0).repeat(2, 1)
    assert_array_equal(sample_raster(path, finer), expected)
    assert_array_equal(raster_at(path, finer.centres(), "EPSG:32632"), expected.ravel())
    blended = raster_at(path, finer.centres(), "EPSG:32632", resampling="bilinear").reshape(8, 8)
    assert_array_equal(np.isnan(blended), np.isnan(expected))
    assert blended[7, 7] == 15 and blended[6, 6] == pytest.approx(15 - 0.25 - 1)
    with pytest.raises(InputError, match="there is no band 2"):
        sample_raster(path, finer, band=2)
    with pytest.raises(InputError, match="resampling is 'linear'"):
        sample_raster(path, finer, resampling="linear")


def test_packed_rasters_are_unpacked(tmp_path):
    grid = grid_over((0, 0, 4, 4), 1, "EPSG:32632")
    path = write_tif(tmp_path / "a.tif", np.full((4, 4), 250, "i2"), grid)
    with rasterio.open(path, "r+") as dataset:
        dataset.scales, dataset.offsets = (0.1,), (-5.0,)
    assert_allclose(sample_raster(path, grid), 20)
    assert_allclose(raster_at(path, grid.centres(), "EPSG:32632"), 20)


def test_global_raster_continues_across_the_antimeridian(tmp_path):
    globe = grid_over((-180, -90, 180, 90), 1, 4326)
    path = write_tif(tmp_path / "a.tif", globe.centres()[:, 1].reshape(globe.shape), globe)
    grid = grid_over((170, -20, 190, -10), 1, 4326)
    assert_allclose(sample_raster(path, grid).ravel(), grid.centres()[:, 1])
    assert_allclose(raster_at(path, grid.centres(), 4326), grid.centres()[:, 1])


def test_rasters_of_a_plane_without_crs(tmp_path):
    grid = RasterGrid((1, 0, 100, 0, -1, 50), 4, 5)
    values = smooth(*grid.centres().T).reshape(grid.shape)
    path = write_tif(tmp_path / "a.tif", values, grid)
    assert grid_like(path) == grid
    assert_allclose(sample_raster(path, grid), values)
    assert_allclose(raster_at(path, grid.centres()), values.ravel())
    with pytest.raises(InputError, match="no CRS"):
        sample_raster(path, grid_over((0, 0, 3, 3), 1, 4326))


def test_places_in_many_blocks_of_rows(tmp_path, monkeypatch):
    grid = grid_over((0, 0, 30, 40), 1, "EPSG:32632")
    path = write_tif(tmp_path / "a.tif", smooth(*grid.centres().T).reshape(grid.shape), grid)
    places = np.random.default_rng(0).uniform((0.5, 0.5), (29.5, 39.5), (200, 2))
    monkeypatch.setattr("bochner.geo.limits.MAX_RASTER_PIXELS", 90)
    assert_allclose(raster_at(path, places, "EPSG:32632"), smooth(*places.T))
