"""Few noisy rows: everything that is not known of the hyperparameters is in the intervals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import SpatialRegressor, load
from bochner.inference.fits.exact import ExactEngine
from bochner.kernels import Matern, SquaredExponential
from bochner.posterior import Latent


def drawn(n: int, dim: int = 2, reach: float = 0.3, nu: float = 1.5, noise: float = 0.5, seed: int = 0):
    """Places, surface and observations: n to learn from, then 60 more."""
    rng = np.random.default_rng([seed, n, dim])
    X = rng.uniform(size=(n + 60, dim))
    surface = np.linalg.cholesky(Matern(reach, nu=nu)(X) + 1e-9 * np.eye(len(X))) @ rng.normal(size=len(X))
    return X, surface, surface + noise * rng.normal(size=len(X))


def covered(model: SpatialRegressor, X: np.ndarray, surface: np.ndarray) -> float:
    low, high = model.predict_interval(X).T
    return float(np.mean((low <= surface) & (surface <= high)))


def mean_coverage(n_fields: int, n: int, model: SpatialRegressor | None = None, **field) -> float:
    shares = []
    for seed in range(n_fields):
        X, surface, y = drawn(n, seed=seed, **field)
        shares.append(covered((model or SpatialRegressor()).fit(X[:n], y[:n]), X[n:], surface[n:]))
    return float(np.mean(shares))


# ---------------------------------------------------------------------------------- coverage


@pytest.mark.parametrize(
    ("nu", "noise"),
    [(0.5, 1.0), pytest.param(0.5, 0.3, marks=pytest.mark.slow), pytest.param(2.5, 1.0, marks=pytest.mark.slow)],
)
@pytest.mark.slow
def test_the_surface_is_covered_from_fifty_noisy_rows(nu, noise):
    """An average of seven sets held .78 of rough fields; 12 fields have a standard error of about .02."""
    assert 0.88 < mean_coverage(12, 50, nu=nu, noise=noise)


@pytest.mark.parametrize("dim", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_the_surface_is_covered_in_every_dimension(dim):
    assert 0.88 < mean_coverage(8, 60, dim=dim, reach=0.15 * dim)


@pytest.mark.slow
def test_noise_alone_has_narrow_intervals_that_hold():
    """Without a field the surface is its mean: known to 1 / sqrt(n), and a little more as a field may hide."""
    shares, widths = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(size=(80, 2)), 2 + rng.normal(size=80)
        low, high = SpatialRegressor().fit(X, y).predict_interval(X[:30]).T
        shares.append(np.mean((low <= 2) & (high >= 2)))
        widths.append(np.mean(high - low))
    assert np.mean(shares) > 0.9
    assert np.mean(widths) < 0.5 * 2 * 1.96  # of new observations


def test_a_given_noise_variance_stays():
    X, _, y = drawn(50)
    model = SpatialRegressor(noise_variance=0.25).fit(X[:50], y[:50])
    assert set(model.fitted_.model.mixture.noise_variance) == {0.25}
    assert mean_coverage(4, 50, SpatialRegressor(noise_variance=0.25)) > 0.88


def test_known_errors_of_the_rows_are_used():
    shares = []
    for seed in range(4):
        X, surface, _ = drawn(60, seed=seed)
        rng = np.random.default_rng(seed)
        sd = rng.choice([0.05, 1.0], size=60)
        y = surface[:60] + sd * rng.normal(size=60)
        model = SpatialRegressor().fit(X[:60], y, measurement_variance=sd**2)
        shares.append(covered(model, X[60:], surface[60:]))
        assert model.choices_["intervals"].value > 7
    assert np.mean(shares) > 0.88


# --------------------------------------------------------------------- what is averaged over


def test_smoothness_is_averaged_not_picked():
    X, _, y = drawn(50, noise=1.0)
    model = SpatialRegressor().fit(X[:50], y[:50])
    mixture = model.fitted_.model.mixture
    log_nu = np.log([next(iter(c.kernel.leaves())).nu for c in mixture.components])
    assert np.sqrt(mixture.mass @ (log_nu - mixture.mass @ log_nu) ** 2) > 0.3
    assert_allclose(sum(mixture.mass), 1.0)
    told = model.choices_["intervals"]
    assert told.value == np.count_nonzero(mixture.mass) and "nu" in told


def test_the_heaviest_node_comes_first():
    X, _, y = drawn(60)
    model = SpatialRegressor().fit(X[:60], y[:60])
    mixture = model.fitted_.model.mixture
    assert mixture.mass[0] == max(mixture.mass) and mixture.components[0].kernel == model.kernel_
    obs = model.training_responses().observations()
    values = [ExactEngine(c.kernel, s2).fit(obs).log_evidence
              for c, s2 in zip(mixture.components, mixture.noise_variance, strict=True)]  # fmt: skip
    assert_allclose(values[0], model.log_evidence_)
    assert values[0] > max(values[1:]) - 3.0  # priors move the best


def test_a_stretched_field_has_length_scales_along_its_axes():
    X, surface, y = drawn(120, reach=(0.1, 1.0), noise=0.2)
    model = SpatialRegressor().fit(X[:120], y[:120])
    field = next(iter(model.kernel_.leaves()))
    long, short = field.length_scale
    assert long > 2 * short and abs(abs(field.rotation) - np.pi / 2) < 0.3
    assert covered(model, X[120:], surface[120:]) > 0.85


@pytest.mark.parametrize("kernel", [Matern(nu=0.5), SquaredExponential(), Matern((1.0, 1.0), nu=2.5)])
def test_a_kernel_that_was_given_keeps_its_form(kernel):
    X, _, y = drawn(50)
    model = SpatialRegressor(kernel).fit(X[:50], y[:50])
    for component in model.fitted_.model.mixture.components:
        assert component.kernel.replace(length_scale=kernel.length_scale, variance=1.0) == kernel


def test_copies_and_weights_are_the_same_thing():
    X, _, y = drawn(40)
    weight = np.where(np.arange(40) % 4 == 0, 3.0, 1.0)
    weighted = SpatialRegressor().fit(X[:40], y[:40], sample_weight=weight)
    index = np.repeat(np.arange(40), weight.astype(int))
    copied = SpatialRegressor().fit(X[index], y[index])
    assert_allclose(weighted.predict(X, return_std=True), copied.predict(X, return_std=True), rtol=1e-6)


def test_scale_of_the_data_does_not_matter():
    X, _, y = drawn(40)
    plain = SpatialRegressor().fit(X[:40], y[:40]).predict_interval(X)
    scaled = SpatialRegressor().fit(1000 * X[:40], 50 + 1e-3 * y[:40]).predict_interval(1000 * X)
    assert_allclose((scaled - 50) * 1e3, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_hardly_any_rows_at_all(n):
    X, _, y = drawn(n)
    mean, sd = SpatialRegressor().fit(X[:n], y[:n]).predict(X, return_std=True)
    assert np.all(np.isfinite(mean)) and np.all(sd > 0)


def test_loaded_models_predict_the_same_bits(tmp_path):
    X, _, y = drawn(50)
    model = SpatialRegressor().fit(X[:50], y[:50])
    model.save(tmp_path / "model.bochner")
    again = load(tmp_path / "model.bochner")
    for a, b in zip(model.predict(X, return_std=True), again.predict(X, return_std=True), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(model.predict_interval(X), again.predict_interval(X))
    assert_array_equal(model.sample_y(X, 5, random_state=0), again.sample_y(X, 5, random_state=0))
    assert again.choices_ == model.choices_


# ------------------------------------------------------------------------------ the mathematics


def test_quantiles_of_mixtures_invert_their_cdf():
    rng = np.random.default_rng(0)
    law = Latent(
        3 * rng.normal(size=(9, 200)), rng.uniform(0.01, 4, size=(9, 200)) ** 2, rng.dirichlet(np.full(9, 0.3))
    )
    for q in (1e-6, 0.025, 0.5, 0.975):
        assert_allclose(law.cdf(law.quantile(q)), q, rtol=1e-9)
    certain = Latent(np.zeros((2, 3)), np.zeros((2, 3)), np.array([0.5, 0.5]))
    assert_array_equal(certain.quantile(0.9), 0.0)
