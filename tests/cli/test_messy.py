"""A messy table on the command line: every bad row in one message, by its line; --drop-bad leaves them out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import load
from bochner.cli import main


def table(n: int = 60) -> list[str]:
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-6, -4, n), rng.uniform(7, 9, n)
    trials = rng.integers(20, 60, n)
    positive = rng.binomial(trials, 1 / (1 + np.exp(-np.sin(3 * lon) - lat + 8)))
    rows = [f"{a:.4f};{b:.4f};{t};{p}" for a, b, t, p in zip(lon, lat, trials, positive, strict=True)]
    return ["lon;lat;examined;positive", *(row.replace(".", ",") for row in rows)]


@pytest.fixture
def messy(tmp_path):
    lines = table()
    lines[4] = "-5,1;8,0;50;many"
    lines[9] = "-5,2;880;50;12"
    lines[20] = "-5,3;8,3;30;44"
    lines[30] = "-5,3;N/A;30;4"
    (tmp_path / "villages.csv").write_text("\n".join(lines), encoding="utf-16")
    return tmp_path


FIT = ("--target", "positive", "--trials", "examined", "--family", "binomial", "--kernel", "matern32")


def run(code: int, *arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    assert (ended.value.code or 0) == code


def test_bad_rows_are_refused_in_one_message(messy, capsys):
    run(2, "fit", messy / "villages.csv", *FIT, "-o", messy / "m.bochner")
    told = capsys.readouterr().err
    assert "3 of 60 rows amiss" in told and "--drop-bad" in told
    assert "line 5: positive is 'many'" in told
    assert "line 10: no place on Earth: -5.2, 880" in told
    assert "line 21: 44 in 'positive', of 30 in 'examined'" in told


def test_bad_rows_are_left_out_and_told_by_the_model(messy, capsys):
    run(0, "fit", messy / "villages.csv", *FIT, "--drop-bad", "-o", messy / "m.bochner")
    told = capsys.readouterr()
    assert "line 5" in told.err and "1 in lat" in told.err
    rows = load(messy / "m.bochner").choices_["rows left out"]
    assert rows.value == 56 and "line 21" in rows
    run(0, "report", messy / "m.bochner", "-o", messy / "r.html")
    assert "line 21" in (messy / "r.html").read_text()


# ------------------------------------------------------------------------------------------ predictions


@pytest.fixture
def wells(tmp_path):
    """A model with a class and a raster's name among the columns, and places of which three rows are amiss."""
    rng = np.random.default_rng(1)
    x, y, soil = rng.uniform(0, 10, 40), rng.uniform(0, 10, 40), rng.choice(["clay", "sand"], 40)
    lead = np.sin(x) + (soil == "clay") + 0.1 * rng.standard_normal(40)
    rows = [f"{a:.3f},{b:.3f},{s},{v:.3f},0.5" for a, b, s, v in zip(x, y, soil, lead, strict=True)]
    (tmp_path / "wells.csv").write_text("\n".join(["x,y,soil,lead,cover", *rows]))
    lines = ["x,y,soil", "1,2,clay", "2,3,peat", "3,many,sand", "4,5,sand", "5,6,", "6,7,clay"]
    (tmp_path / "places.csv").write_text("\n".join(lines))
    given = ("--target", "lead", "--covariates", "soil", "--kernel", "matern32", "--tune", "none")
    run(0, "fit", tmp_path / "wells.csv", *given, "-o", tmp_path / "m.bochner")
    return tmp_path


def test_places_amiss_are_refused_in_one_message(wells, capsys):
    run(2, "predict", wells / "m.bochner", wells / "places.csv", "-o", wells / "p.csv")
    told = capsys.readouterr().err
    assert "2 of 6 rows amiss" in told and "--drop-bad" in told
    assert "line 3: soil is 'peat', a class that no training row has" in told
    assert "line 4: y is 'many'" in told
    assert not (wells / "p.csv").exists()


def test_places_amiss_stay_without_a_prediction(wells, capsys):
    """Every row is in the output, in its order; the others have the predictions of a file without bad rows."""
    run(0, "predict", wells / "m.bochner", wells / "places.csv", "--drop-bad", "-o", wells / "p.csv")
    told = capsys.readouterr().err
    assert "2 of 6 rows of places.csv are left empty as invalid: line 3" in told and "1 in soil" in told
    whole = pd.read_csv(wells / "p.csv")
    assert whole["soil"].fillna("").tolist() == ["clay", "peat", "sand", "sand", "", "clay"]
    assert whole["mean"].isna().tolist() == [False, True, True, False, True, False]
    (wells / "good.csv").write_text("x,y,soil\n1,2,clay\n4,5,sand\n6,7,clay")
    run(0, "predict", wells / "m.bochner", wells / "good.csv", "-o", wells / "g.csv")
    good = pd.read_csv(wells / "g.csv")
    assert_allclose(whole.dropna()[["mean", "sd", "upper"]], good[["mean", "sd", "upper"]], rtol=1e-9)


