"""`bochner aggregate` and `bochner report` on real files."""

from __future__ import annotations

import json

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from .conftest import QUICK

FIT = (
    "fit", "data.csv", "--target", "positive", "--family", "binomial", "--trials", "examined", *QUICK,
    "-o", "m.bochner",
)  # fmt: skip


def test_districts_are_averaged_by_their_people(ok, data, raster, tmp_path):
    west, east = shapely.box(10, 40, 11, 42), shapely.box(11, 40, 12, 42)
    gpd.GeoDataFrame({"district": ["West", "East"]}, geometry=[west, east], crs=4326).to_file(tmp_path / "areas.gpkg")
    # nobody lives in the west but at its south-western corner
    people = raster("people.tif", lambda lon, lat: np.where((lon < 11) & (lon + lat > 51), 0.0, 10.0), side=0.05)
    ok(*FIT)
    plain = ("aggregate", "m.bochner", "--areas", "areas.gpkg", "--points", "60", "--draws", "300")
    told = json.loads(ok(*plain, "--exceed", "0.5", "--json", "-o", "areas.csv").out)
    table = pd.read_csv(tmp_path / "areas.csv")
    assert table.district.tolist() == ["West", "East"] == [row["district"] for row in told["areas"]]
    assert np.all((table.lower < table["mean"]) & (table["mean"] < table.upper) & (table.upper < 1))
    np.testing.assert_allclose(table["exceedance_0.5"], [row["exceedance_0.5"] for row in told["areas"]])
    done = ok(*plain, "--weights", people, "-o", "areas.geojson")
    assert "district" in done.out and "West" in done.out
    weighted = gpd.read_file(tmp_path / "areas.geojson").set_index("district")
    assert weighted.crs == 4326 and weighted.geometry.geom_type.tolist() == ["Polygon", "Polygon"]
    np.testing.assert_allclose(weighted.total, weighted["mean"] * weighted.weight)
    assert abs(weighted.loc["West", "mean"] - table["mean"][0]) > 0.02
    np.testing.assert_allclose(weighted.loc["East", "mean"], table["mean"][1], atol=0.01)


def test_warnings_of_the_shell_are_those_of_the_page(ok, data, tmp_path):
    near, far = shapely.box(10, 40, 12, 42), shapely.box(30, 40, 32, 42)
    named = {"code": ["A1", "A2"], "district": ["Near", "Far"]}
    gpd.GeoDataFrame(named, geometry=[near, far], crs=4326).to_file(tmp_path / "areas.gpkg")
    data.head(61).to_csv(tmp_path / "few.csv", index=False)
    done = ok(
        "fit", "few.csv", "--target", "positive", "--family", "binomial", "--trials", "examined", "-o", "few.bochner"
    )  # fmt: skip
    assert "responses say little of the range" in done.err
    done = ok("aggregate", "few.bochner", "--areas", "areas.gpkg", "--points", "60", "--draws", "99", "-o", "areas.csv")
    assert "1 of 2 areas lie so far from the data" in done.err and "left: Far." in done.err
    assert "Far (no data)" in done.out
    table = pd.read_csv(tmp_path / "areas.csv")
    assert table.no_data.tolist() == [False, True] and table.rows.tolist() == [61, 0]
    ok("report", "few.bochner", "--areas", "areas.gpkg", "--threshold", "1%", "-o", "page.html", "--points", "60")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "responses say little of the range" in page and "nothing to warn of" not in page
    assert "Far (no data)" in page and '"no_data":true' in page


def test_page_shows_rows_only_when_they_are_given(ok, data, raster, tmp_path):
    dem = raster("dem.tif", lambda lon, lat: lon - 11, side=0.1)
    ok(*FIT, "--covariate", f"dem={dem}")
    ok("report", "m.bochner", "--threshold", "0.4", "--title", "Of <two> places", "-o", "plain.html")
    done = ok(
        "report", "m.bochner", "--data", "data.csv", "--covariate", f"dem={dem}", "--resolution", "0.1deg",
        "-o", "rows.html",
    )  # fmt: skip
    assert "open it in a browser" in done.out
    plain, rows = ((tmp_path / name).read_text(encoding="utf-8") for name in ("plain.html", "rows.html"))
    assert "Of &lt;two&gt; places" in plain and "prevalence" in plain
    assert "No covariate rasters were given" in plain and "Covariates from rasters: dem." in rows
    assert '"observations":null' in plain and '"observations":null' not in rows
    for page in (plain, rows):
        assert "http://" not in page.replace("http://www.w3.org", "") and "<script src" not in page
