"""`bochner fit` and `bochner predict` on real files."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import geopandas as gpd
import numpy as np
import pandas as pd

from bochner import load

from .conftest import QUICK, survey

FIT = ("fit", "data.csv", "--target", "temp", "--covariates", "height")


def test_table_in_table_out_in_a_process_of_its_own(data, tmp_path):
    def bochner(*args):
        command = [sys.executable, "-c", "from bochner.cli import main; main()", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = bochner(*FIT, "-o", "m.bochner")
    assert done.returncode == 0, done.stderr
    assert "height" in done.stdout and "Matern" in done.stdout and "written: m.bochner" in done.stdout
    assert "1 of 120 rows have missing values (1 in temp)" in done.stderr
    assert "degrees" in done.stderr
    done = bochner("predict", "m.bochner", "places.parquet", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    out = pd.read_csv(tmp_path / "out.csv")
    assert list(out.columns[-5:]) == ["station", "mean", "sd", "lower", "upper"]
    assert np.all((out.lower < out["mean"]) & (out["mean"] < out.upper))
    seen = data.temp.notna()
    assert np.mean((data.temp[seen] > out.lower[seen]) & (data.temp[seen] < out.upper[seen])) > 0.9
    assert not list(tmp_path.glob(".*partial*"))


def test_latent_is_surer_and_a_row_that_misses_a_covariate_gets_nothing(ok, data, tmp_path):
    ok(*FIT, *QUICK, "-o", "m.bochner")
    ok("predict", "m.bochner", "places.parquet", "-o", "new.csv")
    places = pd.read_parquet(tmp_path / "places.parquet")
    places.loc[5, "height"] = np.nan
    places.to_csv(tmp_path / "holes.csv", index=False)
    done = ok("predict", "m.bochner", "holes.csv", "--latent", "--exceed", "0.5", "-o", "latent.csv")
    assert "1 of 120 rows of holes.csv have missing values (1 in height): no prediction" in done.err
    new, latent = pd.read_csv(tmp_path / "new.csv"), pd.read_csv(tmp_path / "latent.csv")
    assert np.flatnonzero(latent["mean"].isna()).tolist() == [5]
    known = latent["mean"].notna()
    assert np.all(latent.sd[known] < new.sd[known])
    assert latent["exceedance_0.5"][known].between(0, 1).all()


def test_prevalence_by_default_and_counts_with_trials(ok, data, tmp_path):
    fitted = ok(
        "fit", "data.csv", "--target", "positive", "--family", "binomial", "--trials", "examined", *QUICK,
        "--json", "-o", "m.bochner",
    )  # fmt: skip
    facts = json.loads(fitted.out)
    assert facts["family"] == "binomial" and facts["n_rows"] == 120 and facts["crs"] == "EPSG:4326"
    assert [effect["name"] for effect in facts["fixed_effects"]] == ["intercept"]
    assert load(tmp_path / "m.bochner").fitted_.layout.roles == {"target": "positive", "trials": "examined"}
    features = facts["choices"]["features"]
    assert set(features) == {"value", "reason", "given", "text"}
    assert features["value"] == "exact" and features["given"] is False
    assert facts["choices"]["kernel"]["given"] is True
    done = ok("predict", "m.bochner", "data.csv", "-o", "share.csv", "--json")
    assert json.loads(done.out)["of"] == "the prevalence"
    ok("predict", "m.bochner", "data.csv", "--trials", "examined", "-o", "counts.csv")
    ok("predict", "m.bochner", "data.csv", "--trials", "10", "--latent", "-o", "ten.csv")
    share, counts, ten = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("share", "counts", "ten"))
    assert np.all((share.lower > 0) & (share.upper < 1))
    # a new count has the effect of its row, which bends its mean a little
    np.testing.assert_allclose(counts["mean"], share["mean"] * data.examined, rtol=5e-3)
    np.testing.assert_allclose(ten["mean"], 10 * share["mean"], rtol=1e-6)
    assert np.mean((data.positive >= counts.lower) & (data.positive <= counts.upper)) > 0.9


def test_same_survey_in_any_format_and_crs_gives_the_same_predictions(ok, data, tmp_path):
    """Longitude and latitude, UTM columns with --crs, a GeoPackage: one survey, within one per cent."""
    points = gpd.points_from_xy(data.lon, data.lat)
    frame = gpd.GeoDataFrame(data.drop(columns=["lon", "lat"]), geometry=points, crs=4326)
    utm = frame.to_crs(32632)
    frame.to_crs(3857).to_file(tmp_path / "data.gpkg")
    utm.drop(columns="geometry").assign(x=utm.geometry.x, y=utm.geometry.y).to_csv(tmp_path / "utm.csv", index=False)
    found = []
    for name, more in (("data.csv", ()), ("utm.csv", ("--crs", "EPSG:32632")), ("data.gpkg", ())):
        ok("fit", name, "--target", "temp", "--covariates", "height", *QUICK, *more, "-o", f"{name}.bochner")
        ok("predict", f"{name}.bochner", "places.parquet", "-o", "out.csv")
        found.append(pd.read_csv(tmp_path / "out.csv"))
    for other in found[1:]:
        np.testing.assert_allclose(other["mean"], found[0]["mean"], atol=0.01 * found[0]["mean"].std())
        np.testing.assert_allclose(other.sd, found[0].sd, rtol=0.01)
    # a table without a CRS is taken in the model's, and points come back as points
    assert "taken to be in EPSG:32632" in ok("predict", "utm.csv.bochner", "utm.csv", "-o", "out.gpkg").err
    ok("predict", "data.csv.bochner", "data.gpkg", "-o", "out.gpkg")
    back = gpd.read_file(tmp_path / "out.gpkg")
    assert back.crs == 3857 and len(back) == 120
    np.testing.assert_allclose(back["mean"], found[0]["mean"], atol=1e-6)


def test_offset_is_remembered(ok, run, tmp_path):
    frame = survey(30)
    rng = np.random.default_rng(1)
    frame["people"] = rng.uniform(100, 1000, 30)
    frame["log_people"] = np.log(frame.people)
    frame["cases"] = rng.poisson(0.01 * frame.people)
    frame.to_csv(tmp_path / "data.csv", index=False)
    fit = ("fit", "data.csv", "--target", "cases", "--family", "poisson", *QUICK)
    ok(*fit, "--offset", "log_people", "-o", "offset.bochner")
    ok(*fit, "--exposure", "people", "-o", "exposure.bochner")
    ok("predict", "offset.bochner", "data.csv", "-o", "offset.csv")
    ok("predict", "exposure.bochner", "data.csv", "--exposure", "people", "-o", "exposure.csv")
    one, other = pd.read_csv(tmp_path / "offset.csv"), pd.read_csv(tmp_path / "exposure.csv")
    np.testing.assert_allclose(one["mean"], other["mean"], rtol=1e-3)
    frame.drop(columns="log_people").to_csv(tmp_path / "bare.csv", index=False)
    done = run("predict", "offset.bochner", "bare.csv", "-o", "bare-out.csv")
    assert done.code == 2 and "fitted with the offset 'log_people'" in done.err


def test_covariates_come_from_rasters(ok, data, raster, tmp_path):
    """A raster read at the places is the same as its values in a column."""
    slope = raster("slope.tif", lambda lon, lat: lon + 2 * lat)
    frame = data.assign(slope=data.lon + 2 * data.lat)
    frame.to_csv(tmp_path / "column.csv", index=False)
    ok("fit", "column.csv", "--target", "temp", "--covariates", "slope", *QUICK, "-o", "column.bochner")
    ok("fit", "data.csv", "--target", "temp", "--covariate", f"slope={slope}", *QUICK, "-o", "raster.bochner")
    ok("predict", "raster.bochner", "places.parquet", "--covariate", f"slope={slope}", "-o", "raster.csv")
    ok("predict", "column.bochner", "column.csv", "-o", "out.csv")
    got, expected = pd.read_csv(tmp_path / "raster.csv"), pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(got["mean"], expected["mean"], atol=1e-3)


def test_dates_categories_groups_and_known_errors(ok, tmp_path):
    rng, n = np.random.default_rng(0), 90
    table = pd.DataFrame({"x": rng.uniform(0, 9, n), "y": rng.uniform(0, 9, n)})
    table["time"] = pd.date_range("2020-03-01", periods=n).strftime("%Y-%m-%d")
    table["soil"], table["village"] = rng.choice(["clay", "sand"], n), rng.integers(0, 9, n).astype(str)
    table["error"] = 0.1
    table["temp"] = np.sin(table.x) + (table.soil == "sand") + 0.1 * rng.standard_normal(n)
    table.to_csv(tmp_path / "dated.csv", index=False)
    ok(
        "fit", "dated.csv", "--target", "temp", "--coords", "x,y,time", "--covariates", "soil", "--groups", "village",
        "--error-sd", "error", *QUICK, "-o", "m.bochner",
    )  # fmt: skip
    layout = load(tmp_path / "m.bochner").fitted_.layout
    assert layout.encoding.times == {"time": "2020-03-01"}
    assert set(layout.encoding.levels["soil"]) == {"clay", "sand"}
    ok("predict", "m.bochner", "dated.csv", "-o", "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["mean"].notna().all()


def test_a_place_and_a_date_of_every_kind_of_file(ok, data, tmp_path):
    frame = survey().dropna().assign(date=lambda t: pd.Timestamp("2024-05-01") + pd.to_timedelta(t.index % 9, "D"))
    frame.to_csv(tmp_path / "dated.csv", index=False)
    points = gpd.GeoDataFrame(frame.drop(columns=["lon", "lat"]), geometry=gpd.points_from_xy(frame.lon, frame.lat))
    points.set_crs(4326).to_file(tmp_path / "dated.gpkg")
    means = []
    for name, coords in (("dated.csv", "lon,lat,date"), ("dated.gpkg", "geometry,date"), ("dated.gpkg", "x,y,date")):
        ok("fit", name, "--target", "temp", "--coords", coords, *QUICK, "-o", "m.bochner")
        ok("predict", "m.bochner", name, "-o", "out.csv")
        means.append(pd.read_csv(tmp_path / "out.csv")["mean"])
    np.testing.assert_allclose(means[1], means[0], rtol=1e-6)
    np.testing.assert_allclose(means[2], means[0], rtol=1e-6)
    for name, how in (("dated.csv", "--coords lon,lat,date"), ("dated.gpkg", "--coords x,y,date")):
        done = ok("fit", name, "--target", "temp", *QUICK, "-o", "m.bochner")
        assert how in done.out + done.err and re.search(r"not used: .*\bdate\.", done.out + done.err)


def test_columns_that_are_not_used_are_named(ok, data, tmp_path):
    done = ok("fit", "data.csv", "--target", "temp", "--covariates", "height", *QUICK, "-o", "m.bochner")
    assert "not used: examined, positive, station." in done.out and "not used" not in done.err
