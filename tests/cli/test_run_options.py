"""--jobs and --device: in force for whatever a command computes, and written nowhere."""

from __future__ import annotations

import json
import zipfile

import geopandas as gpd
import numpy as np
import pytest
import shapely

from bochner import load
from bochner.resources import Resources, current, of_this_run

from .conftest import QUICK, survey

OPTIONS = ("--jobs", "1", "--device", "cpu")
FIT = ("fit", "data.csv", "--target", "temp", *QUICK, "-o", "m.bochner")


@pytest.fixture
def used(monkeypatch):
    """Threads and devices of all resources that were put in force, by the work that they are for."""
    found = []
    in_use = Resources.in_use

    def noted(self, size=None):
        found.append((self.n_jobs, self.device))
        return in_use(self, size)

    monkeypatch.setattr(Resources, "in_use", noted)
    return found


def test_every_command_that_computes_takes_them(ok, data, raster, used, tmp_path):
    ok(*FIT)
    square = shapely.box(10.5, 40.5, 11.5, 41.5)
    gpd.GeoDataFrame({"name": ["a"]}, geometry=[square], crs=4326).to_file(tmp_path / "areas.gpkg")
    raster("gaps.tif", lambda lon, lat: np.where(lon + lat > 52.5, np.nan, lon), side=0.2)
    (tmp_path / "parts").mkdir()
    # models of more rows are not averaged over hyperparameters, so that they merge
    survey(2_600).to_parquet(tmp_path / "parts" / "0.parquet")
    waves = ("--features", "lattice", "--n-frequencies", "40")
    ok("fit", "parts", "--target", "temp", *QUICK, *waves, "-o", "whole.bochner")
    for name in ("a.bochner", "b.bochner"):
        ok("fit", "parts/0.parquet", "--target", "temp", "--like", "whole.bochner", "-o", name)
    assert set(used) <= {(None, "auto"), (1, "auto")}
    for command in (
        FIT,
        ("validate", "data.csv", "--target", "temp", *QUICK),
        ("predict", "m.bochner", "data.csv", "-o", "p.csv"),
        ("map", "m.bochner", "--resolution", "20km", "-o", "m.tif"),
        ("aggregate", "m.bochner", "--areas", "areas.gpkg", "-o", "a.csv"),
        ("hotspots", "m.bochner", "--threshold", "0.2", "--resolution", "20km"),
        ("fill", "gaps.tif", *QUICK, "-o", "f.tif"),
        ("simulate", "m.bochner", "--at", "places.parquet", "-o", "d.csv"),
        ("simulate", "--kernel", "matern32(length_scale=50)", "--at", "places.parquet", "-o", "d.csv"),
        ("report", "m.bochner", "--resolution", "20km", "-o", "r.html"),
        ("fit", "parts/0.parquet", "--target", "temp", "--like", "whole.bochner", "-o", "c.bochner"),
        ("merge", "a.bochner", "b.bochner", "-o", "c.bochner"),
    ):
        used.clear()
        ok(*command, *OPTIONS)
        assert used and set(used) == {(1, "cpu")}, command
    assert of_this_run() == {} and current() == Resources()


def test_they_are_written_nowhere(ok, data, tmp_path):
    ok(*FIT, *OPTIONS)
    with zipfile.ZipFile(tmp_path / "m.bochner") as file:
        params = json.loads(file.read("manifest.json"))["state"]["map"]["params"]["map"]
    assert params["n_jobs"] is None and params["device"] == "auto"


def test_the_option_goes_before_what_a_file_says(ok, run, data, used, tmp_path):
    """A model that was fitted beside a device answers where there is none."""
    ok(*FIT)
    model = load("m.bochner").set_params(device="cuda", n_jobs=3)
    model.save("m.bochner")
    refused = run("predict", "m.bochner", "data.csv", "-o", "p.csv")
    if refused.code:  # no device here
        assert refused.code == 2 and "device='cuda'" in refused.err
    used.clear()
    ok("predict", "m.bochner", "data.csv", "-o", "p.csv", *OPTIONS)
    assert set(used) == {(1, "cpu")}
    assert load("m.bochner").n_jobs == 3


def test_options_end_with_their_command(ok, run, data, used):
    """A command that is refused after it has read them leaves nothing behind."""
    run("predict", *OPTIONS, "no.bochner", "data.csv", "-o", "p.csv")
    assert of_this_run() == {}
    ok(*FIT)
    assert {device for _, device in used} == {"auto"}


def test_a_device_that_is_not_there_is_refused(run, data, monkeypatch):
    monkeypatch.setattr("bochner.device.accelerator.find_spec", lambda name: None)
    done = run(*FIT, "--device", "cuda")
    assert done.code == 2
    assert done.err == "bochner: --device cuda needs PyTorch; run `pip install 'bochner[gpu]'`, or set --device cpu.\n"