def test_a_raster_does_not_take_the_place_of_a_column(wells, capsys):
    """Of a table and of a vector file, also where the column is none that the model reads."""
    import geopandas

    frame = pd.read_csv(wells / "wells.csv")
    (wells / "cover.tif").touch()
    geometry = geopandas.points_from_xy(frame.x, frame.y)
    geopandas.GeoDataFrame(frame[["lead", "cover"]], geometry=geometry, crs="EPSG:4326").to_file(wells / "wells.gpkg")
    for name in ("wells.csv", "wells.gpkg"):
        given = ("--target", "lead", "--covariate", f"cover={wells / 'cover.tif'}", "-o", wells / "c.bochner")
        run(2, "fit", wells / name, *given)
        assert f"{name} has a column 'cover', and --covariate gives another" in capsys.readouterr().err


# ------------------------------------------------------------------------- what a family cannot have


@pytest.fixture
def counted(tmp_path):
    """Counts with an exposure and a known error, five rows of which no model can be fitted to."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"lon": rng.uniform(-6, -4, 50), "lat": rng.uniform(7, 9, 50)})
    rows["people"], rows["cases"], rows["error"] = 100.0, rng.poisson(6, 50).astype(float), 0.1
    rows.loc[3, "people"], rows.loc[5, "cases"], rows.loc[8, "cases"] = 0, -2, 2.5
    rows.loc[10, "cases"], rows.loc[12, "people"] = np.nan, -4
    rows.loc[20, "error"], rows.loc[21, "error"] = -0.1, 0.0
    rows.to_csv(tmp_path / "cases.csv", index=False)
    return tmp_path


COUNTS = ("--target", "cases", "--exposure", "people", "--family", "poisson", "--kernel", "matern32")


def test_exposure_of_none_and_counts_below_none_are_rows_amiss(counted, capsys):
    run(2, "fit", counted / "cases.csv", *COUNTS, "-o", counted / "m.bochner")
    told = capsys.readouterr().err
    assert "4 of 50 rows amiss: line 5: people is 0; line 7: cases is -2; line 10: cases is 2.5; line 14" in told
    assert "leave them out: --drop-bad; needed is" in told
    run(0, "fit", counted / "cases.csv", *COUNTS, "--drop-bad", "-o", counted / "m.bochner")
    assert load(counted / "m.bochner").choices_["rows left out"].value == 45


def test_known_errors_below_none_are_rows_amiss(counted, capsys):
    options = ("--target", "lat", "--coords", "lon", "--error-sd", "error", "--kernel", "matern32")
    run(2, "fit", counted / "cases.csv", *options, "-o", counted / "m.bochner")
    assert "1 of 50 rows amiss: line 22: error is -0.1" in capsys.readouterr().err
    run(0, "fit", counted / "cases.csv", *options, "--drop-bad", "-o", counted / "m.bochner")


def test_no_trials_are_a_row_amiss(messy, capsys):
    lines = table()
    lines[7] = "-5,1;8,0;0;0"
    (messy / "none.csv").write_text("\n".join(lines), encoding="utf-8")
    run(2, "fit", messy / "none.csv", *FIT, "-o", messy / "m.bochner")
    assert "1 of 60 rows amiss: line 8: examined is 0" in capsys.readouterr().err
    run(0, "fit", messy / "none.csv", *FIT, "--drop-bad", "-o", messy / "m.bochner")
    ask = ("predict", messy / "m.bochner", messy / "none.csv", "--trials", "examined", "-o", messy / "p.csv")
    run(2, *ask)
    assert "line 8: examined is 0" in capsys.readouterr().err
    run(2, "simulate", messy / "m.bochner", "--at", messy / "none.csv", *ask[3:5], "-o", messy / "s.csv")
    assert "none.csv, line 8: trials is 0; needed are numbers > 0" in capsys.readouterr().err
    run(0, *ask, "--drop-bad")
    assert pd.read_csv(messy / "p.csv")["mean"].isna().sum() == 1


# ----------------------------------------------------------------------------------- rows by their lines


@pytest.fixture
def odd(tmp_path):
    """Temperatures with two gaps, and after them an outlier in line 52 and swapped coordinates in line 62."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"lon": rng.uniform(10, 12, 120), "lat": rng.uniform(40, 42, 120)})
    rows["temp"] = np.sin(3 * rows.lon) + np.cos(2 * rows.lat) + 0.1 * rng.normal(size=120)
    rows.loc[[3, 20], "temp"] = np.nan
    rows.loc[50, "temp"] = 40.0
    rows.loc[60, ["lon", "lat"]] = [41.0, 11.0]
    rows.to_csv(tmp_path / "odd.csv", index=False)
    return tmp_path


