"""`bochner fit` and `bochner predict` as a user runs them, on real files."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest


def bochner(*args, cwd):
    command = [sys.executable, "-c", "from bochner.cli import main; main()", *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"lon": rng.uniform(size=n), "lat": rng.uniform(size=n), "height": rng.normal(size=n)})
    frame["temp"] = np.sin(6 * frame.lon) + frame.height + 0.1 * rng.normal(size=n)
    frame["station"] = "a"
    frame.loc[3, "temp"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.drop(columns="temp").to_parquet(tmp_path / "places.parquet")
    return tmp_path


def test_table_in_table_out(folder):
    done = bochner("fit", "data.csv", "--target", "temp", "--covariates", "height", "-o", "m.bochner", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "height" in done.stdout and "Matern" in done.stdout
    assert "1 of 120 rows have missing values (1 in temp)" in done.stderr
    assert "planar" in done.stderr
    done = bochner("predict", "m.bochner", "places.parquet", "-o", "out.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    out, data = pd.read_csv(folder / "out.csv"), pd.read_csv(folder / "data.csv")
    assert list(out.columns) == ["lon", "lat", "height", "station", "mean", "sd", "lower", "upper"]
    assert np.all((out.lower < out["mean"]) & (out["mean"] < out.upper))
    seen = data.temp.notna()
    assert np.mean((data.temp[seen] > out.lower[seen]) & (data.temp[seen] < out.upper[seen])) > 0.9
    bochner("predict", "m.bochner", "places.parquet", "-o", "latent.parquet", "--latent", cwd=folder)
    assert np.all(pd.read_parquet(folder / "latent.parquet").sd < out.sd)
    assert not list(folder.glob(".*partial*"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("fit", "data.csv", "--target", "tmp", "-o", "m"), "did you mean 'temp'?"),
        (("fit", "data.csv", "--target", "station", "-o", "m"), "not numbers"),
        (("fit", "no.csv", "--target", "temp", "-o", "m"), "does not exist"),
        (("fit", "data.txt", "--target", "temp", "-o", "m"), "needed is one of"),
        (("fit", "data.csv", "--target", "temp", "--kernel", "mattern", "-o", "m"), "is not known"),
        (("fit", "data.csv", "--target", "temp", "--coords", "x,y", "-o", "m"), "no column 'x'"),
        (("fit", "data.csv", "--target", "lon", "-o", "m"), "named twice"),
        (("fit", "data.csv", "--target", "temp", "-o", "nowhere/m"), "does not exist"),
        (("predict", "m", "places.parquet", "-o", "out.txt"), "needed is one of"),
        (("predict", "data.csv", "places.parquet", "-o", "out.csv"), "not a complete bochner model"),
    ],
)
def test_mistakes_are_one_clear_line(folder, args, message):
    done = bochner(*args, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "m").exists() and not (folder / "out.csv").exists()
