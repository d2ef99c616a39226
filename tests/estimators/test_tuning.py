"""Tuning: what is learned, by which criterion, and whether the truth is found again."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from bochner import SpatialRegressor
from bochner.exceptions import ApproximationWarning, FallbackWarning
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.learning.evidence import Theta
from bochner.kernels import Laplacian, Matern, Polynomial, RationalQuadratic, SquaredExponential
from bochner.validation import BlockKFold, gap_size
from tests.estimators.fields import draw, field, new_places
from tests.inference.learning.evidences import exact


def simulated(kernel, n: int, seed: int = 0, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a field drawn from the exact kernel, observed with noise of this variance."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, draw(kernel, X, rng)[0] + np.sqrt(noise) * rng.normal(size=n)


def test_tune_none_keeps_the_values_given():
    X, y = field()
    kernel = Matern(0.37, 2.2)
    model = SpatialRegressor(kernel, noise_variance=0.123, tune=None).fit(X, y)
    assert model.kernel_ == kernel and model.noise_variance_ == 0.123
    assert model.choices_["tuning"].value is None


def test_evidence_and_likelihood_are_at_their_tops():
    """No slope is left of the likelihood; the evidence has priors beside it, which hardly move it."""
    X, y = simulated(Matern(0.2), 200)
    X = np.column_stack([X, X[:, 0] ** 2])
    parts = {"covariates": [2], "features": "exact"}
    evidence = SpatialRegressor(Matern(), tune="evidence", **parts).fit(X, y)
    likelihood = SpatialRegressor(Matern(), tune="likelihood", **parts).fit(X, y)
    for model, reml, left in ((evidence, True, 4.0), (likelihood, False, 0.2)):
        obs = model.training_responses().observations()
        point = exact(obs, reml=reml).at(Theta(model.kernel_, model.noise_variance_))
        assert_allclose(point.gradient, 0.0, atol=left)
    assert evidence.log_evidence_ > likelihood.log_evidence_ - 0.5
    assert likelihood.log_likelihood_ > evidence.log_likelihood_
    assert likelihood.choices_["tuning"].value == evidence.choices_["tuning"].value == "exact"


def test_evidence_is_of_the_user_s_units():
    """`log_evidence_` is the integral over coefficients in the units given, `log_likelihood_` has none."""
    X, y = field(50)
    table = np.column_stack([X, 1000 + 300 * np.random.default_rng(0).normal(size=50)])
    model = SpatialRegressor(Matern(0.4), covariates=[2], noise_variance=0.05, tune=None).fit(table, y)
    sigma = Matern(0.4)(X) + 0.05 * np.eye(50)
    design = np.column_stack([np.ones(50), table[:, 2]])
    inverse = np.linalg.inv(sigma)
    precision = design.T @ inverse @ design
    residual = y - design @ np.linalg.solve(precision, design.T @ inverse @ y)
    fit = -0.5 * (np.linalg.slogdet(sigma)[1] + residual @ inverse @ residual)
    assert_allclose(model.log_likelihood_, fit - 25 * np.log(2 * np.pi), rtol=1e-9)
    expected = fit - 24 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1]
    assert_allclose(model.log_evidence_, expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("features", "tune"),
    [
        ("exact", "spatial-cv"),
        ("exact", KFold(5, shuffle=True, random_state=0)),
        pytest.param("quasi", "spatial-cv", marks=pytest.mark.slow),
        pytest.param("quasi", KFold(5, shuffle=True, random_state=0), marks=pytest.mark.slow),
        pytest.param("nystroem", "spatial-cv", marks=pytest.mark.slow),
        pytest.param("nystroem", KFold(5, shuffle=True, random_state=0), marks=pytest.mark.slow),
    ],
)
def test_cross_validation_score_is_improved(features, tune):
    """The block score of what spatial-cv learned is no worse than that of what the evidence learned."""
    X, y = simulated(Matern(0.2), 120)
    parts = {"features": features, "n_frequencies": 60}
    by_score = SpatialRegressor(Matern(), tune=tune, **parts).fit(X, y)
    assert by_score.choices_["tuning"].value == "held-out blocks"
    by_evidence = SpatialRegressor(Matern(), tune="evidence", **parts).fit(X, y)
    fixed = SpatialRegressor(by_evidence.kernel_, noise_variance=by_evidence.noise_variance_, tune=None, **parts).fit(
        X, y
    )
    cv = BlockKFold(5, block_size=gap_size(X), random_state=0) if tune == "spatial-cv" else tune
    # the search starts at the optimum of the likelihood's prior-free sibling, so the two may differ by a little
    assert by_score.cross_validate(cv)["crps"] <= 1.01 * fixed.cross_validate(cv)["crps"]


def test_blocks_take_the_shape_of_the_places_to_predict():
    X, y = simulated(Matern(0.2), 120)
    hole = (np.abs(X - 0.5) < 0.2).all(axis=1)
    model = SpatialRegressor(Matern(), tune="spatial-cv").fit(X[~hole], y[~hole], predict_at=X[hole])
    assert model.choices_["tuning"].value == "held-out blocks"
    assert np.isfinite(model.predict(X[hole])).all()


def test_rows_without_weight_are_not_in_the_folds():
    X, y = simulated(Matern(0.2), 80)
    weight = np.where(np.arange(80) < 10, 0.0, 1.0)
    y[:10] = 1e6
    model = SpatialRegressor(Matern(), tune=KFold(4)).fit(X, y, sample_weight=weight)
    assert np.abs(model.predict(X)).max() < 10


@pytest.mark.parametrize("features", ["exact", "quasi"])
def test_hyperparameters_are_recovered(features):
    """Averaged over fields drawn from the exact kernel, learned values come back to the truth."""
    truth, noise = SquaredExponential(0.2, 1.5), 0.1
    learned = []
    for seed in range(3):
        X, y = simulated(truth, 150, seed, noise)
        parts = {"features": features, "n_frequencies": 70, "fit_intercept": False}
        model = SpatialRegressor(SquaredExponential(), **parts).fit(X, y)
        ratios = [model.kernel_.length_scale / 0.2, model.kernel_.variance / 1.5, model.noise_variance_ / noise]
        learned.append(np.log(ratios))
    # One field, with 5 x 5 ranges across, pins the log variance to about sqrt(2 / 25) = .28, the log length scale to
    # less, and 150 rows with about 50 degrees of freedom taken the log noise to sqrt(2 / 100) = .14. Of three fields
    # the mean is pinned to 1 / sqrt(3) of that; 3 standard errors.
    assert np.all(np.abs(np.mean(learned, axis=0)) <= 3 * np.array([0.2, 0.28, 0.14]) / np.sqrt(3))


@pytest.mark.slow
def test_length_scales_per_axis_are_learned_when_asked_and_when_they_pay():
    truth = Matern((0.1, 0.8), 1.0)
    X, y = simulated(truth, 150, noise=0.05)
    for kernel in (Matern((1.0, 1.0), nu=1.5), None):
        model = SpatialRegressor(kernel).fit(X, y)
        short, long = sorted(model.kernel_.length_scale)
        assert long > 3 * short
    assert model.choices_["kernel"].value == "matern-metric"
    isotropic = SpatialRegressor().fit(*simulated(Matern(0.2), 150, noise=0.05))
    lengths = np.atleast_1d(isotropic.kernel_.length_scale)
    assert lengths.max() < 2.5 * lengths.min()


@pytest.mark.parametrize(("nu", "low", "high"), [(0.5, 0.25, 1.0), (2.5, 1.2, 4.5)])
def test_smoothness_is_learned(nu, low, high):
    X, y = simulated(Matern(0.3, nu=nu), 120, noise=0.001)
    model = SpatialRegressor().fit(X, y)
    assert low < model.kernel_.nu < high
    assert model.choices_["kernel"].value.startswith("matern")
    assert not model.choices_["kernel"].given


@pytest.mark.slow
def test_smoothness_is_learned_when_asked():
    X, y = simulated(Matern(0.3, nu=0.5), 120, noise=0.001)
    model = SpatialRegressor(Matern(nu=1.5, learn_nu=True), features="exact").fit(X, y)
    # nearly noise-free points tell 1/2 from 3/2 with ease
    assert 0.3 < model.kernel_.nu < 0.8
    assert SpatialRegressor(Matern(nu=1.5)).fit(X, y).kernel_.nu == 1.5


@pytest.mark.slow
def test_sums_find_two_scales():
    X, y = simulated(Matern(0.03, 0.5, nu=0.5) + SquaredExponential(0.5, 2.0), 150, noise=0.01)
    model = SpatialRegressor(Matern(nu=0.5) + SquaredExponential()).fit(X, y)
    assert model.kernel_.k2.length_scale > 3 * model.kernel_.k1.length_scale
    turned = SpatialRegressor(SquaredExponential() + Matern(nu=0.5)).fit(X, y)
    assert_allclose(turned.log_evidence_, model.log_evidence_, atol=1e-3)  # whichever comes first
    single = SpatialRegressor(Matern(nu=0.5)).fit(X, y)
    assert model.log_evidence_ > single.log_evidence_


@pytest.mark.parametrize(
    "kernel",
    [
        Matern((1.0, 2.0), rotation=0.3),
        Matern() * SquaredExponential((1.0, 2.0)),
        RationalQuadratic(),
        Laplacian() + Polynomial(),
    ],
)
def test_every_form_of_kernel_is_learned(kernel):
    X, y = simulated(Matern(0.3), 80)
    model = SpatialRegressor(kernel).fit(X, y)
    kept = SpatialRegressor(kernel, noise_variance=0.1, tune=None).fit(X, y)
    assert model.log_evidence_ > kept.log_evidence_
    assert type(model.kernel_) is type(kernel)


def test_noise_can_be_held_while_the_rest_is_learned():
    X, y = field()
    model = SpatialRegressor(Matern(), noise_variance=0.3).fit(X, y)
    assert model.noise_variance_ == 0.3
    assert set(model.fitted_.model.mixture.noise_variance) == {0.3}
    assert model.kernel_.length_scale != 1.0


def test_few_rows_are_averaged_over_hyperparameters():
    X, y = simulated(Matern(0.2), 60)
    model = SpatialRegressor(Matern()).fit(X, y)
    mixture = model.fitted_.model.mixture
    assert_allclose(mixture.mass.sum(), 1.0)
    assert model.choices_["intervals"].value == mixture.n_averaged == len(mixture.mass) > 7
    plug_in = SpatialRegressor(model.kernel_, noise_variance=model.noise_variance_, tune=None).fit(X, y)
    new = new_places(200)
    wide, narrow = (m.predict(new, return_std=True, include_noise=True)[1] for m in (model, plug_in))
    assert np.mean(wide) > np.mean(narrow)


def test_more_than_a_thousand_rows_are_tuned_by_their_neighbours():
    """The approximation must find what the exact evidence finds."""
    X, y = simulated(Matern(0.1), 1200)
    model = SpatialRegressor(Matern(), features="exact").fit(X, y)
    assert model.choices_["tuning"].value == "nearest"
    obs = model.training_responses().observations()
    found = ExactEngine(model.kernel_, model.noise_variance_).fit(obs).log_evidence
    truth = ExactEngine(Matern(0.1), 0.1).fit(obs).log_evidence
    assert found > truth - 1.0


def test_auto_takes_the_exact_kernel_for_few_rows_and_features_for_many():
    X, y = field(3200)
    few = SpatialRegressor(Matern(0.4), noise_variance=0.05, tune=None).fit(X[:100], y[:100])
    assert few.choices_["features"].value == few.fitted_.model.scheme == "exact"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        many = SpatialRegressor(SquaredExponential(0.4), noise_variance=0.05, tune=None).fit(X, y)
    assert many.choices_["features"].value == many.fitted_.model.scheme == "lattice"
    assert many.n_frequencies_ > 0
    assert many.score(X, y) > 0.85  # the noise alone keeps it from 1


def test_number_of_waves_meets_the_tolerance_or_warns():
    X, y = field(100)
    parts = {"noise_variance": 0.05, "tune": None, "features": "quasi"}
    model = SpatialRegressor(SquaredExponential(0.4), **parts).fit(X, y)
    assert model.fitted_.model.kernel_error <= 1e-3
    assert model.choices_["n_frequencies"].value == model.n_frequencies_
    with pytest.warns(ApproximationWarning, match="coarser than tolerance"):
        SpatialRegressor(Matern(0.4, nu=0.5), tolerance=1e-6, **{**parts, "features": "monte-carlo"}).fit(X, y)


@pytest.mark.parametrize(("n_rows", "solver"), [(30, "woodbury"), (200, "primal")])
def test_solver_is_chosen_by_size(n_rows, solver):
    X, y = field(n_rows)
    model = SpatialRegressor(Matern(0.4), features="quasi", n_frequencies=50, noise_variance=0.05, tune=None).fit(X, y)
    assert model.choices_["solver"].value == solver


def test_precision_is_chosen_by_noise_and_told():
    X, y = field(11_000)
    parts = {"features": "quasi", "n_frequencies": 20, "tune": None}
    noisy = SpatialRegressor(Matern(0.4), noise_variance=0.5, **parts).fit(X, y)
    assert noisy.choices_["dtype"].value == "float32" and not noisy.choices_["dtype"].given
    precise = SpatialRegressor(Matern(0.4), noise_variance=1e-5, **parts).fit(X, y)
    assert precise.choices_["dtype"].value == "float64" and not precise.choices_["dtype"].given
    asked = SpatialRegressor(Matern(0.4), noise_variance=0.5, dtype="float64", **parts).fit(X, y)
    assert asked.choices_["dtype"].value == "float64" and asked.choices_["dtype"].given
    assert_allclose(noisy.predict(X[:50]), asked.predict(X[:50]), atol=1e-4)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_very_few_rows_are_fitted(n):
    X, y = field(n)
    mean, sd = SpatialRegressor().fit(X, y).predict(new_places(), return_std=True, include_noise=True)
    assert np.all(np.isfinite(mean)) and np.all(sd > 0)


def test_one_constant_coordinate_is_no_obstacle():
    X, y = field(60)
    X[:, 1] = 3.0
    model = SpatialRegressor().fit(X, y)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("features", ["auto", "quasi", "nystroem"])
def test_constant_response_is_a_flat_map_with_a_warning(features):
    X, _ = field(30)
    with pytest.warns(FallbackWarning, match="the response is constant"):
        model = SpatialRegressor(features=features).fit(X, np.full(30, 7.3))
    mean, sd = model.predict(new_places(), return_std=True)
    assert_allclose(mean, 7.3)
    assert np.all(sd < 1e-3)
    assert model.choices_["tuning"].value is None


@pytest.mark.parametrize("features", ["auto", "quasi", "nystroem"])
def test_one_place_is_a_flat_map_with_a_warning(features):
    _, y = field(30)
    with pytest.warns(FallbackWarning, match="all rows lie at one place"):
        model = SpatialRegressor(features=features).fit(np.ones((30, 2)), y)
    mean, sd = model.predict(new_places(), return_std=True)
    assert_allclose(mean, y.mean(), rtol=1e-6)
    assert_allclose(sd, y.std() / np.sqrt(30), rtol=0.05)
