"""Files that say more than numbers: colour tables, scales, formulas, polygons off the Earth, coordinates twice."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio
import shapely
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.cli import main
from bochner.exceptions import BochnerWarning, InputError, OutputError
from bochner.geo import (
    area_points,
    grid_over,
    raster_at,
    read_areas,
    read_places,
    sample_raster,
    transform,
    write_places,
)
from bochner.geo.writing import check_written
from bochner.sources.opening import open_source
from tests.geo.test_grids import write_tif

GRID = grid_over((0.0, 0.0, 1.0, 1.0), 0.25, "EPSG:4326")
CODES = np.arange(16).reshape(4, 4).astype("int16")


def test_scale_and_offset_of_a_raster_are_applied_everywhere(tmp_path):
    """As pixels, at places, on another grid, and in parts."""
    path = write_tif(tmp_path / "a.tif", CODES, GRID, nodata=3)
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = (0.1,), (-5.0,)
    expected = np.where(CODES == 3, np.nan, CODES * 0.1 - 5.0)
    kept = expected[np.isfinite(expected)]
    assert_allclose(read_places(path).frame["band1"], kept)
    centres = GRID.centres()
    assert_allclose(raster_at(path, centres, "EPSG:4326", resampling="nearest"), expected.ravel())
    assert_allclose(sample_raster(path, GRID, resampling="nearest"), expected)
    parts = [part.load(["band1"])["band1"] for part in open_source(str(path)).parts]
    assert_allclose(np.concatenate(parts), expected.ravel())


@pytest.fixture
def land_cover(tmp_path):
    """A raster of the classes 0 to 3, with the colours that make it one."""
    path = write_tif(tmp_path / "classes.tif", (CODES % 4).astype("uint8"), GRID, nodata=3)
    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, {0: (0, 0, 0), 1: (255, 0, 0), 2: (0, 255, 0), 3: (9, 9, 9)})
    return path


def test_classes_are_not_taken_for_amounts(land_cover):
    """Codes of a colour table are categories, or are asked for by name; as amounts they are refused."""
    for read in (
        lambda: sample_raster(land_cover, GRID),
        lambda: sample_raster(land_cover, GRID, resampling="nearest"),
        lambda: raster_at(land_cover, [[0.5, 0.5]]),
        lambda: area_points(_square(), weights_raster=land_cover),
        lambda: open_source(str(land_cover)).parts[0].load(["band1"]),
    ):
        with pytest.raises(InputError, match=r"classes\.tif holds classes .* colour table.* amounts are needed"):
            read()
    codes = np.where(CODES % 4 == 3, np.nan, CODES % 4)
    assert_allclose(sample_raster(land_cover, GRID, resampling="classes"), codes)
    assert_allclose(raster_at(land_cover, GRID.centres(), "EPSG:4326", resampling="classes"), codes.ravel())
    column = read_places(land_cover).frame["band1"]
    assert isinstance(column.dtype, pd.CategoricalDtype) and list(column.cat.categories) == [0, 1, 2]
    assert_allclose(column.astype(float), codes[np.isfinite(codes)])


def test_classes_are_a_covariate(land_cover, tmp_path):
    """A model fitted to classes knows an effect of each, and maps them where they are; amounts are not mixed up."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(0, 1, (60, 2)), columns=["lon", "lat"])
    code = raster_at(land_cover, table, "EPSG:4326", resampling="classes")
    table["y"] = np.array([5.0, 0.0, -5.0, np.nan])[np.nan_to_num(code, nan=3).astype(int)]
    table = table[np.isfinite(code)]
    table.to_csv(tmp_path / "rows.csv", index=False)
    model, made = tmp_path / "m.bochner", tmp_path / "map.tif"
    given = ["--covariate", f"cover={land_cover}"]
    options = ["--kernel", "matern32(length_scale=30)", "--tune", "none"]
    for line in (
        ["fit", str(tmp_path / "rows.csv"), "--target", "y", *given, *options, "-o", str(model)],
        ["map", str(model), "--like", str(land_cover), *given, "-o", str(made)],
    ):
        with pytest.raises(SystemExit) as ended:
            main(line)
        assert not ended.value.code
    shown = sample_raster(made, GRID)
    codes = CODES % 4
    for value, at in ((5.0, 0), (0.0, 1), (-5.0, 2)):
        assert_allclose(shown[codes == at], value, atol=0.5)
    assert np.isnan(shown[codes == 3]).all()
    with pytest.warns(BochnerWarning, match=r"'cover' has classes on the map that no training row has \(3, 7\)"):
        blank = load(model).predict_grid(like=land_cover, covariates={"cover": np.where(codes == 1, 7.0, codes)})
    assert (
        np.isnan(np.asarray(blank["mean"])[codes == 1]).all()
        and np.isfinite(np.asarray(blank["mean"])[codes == 2]).all()
    )
    amounts = SpatialRegressor(covariates=["cover"], tune=None)
    amounts.fit(table.assign(cover=table["lon"] ** 2).drop(columns="y"), table["y"])
    with pytest.raises(InputError, match="'cover' is a category, and the model was fitted to it as a number"):
        amounts.predict(table.assign(cover=pd.Categorical([1] * len(table))).drop(columns="y"))
    with pytest.raises(InputError, match="holds classes"):
        amounts.predict_grid(like=land_cover, covariates={"cover": land_cover})


def _square():
    return gpd.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 1)], crs="EPSG:4326")


