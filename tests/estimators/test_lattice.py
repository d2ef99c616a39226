"""The lattice through the estimator: chosen, right, without ghosts, saved and cross-validated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.exceptions import FallbackWarning, PartError
from bochner.frequencies import MonteCarlo
from bochner.kernels import Matern, SquaredExponential
from bochner.validation import BlockKFold


def field(n, dim=2, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, dim))
    return X, np.sin(5 * X).sum(axis=1) + noise * rng.standard_normal(n)


FIXED = {"tune": None, "noise_variance": 0.01}


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("kernel", [SquaredExponential(0.3), Matern(0.3, nu=2.5), Matern(0.2, nu=1.5)])
def test_lattice_agrees_with_the_exact_kernel(kernel, dim):
    X, y = field(700, dim)
    T = np.random.default_rng(1).uniform(size=(100, dim))
    mean, sd = SpatialRegressor(kernel, features="exact", **FIXED).fit(X, y).predict(T, return_std=True)
    near, spread = SpatialRegressor(kernel, features="lattice", **FIXED).fit(X, y).predict(T, return_std=True)
    assert (np.abs(near - mean) / sd).max() < 0.01
    assert_allclose(spread, sd, rtol=0.03)


@pytest.mark.slow
def test_auto_takes_the_lattice_for_many_rows_and_says_so():
    X, y = field(4000)
    model = SpatialRegressor(Matern(0.5, nu=2.5), tune=None, noise_variance=1.0).fit(X, y)
    assert model.choices_["features"].value == model.fitted_.model.scheme == "lattice"
    assert not model.choices_["features"].given
    assert model.choices_["n_frequencies"].value == model.n_frequencies_ > 0
    assert model.score(X, y) > 0.9


@pytest.mark.slow
def test_learns_by_default_on_many_rows():
    X, y = field(3500)
    model = SpatialRegressor().fit(X, y)
    T, truth = field(500, seed=5, noise=0.0)
    mean, sd = model.predict(T, return_std=True)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.02
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.15)
    assert model.choices_["tuning"].value in ("nearest", "lattice") and not model.choices_["kernel"].given
    assert np.mean(np.abs(mean - truth) < 1.96 * sd) > 0.85


def test_no_ghosts_outside_the_box():
    X, y = field(700)
    kernel = SquaredExponential(0.2, 2.0)
    model = SpatialRegressor(kernel, features="lattice", fit_intercept=False, **FIXED).fit(X, y)
    assert model.n_frequencies_ is not None
    period = model.fitted_.model.posterior.waves.lattice.period
    with pytest.warns(FallbackWarning, match="20 of 20 places lie outside"):
        mean, sd = model.predict(X[:20] + period, return_std=True)
    assert_allclose(mean, 0.0, atol=1e-12)
    assert_allclose(sd, np.sqrt(2.0), rtol=1e-6)


def test_predict_at_widens_the_box():
    X, y = field(700)
    far = np.array([[2.0, 2.0]])
    kernel = SquaredExponential(1.0, 2.0)
    model = SpatialRegressor(kernel, features="lattice", **FIXED).fit(X, y, predict_at=far)
    exact = SpatialRegressor(kernel, features="exact", **FIXED).fit(X, y)
    assert_allclose(model.predict(far), exact.predict(far), atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Matern(0.3, nu=2.5), Matern(0.1, nu=0.5)])
def test_many_rows_save_and_load_and_cross_validate(kernel, tmp_path):
    X, y = field(3500)
    model = SpatialRegressor(kernel, **FIXED).fit(X, y)
    model.save(tmp_path / "model.bochner")
    again = load(tmp_path / "model.bochner")
    T = X[:50] + 0.003
    for one, other in zip(model.predict(T, return_std=True), again.predict(T, return_std=True), strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    exact = SpatialRegressor(kernel, features="exact", **FIXED).fit(X, y)
    result, true = (m.cross_validate(BlockKFold(3, block_size=0.3)) for m in (model, exact))
    assert_allclose([result["rmse"], result["crps"]], [true["rmse"], true["crps"]], rtol=0.02)
    assert_allclose(result["coverage"], true["coverage"], atol=0.01)
    draws = model.sample_y(T, 20, random_state=0)
    assert draws.shape == (50, 20)
    assert_allclose(draws, model.sample_y(T, 20, random_state=0), rtol=1e-9)


def test_four_dimensions_are_refused():
    with pytest.raises(PartError, match="1 to 3"):
        SpatialRegressor(Matern(), features="lattice").fit(*field(50, dim=4))


def test_one_row_and_one_place():
    X, y = field(20)
    model = SpatialRegressor(Matern(), features="lattice", **FIXED).fit(X[:1], y[:1])
    assert_allclose(model.predict(X[:1]), y[:1], rtol=1e-3)
    with pytest.warns(FallbackWarning, match="one place"):
        flat = SpatialRegressor(Matern(), features="lattice").fit(np.ones((20, 2)), y)
    assert_allclose(flat.predict(np.ones((1, 2))), y.mean(), rtol=1e-3)


@pytest.mark.slow
def test_axes_in_unlike_units_have_length_scales_of_their_own():
    """Kilometres and days, no kernel given: one length scale for both would know nothing."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(3_500, 3)) * [800.0, 600.0, 365.0]
    waves = MonteCarlo().draw(Matern((150.0, 150.0, 3.0), nu=1.5), 3_000, 3, rng)
    angle, root = coords @ waves.omega.T, np.sqrt(waves.mass)
    field = np.cos(angle) @ (root * rng.normal(size=3_000)) + np.sin(angle) @ (root * rng.normal(size=3_000))
    model = SpatialRegressor().fit(coords, field + 0.1 * rng.normal(size=3_500))
    lengths = next(iter(model.kernel_.leaves())).length_scale
    # in truth 50; each length scale of a field of some 20 ranges a side is known to about a tenth
    assert_allclose(np.divide(lengths[:2], lengths[2]), 50, rtol=0.25)
