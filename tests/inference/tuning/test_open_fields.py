"""Many rows that tell little: what they leave open is averaged over, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from bochner import SpatialRegressor
from bochner.exceptions import BochnerWarning
from bochner.inference.tuning import limits
from bochner.kernels import Matern

pytestmark = pytest.mark.filterwarnings(f"ignore::{BochnerWarning.__module__}.{BochnerWarning.__name__}")

ROUGH = Matern(0.3, 0.3, nu=0.5)


def rows_of(kernel: Matern, n: int, noise: float, seed: int, dim: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, noisy rows, and the field itself."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, dim))
    field = linalg.cholesky(kernel(X) + 1e-9 * np.eye(n), lower=True) @ rng.standard_normal(n)
    return X, field + np.sqrt(noise) * rng.standard_normal(n), field


@pytest.mark.parametrize(("dim", "length"), [(1, 0.1), (2, 0.3), (3, 0.5)])
def test_a_weak_field_is_averaged_over(dim: int, length: float) -> None:
    X, y, _ = rows_of(ROUGH.replace(length_scale=length), 520, 1.5 if dim > 1 else 4.0, 0, dim)
    model = SpatialRegressor().fit(X, y)
    told = str(model.choices_["intervals"])
    assert 1 < model.choices_["intervals"].value <= 3 and "leave the sd of the surface open by" in told


@pytest.mark.parametrize("n", [550, 1_050])
def test_one_kernel_is_enough_where_the_rows_tell_it(n: int) -> None:
    X, y, _ = rows_of(Matern(0.2, nu=1.5), n, 0.05, 1)
    assert SpatialRegressor().fit(X, y).choices_["intervals"].value == 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [550, 1_050])
def test_the_average_says_more_than_the_best_kernel(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over some fields more of the surface lies inside, and it is scored no worse."""
    inside = {}
    for open_sd in (limits.OPEN_SD, np.inf):
        monkeypatch.setattr(limits, "OPEN_SD", open_sd)
        shares = []
        for seed in range(6):
            X, y, field = rows_of(ROUGH, n, 1.0, seed)
            mean, sd = SpatialRegressor().fit(X, y).predict(X, return_std=True)
            shares.append(np.mean(np.abs(mean - field) < 1.645 * sd))
        inside[open_sd] = np.mean(shares)
    averaged, best = inside.values()
    assert best < averaged < 0.97


def test_what_is_given_stays() -> None:
    X, y, _ = rows_of(ROUGH, 520, 1.0, 0)
    model = SpatialRegressor(Matern(nu=1.5), noise_variance=1.1).fit(X, y)
    fitted = SpatialRegressor(Matern(nu=1.5), noise_variance=1.1, tune="likelihood").fit(X, y)
    assert model.noise_variance_ == 1.1 and model.kernel_.nu == 1.5
    assert fitted.choices_["intervals"].value == 1  # a likelihood is asked for to be compared with other software


def test_units_do_not_matter() -> None:
    X, y, _ = rows_of(ROUGH, 520, 1.0, 3)
    here = SpatialRegressor().fit(X, y)
    there = SpatialRegressor().fit(1e5 * X, 1e-3 * y)
    ours, theirs = here.predict(X[:50], return_std=True), there.predict(1e5 * X[:50], return_std=True)
    assert here.choices_["intervals"].value == there.choices_["intervals"].value > 1
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(1e-3 * a, b, rtol=2e-3, atol=2e-6)


@pytest.mark.parametrize("features", ["quasi", "nystroem"])
def test_models_that_may_take_more_rows_keep_one_kernel(features: str) -> None:
    X, y, _ = rows_of(ROUGH, 560, 1.0, 0)
    model = SpatialRegressor(features=features, n_frequencies=60).partial_fit(X[:520], y[:520])
    assert model.choices_["intervals"].value == 1
    model.partial_fit(X[520:], y[520:])
    assert np.all(np.isfinite(model.predict(X[:5])))


def test_pure_noise_is_no_field() -> None:
    """The variance goes to its bound, and a node beyond it is none."""
    rng = np.random.default_rng(9)
    X, y = rng.uniform(size=(520, 2)), rng.standard_normal(520)
    mean, sd = SpatialRegressor().fit(X, y).predict(X, return_std=True)
    assert np.sqrt(np.mean(mean**2)) < 0.3 and np.all(np.isfinite(sd))