def test_odd_rows_are_told_by_their_lines_in_the_file(odd, capsys):
    run(0, "fit", odd / "odd.csv", "--target", "temp", "--kernel", "matern32", "-o", odd / "m.bochner")
    told = capsys.readouterr().err
    assert "note: 1 of 120 rows may be swapped: --fix-swapped exchanges their coordinates" in told
    assert "line 62 (lon 41, lat 11) lies" in told and "chance cannot be the reason: line 52. " in told
    run(0, "report", odd / "m.bochner", "-o", odd / "r.html")
    page = (odd / "r.html").read_text()
    assert "line 52" in page and "line 62" in page


def test_rows_that_are_read_in_parts_are_told_by_their_places(odd, capsys):
    options = ("--target", "temp", "--kernel", "matern32", "--memory-limit", "1GB")
    run(0, "fit", odd / "odd.csv", *options, "-o", odd / "m.bochner")
    told = capsys.readouterr().err
    place = pd.read_csv(odd / "odd.csv").loc[50]
    assert "a row (lon 41, lat 11) lies" in told
    assert f"cannot be the reason: that at lon {place.lon:.6g}, lat {place.lat:.6g}. " in told


@pytest.fixture(params=["west of Greenwich", "east of 90 degrees"])
def swapped(request, tmp_path):
    """Line 11 has swapped coordinates, in the east beyond the Earth; lines 22 and 32 are nowhere on it."""
    rng = np.random.default_rng(0)
    west, south = (-17.0, 13.0) if request.param == "west of Greenwich" else (118.0, 8.0)
    rows = pd.DataFrame({"Longitude": rng.uniform(west, west + 3, 60), "Latitude": rng.uniform(south, south + 1, 60)})
    rows["temp"] = np.sin(rows.Longitude) + 0.1 * rng.normal(size=60)
    own = rows.copy()
    rows.loc[9, ["Longitude", "Latitude"]] = [own.Latitude[9], own.Longitude[9]]
    rows.loc[20, "Latitude"] = 139
    rows.loc[30, "Longitude"] = 430
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path, own


FIXED = ("--target", "temp", "--kernel", "matern32(length_scale=50)", "--tune", "none")


def test_swapped_rows_are_left_out_with_bad_ones(swapped, capsys):
    folder, own = swapped
    run(2, "fit", folder / "rows.csv", *FIXED, "-o", folder / "m.bochner")
    told = capsys.readouterr().err
    assert "line 22: no place on Earth" in told and "line 32: no place on Earth: 430" in told
    assert "line 11: no place" not in told
    assert ("line 11: its coordinates look swapped (--fix-swapped exchanges them)" in told) == (own.Longitude[9] > 90)
    run(0, "fit", folder / "rows.csv", *FIXED, "--drop-bad", "-o", folder / "m.bochner")
    told, model = capsys.readouterr().err, load(folder / "m.bochner")
    assert "3 of 60 rows of rows.csv are left out as invalid: line 11: " in told and "warning" not in told
    assert model.choices_["rows left out"].value == 57
    own.drop(index=[9, 20, 30]).to_csv(folder / "own.csv", index=False)
    run(0, "fit", folder / "own.csv", *FIXED, "-o", folder / "own.bochner")
    assert_allclose(model.predict(own), load(folder / "own.bochner").predict(own), rtol=1e-9)


def test_swapped_rows_are_exchanged_and_named(swapped, capsys):
    folder, own = swapped
    run(0, "fit", folder / "rows.csv", *FIXED, "--fix-swapped", "--drop-bad", "-o", folder / "m.bochner")
    told = capsys.readouterr().err
    assert "Longitude and Latitude look swapped in 1 of 60 rows of rows.csv and are exchanged: line 11." in told
    assert "2 of 60 rows of rows.csv are left out as invalid: line 22: " in told and "warning" not in told
    own.drop(index=[20, 30]).to_csv(folder / "own.csv", index=False)
    run(0, "fit", folder / "own.csv", *FIXED, "-o", folder / "own.bochner")
    assert_allclose(load(folder / "m.bochner").predict(own), load(folder / "own.bochner").predict(own), rtol=1e-9)
    run(2, "fit", folder / "rows.csv", *FIXED, "--fix-swapped", "--memory-limit", "1GB", "-o", folder / "p.bochner")
    assert "--fix-swapped was given with data that are read in parts" in capsys.readouterr().err


def test_rows_that_only_look_odd_stay(odd, capsys):
    """A far row that exchanging does not bring home stays, with a warning; so does a table without swapped rows."""
    rows = pd.read_csv(odd / "odd.csv")
    rows.loc[60, ["lon", "lat"]] = [20.0, 41.0]
    rows.to_csv(odd / "far.csv", index=False)
    run(0, "fit", odd / "far.csv", *FIXED, "--drop-bad", "--fix-swapped", "-o", odd / "m.bochner")
    told = capsys.readouterr().err
    assert "line 62 (lon 20, lat 41) lies" in told and "left out as" not in told and "exchanged" not in told
    assert "note: no row of far.csv looks swapped: all stay as they are." in told
