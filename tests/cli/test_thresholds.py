"""Thresholds that can be exceeded, in every command that takes one; columns of the user's own are kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bochner import load
from bochner.cli import main

from .conftest import QUICK, survey

PREVALENCE = ("--target", "positive", "--family", "binomial", "--trials", "examined")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of a prevalence, and one of a temperature."""
    path = tmp_path_factory.mktemp("thresholds")
    survey(40).to_csv(path / "data.csv", index=False)
    (path / "n.tif").touch()
    (path / "areas.gpkg").touch()
    for name, options in (("share", PREVALENCE), ("temp", ("--target", "temp"))):
        with pytest.raises(SystemExit):
            main(["fit", str(path / "data.csv"), *options, *QUICK, "-o", str(path / f"{name}.bochner")])
    return path


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("hotspots", "share", "--threshold", "80"), "--threshold is 80, but a prevalence lies between 0 and 1; "),
        (("map", "share", "--exceed", "20", "-o", "out.tif"), "write 0.2, or 20% on the command line"),
        (("map", "share", "--exceed", "60", "--trials", "50", "-o", "out.tif"), "its trials, here at most 50"),
        (("map", "share", "--exceed", "20%", "--trials", "n.tif", "-o", "out.tif"), "the trials are a raster"),
        (("predict", "share", "data.csv", "--exceed", "20", "-o", "out.csv"), "a prevalence lies between 0 and 1"),
        (("predict", "share", "data.csv", "--exceed", "-0.2", "-o", "out.csv"), "give such a share"),
        (("predict", "share", "data.csv", "--exceed", "90", "--trials", "examined", "-o", "out.csv"), "at most 59"),
        (("aggregate", "share", "--areas", "areas.gpkg", "--exceed", "20", "-o", "out.csv"), "write 0.2"),
        (("report", "share", "--threshold", "20", "-o", "out.html"), "--threshold is 20, but a prevalence"),
        (("hotspots", "temp", "--threshold", "20%"), "no share of anything"),
        (("hotspots", "temp", "--threshold", "nan"), "needed is a finite number"),
        (("predict", "temp", "data.csv", "--exceed", "20%", "-o", "out.csv"), "--exceed 20, or --exceed 0.2"),
    ],
)
def test_a_threshold_that_no_mean_can_take_is_refused(run, folder, monkeypatch, args, message):
    monkeypatch.chdir(folder)
    done = run(args[0], f"{args[1]}.bochner", *args[2:])
    assert done.code == 2
    assert message in done.err
    assert not list(folder.glob("out.*"))


def test_per_cent_of_the_trials_of_each_row(ok, folder, monkeypatch):
    monkeypatch.chdir(folder)
    ok("predict", "share.bochner", "data.csv", "--exceed", "20%", "--trials", "examined", "-o", "counts.csv")
    rows, model = pd.read_csv("counts.csv"), load(folder / "share.bochner")
    places = rows[["lon", "lat"]]
    expected = model.predict_exceedance(places, 0.2 * rows.examined, include_noise=True, trials=rows.examined)
    np.testing.assert_allclose(rows["exceedance_0.2"], expected)
    ok("map", "share.bochner", "--exceed", "20%", "--trials", "50", "--resolution", "0.5deg", "-o", "counts.tif")
    import rasterio

    with rasterio.open("counts.tif") as file:
        assert "exceedance_10" in file.descriptions


def test_own_columns_are_kept_under_another_name(ok, folder, monkeypatch):
    monkeypatch.chdir(folder)
    table = survey(40)[["lon", "lat"]].assign(mean=7.0, sd="own", mean_given=8.0)
    table.to_csv("own.csv", index=False)
    done = ok("predict", "temp.bochner", "own.csv", "-o", "predicted.csv")
    assert "own.csv has columns ['mean', 'sd'] already; those are kept as ['mean_given_given', 'sd_given']" in done.err
    rows = pd.read_csv("predicted.csv")
    assert (rows.mean_given == 8).all() and (rows.mean_given_given == 7).all() and (rows.sd_given == "own").all()
    assert rows["mean"].std() > 0