def test_formulas_are_escaped_on_request_alone(tmp_path):
    """Cells and names that a spreadsheet would run; numbers, negative ones too, stay numbers."""
    names = ["=1+1", "+x", "-x", "@SUM(A1)", "plain", "\tx"]
    frame = pd.DataFrame({"lon": np.arange(6.0), "lat": -np.arange(6.0), "name": names, "=odd": 1})
    frame.to_csv(tmp_path / "a.csv", index=False)
    places = read_places(tmp_path / "a.csv")
    write_places(places, tmp_path / "kept.csv")
    assert list(pd.read_csv(tmp_path / "kept.csv")["name"]) == names
    write_places(places, tmp_path / "escaped.csv", escape_formulas=True)
    again = pd.read_csv(tmp_path / "escaped.csv")
    assert list(again["name"]) == ["'=1+1", "'+x", "'-x", "'@SUM(A1)", "plain", "'\tx"]
    assert list(again.columns) == ["lon", "lat", "name", "'=odd"]
    assert_allclose(again["lat"], frame["lat"])


@pytest.mark.parametrize(
    "line",
    [
        ["predict", "m.bochner", "a.csv", "-o", "x.parquet"],
        ["aggregate", "m.bochner", "--areas", "a.gpkg", "-o", "x.gpkg"],
        ["hotspots", "m.bochner", "--threshold", "1"],
    ],
)
def test_formulas_are_escaped_in_csv_or_it_is_said_that_they_are_not(line, tmp_path, monkeypatch, capsys):
    """Before any work: the option would do nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("m.bochner", "a.csv", "a.gpkg"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(SystemExit) as stopped:
        main([*line, "--escape-formulas"])
    assert stopped.value.code == 2 and "--escape-formulas was given, and" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text("x,y\n0,0\n")
    places = read_places(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"b\.parquet is no \.csv"):
        write_places(places, tmp_path / "b.parquet", escape_formulas=True)


@pytest.mark.parametrize(
    ("shape", "crs", "words"),
    [
        (shapely.box(5, -608, 6, -607), "EPSG:4326", r"nowhere on Earth: row 1 \(a\), from 5, -608 to 6, -607 degrees"),
        (shapely.box(900, 0, 901, 1), "EPSG:4326", "nowhere on Earth"),
    ],
)
def test_polygons_off_the_earth_are_named(shape, crs, words, tmp_path):
    gpd.GeoDataFrame({"n": ["a"]}, geometry=[shape], crs=crs).to_file(tmp_path / "a.gpkg")
    with pytest.raises(InputError, match=words):
        read_areas(tmp_path / "a.gpkg")


@pytest.mark.parametrize(
    ("shape", "crs"), [(shapely.box(100, -40, 101, -39), "EPSG:4326"), (shapely.box(5e5, 1e6, 6e5, 2e6), "EPSG:32736")]
)
def test_polygons_that_are_merely_far_are_taken(shape, crs, tmp_path):
    gpd.GeoDataFrame({"n": ["a"]}, geometry=[shape], crs=crs).to_file(tmp_path / "a.gpkg")
    points, _, _ = area_points(read_areas(tmp_path / "a.gpkg"), crs="EPSG:4326")
    assert np.isfinite(points).all() and np.abs(points[:, 1]).max() < 90


def test_a_coordinate_is_named_once(tmp_path):
    pd.DataFrame({"lon": [1.0, 2], "lat": [3.0, 4]}).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match=r"given as \['lon', 'lon'\], one of them twice"):
        read_places(tmp_path / "a.csv", coords=["lon", "lon"])


@pytest.mark.parametrize("entry", ["-", "NA", "n/a", "?"])
def test_words_for_missing_values_are_all_named(entry, tmp_path):
    """Each of those that a column has, and none is blamed for another."""
    rows = "\n".join(f"{i},{i},{i}.5" for i in range(8))
    (tmp_path / "a.csv").write_text(f"x,y,z\n{rows}\n8,8,-\n9,9,{entry}\n")
    places = read_places(tmp_path / "a.csv")
    told = next(note for note in places.notes if "missing" in note)
    assert repr("-") in told and repr(entry) in told
    assert places.numbers(["z"])["z"].isna().sum() == 2


def test_a_shapefile_that_was_cut_short_is_noticed(tmp_path):
    """GDAL says nothing where a disk is full."""
    points = gpd.GeoDataFrame({"n": [1, 2, 3]}, geometry=[shapely.Point(i, i) for i in range(3)], crs="EPSG:4326")
    points.to_file(tmp_path / "a.shp")
    check_written(tmp_path / "a.shp", 3)
    for end in (".shp", ".shx", ".dbf"):
        whole = (tmp_path / f"a{end}").read_bytes()
        (tmp_path / f"a{end}").write_bytes(whole[:-9])
        with pytest.raises(OSError, match="not all of the 3 rows"):
            check_written(tmp_path / "a.shp", 3)
        (tmp_path / f"a{end}").write_bytes(whole)
    assert issubclass(OutputError, OSError)


def test_a_crs_without_a_way_to_the_other_is_told():
    local = 'LOCAL_CS["yard",LOCAL_DATUM["yard",0],UNIT["metre",1],AXIS["x",EAST],AXIS["y",NORTH]]'
    with pytest.raises(InputError, match=r"there is no way from the CRS .* to "):
        transform(np.zeros((1, 2)), local, "EPSG:4326")
