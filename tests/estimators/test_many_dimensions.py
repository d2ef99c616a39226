"""More than three coordinates: waves that are too few give way to the nearest rows, where held-out rows say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from bochner import SpatialRegressor, load
from bochner.exceptions import ApproximationWarning
from bochner.frequencies import MonteCarlo
from bochner.kernels import Kernel, Matern, SquaredExponential
from bochner.validation import rmse


def places(n: int, dim: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(size=(n, dim))


def field(coords: np.ndarray, kernel: Kernel, n_waves: int = 4_000) -> np.ndarray:
    """A draw of the kernel, nearly: more waves than any model here has."""
    rng = np.random.default_rng(0)
    waves = MonteCarlo().draw(kernel, n_waves, coords.shape[1], rng)
    angle, root = coords @ waves.omega.T, np.sqrt(waves.mass)
    return np.cos(angle) @ (root * rng.normal(size=n_waves)) + np.sin(angle) @ (root * rng.normal(size=n_waves))


def test_some_thousand_rows_need_no_approximation() -> None:
    model = SpatialRegressor(Matern(0.5), noise_variance=0.01, tune=None).fit(places(3_200, 4), np.ones(3_200))
    assert model.choices_["features"].value == model.fitted_.model.scheme == "exact"


@pytest.mark.slow
def test_more_rows_are_kriged_from_all_of_them() -> None:
    X, new = places(5_200, 4), places(100, 4)
    y = field(X, Matern(0.5, nu=1.5)) + 0.1 * np.random.default_rng(1).normal(size=len(X))
    model = SpatialRegressor(Matern(0.5, nu=1.5), noise_variance=0.01, tune=None).fit(X, y)
    assert model.choices_["features"].value == "nearest"
    assert model.choices_["solver"].value == "conjugate gradients"
    exact = SpatialRegressor(Matern(0.5, nu=1.5), noise_variance=0.01, tune=None, features="exact").fit(X, y)
    (mean, sd), (true, true_sd) = (m.predict(new, return_std=True) for m in (model, exact))
    assert np.max(np.abs(mean - true) / true_sd) < 1e-2
    assert_allclose(sd, true_sd, rtol=0.1)


@pytest.fixture(scope="module")
def many() -> tuple[SpatialRegressor, np.ndarray, np.ndarray]:
    """A model of more rows than the matrix is made of, and rows it was not given."""
    X = places(9_500, 4)
    y = field(X, Matern(0.5, nu=1.5)) + 0.1 * np.random.default_rng(1).normal(size=len(X))
    model = SpatialRegressor(Matern(0.5, nu=1.5), noise_variance=0.01, tune=None).fit(X[:9_000], y[:9_000])
    return model, X[9_000:], y[9_000:]


@pytest.mark.slow
def test_nearest_rows_beat_too_few_waves(many: tuple[SpatialRegressor, np.ndarray, np.ndarray]) -> None:
    model, new, y = many
    assert model.choices_["solver"].value == "nearest rows" and model.fitted_.model.scheme == "nearest"
    mean, sd = model.predict(new, return_std=True, include_noise=True)
    with pytest.warns(ApproximationWarning):
        few = SpatialRegressor(Matern(0.5, nu=1.5), noise_variance=0.01, tune=None, features="orthogonal")
        few.fit(places(9_500, 4)[:9_000], model.training_responses().y)
    assert rmse(y, mean) < 0.9 * rmse(y, few.predict(new))
    assert 0.92 <= np.mean(np.abs(y - mean) < 1.96 * sd) <= 0.98


@pytest.mark.slow
def test_draws_are_those_of_the_posterior(many: tuple[SpatialRegressor, np.ndarray, np.ndarray]) -> None:
    model, new, _ = many
    mean, sd = model.predict(new[:20], return_std=True)
    draws = model.sample_y(new[:20], 400, random_state=0)
    assert draws.shape == (20, 400)
    # of 400 draws the mean has a standard error of sd / 20, the sd one of 1 / sqrt(800): four of either
    assert np.max(np.abs(draws.mean(axis=1) - mean) / sd) < 4 / 20
    assert_allclose(draws.std(axis=1), sd, rtol=4 / np.sqrt(800))


@pytest.mark.slow
def test_cross_validation_foretells_new_rows(many: tuple[SpatialRegressor, np.ndarray, np.ndarray]) -> None:
    """Three folds have two thirds of the rows, and err a little more than all of them do."""
    model, new, y = many
    held = model.cross_validate(KFold(3, shuffle=True, random_state=0))
    # the rmse of 500 new rows has a standard error of 1 / sqrt(1000), 3 %
    assert 0.95 < held["rmse"] / rmse(y, model.predict(new)) < 1.2
    assert 0.93 <= held["coverage"] <= 0.97


@pytest.mark.slow
def test_a_model_of_the_nearest_rows_is_saved(
    many: tuple[SpatialRegressor, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    model, new, _ = many
    model.save(tmp_path / "model.bochner")
    again = load(tmp_path / "model.bochner")
    assert_allclose(again.predict(new), model.predict(new), rtol=1e-12)
    assert again.choices_["solver"].value == "nearest rows"


@pytest.mark.slow
def test_waves_stay_where_noise_must_be_averaged_away() -> None:
    X = places(5_500, 5)
    y = field(X, SquaredExponential(2.0)) + np.random.default_rng(1).normal(size=len(X))
    model = SpatialRegressor(SquaredExponential(2.0), noise_variance=1.0, tune=None, tolerance=1e-9)
    with pytest.warns(ApproximationWarning):
        model.fit(X, y)
    assert model.choices_["features"].value == model.fitted_.model.scheme == "orthogonal"
