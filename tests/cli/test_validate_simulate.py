"""`bochner validate`, `bochner simulate`, and the file that may stand for their options."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import rasterio

from bochner import SpatialRegressor, load
from bochner.kernels import Matern
from bochner.posterior.prior import Prior, draw_field
from bochner.validation import BlockKFold, GapBlocks

from .conftest import QUICK

CONFIG = """
data = "../data.csv"
target = "temp"
covariates = ["height"]
kernel = "matern32"
output = "m.bochner"
predict-at = "../places.parquet"
"""


def test_scores_are_those_of_the_library(ok, data):
    done = ok("validate", "data.csv", "--target", "temp", "--covariates", "height", *QUICK, "--blocks", "40", "--json")
    tests = json.loads(done.out)
    assert tests["unit"] == "km" and [one["held_out"] for one in tests["tests"]] == ["single rows", "blocks of 40 km"]
    rows = data.dropna()
    used = ["lon", "lat", "height"]
    model = SpatialRegressor(Matern(nu=1.5), coords=used[:2], covariates=used[2:]).fit(rows[used], rows.temp)
    expected = model.cross_validate(BlockKFold(5, block_size=40))
    assert tests["tests"][1]["scores"] == pytest.approx(dict(expected), rel=1e-3)
    assert tests["tests"][0]["distance"] < tests["tests"][1]["distance"]


def test_gaps_are_held_out_where_the_places_to_predict_lie(ok, data, tmp_path):
    """The folds of the command are those of the places themselves, far as they are from the origin."""
    plane = data.rename(columns={"lon": "x", "lat": "y"})
    gap = (abs(plane.x - 11) < 0.4) & (abs(plane.y - 41) < 0.4)
    rows, places = plane[~gap].dropna(), plane.loc[gap, ["x", "y"]]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    places.to_csv(tmp_path / "gap.csv", index=False)
    done = ok("validate", "rows.csv", "--target", "temp", *QUICK, "--predict-at", "gap.csv", "--json")
    model = SpatialRegressor(Matern(nu=1.5)).fit(rows[["x", "y"]], rows.temp, predict_at=places)
    splitter = GapBlocks(places.to_numpy(), 5)
    found = json.loads(done.out)["tests"][-1]
    assert found["held_out"] == "as places to predict"
    assert found["scores"] == pytest.approx(dict(model.cross_validate(splitter)), rel=1e-3)


def test_config_stands_for_options_and_gives_way_to_them(ok, data, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "model.toml").write_text(CONFIG)
    ok("fit", "--config", "models/model.toml")
    model = load(tmp_path / "models" / "m.bochner")
    assert list(model.feature_names_in_) == ["lon", "lat", "height"] and model.kernel_.nu == 1.5
    ok("fit", "--config", "models/model.toml", "--kernel", "matern12", "-o", "other.bochner")
    assert load(tmp_path / "other.bochner").kernel_.nu == 0.5
    done = ok("validate", "--config", "models/model.toml", "--score", "rmse", "--score", "coverage")
    header, *lines = done.out.splitlines()
    assert header.split() == ["held", "out", "rows", "distance", "(km)", "rmse", "coverage"]
    assert lines[0].split("  ")[0] == "single rows" and "as places to predict" in lines[-1]


def test_tune_none_keeps_the_values_given(ok, data, tmp_path):
    kernel = ("--kernel", "matern32(length_scale=30, variance=2)", "--noise-variance", "0.1", "--tune", "none")
    ok("fit", "data.csv", "--target", "temp", *kernel, "-o", "m.bochner")
    model = load(tmp_path / "m.bochner")
    assert model.kernel_ == Matern(30, 2, nu=1.5) and model.noise_variance_ == 0.1


def test_prior_draws_have_the_moments_of_the_prior(ok, data, tmp_path):
    prior = ("--kernel", "matern32(length_scale=50, variance=2)", "--mean", "3", "--noise-variance", "0.5")
    ok("simulate", *prior, "--at", "data.csv", "-n", "200", "-o", "draws.parquet")
    draws = pd.read_parquet(tmp_path / "draws.parquet")
    surface, y = (draws.filter(like=f"{name}_").to_numpy() for name in ("surface", "y"))
    assert surface.shape == y.shape == (120, 200)
    # the mean of 200 independent draws at one place has sd sqrt(2 / 200) = 0.1, their variance sd 0.2
    assert abs(surface[0].mean() - 3) < 0.4 and abs(surface[0].var() - 2) < 0.8
    # 24,000 independent errors
    assert abs((y - surface).var() - 0.5) < 0.02


def test_counts_and_grids_are_drawn(ok, data, tmp_path):
    ok(
        "simulate", "--kernel", "matern12(length_scale=20)", "--family", "binomial", "--trials", "examined",
        "--at", "data.csv", "-o", "counts.csv",
    )  # fmt: skip
    counts = pd.read_csv(tmp_path / "counts.csv")
    assert counts.surface_1.between(0, 1).all() and (counts.y_1 <= counts.examined).all()
    assert (counts.y_1 == counts.y_1.round()).all()
    grid = ("--bounds", "10,40,12,42", "--resolution", "0.1", "--crs", "EPSG:4326", "--latent")
    done = ok("simulate", "--kernel", "matern32(length_scale=50)", *grid, "-n", "2", "-o", "field.tif")
    assert "in km" in done.err
    with rasterio.open(tmp_path / "field.tif") as file:
        assert file.descriptions == ("surface_1", "surface_2") and file.crs == "EPSG:4326" and file.shape == (20, 20)
        assert file.read().std() > 0.1


def test_model_draws_spread_as_its_predictions_do(ok, data, tmp_path):
    ok("fit", "data.csv", "--target", "temp", "--covariates", "height", *QUICK, "-o", "m.bochner")
    ok("simulate", "m.bochner", "--at", "places.parquet", "-n", "400", "--latent", "-o", "draws.csv")
    ok("predict", "m.bochner", "places.parquet", "--latent", "-o", "out.csv")
    draws = pd.read_csv(tmp_path / "draws.csv").filter(like="surface_").to_numpy()
    out = pd.read_csv(tmp_path / "out.csv")
    # standard errors of 400 draws: sd / 20 for the mean, sd / 28 for the sd, and 120 places to look at
    assert np.all(np.abs(draws.mean(axis=1) - out["mean"]) < 5 * out.sd / 20)
    np.testing.assert_allclose(draws.std(axis=1), out.sd, rtol=0.25)


def test_many_places_are_drawn_as_few_are(monkeypatch):
    """Place by place from neighbours, the covariance is that of the whole matrix."""
    from bochner.posterior import limits

    monkeypatch.setattr(limits, "MAX_EXACT_DRAWS", 0)
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    kernel = Matern(4.0, 2.0, nu=2.5)
    draws = draw_field(kernel, np.concatenate([grid, grid[:3]]), 4_000, np.random.default_rng(0))
    # an entry of a covariance of 4,000 draws has sd of at most 2 sqrt(2 / 4000) = 0.045
    np.testing.assert_allclose(np.cov(draws[:, :144].T), kernel(grid), atol=6 * 0.045)
    assert np.array_equal(draws[:, :3], draws[:, 144:])


def test_a_prior_without_its_dispersion_is_refused():
    from bochner.families import Gamma

    with pytest.raises(ValueError, match="dispersion"):
        Prior(Matern(), Gamma())
