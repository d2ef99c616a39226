"""Agreement with statsmodels and scikit-learn: generalised linear models, and Laplace classification."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as theirs
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor

from bochner import SpatialClassifier, SpatialRegressor
from bochner.families import Bernoulli, Binomial, Gamma, NegativeBinomial, Poisson
from bochner.kernels import Matern, SquaredExponential

NO_FIELD = Matern(0.5, 1e-9)  # what is left of the model is its trend
N = 300


def survey() -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Places with two covariates of different size, and a linear predictor."""
    rng = np.random.default_rng(4)
    coords, covariates = rng.uniform(size=(N, 2)), rng.normal(size=(N, 2)) * (1.0, 30.0) + (0.0, 100.0)
    return np.column_stack([coords, covariates]), covariates @ (0.6, 0.01) - 1.2, rng


def fitted(family, X, y, features="exact", **given) -> SpatialRegressor:
    model = SpatialRegressor(
        NO_FIELD,
        family=family,
        features=features,
        n_frequencies=20 if features == "quasi" else "auto",
        coords=[0, 1],
        covariates=[2, 3],
        noise_variance=0,
        tune=None,
    )
    return model.fit(X, y, **given)


def standard_errors(model: SpatialRegressor) -> np.ndarray:
    return np.sqrt(np.diag(model.fitted_.fixed_effects[1]))


def cases() -> dict:
    """Family, responses, what fit takes beside them, and the same model in statsmodels."""
    X, eta, rng = survey()
    design = sm.add_constant(X[:, 2:])
    trials, exposure = rng.integers(1, 20, N).astype(float), rng.uniform(0.5, 10, N)
    offset = rng.normal(size=N) / 2
    p = 1 / (1 + np.exp(-eta))
    counts, presence = rng.binomial(trials.astype(int), p).astype(float), rng.binomial(1, p).astype(float)
    cases_ = rng.poisson(exposure * np.exp(eta)).astype(float)
    shifted = rng.poisson(np.exp(eta + offset)).astype(float)
    scattered = NegativeBinomial(dispersion=0.7).draw(eta, exposure, rng)
    amounts = Gamma(dispersion=0.4).draw(eta, np.ones(N), rng)
    out_of = np.column_stack([counts, trials - counts])
    f = sm.families
    return {
        "binomial": (Binomial(), counts, {"trials": trials}, sm.GLM(out_of, design, f.Binomial())),
        "binomial-probit": (
            Binomial("probit"),
            counts,
            {"trials": trials},
            sm.GLM(out_of, design, f.Binomial(f.links.Probit())),
        ),
        "bernoulli": (Bernoulli(), presence, {}, sm.GLM(presence, design, f.Binomial())),
        "poisson": (Poisson(), cases_, {"exposure": exposure}, sm.GLM(cases_, design, f.Poisson(), exposure=exposure)),
        "poisson-offset": (Poisson(), shifted, {"offset": offset}, sm.GLM(shifted, design, f.Poisson(), offset=offset)),
        "weights": (
            Poisson(),
            cases_,
            {"exposure": exposure, "sample_weight": trials},
            sm.GLM(cases_, design, f.Poisson(), exposure=exposure, freq_weights=trials),
        ),
        "negative-binomial": (
            NegativeBinomial(dispersion=0.7),
            scattered,
            {"exposure": exposure},
            sm.GLM(scattered, design, f.NegativeBinomial(alpha=0.7), exposure=exposure),
        ),
        "gamma": (Gamma(dispersion=0.4), amounts, {}, sm.GLM(amounts, design, f.Gamma(f.links.Log()))),
    }


CASES = cases()
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every_case
@pytest.mark.parametrize("features", ["exact", "quasi"])
def test_without_a_field_it_is_a_generalised_linear_model(case, features):
    family, y, given, glm = case
    reference = glm.fit(scale=family.dispersion if family.name == "gamma" else None, tol=1e-12)
    X = survey()[0]
    model = fitted(family, X, y, features, **given)
    assert_allclose(model.coef_[:3], reference.params, rtol=1e-5)
    # statsmodels has the expected information, which for these two is not the observed one
    expected = {"negative-binomial", "gamma"} & {family.name} or family.link == "probit"
    assert_allclose(standard_errors(model), reference.bse, rtol=0.1 if expected else 1e-5)
    if features == "exact":
        assert_allclose(model.log_likelihood_, reference.llf, rtol=1e-7)
        size = 1.0 if "trials" in given else given.get("exposure", 1.0)
        # the median of a mean: `predict` averages over what is not known of the coefficients, a plug-in does not
        rate = model.predict_quantiles(X, 0.5, offset=given.get("offset"))
        assert_allclose(rate, reference.fittedvalues / size, rtol=1e-4)


