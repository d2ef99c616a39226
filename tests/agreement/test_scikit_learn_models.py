"""Agreement with scikit-learn: Gaussian processes, kernel ridge, and ridge on Fourier features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from bochner import FourierFeatures, SpatialRegressor
from bochner.kernels import Laplacian, Matern, RationalQuadratic, SquaredExponential

NOISE = 0.1
PAIRS = {
    "squared-exponential": (SquaredExponential(0.3, 2.0), 2.0 * sk.RBF(0.3)),
    "matern-1/2": (Matern(0.5, 1.5, nu=0.5), 1.5 * sk.Matern(0.5, nu=0.5)),
    "matern-3/2-per-axis": (Matern((0.4, 0.8), 1.5), 1.5 * sk.Matern([0.4, 0.8], nu=1.5)),
    "matern-1.2": (Matern(0.4, nu=1.2), sk.Matern(0.4, nu=1.2)),
    "rational-quadratic": (RationalQuadratic(0.4, 1.2, alpha=0.7), 1.2 * sk.RationalQuadratic(0.4, 0.7)),
    "sum": (Matern(0.2, 0.5) + SquaredExponential(1.0, 2.0), 0.5 * sk.Matern(0.2, nu=1.5) + 2.0 * sk.RBF(1.0)),
    "product": (Matern(0.6, 1.5) * SquaredExponential(0.8), 1.5 * sk.Matern(0.6, nu=1.5) * sk.RBF(0.8)),
}
every_pair = pytest.mark.parametrize(("kernel", "theirs"), PAIRS.values(), ids=PAIRS.keys())


def field(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]) + np.sqrt(NOISE) * rng.normal(size=n)
    return X, y, rng.uniform(-0.2, 1.2, size=(60, 2))


@every_pair
def test_gaussian_process_regressor(kernel, theirs):
    """Mean, sd, covariance and log marginal likelihood on 500 points, to 1e-6."""
    X, y, new = field(500)
    gp = GaussianProcessRegressor(theirs, alpha=NOISE, optimizer=None).fit(X, y)
    model = SpatialRegressor(kernel, features="exact", fit_intercept=False, noise_variance=NOISE, tune=None).fit(X, y)
    mean, sd = model.predict(new, return_std=True)
    expected_mean, expected_sd = gp.predict(new, return_std=True)
    assert_allclose(mean, expected_mean, atol=1e-6)
    assert_allclose(sd, expected_sd, atol=1e-6)
    assert_allclose(model.predict(new, return_cov=True)[1], gp.predict(new, return_cov=True)[1], atol=1e-6)
    assert_allclose(model.log_evidence_, gp.log_marginal_likelihood_value_, atol=1e-6)
    assert model.log_likelihood_ == model.log_evidence_  # there is no trend


@pytest.mark.parametrize("length_scale", [1.0, (1.0, 1.0)], ids=["isotropic", "per-axis"])
def test_optimum_is_at_least_as_high(length_scale):
    X, y, _ = field(200, seed=1)
    start = np.asarray(length_scale)
    bounds = (1e-3, 1e3)
    theirs = sk.ConstantKernel(1.0, bounds) * sk.Matern(start, bounds, nu=1.5) + sk.WhiteKernel(0.1, bounds)
    gp = GaussianProcessRegressor(theirs, n_restarts_optimizer=2, random_state=0).fit(X, y)
    best = gp.log_marginal_likelihood_value_
    parts = {"features": "exact", "fit_intercept": False}
    by_likelihood = SpatialRegressor(Matern(length_scale), tune="likelihood", **parts).fit(X, y)
    assert by_likelihood.log_likelihood_ >= best - 1e-6
    # the evidence has a weak prior on ranges and variances beside it
    by_evidence = SpatialRegressor(Matern(length_scale), **parts).fit(X, y)
    assert by_evidence.log_evidence_ >= best - 1.0


@pytest.mark.parametrize(("kernel", "name"), [(SquaredExponential(0.3), "rbf"), (Laplacian(0.4), "laplacian")])
def test_kernel_ridge(kernel, name):
    X, y, new = field(200)
    gamma = 1 / (2 * 0.3**2) if name == "rbf" else 1 / 0.4
    ridge = KernelRidge(alpha=NOISE, kernel=name, gamma=gamma).fit(X, y)
    model = SpatialRegressor(kernel, features="exact", fit_intercept=False, noise_variance=NOISE, tune=None).fit(X, y)
    assert_allclose(model.predict(new), ridge.predict(new), atol=1e-8)
    # merged rows are sorted: the dual coefficients are the same set
    assert_allclose(np.sort(model.dual_coef_), np.sort(ridge.dual_coef_), atol=1e-8)


@pytest.mark.parametrize("features", ["monte-carlo", "quasi", "orthogonal", "structured"])
@pytest.mark.parametrize("n_frequencies", [40, 150])  # 80 columns for 200 rows, and 300
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_on_fourier_features(features, n_frequencies, fit_intercept):
    """The same waves: a ridge penalty of the noise variance is the posterior mean."""
    X, y, new = field(200)
    parts = {"kernel": Matern(0.4), "features": features, "n_frequencies": n_frequencies, "random_state": 3}
    pipeline = make_pipeline(FourierFeatures(**parts), Ridge(alpha=NOISE, fit_intercept=fit_intercept)).fit(X, y + 2)
    model = SpatialRegressor(**parts, fit_intercept=fit_intercept, noise_variance=NOISE, tune=None).fit(X, y + 2)
    assert_allclose(model.predict(new), pipeline.predict(new), atol=1e-7)
    assert_allclose(model.intercept_, pipeline[-1].intercept_, atol=1e-7)
    # the coordinates are centred inside, which turns each pair of cosine and sine but keeps its length
    ours = model.coef_[int(fit_intercept) :].reshape(2, -1)
    assert_allclose(np.hypot(*ours), np.hypot(*pipeline[-1].coef_.reshape(2, -1)), atol=1e-7)


def test_weighted_ridge():
    X, y, new = field(150)
    weight = np.random.default_rng(1).uniform(0.2, 3, size=150)
    parts = {"kernel": Matern(0.4), "features": "quasi", "n_frequencies": 40}
    phi = FourierFeatures(**parts).fit(X)
    ridge = Ridge(alpha=NOISE).fit(phi.transform(X), y, sample_weight=weight)
    model = SpatialRegressor(**parts, noise_variance=NOISE, tune=None).fit(X, y, sample_weight=weight)
    assert_allclose(model.predict(new), ridge.predict(phi.transform(new)), atol=1e-7)
