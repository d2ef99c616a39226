"""Leverage, learned and non-stationary features behind the estimator: with everything that other features have."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor, load
from bochner.exceptions import FallbackWarning, PartError
from bochner.features import FourierMap, LocalSpectrumMap, PairedMap
from bochner.frequencies import QuasiMonteCarlo
from bochner.inference.schemes.learned_spectra import stretched
from bochner.kernels import (
    Empirical,
    Gneiting,
    Matern,
    OnAxes,
    Periodic,
    Polynomial,
    SpectralMixture,
    SquaredExponential,
)
from bochner.random import generator
from bochner.validation import BlockKFold, crps, rmse

KINDS = ("leverage", "learned", "nonstationary")
every_kind = pytest.mark.parametrize("kind", KINDS)
KERNEL = Matern(0.5, 1.0)


def survey(dim: int = 1, n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    coords = rng.uniform(0, 4, size=(n, dim))
    return coords, np.sin(3 * coords.sum(axis=1)) + 0.2 * rng.normal(size=n)


def fitted(kind: str, coords: np.ndarray, y: np.ndarray, **more: object) -> SpatialRegressor:
    settings = {"kernel": KERNEL, "noise_variance": 0.04, "tune": None, "n_frequencies": 20, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        return SpatialRegressor(features=kind, **settings).fit(coords, y)  # type: ignore[arg-type]


@every_kind
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_posterior_predicts_and_explains(kind, dim):
    coords, y = survey(dim)
    model = fitted(kind, coords, y)
    mean, sd = model.predict(coords, return_std=True)
    assert rmse(y, mean) < np.std(y) and np.all(sd > 0)
    assert model.n_frequencies_ == 20 and len(model.coef_) == 41
    assert model.choices_["features"].value == model.fitted_.model.scheme == kind and model.choices_["features"].given
    assert model.choices_["n_frequencies"].value == 20
    assert model.choices_["n_frequencies"] in model.summary()
    assert model.sample_y(coords[:4], 3).shape == (4, 3)


@every_kind
def test_model_file_gives_the_same_predictions(kind, tmp_path):
    coords, y = survey()
    model = fitted(kind, coords, y)
    model.save(tmp_path / "model.bochner")
    again = load(tmp_path / "model.bochner")
    for a, b in zip(model.predict(coords, return_std=True), again.predict(coords, return_std=True), strict=True):
        assert_allclose(a, b, rtol=1e-12)


@every_kind
def test_held_out_predictions_are_those_of_a_fit_to_the_rest(kind):
    """The features are held, as hyperparameters are: a fit to the other rows with them says the same."""
    coords, y = survey()
    model = fitted(kind, coords, y)
    found = model.cross_validate(BlockKFold(4, block_size=0.4))
    assert 0 < found["rmse"] < np.std(y) and 0.5 < found["coverage"] <= 1
    posterior, places = model.fitted_.model.posterior, model.fitted_.layout.places(coords)
    train, test = next(iter(BlockKFold(4, block_size=0.4).split(coords)))
    phi = posterior.features.block(places)
    noise = 0.04 + posterior.features.missing_variance(places)
    a = np.column_stack([phi, np.ones(len(y))])
    system = (a[train].T / noise[train]) @ a[train] + np.diag(np.r_[np.ones(phi.shape[1]), 0.0])
    mean = a[test] @ np.linalg.solve(system, (a[train].T / noise[train]) @ y[train])
    held = dict(zip(found.index, np.asarray(found.prediction.mean), strict=True))
    assert_allclose([held[i] for i in test], mean, rtol=1e-6, atol=1e-6)


@every_kind
@pytest.mark.slow
@pytest.mark.parametrize("tune", ["evidence", "likelihood", "spatial-cv"])
def test_tuning_of_every_kind(kind, tune):
    coords, y = survey(n=70)
    model = fitted(kind, coords, y, tune=tune, noise_variance=None, n_frequencies=12)
    assert rmse(np.sin(3 * coords[:, 0]), model.predict(coords)) < 0.25
    assert 0.005 < model.noise_variance_ < 0.3
    assert np.isfinite(model.log_evidence_) and np.isfinite(model.log_likelihood_)


@every_kind
@pytest.mark.slow
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_families(kind, family):
    rng = np.random.default_rng(1)
    coords = rng.uniform(0, 4, size=(100, 1))
    eta = np.sin(3 * coords[:, 0])
    y = rng.binomial(10, 1 / (1 + np.exp(-eta))) if family == "binomial" else rng.poisson(np.exp(eta))
    size = {"trials": np.full(100, 10)} if family == "binomial" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        model = SpatialRegressor(
            KERNEL, family=family, features=kind, n_frequencies=10, tune=None, noise_variance=0.01
        ).fit(coords, y, **size)
    latent, sd = model.predict_latent(coords)
    assert np.corrcoef(latent, eta)[0, 1] > 0.75
    assert np.mean(np.abs(latent - eta) < 3 * sd) > 0.8
    assert np.isfinite(model.cross_validate(3)["log_score"])


@every_kind
def test_number_of_waves_is_chosen_and_told(kind):
    coords, y = survey()
    model = fitted(kind, coords, y, n_frequencies="auto")
    assert 4 <= model.n_frequencies_ <= 1_200
    assert model.choices_["n_frequencies"].value == model.n_frequencies_
    assert not model.choices_["n_frequencies"].given


PEAKS = ([3.0, 1.0], [-1.5, 4.0])


def two_peaks(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A field whose spectrum is two narrow peaks."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(0, 10, size=(n, 2))
    field = np.zeros(n)
    for peak in PEAKS:
        for omega in np.array(peak) + 0.1 * rng.normal(size=(5, 2)):
            a, b = rng.normal(size=2)
            field += 0.4 * (a * np.cos(coords @ omega) + b * np.sin(coords @ omega))
    return coords, field, field + 0.3 * rng.normal(size=n)


def test_a_few_learned_waves_beat_many_random_ones_on_narrow_peaks():
    coords, field, y = two_peaks(500)
    kernel, known, unknown = Matern(0.5, 1.0, nu=2.5), slice(0, 300), slice(300, None)
    learned = SpatialRegressor(kernel, features="learned", n_frequencies=12, tune=None, noise_variance=0.09)
    random = SpatialRegressor(kernel, features="monte-carlo", n_frequencies=200, tune=None, noise_variance=0.09)
    errors = [rmse(field[unknown], m.fit(coords[known], y[known]).predict(coords[unknown])) for m in (learned, random)]
    assert errors[0] < 0.6 * errors[1]
    waves = learned.fitted_.model.posterior.waves
    near = [np.min(np.linalg.norm(np.abs(waves.omega) - np.abs(peak), axis=1)) for peak in PEAKS]
    assert max(near) < 0.3


def test_where_the_kernel_is_right_its_own_waves_are_kept_and_it_says_so():
    """A field made of the waves that learning starts from: what else is learned of it is noise."""
    rng = np.random.default_rng(3)
    kernel, kept = Matern(0.7, 1.0), []
    for seed in range(3):
        coords = rng.uniform(0, 5, size=(80, 2))
        waves = QuasiMonteCarlo().draw(kernel, 30, 2, generator(seed, "frequencies"))
        phi = FourierMap(waves).block(coords - coords.mean(axis=0))
        y = phi @ rng.normal(size=60) + 0.3 * rng.normal(size=80)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = SpatialRegressor(
                kernel, features="learned", n_frequencies=30, tune=None, noise_variance=0.09, random_state=seed
            ).fit(coords, y)
        told = any(issubclass(w.category, FallbackWarning) and "did not help" in str(w.message) for w in caught)
        own = model.fitted_.model.posterior.waves
        assert told == np.allclose(own.omega, waves.omega, rtol=1e-9)
        kept.append(told)
    assert sum(kept) >= 2


def changing(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A field on a line whose length scale grows thirtyfold from one end to the other."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=n))
    length = 0.01 * 30**x
    squares = (length[:, None] ** 2 + length**2) / 2
    cov = np.sqrt(np.outer(length, length) / squares) * Matern(nu=1.5).correlation(
        np.sqrt((x[:, None] - x) ** 2 / squares)
    )
    field = np.linalg.cholesky(cov + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    return x[:, None], field, field + 0.2 * rng.normal(size=n)


@pytest.mark.slow
def test_a_field_whose_length_scale_changes_is_recovered_better_than_by_any_stationary_one():
    known, unknown = np.arange(0, 300, 2), np.arange(1, 300, 2)
    scores = {kind: [] for kind in ("exact", "nonstationary")}
    for seed in range(2):
        coords, field, y = changing(300, seed)
        for kind, found in scores.items():
            model = SpatialRegressor(Matern(0.03, 0.8), features=kind).fit(coords[known], y[known])
            mean, sd = model.predict(coords[unknown], return_std=True)
            found.append(crps(field[unknown], mean, sd))
            if kind == "nonstationary":
                local = model.fitted_.model.posterior.features
                assert isinstance(local, LocalSpectrumMap)
                ends = local.at(model.fitted_.layout.places(np.array([[0.05], [0.95]]))).log_length
                assert ends[1] > ends[0] + 1  # at least e times longer at the right end
    assert np.mean(scores["nonstationary"]) < 0.95 * np.mean(scores["exact"])


def test_beyond_three_dimensions_pairs_of_frequencies_are_learned():
    rng = np.random.default_rng(4)
    coords = rng.uniform(-1, 1, size=(150, 4))
    y = np.sin(3 * coords[:, 0] * (1 + coords[:, 1])) + 0.1 * rng.normal(size=150)
    model = fitted("nonstationary", coords, y, kernel=Matern(1.0), noise_variance=0.01, n_frequencies=15)
    assert isinstance(model.fitted_.model.posterior.features, PairedMap)
    assert rmse(y, model.predict(coords)) < 0.5 * np.std(y)


@every_kind
def test_kernels_without_waves_and_too_few_rows_are_refused(kind):
    coords, y = survey()
    with pytest.raises(ValueError, match="not shift-invariant"):
        SpatialRegressor(Polynomial(), features=kind).fit(coords, y)
    if kind == "nonstationary":
        with pytest.raises(PartError, match="rows"):
            fitted(kind, coords[:20], y[:20])
    else:
        assert np.isfinite(fitted(kind, coords[:20], y[:20], n_frequencies=5).predict(coords)).all()


@pytest.mark.parametrize("dim", [2, 4])
@pytest.mark.parametrize("tune", ["evidence", None])
@every_kind
def test_a_constant_response_gives_a_constant_map(kind, tune, dim):
    coords, _ = survey(dim)
    model = fitted(kind, coords, np.ones(90), kernel=None, noise_variance=None, tune=tune)
    assert_allclose(model.predict(coords[:5] + 0.01), 1.0)


def test_learning_without_noise_is_told():
    coords, y = survey(2)
    with pytest.warns(FallbackWarning, match="noise_variance=0"):
        SpatialRegressor(KERNEL, features="learned", noise_variance=0.0).fit(coords, y)


@pytest.mark.parametrize("kernel", [Periodic(), Empirical(np.ones((300, 2))), Gneiting(), OnAxes(Matern(), 0)])
def test_varying_spectra_need_a_density_and_say_so_briefly(kernel):
    coords, y = survey(2)
    with pytest.raises(PartError, match="features='nonstationary' needs a kernel with a spectral density") as told:
        SpatialRegressor(kernel, features="nonstationary", tune=None).fit(coords, y)
    assert len(str(told.value)) < 400


@pytest.mark.parametrize("seed", range(2))
def test_intervals_of_the_surface_hold_what_few_learned_waves_leave_out(seed):
    rng = np.random.default_rng(seed)
    coords = rng.uniform(0, 10, size=(600, 2))
    field = np.linalg.cholesky(Matern(1.5)(coords) + 1e-8 * np.eye(600)) @ rng.normal(size=600)
    y = field + 0.3 * rng.normal(size=600)
    model = fitted("learned", coords[:300], y[:300], noise_variance=None, tune="evidence", n_frequencies=10)
    mean, sd = model.predict(coords[300:], return_std=True)
    # errors are alike within a length scale: some 40 of them are independent, whose share has a sd of 0.035
    assert np.mean(np.abs(field[300:] - mean) < 1.96 * sd) > 0.95 - 3 * 0.035


def test_waves_of_a_varying_spectrum_follow_all_that_measures_lags():
    for kernel in (SquaredExponential(3.0) * Periodic(period=3.0), SpectralMixture([1.0, 2.0], 0.3), Matern()):
        lag = np.linspace(0, 9, 50)[:, None]
        assert_allclose(stretched(kernel, 2.5).at(2.5 * lag)[::7], kernel.at(lag)[::7], atol=1e-12)
