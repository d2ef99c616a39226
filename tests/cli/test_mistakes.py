"""A user's mistake is one clear line and exit code 2, and nothing is written."""

from __future__ import annotations

import os

import geopandas as gpd
import numpy as np
import pytest
import shapely

from bochner.cli import exit_code, main
from bochner.exceptions import ConvergenceError

from .conftest import QUICK, survey

FIT = ("fit", "data.csv", "--target", "temp", "-o", "out.bochner")
AGGREGATE = ("aggregate", "m.bochner", "-o", "out.csv")
HEIGHT = ("--covariate", "height=1")
MAP = ("map", "m.bochner", "-o", "out.tif")
BINOMIAL = ("fit", "data.csv", "--target", "positive", "--family", "binomial", "-o", "out.bochner")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, and files with something wrong with them."""
    path = tmp_path_factory.mktemp("mistakes")
    frame = survey(40)
    (path / "folder.bochner").mkdir()
    frame.to_csv(path / "data.csv", index=False)
    frame.to_csv(path / "data.txt", index=False)
    frame.rename(columns={"lon": "lat", "lat": "lon"}).assign(lat=frame.lon + 100).to_csv(path / "swapped.csv")
    frame.assign(temp=frame.temp.astype(str).replace(str(frame.temp[7]), "cold")).to_csv(path / "text.csv")
    frame.assign(positive=frame.positive.where(frame.index != 11, 999)).to_csv(path / "over.csv")
    frame.drop(columns=["lon", "lat"]).to_csv(path / "nowhere.csv")
    frame[:0].to_csv(path / "empty.csv")
    points = gpd.GeoDataFrame(frame, geometry=gpd.points_from_xy(frame.lon, frame.lat), crs=4326)
    points.to_crs(32632).to_file(path / "utm.gpkg")
    square = shapely.box(10, 40, 12, 42)
    gpd.GeoDataFrame({"name": ["a", "b"]}, geometry=[square, shapely.Polygon()], crs=4326).to_file(path / "hollow.gpkg")
    gpd.GeoDataFrame({"name": ["a"]}, geometry=[square], crs=4326).to_file(path / "areas.gpkg")
    far = shapely.box(100, 40, 102, 42)
    gpd.GeoDataFrame({"name": ["a"]}, geometry=[far], crs=4326).to_file(path / "far.gpkg")
    frame.assign(temp=np.nan).to_csv(path / "missing.csv")
    frame.rename(columns={"lon": "lat", "lat": "lon"}).to_csv(path / "turned.csv")
    import rasterio

    with rasterio.open(path / "bare.tif", "w", driver="GTiff", height=4, width=4, count=1, dtype="float32") as file:
        file.write(np.ones((1, 4, 4), dtype="float32"))
    for name, left, crs in (("height", 9, "EPSG:4326"), ("fardem", 100, "EPSG:4326"), ("nocrs", 9, None)):
        place = rasterio.transform.from_origin(left, 43, 1, 1)
        layout = {"height": 4, "width": 4, "count": 1, "dtype": "float32", "crs": crs, "transform": place}
        with rasterio.open(path / f"{name}.tif", "w", driver="GTiff", **layout) as file:
            file.write(np.ones((1, 4, 4), dtype="float32"))
    (path / "unknown.toml").write_text(
        'data = "data.csv"\ntarget = "temp"\noutput = "out.bochner"\nkernal = "matern32"\n'
    )
    (path / "wrong.toml").write_text('data = "data.csv"\nseed = "one"\n')
    (path / "broken.toml").write_text("data = data.csv\n")
    with pytest.raises(SystemExit):
        fit = ["fit", str(path / "data.csv"), "--target", "temp", "--covariates", "height", *QUICK]
        main([*fit, "-o", str(path / "m.bochner")])
    return path


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        # files
        (("fit", "no.csv", "--target", "temp", "-o", "out.bochner"), "no.csv does not exist"),
        (("fit", "data.txt", "--target", "temp", "-o", "out.bochner"), "what can be read is"),
        (("fit", "empty.csv", "--target", "temp", "-o", "out.bochner"), "no rows"),
        (("fit", "bare.tif", "-o", "out.bochner"), "has no georeference"),
        ((*FIT[:-1], "nowhere/out.bochner"), "does not exist; make it first"),
        (("fit", "--target", "temp", "-o", "out.bochner"), "no DATA was given"),
        (FIT[:-2], "no output was given"),
        (("predict", "m.bochner", "data.csv", "-o", "out.txt"), "needed is one of"),
        ((*FIT[:-1], "out.csv"), "name it out.bochner"),
        ((*FIT[:-1], "folder.bochner"), "is a folder"),
        (("predict", "m.bochner", "data.csv", "-o", "data.csv"), "is also an input"),
        (("map", "m.bochner", "--like", "height.tif", "-o", "height.tif"), "is also an input"),
        ((*FIT, "--layer", "x"), "has no layers"),
        (("fit", "missing.csv", "--target", "temp", "-o", "out.bochner"), "has a missing value (40 in temp)"),
        (("predict", "data.csv", "data.csv", "-o", "out.csv"), "not a complete bochner model"),
        (("predict", "no.bochner", "data.csv", "-o", "out.csv"), "no.bochner does not exist"),
        # columns
        (("fit", "data.csv", "--target", "tmp", "-o", "out.bochner"), "did you mean 'temp'?"),
        (("fit", "data.csv", "-o", "out.bochner"), "no target was given"),
        (("fit", "text.csv", "--target", "temp", "-o", "out.bochner"), "line 9: temp is 'cold'"),
        (("fit", "data.csv", "--target", "station", "-o", "out.bochner"), "not numbers"),
        ((*FIT, "--coords", "x,y"), "no column 'x'"),
        ((*FIT, "--covariates", "temp"), "named twice"),
        (("fit", "nowhere.csv", "--target", "temp", "-o", "out.bochner"), "name them, e.g. --coords"),
        (("predict", "m.bochner", "nowhere.csv", "-o", "out.csv"), "name them, e.g. --coords"),
        # coordinates
        ((*FIT, "--covariate", "dem=fardem.tif"), "fardem.tif has no value at any place of data.csv"),
        (
            ("fit", "turned.csv", "--target", "temp", "--covariate", "h=height.tif", "-o", "out.bochner"),
            "swapped it would",
        ),
        (("fit", "swapped.csv", "--target", "temp", "-o", "out.bochner"), "look swapped"),
        (("fit", "utm.gpkg", "--target", "temp", "--crs", "EPSG:4326", "-o", "out.bochner"), "but EPSG:4326 was given"),
        ((*FIT, "--crs", "EPSG:32632"), "in degrees, but EPSG:32632 is projected"),
        ((*FIT, "--crs", "EPSG:99"), "is not known"),
        # the model
        ((*FIT, "--family", "binomal"), "did you mean 'binomial'?"),
        ((*FIT, "--kernel", "mattern32"), "did you mean 'matern32'?"),
        ((*FIT, "--kernel", "matern32(length=3)"), "no parameter 'length'"),
        ((*FIT, "--kernel", "matern32(length_scale=-3)"), "length_scale is -3"),
        ((*FIT, "--n-frequencies", "0"), "n_frequencies"),
        ((*FIT, "--kernel", "matern32+"), "cannot be read"),
        ((*FIT, "--tune", "magic"), "tune='magic'"),
        ((*FIT, "--features", "magic"), "magic"),
        ((*FIT, "--predict-at", "gaps"), "needs a raster"),
        ((*FIT, "--trials", "examined"), "has neither trials nor exposure"),
        (BINOMIAL, "no trials were given"),
        ((*BINOMIAL, "--trials", "exmined"), "did you mean 'examined'?"),
        (("fit", "over.csv", *BINOMIAL[2:], "--trials", "examined"), "line 13: 999 in 'positive', of"),
        ((*FIT, "--covariate", "elevation"), "needed is NAME=RASTER"),
        ((*FIT, "--covariates", "height", "--covariate", "height=bare.tif"), "leave the raster out"),
        ((*FIT, "--covariate", "dem=dem.tif"), "dem.tif does not exist"),
        (("predict", "m.bochner", "data.csv", "--trials", "5", "-o", "out.csv"), "which has none"),
        (("predict", "m.bochner", "data.csv", "--level", "95", "-o", "out.csv"), "between 0 and 1"),
        # the config file
        (("fit", "--config", "unknown.toml"), "unknown key 'kernal'; did you mean 'kernel'?"),
        (("fit", "--config", "wrong.toml"), "needed is a whole number"),
        (("fit", "--config", "broken.toml"), "cannot be read as TOML"),
        (("fit", "--config", "no.toml"), "no.toml does not exist"),
        # maps, areas, scores, draws, reports
        (("map", "m.bochner", "--resolution", "5miles", "-o", "out.tif"), "positive length such as 5km"),
        (("map", "m.bochner", "--resolution", "50km", "-o", "out.tif"), "--covariate height=RASTER"),
        (
            ("map", "m.bochner", "--resolution", "50km", "--covariate", "hight=1", "-o", "out.tif"),
            "did you mean 'height'?",
        ),
        (
            ("map", "m.bochner", "--resolution", "50km", "--covariate", "height=no.tif", "-o", "out.tif"),
            "does not exist",
        ),
        (("map", "m.bochner", *HEIGHT, "--like", "bare.tif", "-o", "out.tif"), "has no georeference"),
        (("map", "m.bochner", *HEIGHT, "--like", "nocrs.tif", "-o", "out.tif"), "nocrs.tif has no CRS"),
        (
            ("map", "m.bochner", "--resolution", "50km", "--covariate", "height=fardem.tif", "-o", "out.tif"),
            "no pixel of the map has a value of 'height'",
        ),
        (
            (
                "map",
                "m.bochner",
                "--like",
                "height.tif",
                "--within",
                "far.gpkg",
                "--covariate",
                "height=1",
                "-o",
                "o.tif",
            ),
            "no pixel of the map lies within the polygons",
        ),
        (
            (*AGGREGATE, "--areas", "far.gpkg", "--weights", "height.tif", "--covariate", "height=1"),
            "none of the 1 areas holds any weight",
        ),
        (
            ("map", "m.bochner", *HEIGHT, "--resolution", "50km", "--within", "hollow.gpkg", "-o", "out.tif"),
            "empty polygons: row 2",
        ),
        (("map", "m.bochner", "--resolution", "9km", "--fill-only", "-o", "out.tif"), "without --like"),
        (("map", "m.bochner", "--resolution", "9km", "--bounds", "1,2,3", "-o", "out.tif"), "four numbers"),
        (("map", "m.bochner", "--resolution", "9km", "-o", "out.bmp"), "needed is one of"),
        (("aggregate", "m.bochner", *HEIGHT, "--areas", "hollow.gpkg", "-o", "out.csv"), "empty polygons: row 2"),
        (("aggregate", "m.bochner", "--areas", "areas.gpkg", "-o", "out.csv"), "--covariate height=RASTER"),
        (("aggregate", "m.bochner", "--areas", "data.csv", "-o", "out.csv"), "needed are polygons: one of"),
        (("aggregate", "m.bochner", "--areas", "areas.gpkg", "-o", "out.xlsx"), "needed is one of"),
        (("validate", "data.csv", "--target", "temp", "--score", "rsme"), "did you mean 'rmse'?"),
        (("simulate", "-o", "out.csv", "--at", "data.csv"), "either a MODEL file, or a prior"),
        (("simulate", "--kernel", "matern32", "-o", "out.csv"), "say where to draw"),
        (("simulate", "--kernel", "matern32", "--at", "data.csv", "-o", "out.tif"), "draw on a grid"),
        (("simulate", "--kernel", "matern32", "--family", "gamma", "--at", "data.csv", "-o", "out.csv"), "dispersion"),
        (("report", "m.bochner", "-o", "out.pdf"), "needed is one of"),
        (("report", "m.bochner", "--data", "data.csv", "--target", "tmp", "-o", "out.html"), "did you mean 'temp'?"),
        (("demo", "-o", "data.csv"), "data.csv is a file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistake_is_one_line(folder, monkeypatch, capsys, args, message):
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(args)
    shown = capsys.readouterr()
    assert stop.value.code == 2
    assert message in shown.err
    assert shown.err.startswith("bochner: ") and shown.err.count("\n") == 1
    assert shown.out == ""
    assert set(folder.iterdir()) == before


def test_what_the_user_cannot_mend_is_exit_code_1():
    assert exit_code(ConvergenceError("diverged")) == 1
    assert exit_code(OSError(28, "No space left on device")) == 1
    assert exit_code(FileNotFoundError(2, "No such file or directory")) == 2


def test_folder_that_may_not_be_written_to_is_told_before_the_work(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(SystemExit) as stop:
        main(FIT)
    assert stop.value.code == 2 and "may not be written to" in capsys.readouterr().err


def test_places_far_from_the_data_are_told(folder, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as stop:
        main(["predict", "m.bochner", "turned.csv", "-o", str(tmp_path / "out.csv")])
    told = capsys.readouterr().err
    assert stop.value.code == 0
    assert "no place lies near the data of the model" in told and "swapped they would" in told
    grid = ["--resolution", "50km", "--covariate", "height=1"]
    with pytest.raises(SystemExit) as stop:
        main(["map", "m.bochner", *grid, "--within", "far.gpkg", "-o", str(tmp_path / "out.tif")])
    assert stop.value.code == 0 and "no place lies near the data" in capsys.readouterr().err
