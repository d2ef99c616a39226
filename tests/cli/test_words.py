"""Words of the command line: what is refused is told by its options, and with what to write instead."""

from __future__ import annotations

import json
from types import SimpleNamespace

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from bochner.cli._areas import cut_at_date_line, write_areas

from .conftest import QUICK, survey

FIT = ("fit", "data.csv", "--target", "temp", *QUICK, "-o", "m.bochner")


def test_blocks_that_are_too_large_are_told_by_the_option(run, data):
    done = run("validate", "data.csv", "--target", "temp", *QUICK, "--blocks", "100000")
    assert done.code == 2 and "needed are at least 5 blocks (--folds): try --blocks " in done.err


def test_a_box_across_the_date_line_is_written_beyond_180(ok, run, data):
    ok(*FIT)
    done = run("map", "m.bochner", "--bounds", "175,-5,-175,5", "-o", "m.tif")
    assert done.code == 2 and "across the date line write 175,-5,185,5" in done.err


def test_a_map_that_the_disk_cannot_hold_is_refused_before_it_begins(ok, run, data, monkeypatch, tmp_path):
    ok(*FIT)
    monkeypatch.setattr("bochner.cli._mapping.disk_usage", lambda _: SimpleNamespace(free=10**5))
    done = run("map", "m.bochner", "--resolution", "0.005deg", "-o", "m.tif")
    assert (
        done.code == 2 and "would need 0.0 GB of disk, but" in done.err and "larger pixels (--resolution)" in done.err
    )
    assert not (tmp_path / "m.tif").exists()


def test_an_image_without_gaps_is_not_filled(run, raster, tmp_path):
    raster("whole.tif", lambda lon, lat: lon + lat, side=0.2)
    done = run("fill", "whole.tif", "-o", "filled.tif")
    assert done.code == 2 and "there is nothing to fill" in done.err
    assert not (tmp_path / "filled.tif").exists()


def test_further_sheets_of_a_workbook_are_named(ok, run, data, tmp_path):
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        pd.DataFrame({"README": ["see below"]}).to_excel(book, sheet_name="notes", index=False)
        data.to_excel(book, sheet_name="stations", index=False)
    done = run("fit", "book.xlsx", "--target", "temp", "-o", "m.bochner")
    assert done.code == 2 and "Only the first sheet of book.xlsx is read; it has 'stations', too" in done.err
    ok(*FIT)
    done = run("predict", "m.bochner", "book.xlsx", "-o", "p.csv")
    assert done.code == 2 and "it has 'stations', too" in done.err


@pytest.mark.parametrize("file", ["-", "/dev/stdin", "/dev/fd/63"])
def test_pipes_are_refused_as_such(run, file):
    done = run("fit", file, "--target", "temp", "-o", "m.bochner")
    assert done.code == 2 and f"{file} is a pipe" in done.err


def test_options_ahead_of_the_command_are_told_where_they_belong(run):
    done = run("--jobs", "2", "fit", "places.csv")
    assert done.code == 2 and "write it after: bochner fit --jobs ..." in done.err


def test_yes_and_no_are_one_and_nought(ok, run, tmp_path):
    table = survey(80)[["lon", "lat"]]
    table["seen"] = np.where(np.random.default_rng(0).random(80) < 0.4, "Yes", "no")
    table.to_csv("seen.csv", index=False)
    options = ("--family", "bernoulli", *QUICK, "-o", "m.bochner")
    done = ok("fit", "seen.csv", "--target", "seen", *options)
    assert "seen: 'yes' is read as 1, 'no' is read as 0." in done.err
    ok("report", "m.bochner", "--data", "seen.csv", "-o", "r.html")
    table.assign(seen=table.seen.replace({"Yes": "present", "no": "absent"})).to_csv("words.csv", index=False)
    done = run("fit", "words.csv", "--target", "seen", *options)
    assert done.code == 2 and "in line 2; needed is 0 or 1, yes or no, true or false" in done.err
    table.assign(seen=table.seen.where(table.index != 7, "maybe")).to_csv("maybe.csv", index=False)
    done = run("fit", "maybe.csv", "--target", "seen", *options)
    assert done.code == 2 and "1 of 80 rows amiss: line 9: seen is 'maybe'" in done.err
    ok("fit", "maybe.csv", "--target", "seen", *options, "--drop-bad")


def test_a_column_that_is_no_count_at_all_is_not_left_out_row_by_row(run, tmp_path):
    survey(40).assign(share=lambda t: t.positive / t.examined).to_csv("data.csv", index=False)
    options = ("--target", "share", "--trials", "examined", "--family", "binomial", "--drop-bad", "-o", "m.bochner")
    done = run("fit", "data.csv", *options)
    assert done.code == 2 and "rows amiss, most of them" in done.err and "Pass counts, not shares" in done.err


def test_polygons_across_the_date_line_are_cut_in_geojson(tmp_path):
    shapes = [shapely.box(178, -2, 184, 2), shapely.box(190, 0, 191, 1), shapely.box(10, 0, 11, 1)]
    places = gpd.GeoDataFrame({"hotspot": [1, 2, 3], "x": [182.0, 190.5, 10.5]}, geometry=shapes, crs=4326)
    cut = cut_at_date_line(places)
    west, east = sorted(cut.geometry[0].geoms, key=lambda part: part.bounds)
    assert west.bounds == (-180, -2, -176, 2) and east.bounds == (178, -2, 180, 2)
    assert cut.geometry[1].bounds == (-170, 0, -169, 1) and cut.geometry[2].equals(shapes[2])
    assert cut.x.tolist() == [-178.0, -169.5, 10.5]
    write_areas(places, tmp_path / "h.geojson")
    found = json.loads((tmp_path / "h.geojson").read_text())["features"][0]["geometry"]
    assert found["type"] == "MultiPolygon"
