"""The ways in which hyperparameters of many rows are learned, taken with few: they come to what all rows say."""

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


def field(X: np.ndarray, kernel: Matern, rng: np.random.Generator) -> np.ndarray:
    return linalg.cholesky(kernel(X) + 1e-9 * np.eye(len(X)), lower=True) @ rng.standard_normal(len(X))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch):
    """Sets limits, so that few rows count as many."""

    def set_limits(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setattr(limits, name, value)

    return set_limits


def test_axes_that_do_not_matter_have_long_scales(few):
    """Six axes, of which two matter: the exact evidence of a sample tells them, and variances hold what they say."""
    few(MAX_EXACT_TUNING_ROWS=100, ARD_COARSE_ROWS=90, ARD_FINE_ROWS=120, ARD_COARSE_ITERATIONS=30)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(220, 6))
    y = np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1]) + 0.1 * rng.normal(size=220)
    model = SpatialRegressor().fit(X, y)
    told = str(model.choices_["kernel"])
    assert "one length scale per axis by the exact evidence of 120 rows" in told and "CRPS of held-out rows" in told
    scales = np.array(model.kernel_.length_scale)
    assert max(scales[:2]) < 0.5 * min(scales[2:])
    assert 0.1**2 / 2 < model.noise_variance_ < 4 * 0.1**2
    # a smooth function of two axes: boosted trees, which are tried from five dimensions on, do worse
    assert model.choices_["trees"].value > 1.5 and "held-out rows with RMSE" in str(model.choices_["trees"])
    new = rng.uniform(size=(200, 6))
    error = model.predict(new) - np.sin(5 * new[:, 0]) - np.cos(4 * new[:, 1])
    assert np.sqrt(np.mean(error**2)) < 0.12


def test_neighbours_and_a_sample_keep_a_noise_that_is_given(few):
    few(MAX_EXACT_TUNING_ROWS=60, ARD_COARSE_ROWS=60, ARD_FINE_ROWS=80, ARD_COARSE_ITERATIONS=15, TREES_DIMENSIONS=9)
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(150, 4))
    model = SpatialRegressor(noise_variance=0.04).fit(X, np.sin(4 * X[:, 0]) + 0.2 * rng.normal(size=150))
    assert model.noise_variance_ == 0.04 and "trees" not in model.choices_


def test_one_field_learned_by_neighbours_is_that_of_the_exact_evidence(few):
    """Vecchia's likelihood of all predecessors is the likelihood: the evidence at what it finds is hardly less."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(110, 2))
    y = field(X, Matern(0.3, 1.0, nu=1.5), rng) + 0.2 * rng.normal(size=110)
    few(MAX_AVERAGING_ROWS=50)
    exact = SpatialRegressor(Matern(nu=1.5)).fit(X, y)
    few(MAX_EXACT_TUNING_ROWS=100, CALIBRATED_COVERAGE=(0.0, 1.0), MAX_AVERAGING_ROWS=50, SUM_ITERATIONS=15)
    model = SpatialRegressor().fit(X, y)
    assert model.choices_["tuning"].value == "vecchia"
    assert model.choices_["kernel"].value == "one Matern field"
    at = SpatialRegressor(model.kernel_, noise_variance=model.noise_variance_, tune=None).fit(X, y)
    # a smoothness of its own may gain a little, too
    assert abs(at.log_evidence_ - exact.log_evidence_) < 2.5


@pytest.mark.slow
def test_gaps_are_judged_by_a_mixture_of_kernels(few):
    """Places that lie in a gap: candidates are weighted by held-out rows of gaps like it."""
    few(MAX_EXACT_TUNING_ROWS=100, SUM_COARSE_POINTS=150, SUM_MATCHED_POINTS=150, SUM_ITERATIONS=8)
    rng = np.random.default_rng(3)
    grid = np.argwhere(np.ones((13, 13), dtype=bool)).astype(float)
    y = field(grid, Matern(4.0, 1.0, nu=0.5), rng) + 0.1 * rng.normal(size=169)
    gap = (grid[:, 0] < 5) & (grid[:, 1] < 6)
    model = SpatialRegressor().fit(grid[~gap], y[~gap], predict_at=grid[gap])
    told = str(model.choices_["kernel"])
    assert "independent gaps" in told and "one exponential field" in told and "a sum of two exponential fields" in told
    mean, sd = model.predict(grid[gap], return_std=True)
    assert np.mean(np.abs(y[gap] - mean) < 2 * np.sqrt(sd**2 + model.noise_variance_)) > 0.85
    many = SpatialRegressor(n_jobs=8).fit(grid[~gap], y[~gap], predict_at=grid[gap])  # candidates side by side
    assert_allclose(many.predict(grid[gap], return_std=True), (mean, sd), rtol=1e-10)


@pytest.mark.parametrize(
    ("family", "kernel"), [pytest.param("poisson", None, marks=pytest.mark.slow), ("negative-binomial", Matern(nu=2.5))]
)
def test_counts_on_waves_come_to_the_exact_evidence(few, family, kernel):
    """All rows on waves of a lattice that follows the kernel: the evidence found is that of the exact kernel."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(150, 1))
    eta = 1.0 + field(X, Matern(0.3, 0.7, nu=2.5), rng)
    y = rng.poisson(np.exp(eta)).astype(float)
    exact = SpatialRegressor(kernel or Matern(nu=2.5), family=family).fit(X, y)
    parts = {"COARSE_PARTS": (2, 25, 40), "FINE_PARTS": (2, 30, 40)}
    few(MAX_EXACT_TUNING_ROWS=80, MAX_EXACT_ENDING_ROWS=50, MAX_AVERAGING_ROWS=50, **parts)
    waves = SpatialRegressor(kernel, family=family).fit(X, y)
    assert waves.choices_["tuning"].value == "lattice" and "all 150 distinct rows" in str(waves.choices_["tuning"])
    at = SpatialRegressor(
        waves.kernel_, family=waves.fitted_.model.family, noise_variance=waves.noise_variance_, tune=None
    )
    assert at.fit(X, y).log_evidence_ > exact.log_evidence_ - 3
    error = waves.predict_distribution(X).law.eta.mean - eta
    assert np.sqrt(np.mean(error**2)) < 0.3