@pytest.mark.parametrize("name", ["binomial-probit", "negative-binomial", "gamma"])
def test_standard_errors_are_those_of_the_observed_information(name):
    family, y, given, glm = CASES[name]
    scale = family.dispersion if family.name == "gamma" else 1.0
    reference = glm.fit(scale=scale if family.name == "gamma" else None, tol=1e-12)
    information = -glm.hessian(reference.params, scale=scale, observed=True)
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    assert_allclose(standard_errors(fitted(family, survey()[0], y, **given)), expected, rtol=1e-4)


def test_dispersion_of_the_negative_binomial_is_that_of_its_likelihood():
    """statsmodels' maximum likelihood against ours; the evidence integrates three coefficients out beside it."""
    _, y, given, _ = CASES["negative-binomial"]
    X = survey()[0]
    design = sm.add_constant(X[:, 2:])
    reference = sm.NegativeBinomial(y, design, exposure=given["exposure"]).fit(disp=False, maxiter=500)
    model = fitted(NegativeBinomial(), X, y, **given)
    assert_allclose(model.family_.dispersion, reference.params[-1], rtol=0.06)
    likely = fitted(NegativeBinomial(dispersion=reference.params[-1]), X, y, **given)
    assert_allclose(likely.log_likelihood_, reference.llf, rtol=1e-6)
    assert_allclose(likely.coef_[:3], reference.params[:3], rtol=1e-3)
    for factor in (0.9, 1.1):
        other = fitted(NegativeBinomial(dispersion=factor * reference.params[-1]), X, y, **given)
        assert other.log_likelihood_ < likely.log_likelihood_


def test_scikit_learn_generalised_linear_models():
    X = survey()[0]
    covariates = (X[:, 2:] - X[:, 2:].mean(axis=0)) / X[:, 2:].std(axis=0)
    scaled = np.column_stack([X[:, :2], covariates])
    settings = {"alpha": 0, "tol": 1e-10, "max_iter": 10_000}
    presence, counts, amounts = (CASES[name][1] for name in ("bernoulli", "poisson-offset", "gamma"))
    for family, y, reference in (
        (Bernoulli(), presence, LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)),
        (Poisson(), counts, PoissonRegressor(**settings)),
        (Gamma(dispersion=0.4), amounts, GammaRegressor(**settings)),
    ):
        reference.fit(covariates, y)
        expected = np.r_[np.ravel(reference.intercept_), np.ravel(reference.coef_)]
        assert_allclose(fitted(family, scaled, y).coef_, expected, atol=1e-4)


# --------------------------------------------------------------------------- Laplace's approximation


@pytest.fixture(scope="module")
def presence() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    eta = 2 * np.sin(6 * X[:, 0]) * np.cos(5 * X[:, 1])
    return X, (rng.uniform(size=300) < 1 / (1 + np.exp(-eta))).astype(int), rng.uniform(size=(100, 2))


@pytest.mark.parametrize(
    ("ours", "kernel"),
    [
        (SquaredExponential(0.3, 2.0), theirs.ConstantKernel(2.0) * theirs.RBF(0.3)),
        (Matern(0.4, 3.0, nu=1.5), theirs.ConstantKernel(3.0) * theirs.Matern(0.4, nu=1.5)),
    ],
    ids=["squared-exponential", "matern"],
)
def test_gaussian_process_classifier(presence, ours, kernel):
    """The same approximation; their average of the logistic over the latent Gaussian has five error functions."""
    X, y, new = presence
    reference = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    model = SpatialClassifier(ours, features="exact", tune=None, fit_intercept=False).fit(X, y)
    (own,) = model.models_
    assert_allclose(own.log_likelihood_, reference.log_marginal_likelihood_value_, rtol=1e-8)
    assert_allclose(own.log_evidence_, reference.log_marginal_likelihood_value_, rtol=1e-8)
    if hasattr(reference, "latent_mean_and_variance"):  # scikit-learn 1.7 and later
        mean, variance = reference.latent_mean_and_variance(new)
        assert_allclose(own.predict_latent(new)[0], mean, atol=1e-4)
        assert_allclose(own.predict_latent(new)[1], np.sqrt(variance), rtol=1e-4)
    assert_allclose(model.predict_proba(new), reference.predict_proba(new), atol=2e-3)
    assert np.array_equal(model.predict(new), reference.predict(new))


def test_gaussian_process_classifier_learns_the_same_kernel(presence):
    X, y = (part[:150] for part in presence[:2])
    kernel = theirs.ConstantKernel(2.0, (1e-2, 1e2)) * theirs.RBF(0.2, (0.05, 3.0))
    reference = GaussianProcessClassifier(kernel).fit(X, y)
    model = SpatialRegressor(
        SquaredExponential(), family="bernoulli", features="exact", tune="likelihood", fit_intercept=False
    ).fit(X, y)
    assert_allclose(model.log_likelihood_, reference.log_marginal_likelihood_value_, atol=1e-3)
    assert_allclose(model.kernel_.length_scale, reference.kernel_.k2.length_scale, rtol=0.02)
