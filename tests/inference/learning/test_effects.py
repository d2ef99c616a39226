"""Effects of covariates share a prior variance, which is learned: useless ones are shrunk."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def many_covariates(rng, n: int, p: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A field, one covariate that matters, and others that do not."""
    frame = pd.DataFrame(np.column_stack([rng.random((n, 2)), rng.standard_normal((n, p))]))
    frame.columns = ["x", "y", *(f"b{i}" for i in range(p))]
    truth = np.sin(5 * frame.x) + 0.5 * frame.b0
    return frame, truth.to_numpy(), truth.to_numpy() + 0.3 * rng.standard_normal(n)


def test_useless_covariates_are_shrunk(rng):
    """With forty of them the surface is nearer to the truth than with flat priors."""
    frame, _, _ = many_covariates(rng, 120, 40)
    truth = np.sin(5 * frame.x.to_numpy())
    frame["z"] = truth + 0.7 * rng.standard_normal(120)
    names = list(frame.columns[2:42])
    learned = SpatialRegressor(coords=["x", "y"], covariates=names).fit(frame[:80].drop(columns="z"), frame.z[:80])
    flat = SpatialRegressor.from_formula(f"z ~ {' + '.join(names)} + gp(x, y)").fit(frame[:80])
    errors = [np.sqrt(np.mean((m.predict(frame[80:]) - truth[80:]) ** 2)) for m in (learned, flat)]
    assert errors[0] < 0.7 * errors[1], errors


def test_more_covariates_than_rows(rng):
    frame, truth, y = many_covariates(rng, 60, 90)
    model = SpatialRegressor(coords=["x", "y"], covariates=list(frame.columns[2:])).fit(frame[:40], y[:40])
    mean, sd = model.predict(frame[40:], return_std=True)
    assert np.all(sd > 0)
    assert np.mean(np.abs(mean - truth[40:]) < 1.96 * sd) > 0.7


def test_shrunk_effects_are_kept_with_the_model(rng, tmp_path):
    """A saved model leaves rows out, and predicts, as the one that was fitted."""
    frame, _, y = many_covariates(rng, 50, 8)
    model = SpatialRegressor(coords=["x", "y"], covariates=list(frame.columns[2:])).fit(frame, y)
    model.save(tmp_path / "m.bochner")
    assert_allclose(load(tmp_path / "m.bochner").predict(frame), model.predict(frame), rtol=0, atol=0)
    held = model.cross_validate()
    assert 0.7 < np.mean(np.abs(held.observed - held.prediction.mean) < 1.96 * held.prediction.sd) <= 1.0
