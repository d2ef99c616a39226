"""Files of places: every format in and out with its CRS, and one clear line for each mistake."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio
import rioxarray  # noqa: F401  (gives xarray objects their .rio)
import shapely
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import BochnerWarning, ColumnError, InputError
from bochner.geo import (
    RasterGrid,
    as_geoframe,
    choose_placement,
    crs_name,
    grid_over,
    read_areas,
    read_places,
    read_vector,
    same_crs,
    transform,
    write_places,
    write_vector,
)
from bochner.outputs import complete_files
from tests.geo.test_grids import write_tif

RNG = np.random.default_rng(0)
LONLAT = np.column_stack([RNG.uniform(9, 10, 30), RNG.uniform(47, 48, 30)])
VECTOR_NAMES = ["a.gpkg", "a.shp", "a.geojson", "a.parquet", "a.geoparquet"]


def survey(crs=None):
    """A survey as a GeoDataFrame: a number with a gap, a count, a text."""
    frame = pd.DataFrame({"temp": RNG.normal(size=30), "n": np.arange(30), "site": [f"s{i}" for i in range(30)]})
    frame.loc[4, "temp"] = np.nan
    coords = LONLAT if crs is None else transform(LONLAT, 4326, crs)
    return gpd.GeoDataFrame(frame, geometry=gpd.points_from_xy(*coords.T), crs=crs)


def table():
    return pd.DataFrame(survey().drop(columns="geometry")).assign(lon=LONLAT[:, 0], lat=LONLAT[:, 1])


@pytest.mark.parametrize("name", VECTOR_NAMES)
@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:32632", "EPSG:3857"])
def test_vector_files_come_back_with_their_crs(tmp_path, name, crs):
    frame = survey(crs)
    assert write_vector(frame, tmp_path / name) == ()
    places = read_places(tmp_path / name)
    assert places.kind == "vector" and same_crs(places.crs, crs) and places.coords == ("x", "y")
    # GeoJSON keeps 7 digits of a degree by default
    assert_allclose(places.coordinates(), np.column_stack([frame.geometry.x, frame.geometry.y]), atol=1e-6)
    assert_allclose(places.frame["temp"], frame["temp"])
    assert list(places.frame["site"]) == list(frame["site"])
    written = tmp_path / "out" / name
    written.parent.mkdir()
    write_places(places.with_columns({"mean": np.arange(30.0)}), written)
    again = read_vector(written)
    assert list(again.columns) == ["temp", "n", "site", "mean", "geometry"]
    assert same_crs(again.crs, crs) and again.geometry.geom_equals_exact(frame.geometry, 1e-6, align=False).all()
    assert not list(tmp_path.rglob("*.partial*"))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_tables_come_back(tmp_path, name):
    frame = table()
    (frame.to_csv if name == "a.csv" else frame.to_parquet)(tmp_path / name, index=False)
    places = read_places(tmp_path / name)
    assert places.kind == "table" and places.coords == ("lon", "lat") and same_crs(places.crs, 4326)
    assert any("EPSG:4326" in note for note in places.notes)
    assert_allclose(places.coordinates(), LONLAT)
    write_places(places.with_columns({"mean": np.arange(30.0), "n": np.ones(30)}), tmp_path / f"b_{name}")
    again = read_places(tmp_path / f"b_{name}")
    assert again.names == ["temp", "site", "lon", "lat", "mean", "n"]
    assert_allclose(again.frame["temp"], frame["temp"])


def test_a_table_becomes_a_vector_file_and_back(tmp_path):
    table().to_csv(tmp_path / "a.csv", index=False)
    places = read_places(tmp_path / "a.csv")
    write_places(places, tmp_path / "a.gpkg")
    again = read_places(tmp_path / "a.gpkg")
    assert same_crs(again.crs, 4326) and {"lon", "lat", "x", "y"} < set(again.names)
    assert_allclose(again.coordinates(), LONLAT)
    assert as_geoframe(places).geometry.geom_type.eq("Point").all()
    write_places(again, tmp_path / "b.csv")
    assert_allclose(read_places(tmp_path / "b.csv").coordinates(), LONLAT)


def test_three_crs_of_one_survey_are_one_survey(tmp_path):
    places = {}
    for crs in ("EPSG:4326", "EPSG:32632", "EPSG:3857"):
        write_vector(survey(crs), tmp_path / "a.gpkg")
        read = read_places(tmp_path / "a.gpkg")
        coords = read.coordinates()
        placed = choose_placement(coords, read.crs, read.coords).forward(coords)
        places[crs] = np.linalg.norm(placed[:, None] - placed[None], axis=2)
    assert_allclose(places["EPSG:32632"], places["EPSG:4326"], rtol=0.01)
    assert_allclose(places["EPSG:3857"], places["EPSG:4326"], rtol=0.01)


def test_columns_and_coordinates_can_be_chosen(tmp_path):
    table().rename(columns={"lon": "east", "lat": "north"}).to_csv(tmp_path / "a.csv", index=False)
    places = read_places(tmp_path / "a.csv", coords=("east", "north"), crs="EPSG:4326", columns=("temp",))
    assert places.names == ["east", "north", "temp"] and crs_name(places.crs) == "EPSG:4326"
    assert read_places(tmp_path / "a.csv", coords=("east", "north")).crs is None
    table().to_csv(tmp_path / "b.csv", index=False)
    turned = read_places(tmp_path / "b.csv", coords=("lat", "lon"))
    assert turned.coords == ("lon", "lat") and "lon (east), lat (north)" in turned.notes[0]
    write_vector(survey("EPSG:4326"), tmp_path / "a.gpkg")
    assert read_places(tmp_path / "a.gpkg", columns=("temp",)).names == ["temp", "x", "y"]


def test_semicolons_are_read(tmp_path):
    table().to_csv(tmp_path / "a.csv", index=False, sep=";")
    assert_allclose(read_places(tmp_path / "a.csv").coordinates(), LONLAT)


def test_old_encodings_are_read(tmp_path):
    (tmp_path / "a.csv").write_bytes("lon,lat,höhe,ort\n8.5,47.4,408,Zürich\n".encode("latin-1"))
    places = read_places(tmp_path / "a.csv")
    assert places.names == ["lon", "lat", "höhe", "ort"] and places.frame["ort"][0] == "Zürich"
    (tmp_path / "b.csv").write_bytes("lon,lat,höhe\n8.5,47.4,408\n".encode("utf-8-sig"))
    assert read_places(tmp_path / "b.csv").coords == ("lon", "lat")


def test_missing_values_are_counted_by_column(tmp_path):
    frame = table()
    frame.loc[[0, 1], "n"] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    places = read_places(tmp_path / "a.csv").complete(["lon", "temp", "n"])
    assert len(places) == 27 and list(places.frame.site[:2]) == ["s2", "s3"]
    assert places.notes[-1] == "3 of 30 rows have missing values (1 in temp, 2 in n) and are left out."
    assert places.complete(["temp"]) is places
    frame.assign(temp=np.nan).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match="every row"):
        read_places(tmp_path / "b.csv").complete(["temp"])


def test_rows_without_geometry_are_counted(tmp_path):
    frame = survey("EPSG:4326")
    frame.loc[[3, 7], "geometry"] = None
    write_vector(frame, tmp_path / "a.gpkg")
    places = read_places(tmp_path / "a.gpkg")
    assert len(places) == 28 and "2 of 30 rows of a.gpkg have no geometry" in places.notes[0]
    part = places.complete(["temp"])
    assert len(part) == 27 == len(part.geometry)
    write_places(part, tmp_path / "b.gpkg")
    assert list(read_vector(tmp_path / "b.gpkg").site) == list(part.frame.site)


def test_shapefiles_cut_names_and_drop_old_side_files(tmp_path):
    frame = survey("EPSG:32632").rename(columns={"temp": "temperature_in_may"})
    assert "temperature_in_may" in write_vector(frame, tmp_path / "a.shp")[0]
    assert (tmp_path / "a.prj").exists()
    write_vector(survey().set_crs(None, allow_override=True), tmp_path / "a.shp")
    assert not (tmp_path / "a.prj").exists() and read_places(tmp_path / "a.shp").crs is None
    frame["temperature_in_june"] = 0.0
    with pytest.raises(InputError, match="two become one"):
        write_vector(frame, tmp_path / "a.shp")


def test_failed_writing_leaves_the_old_file(tmp_path):
    write_vector(survey("EPSG:4326"), tmp_path / "a.gpkg")
    before = (tmp_path / "a.gpkg").read_bytes()
    with pytest.raises(OSError, match="disk full"), complete_files(tmp_path / "a.gpkg") as partial:
        partial.write_text("half of it")
        raise OSError("disk full")
    assert (tmp_path / "a.gpkg").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.gpkg"]


def test_raster_pixels_are_rows(tmp_path):
    grid = grid_over((3e5, 5e6, 3.06e5, 5.004e6), 1000, "EPSG:32632")
    values = np.arange(48, dtype="f4").reshape(2, 4, 6)
    values[0, 0, :3], values[:, 1, 1] = -9999, -9999
    path = write_tif(tmp_path / "a.tif", values, grid, nodata=-9999)
    with rasterio.open(path, "r+") as dataset:
        dataset.set_band_description(1, "lst")
    places = read_places(path)
    assert places.kind == "raster" and places.names == ["x", "y", "lst", "band2"] and places.grid == grid
    assert len(places) == 23 and "1 of 24 pixels of a.tif have no value" in places.notes[0]
    assert_array_equal(places.pixels, np.delete(np.arange(24), 7))
    assert_allclose(places.coordinates(), grid.centres()[places.pixels])
    assert_allclose(places.frame["band2"], values[1].ravel()[places.pixels])
    one = read_places(path, columns=["lst"])
    assert len(one) == 20 and one.names == ["x", "y", "lst"]
    with pytest.raises(ColumnError, match="did you mean 'lst'"):
        read_places(path, columns=["lts"])
    write_places(one, tmp_path / "a.gpkg")
    again = read_places(tmp_path / "a.gpkg")
    assert same_crs(again.crs, "EPSG:32632") and again.names == ["lst", "x", "y"]
    assert_allclose(again.coordinates(), one.coordinates())


def cube(grid, names=("y", "x"), **variables):
    coords = {names[0]: grid.y, names[1]: grid.x}
    return xr.Dataset({name: (names, values) for name, values in variables.items()}, coords)


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("name", ["a.nc", "a.zarr"])
def test_cubes_are_rows(tmp_path, name):
    grid = grid_over((3e5, 5e6, 3.06e5, 5.004e6), 1000, "EPSG:32632")
    lst = np.arange(24.0).reshape(4, 6)
    lst[1, 1] = np.nan
    data = cube(grid, lst=lst, sst=lst + 1).rio.write_crs("EPSG:32632")
    (data.to_netcdf if name == "a.nc" else data.to_zarr)(tmp_path / name)
    places = read_places(tmp_path / name)
    assert places.kind == "cube" and places.grid == grid and same_crs(places.crs, "EPSG:32632")
    assert sorted(places.names) == ["lst", "sst", "x", "y"]  # a folder of Zarr has no order of its own
    assert len(places) == 23 and "1 of 24 pixels" in places.notes[0]
    assert_allclose(places.coordinates(), grid.centres()[places.pixels])
    assert read_places(tmp_path / name, columns=["sst"]).names == ["x", "y", "sst"]
    with pytest.raises(ColumnError, match="did you mean 'sst'"):
        read_places(tmp_path / name, columns=["ssst"])
    with pytest.raises(InputError, match="says its CRS is EPSG:32632"):
        read_places(tmp_path / name, crs="EPSG:4326")


def test_cubes_with_time_and_degrees(tmp_path):
    grid = grid_over((0, -2, 5, 2), 1, 4326)
    flat = cube(grid, ("lat", "lon"), t=np.arange(20.0).reshape(4, 5))
    times = pd.to_datetime(["2020-01-15", "2020-02-15"])
    xr.concat([flat, flat + 100], pd.Index(times, name="time")).sortby("lat").to_netcdf(tmp_path / "a.nc")
    whole = read_places(tmp_path / "a.nc")
    assert whole.coords == ("lon", "lat", "time") and len(whole) == 40 and list(whole.labels) == list(times)
    with pytest.raises(InputError, match="no layer '2021'"):
        read_places(tmp_path / "a.nc", layer="2021")
    with pytest.raises(InputError, match="2 layers '2020'"):
        read_places(tmp_path / "a.nc", layer="2020")
    places = read_places(tmp_path / "a.nc", layer="2020-02")
    assert places.coords == ("lon", "lat") and same_crs(places.crs, 4326)
    rows = {tuple(xy): value for xy, value in zip(places.coordinates(), places.frame["t"], strict=True)}
    assert rows == {tuple(xy): 100.0 + i for i, xy in enumerate(grid.centres())}
    flat.expand_dims(time=times[:1]).to_netcdf(tmp_path / "b.nc")
    assert len(read_places(tmp_path / "b.nc")) == 20


def test_swaths_have_coordinates_pixel_by_pixel(tmp_path):
    lon, lat = np.meshgrid(np.linspace(0, 3, 4), np.linspace(10, 12, 3))
    lon = lon + 0.1 * lat
    data = xr.Dataset(
        {"t": (("row", "col"), np.arange(12.0).reshape(3, 4))},
        {"lon": (("row", "col"), lon), "lat": (("row", "col"), lat)},
    )
    data.to_netcdf(tmp_path / "a.nc")
    places = read_places(tmp_path / "a.nc")
    assert places.grid is None and places.coords == ("lon", "lat") and same_crs(places.crs, 4326)
    assert_allclose(places.coordinates(), np.column_stack([lon.ravel(), lat.ravel()]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("mistakes")
    table().to_csv(tmp_path / "data.csv", index=False)
    table().rename(columns={"lon": "lat", "lat": "lon"}).assign(lat=LONLAT[:, 0] + 100).to_csv(
        tmp_path / "swapped.csv", index=False
    )
    table().assign(temp=["1.5"] * 6 + ["n.a."] + ["2"] * 23).to_csv(tmp_path / "text.csv", index=False)
    table().assign(temp=["1,5"] * 30).to_csv(tmp_path / "comma.csv", index=False, sep=";")
    (tmp_path / "header.csv").write_text("lon,lat,temp\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "twice.csv").write_text("lon,lat,lon\n1,2,3\n")
    (tmp_path / "nothing.gpkg").write_text("nothing")
    (tmp_path / "nothing.nc").write_text("nothing")
    (tmp_path / "nothing.parquet").write_text("nothing")
    write_vector(survey("EPSG:32632"), tmp_path / "utm.gpkg")
    polygons = gpd.GeoDataFrame({"name": ["a"]}, geometry=[shapely.box(9, 47, 10, 48)], crs=4326)
    write_vector(polygons, tmp_path / "polygons.gpkg")
    survey("EPSG:4326").to_file(tmp_path / "two.gpkg", layer="one")
    survey("EPSG:4326").to_file(tmp_path / "two.gpkg", layer="two")
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        write_tif(tmp_path / "bare.tif", np.zeros((3, 3), "f4"), RasterGrid((1, 0, 0, 0, 1, 0), 3, 3))
    grid = grid_over((0, 0, 2, 2), 1, 4326)
    write_tif(tmp_path / "void.tif", np.full((2, 2), -1, "f4"), grid, nodata=-1)
    return tmp_path


@pytest.mark.filterwarnings("error::rasterio.errors.NotGeoreferencedWarning")
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("no.csv", {}, "no.csv does not exist"),
        ("data.xls", {}, "what can be read is .csv, .parquet, .xlsx, .gpkg"),
        ("data.csv", {"coords": ("lom", "lat")}, "data.csv has no column 'lom'; did you mean 'lon'?"),
        ("data.csv", {"columns": ("tmp",)}, "did you mean 'temp'?"),
        ("data.csv", {"crs": "EPSG:32632"}, "in degrees, but EPSG:32632 is projected"),
        ("swapped.csv", {}, "swapped.csv: latitude reaches 1[0-9.]*, beyond 90, .* look swapped"),
        ("header.csv", {}, "no rows"),
        ("empty.csv", {}, "cannot be read as csv"),
        ("twice.csv", {}, "2 columns 'lon'"),
        ("utm.gpkg", {"crs": "EPSG:4326"}, "utm.gpkg says its CRS is EPSG:32632, but EPSG:4326 was given"),
        ("utm.gpkg", {"columns": ("tmp",)}, "did you mean 'temp'?"),
        ("polygons.gpkg", {}, "Polygon, not a point"),
        ("two.gpkg", {}, "2 layers"),
        ("two.gpkg", {"layer": "three"}, "no layer 'three'"),
        ("nothing.gpkg", {}, "nothing.gpkg cannot be read"),
        ("nothing.nc", {}, "nothing.nc cannot be read"),
        ("nothing.parquet", {}, "nothing.parquet cannot be read"),
        ("bare.tif", {}, "bare.tif has no georeference"),
        ("void.tif", {}, "no pixel with a value"),
    ],
)
def test_mistakes_are_one_clear_line(folder, name, options, message):
    with pytest.raises((InputError, ColumnError), match=message) as caught:
        read_places(folder / name, **options)
    assert "\n" not in str(caught.value)


def test_text_among_numbers_is_named(folder):
    assert read_places(folder / "text.csv").numbers(["temp"])["temp"].isna().sum() == 1  # n.a.
    assert read_places(folder / "comma.csv").numbers(["temp"]).notna().all().all()
    with pytest.raises(InputError, match="the first is 's0' in row 1"):
        read_places(folder / "data.csv").numbers(["site"])
    assert read_places(folder / "two.gpkg", layer="two").numbers(["n"]).dtypes.eq("float64").all()


def areas(shapes, crs=4326):
    return gpd.GeoDataFrame({"name": [f"d{i}" for i in range(len(shapes))]}, geometry=shapes, crs=crs)


def test_areas_are_checked(tmp_path):
    square = shapely.box(0, 0, 1, 1)
    bow = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    write_vector(areas([square]), tmp_path / "a.gpkg")
    assert same_crs(read_areas(tmp_path / "a.gpkg").crs, 4326)
    write_vector(areas([square, shapely.Polygon(), None]), tmp_path / "empty.gpkg")
    with pytest.raises(InputError, match=r"empty polygons: row 2 \(d1\), row 3 \(d2\)"):
        read_areas(tmp_path / "empty.gpkg")
    write_vector(areas([shapely.Point(0, 0)]), tmp_path / "point.gpkg")
    with pytest.raises(InputError, match=r"holds a Point \(row 1 \(d0\)\); needed are polygons"):
        read_areas(tmp_path / "point.gpkg")
    write_vector(areas([square], None), tmp_path / "bare.shp")
    with pytest.raises(InputError, match=r"bare\.shp has no CRS"):
        read_areas(tmp_path / "bare.shp")
    assert same_crs(read_areas(tmp_path / "bare.shp", crs=32632).crs, 32632)
    write_vector(areas([square, bow]), tmp_path / "bow.gpkg")
    with pytest.warns(BochnerWarning, match=r"not valid: row 2 \(d1\); they were mended"):
        mended = read_areas(tmp_path / "bow.gpkg")
    assert mended.is_valid.all() and mended.geometry[1].area == pytest.approx(0.5)
    with pytest.raises(InputError, match="does not exist"):
        read_areas(tmp_path / "none.gpkg")
    with pytest.raises(InputError, match="needed is one of"):
        read_areas(tmp_path / "bare.dbf")
