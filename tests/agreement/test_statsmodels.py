"""Agreement with statsmodels and numpy: fixed effects by generalised and ordinary least squares."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

from bochner import FourierFeatures, SpatialRegressor
from bochner.kernels import Matern

KERNEL, NOISE = Matern(0.4, 1.5), 0.2


@pytest.fixture
def survey():
    """Places, two covariates of very different size, and a response that follows them."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(120, 2))
    covariates = np.column_stack([1000 + 300 * rng.normal(size=120), 1e-3 * rng.normal(size=120)])
    y = 3 + 0.002 * covariates[:, 0] - 500 * covariates[:, 1] + np.sin(5 * coords[:, 0]) + 0.4 * rng.normal(size=120)
    return coords, covariates, y


def standard_errors(model: SpatialRegressor) -> np.ndarray:
    return np.sqrt(np.diag(model.fitted_.fixed_effects[1]))


def fitted(survey, **parts) -> SpatialRegressor:
    coords, covariates, y = survey
    return SpatialRegressor(KERNEL, covariates=[2, 3], tune=None, **parts).fit(np.column_stack([coords, covariates]), y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_generalised_least_squares(survey, fit_intercept):
    coords, covariates, y = survey
    design = sm.add_constant(covariates) if fit_intercept else covariates
    theirs = sm.GLS(y, design, sigma=KERNEL(coords) + NOISE * np.eye(len(y))).fit(cov_type="fixed scale")
    model = fitted(survey, features="exact", noise_variance=NOISE, fit_intercept=fit_intercept)
    assert_allclose(model.coef_, theirs.params, rtol=1e-7)
    assert_allclose(standard_errors(model), theirs.bse, rtol=1e-7)
    assert model.intercept_ == (model.coef_[0] if fit_intercept else 0.0)


def test_generalised_least_squares_with_known_errors(survey):
    coords, covariates, y = survey
    error = np.random.default_rng(1).uniform(0, 0.5, size=len(y))
    sigma = KERNEL(coords) + np.diag(NOISE + error)
    theirs = sm.GLS(y, sm.add_constant(covariates), sigma=sigma).fit(cov_type="fixed scale")
    model = SpatialRegressor(KERNEL, covariates=[2, 3], noise_variance=NOISE, tune=None)
    model.fit(np.column_stack([coords, covariates]), y, measurement_variance=error)
    assert_allclose(model.coef_, theirs.params, rtol=1e-7)
    assert_allclose(standard_errors(model), theirs.bse, rtol=1e-7)


def test_features_as_random_effects(survey):
    """Fixed effects of a feature model are generalised least squares with sigma = Phi Phi' + noise."""
    coords, covariates, y = survey
    phi = FourierFeatures(KERNEL, n_frequencies=30).fit_transform(coords)
    theirs = sm.GLS(y, sm.add_constant(covariates), sigma=phi @ phi.T + NOISE * np.eye(len(y)))
    theirs = theirs.fit(cov_type="fixed scale")
    model = fitted(survey, features="quasi", n_frequencies=30, noise_variance=NOISE)
    assert_allclose(model.coef_[:3], theirs.params, rtol=1e-7)
    assert_allclose(standard_errors(model), theirs.bse, rtol=1e-7)


def test_ordinary_least_squares(survey):
    """noise_variance=0 without tuning: every column is a fixed effect, the noise is the residuals'."""
    coords, covariates, y = survey
    phi = FourierFeatures(KERNEL, n_frequencies=8).fit_transform(coords)
    theirs = sm.OLS(y, np.column_stack([sm.add_constant(covariates), phi])).fit()
    model = fitted(survey, features="quasi", n_frequencies=8, noise_variance=0)
    assert_allclose(model.coef_[:3], theirs.params[:3], rtol=1e-5)
    assert_allclose(standard_errors(model), theirs.bse[:3], rtol=1e-5)
    assert_allclose(model.noise_variance_, theirs.scale, rtol=1e-7)
    assert model.choices_["solver"].value == "least squares"


@pytest.mark.parametrize("n_frequencies", [20, 200])
def test_least_squares_without_a_trend_is_numpy_s(survey, n_frequencies):
    """Also when columns outnumber rows: the minimum-norm answer."""
    coords, _, y = survey
    model = SpatialRegressor(
        Matern(0.05), features="quasi", n_frequencies=n_frequencies, noise_variance=0, tune=None, fit_intercept=False
    ).fit(coords, y)
    new = np.random.default_rng(2).uniform(size=(20, 2))
    phi = FourierFeatures(Matern(0.05), n_frequencies=n_frequencies).fit(coords)
    coef, _, rank, _ = np.linalg.lstsq(phi.transform(coords), y, rcond=None)
    assert_allclose(model.predict(new), phi.transform(new) @ coef, atol=1e-6)
    assert model.fitted_.model.posterior.factor.rank == rank


def test_least_squares_of_repeated_places_counts_every_row(survey):
    """Conflicting values at one place are residuals: merging the rows must not lose them."""
    coords, _, y = survey
    places = np.repeat(coords[:40], 3, axis=0)
    phi = FourierFeatures(KERNEL, n_frequencies=5).fit_transform(places)
    theirs = sm.OLS(y, sm.add_constant(phi, has_constant="add")).fit()
    model = SpatialRegressor(KERNEL, features="quasi", n_frequencies=5, noise_variance=0, tune=None).fit(places, y)
    assert_allclose(model.predict(places), theirs.fittedvalues, rtol=1e-6)
    assert_allclose(model.noise_variance_, theirs.scale, rtol=1e-6)
