"""`bochner demo`: a country that could be one, and the whole job on it."""

from __future__ import annotations

import shlex

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio

from bochner.cli._story import Story
from bochner.demo import DemoFiles, write_demo
from bochner.geo import raster_at


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> DemoFiles:
    return write_demo(tmp_path_factory.mktemp("demo") / "data")


def test_country_could_be_one(files):
    country, districts = gpd.read_file(files.country), gpd.read_file(files.districts)
    assert country.crs == 4326 and districts.crs.is_projected and country.geometry.is_valid.all()
    assert districts.district.is_unique and len(districts) >= 15
    land = country.to_crs(districts.crs).area.sum()
    # districts cover the land and do not overlap; edges are straight in one CRS, not in the other
    np.testing.assert_allclose(districts.area.sum(), land, rtol=1e-3)
    np.testing.assert_allclose(districts.union_all().area, land, rtol=1e-3)
    with rasterio.open(files.elevation) as elevation, rasterio.open(files.population) as people:
        height, count = elevation.read(1), people.read(1)
    assert np.nanmin(height) > 0 and 1000 < np.nanmax(height) < 5000
    assert 4e6 < count.sum() < 5e6 and not count[np.isnan(height)].any()


def test_survey_is_a_glimpse_of_the_truth(files):
    villages = pd.read_csv(files.villages)
    assert villages.village.is_unique and 200 <= len(villages) <= 300
    assert villages.positive.isna().sum() == 4
    known = villages.dropna()
    assert (known.positive <= known.examined).all()
    truth = raster_at(files.truth, known[["lon", "lat"]].to_numpy(), "EPSG:4326")
    share = known.positive / known.examined
    # villages differ by sd 0.2 in their log odds, about 0.03, and some 55 people are examined: sd 0.05
    assert np.abs(share - truth).mean() < 0.08 and abs((share - truth).mean()) < 0.02


def test_another_seed_is_another_country(files, tmp_path):
    other = write_demo(tmp_path, seed=1)
    assert not gpd.read_file(other.country).geometry.geom_equals_exact(gpd.read_file(files.country).geometry, 0.1).any()


def test_demo_tells_its_story(ok, tmp_path):
    done = ok("demo", "-o", "out")
    assert done.out.count("$ bochner ") == 5
    assert "4 of 260 rows have missing values (4 in positive)" in done.err
    assert done.out.rstrip().endswith("to be changed and run again")
    out = tmp_path / "out"
    names = ("report.html", "prevalence.tif", "districts.csv", "commands.sh", "model.toml", "prevalence.bochner")
    for name in names:
        assert (out / name).stat().st_size > 100, name
    story = Story(out.relative_to(tmp_path), DemoFiles(out.relative_to(tmp_path) / "data"))
    lines = [line for line in (out / "commands.sh").read_text().splitlines() if line.startswith("bochner ")]
    assert [shlex.split(line)[1:] for line in lines] == [arguments for _, arguments in story.steps]
    inside = float(done.out.split("true prevalence of ")[1].split("%")[0])
    assert 85 <= inside <= 99  # of a correlated map, not of independent pixels