def test_counts_whose_waves_are_too_many_end_on_the_exact_kernel(few):
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(100, 2))
    eta = field(X, Matern(0.15, 1.0, nu=0.5), rng)
    y = rng.poisson(np.exp(eta)).astype(float)
    few(MAX_EXACT_TUNING_ROWS=60, MAX_EXACT_ENDING_ROWS=50, MAX_AVERAGING_ROWS=50, LATTICE_WAVES=4,
        COARSE_PARTS=(2, 25, 40), FINE_PARTS=(2, 30, 40))  # fmt: skip
    model = SpatialRegressor(Matern(nu=0.5), family="poisson").fit(X, y)
    assert model.choices_["tuning"].value == "exact" and "begun on parts of them" in str(model.choices_["tuning"])
    few(MAX_EXACT_TUNING_ROWS=1_000)
    exact = SpatialRegressor(Matern(nu=0.5), family="poisson").fit(X, y)
    assert abs(model.log_evidence_ - exact.log_evidence_) < 0.5


def test_more_counts_than_are_averaged_over_choose_their_kernel_together(few):
    """Parts of rows see little of smoothness; all of them are asked where that takes seconds."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(130, 1))
    y = rng.poisson(np.exp(1 + 2 * np.sin(8 * X[:, 0]))).astype(float)
    few(MAX_EXACT_TUNING_ROWS=60, MAX_AVERAGING_ROWS=50)
    model = SpatialRegressor(family="poisson").fit(X, y)
    told = model.choices_["tuning"]
    assert told.value == "exact" and "130 distinct rows; begun on some" in str(told) and model.kernel_.nu > 1
    few(MAX_EXACT_ENDING_ROWS=129, COARSE_PARTS=(2, 25, 40), FINE_PARTS=(2, 30, 40))
    assert "begun on some" not in str(SpatialRegressor(family="poisson").fit(X, y).choices_["tuning"])


@pytest.mark.parametrize(("true", "nu"), [(Matern(0.2, 4.0, nu=2.5), 2.5), (Matern(0.3, 1.5, nu=0.5), 0.5)])
def test_a_field_too_rough_for_waves_is_judged_with_the_exact_kernel(few, true, nu):
    """Parts of the rows would choose it too often, and waves never."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(300, 1))
    y = rng.poisson(np.exp(1.5 + field(X, true, rng))).astype(float)
    few(MAX_EXACT_TUNING_ROWS=60, MAX_EXACT_ENDING_ROWS=50, MAX_AVERAGING_ROWS=50, LATTICE_WAVES=16,
        COARSE_PARTS=(2, 25, 40), FINE_PARTS=(2, 30, 40))  # fmt: skip
    model = SpatialRegressor(family="poisson").fit(X, y)
    assert model.kernel_.nu == nu and "with the exact kernel" in str(model.choices_["kernel"])
    assert model.choices_["tuning"].value == ("exact" if nu == 0.5 else "lattice")
    few(MAX_EXACT_TUNING_ROWS=1_000)
    exact = SpatialRegressor(family="poisson").fit(X, y)
    assert exact.kernel_.nu == nu and abs(model.log_evidence_ - exact.log_evidence_) < 0.5


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_of_weight_zero_are_absent(few, grouped):
    """From many rows, too, whose kernels are judged by rows held out."""
    few(MAX_EXACT_TUNING_ROWS=100, SUM_COARSE_POINTS=80, SUM_ITERATIONS=4, MAX_AVERAGING_ROWS=50)
    rng = np.random.default_rng(6)
    X = rng.uniform(size=(160, 2))
    y = field(X, Matern(0.3, 1.0, nu=0.5), rng) + 0.2 * rng.normal(size=160)
    weight = np.where(np.arange(160) % 7 == 3, 0.0, 1.0)
    kept, groups = weight > 0, np.arange(160) // 8

    def answers(rows):
        told = {"groups": groups[rows]} if grouped else {}
        model = SpatialRegressor().fit(X[rows], y[rows], sample_weight=weight[rows], **told)
        assert model.choices_["tuning"].value == "vecchia"
        return np.concatenate(model.predict(X[:20], return_std=True))

    assert_allclose(answers(slice(None)), answers(kept), rtol=1e-9)


def test_a_far_stretched_field_is_one_if_it_predicts_better():
    """A ratio of length scales of 15 may be that of the sampling; rows held out tell that it is not."""
    rng = np.random.default_rng(0)
    n, n_new = 1_100, 200
    X = rng.uniform(size=(n + n_new, 2))
    K = Matern((0.04, 0.6), nu=1.5).covariance(X, X)
    truth = linalg.cholesky(K + 1e-9 * np.eye(len(X)), lower=True) @ rng.normal(size=len(X))
    y = truth[:n] + 0.3 * rng.normal(size=n)
    model = SpatialRegressor().fit(X[:n], y)
    assert "far stretched" in str(model.choices_["kernel"])
    best = K[n:, :n] @ np.linalg.solve(K[:n, :n] + 0.09 * np.eye(n), y)
    errors = [np.sqrt(np.mean((mean - truth[n:]) ** 2)) for mean in (model.predict(X[n:]), best)]
    assert errors[0] < 1.1 * errors[1]
