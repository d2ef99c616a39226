"""Kernels of space and time, periods and peaks: fitted, tuned and predicted by every scheme."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.exceptions import ApproximationWarning, KernelError
from bochner.kernels import (
    Empirical,
    Gneiting,
    Kernel,
    Matern,
    OnAxes,
    Periodic,
    Separable,
    SpectralMixture,
    SquaredExponential,
)

SPACE_TIME: dict[str, Kernel] = {
    "separable": Separable(Matern(40.0, nu=1.5), Matern(5.0, nu=0.5)),
    "gneiting": Gneiting(40.0, 5.0, alpha=0.8),
    "seasons": Separable(Matern(40.0), Periodic(1.0, 7.0)),
    "sum": OnAxes(SquaredExponential(40.0), (0, 1)) + OnAxes(SquaredExponential(8.0), 2),
    "empirical": Empirical(np.random.default_rng(3).normal(size=(150, 3)) / [40.0, 40.0, 5.0]),
}
SCHEMES: dict[str, dict[str, object]] = {
    "exact": {"features": "exact"},
    "quasi": {"features": "quasi", "n_frequencies": 500},
    "orthogonal": {"features": "orthogonal", "n_frequencies": 500},
    "lattice": {"features": "lattice"},
}


def simulated(kernel: Kernel, coords: np.ndarray, noise: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(9)
    root = np.linalg.cholesky(kernel(coords) + 1e-9 * np.eye(len(coords)))
    return root @ rng.standard_normal(len(coords)) + np.sqrt(noise) * rng.standard_normal(len(coords))


def places(n: int, extent: tuple[float, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(n, len(extent))) * extent


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", SPACE_TIME)
def test_every_scheme_predicts_space_and_time(name, scheme):
    """With the same kernel every scheme gives about the exact mean and sd; the lattice more than about."""
    kernel, coords, new = SPACE_TIME[name], places(150, (100.0, 100.0, 30.0)), places(50, (100.0, 100.0, 30.0), 1)
    y = simulated(kernel, coords, 0.2)
    exact = SpatialRegressor(kernel, noise_variance=0.2, tune=None, features="exact").fit(coords, y)
    model = SpatialRegressor(kernel, noise_variance=0.2, tune=None, random_state=0, **SCHEMES[scheme]).fit(coords, y)
    mean, sd = model.predict(new, return_std=True)
    expected, expected_sd = exact.predict(new, return_std=True)
    close = 0.02 if scheme in ("exact", "lattice") else 0.6
    assert np.sqrt(np.mean(((mean - expected) / expected_sd) ** 2)) < close
    assert abs(np.mean(sd / expected_sd) - 1) < (0.02 if close < 0.1 else 0.3)


@pytest.mark.parametrize("scheme", ["exact", "lattice"])
def test_separable_ranges_are_learned_in_their_own_units(scheme):
    """Kilometres and days: starts and bounds come from the extent of each axis."""
    coords = places(170, (500.0, 500.0, 3.0))
    y = simulated(Separable(Matern(120.0), Matern(0.8)), coords)
    model = SpatialRegressor(Separable(Matern(), Matern()), features=scheme).fit(coords, y)
    assert 60 < model.kernel_.space.length_scale < 240
    assert 0.4 < model.kernel_.time.length_scale < 1.6
    assert "Separable(space=Matern(" in model.summary()


@pytest.mark.parametrize(
    ("kernel", "period"),
    [(Periodic(), 3.7), (Periodic() * SquaredExponential(), 3.7), (Periodic(period=2.0) + Matern(), 3.7)],
    ids=["alone", "times", "plus"],
)
def test_a_period_is_found_in_the_data(kernel, period):
    """Started at 1 or 2, which the likelihood would not lead away from."""
    coords = places(80, (30.0,))
    y = simulated(Periodic(0.9, period, 2.0), coords)
    model = SpatialRegressor(kernel).fit(coords, y)
    found = next(v for k, v in {"period": None, **model.kernel_.get_params()}.items() if k.endswith("period") and v)
    assert_allclose(found, period, rtol=0.02)


def test_periods_of_random_features_are_learned_from_the_kernel():
    """The lines of a periodic kernel jump while tuning, so the features' own evidence is not climbed."""
    coords = places(80, (30.0,))
    y = simulated(Periodic(0.9, 3.7, 2.0), coords)
    model = SpatialRegressor(Periodic(), features="quasi", n_frequencies=60).fit(coords, y)
    assert model.choices_["tuning"].value == "exact"
    assert_allclose(model.kernel_.period, 3.7, rtol=0.02)


def test_peaks_are_found_in_the_data():
    """A naive start of a spectral mixture fails; the empirical spectrum does not."""
    coords = places(130, (60.0,))
    y = simulated(SpectralMixture([2.0, 5.0], [0.05, 0.1], [1.0, 0.5]), coords)
    model = SpatialRegressor(SpectralMixture([0.5, 0.6]), noise_variance=0.05).fit(coords, y)
    assert_allclose(sorted(m[0] for m in model.kernel_.means), [2.0, 5.0], atol=0.1)


@pytest.mark.parametrize("name", SPACE_TIME)
def test_files_keep_the_kernel(name, tmp_path):
    coords = places(40, (100.0, 100.0, 30.0))
    model = SpatialRegressor(SPACE_TIME[name], noise_variance=0.2, tune=None).fit(coords, coords[:, 2])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.kernel_ == SPACE_TIME[name]
    np.testing.assert_array_equal(again.predict(coords), model.predict(coords))
    assert again.summary() == model.summary()


def test_what_no_lattice_holds_is_solved_exactly_or_refused():
    coords = places(60, (100.0, 100.0, 30.0))
    model = SpatialRegressor(Gneiting(40.0, 5.0), noise_variance=0.1, tune=None, features="lattice")
    assert model.fit(coords, coords[:, 0]).n_frequencies_ is None
    with pytest.raises(KernelError, match="Gneiting on axes"):
        model.set_params(n_frequencies=100).fit(coords, coords[:, 0])


def test_parameters_are_set_by_name():
    model = SpatialRegressor(Separable(Matern(), Periodic())).set_params(kernel__time__period=7.0)
    assert model.kernel.time.period == 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        model.set_params(tune=None, features="quasi", n_frequencies=20, noise_variance=0.1)
        assert np.isfinite(model.fit(places(30, (1.0, 1.0)), np.arange(30.0)).predict(places(5, (1.0, 1.0)))).all()
