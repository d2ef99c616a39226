"""SpatialRegressor with every family: predictions, sizes and offsets, weights, files, scikit-learn's protocol."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import SpatialRegressor, load
from bochner.exceptions import CheckWarning, InputError
from bochner.families import Binomial, NegativeBinomial, Poisson
from bochner.inference.learning import ladder
from bochner.kernels import Matern
from tests.estimators.families import FAMILIES, KERNEL, model_of, survey
from tests.estimators.fields import draw

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


@parametrize_with_checks([SpatialRegressor(Matern(), family="gamma", tune=None)])
def test_scikit_learn_check(estimator, check):
    """Amounts are the one family that the checks' made-up responses suit."""
    check(estimator)


# ------------------------------------------------------------------------- predictions


@every_family
def test_surface_by_the_rows_own_law(family):
    """Mean, sd, interval, quantile and exceedance are those of joint draws, on the response scale."""
    s = survey(family, 60)
    model, new = model_of(family).fit(s.X, s.y, **s.known), survey(family, 12, seed=1).X
    mean, sd = model.predict(new, return_std=True)
    draws = model.sample_y(new, 4000)
    assert draws.shape == (12, 4000)
    # five standard errors
    assert_allclose(draws.mean(axis=1), mean, atol=5 * sd.max() / np.sqrt(4000))
    assert_allclose(draws.std(axis=1), sd, rtol=0.15)
    low, high = model.predict_interval(new, 0.9).T
    assert_allclose(np.mean((low[:, None] <= draws) & (draws <= high[:, None])), 0.9, atol=0.01)
    median = model.predict_quantiles(new, 0.5)
    assert_allclose(model.predict_exceedance(new, median), 0.5, atol=1e-9)
    assert np.all((low < median) & (median < high))
    eta, _ = model.predict_latent(new)
    assert_allclose(family.mean(eta), median, rtol=1e-9)


@every_family
def test_new_observations(family):
    s = survey(family, 60)
    model, new = model_of(family, noise_variance=0.2).fit(s.X, s.y, **s.known), survey(family, 8, seed=1)
    mean, sd = model.predict(new.X, return_std=True, include_noise=True, **new.known)
    draws = model.sample_y(new.X, 6000, include_noise=True, **new.known)
    assert_allclose(draws.mean(axis=1), mean, atol=6 * sd.max() / np.sqrt(6000))
    assert_allclose(draws.std(axis=1), sd, rtol=0.15)
    if family.discrete:
        assert_array_equal(draws, np.round(draws))
        if family.size_name == "trials":
            assert np.all(draws <= new.size[:, None])
    surface = model.predict(new.X, return_std=True, **new.known)
    assert np.all(sd > surface[1])
    low, high = model.predict_interval(new.X, 0.9, include_noise=True, **new.known).T
    inside = np.mean((low[:, None] <= draws) & (draws <= high[:, None]), axis=1)
    # intervals of counts hold at least what they claim
    assert np.all(inside >= 0.88) and (family.discrete or np.all(inside <= 0.92))
    limit = 0.5 if family.binary else 1.5
    above = model.predict_exceedance(new.X, limit, include_noise=True, **new.known)
    assert_allclose(above, np.mean(draws > limit, axis=1), atol=0.04)


@pytest.mark.parametrize("name", ["binomial", "poisson", "negative-binomial"])
def test_sizes_turn_rates_into_counts(name):
    s = survey(FAMILIES[name], 60)
    model = model_of(s.family).fit(s.X, s.y, **s.known)
    rate, sd = model.predict(s.X, return_std=True)
    count, count_sd = model.predict(s.X, return_std=True, **s.known)
    assert_allclose(count, s.size * rate, rtol=1e-10)
    assert_allclose(count_sd, s.size * sd, rtol=1e-9)
    assert_allclose(model.predict_interval(s.X, **s.known), s.size[:, None] * model.predict_interval(s.X), rtol=1e-9)
    known = {s.family.size_name: 7}  # one number for all
    assert_allclose(model.predict(s.X, **known), 7 * rate, rtol=1e-10)


def test_joint_covariance():
    s = survey(FAMILIES["binomial"], 60)
    model = model_of(s.family).fit(s.X, s.y, **s.known)
    mean, covariance = model.predict(s.X[:10], return_cov=True)
    again, sd = model.predict(s.X[:10], return_std=True)
    assert_array_equal(mean, again)
    # 2,000 draws: a variance is known to sqrt(2 / 2000) = 3 %
    assert_allclose(np.sqrt(np.diag(covariance)), sd, rtol=0.1)
    near, far = np.linalg.norm(s.X[:10, None, :2] - s.X[None, :10, :2], axis=2)[0].argsort()[[1, -1]]
    assert covariance[0, near] > covariance[0, far]


# ------------------------------------------------------------------ sizes, offsets, weights


@pytest.mark.parametrize("family", [Poisson(), NegativeBinomial(dispersion=0.5)], ids=lambda f: f.name)
def test_exposure_is_an_offset_on_the_log(family):
    s = survey(family, 60)
    a = model_of(family).fit(s.X, s.y, exposure=s.size)
    b = model_of(family).fit(s.X, s.y, offset=np.log(s.size))
    assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    assert_allclose([a.log_evidence_, a.log_likelihood_], [b.log_evidence_, b.log_likelihood_], rtol=1e-8)
    assert_allclose(a.predict(s.X, exposure=s.size), b.predict(s.X, offset=np.log(s.size)), rtol=1e-6)


@every_family
def test_a_constant_offset_moves_the_intercept(family):
    s = survey(family, 50)
    a, b = model_of(family).fit(s.X, s.y, **s.known), model_of(family).fit(s.X, s.y, offset=1.5, **s.known)
    assert_allclose(b.intercept_, a.intercept_ - 1.5, atol=1e-5)
    assert_allclose(b.predict(s.X, offset=1.5), a.predict(s.X), rtol=1e-6)


@every_family
@pytest.mark.parametrize("features", ["exact", "quasi"])
def test_weights_are_copies(family, features):
    s = survey(family, 40)
    copies = np.arange(40) % 3
    parts = {"features": features, "n_frequencies": 15, "noise_variance": 0.1}
    each = s[np.repeat(np.arange(40), copies)]
    a = model_of(family, **parts).fit(s.X, s.y, sample_weight=copies, **s.known)
    b = model_of(family, **parts).fit(each.X, each.y, **each.known)
    assert_allclose(a.log_evidence_, b.log_evidence_, rtol=1e-9)
    assert_allclose(a.predict(s.X, return_std=True), b.predict(s.X, return_std=True), rtol=1e-6)


def test_copies_of_counts_are_not_their_sum():
    """Ten villages of the same count are ten effects of their own; one village ten times as large is one."""
    s = survey(FAMILIES["binomial"], 40)
    a = model_of(s.family, noise_variance=0.5).fit(s.X, s.y, sample_weight=10, **s.known)
    b = model_of(s.family, noise_variance=0.5).fit(s.X, 10 * s.y, trials=10 * s.size)
    assert a.predict(s.X, return_std=True)[1].mean() < b.predict(s.X, return_std=True)[1].mean()


def test_known_errors_are_on_the_link():
    """A known variance of every row is the same as that much more of the effect of single rows."""
    s = survey(FAMILIES["poisson"], 50)
    a = model_of(s.family, noise_variance=0.1).fit(s.X, s.y, measurement_variance=0.2, **s.known)
    b = model_of(s.family, noise_variance=0.3).fit(s.X, s.y, **s.known)
    assert_allclose(a.log_evidence_, b.log_evidence_, rtol=1e-9)
    assert_allclose(a.predict(s.X, return_std=True), b.predict(s.X, return_std=True), rtol=1e-8)


def test_survey_weights_are_told():
    s = survey(FAMILIES["binomial"], 40)
    weight = np.random.default_rng(0).uniform(0.3, 40, size=40)
    model = model_of(s.family).fit(s.X, s.y, sample_weight=weight, **s.known)
    with pytest.warns(UserWarning, match="survey"):
        (finding,) = model.check()
    assert "stands for k copies of the row" in finding


@pytest.mark.parametrize("weight", [2.0, "some"])
def test_copies_that_leave_no_noise_are_warned_of_at_once(weight):
    """Copies are equal in their response, too: noisy rows given twice are taken for exact."""
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    y = np.sin(5 * X[:, 0]) + 0.4 * rng.standard_normal(120)
    weight = rng.integers(1, 4, 120).astype(float) if weight == "some" else np.full(120, weight)
    with pytest.warns(CheckWarning, match="no noise was learned: a sample_weight of k stands for k copies"):
        model = SpatialRegressor().fit(X, y, sample_weight=weight)
    with pytest.warns(CheckWarning):
        assert any("no noise was learned" in finding for finding in model.check())
    for options, known in (({"noise_variance": 0.16}, {"sample_weight": weight}), ({}, {})):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "no noise was learned", CheckWarning)
            SpatialRegressor(**options).fit(X, y, **known)


def test_precisions_are_warned_of_at_once():
    """Weights of 1/variance make thousands of rows of a few; those that are copies are no alarm."""
    rng = np.random.default_rng(0)
    X, y, model = rng.random((40, 2)), rng.standard_normal(40), SpatialRegressor(Matern(), tune=None)
    with pytest.warns(CheckWarning, match="measurement_variance=1/weight"):
        model.fit(X, y, sample_weight=1 / rng.uniform(0.001, 0.02, 40))
    with pytest.warns(CheckWarning, match="40 rows are taken for 0"):
        model.fit(X, y, sample_weight=1 / rng.uniform(50, 400, 40))
    for weight in (rng.integers(1, 6, 40), np.repeat([0.0, 1.0], 20), None):
        with warnings.catch_warnings():
            warnings.simplefilter("error", CheckWarning)
            model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("weight", "told"), [(2.0, "is 2 in every row"), (0.5, "is 0.5 in every row"), ("fractions", "has fractions")]
)
def test_weights_that_are_no_copies_are_asked_about(weight, told):
    rng = np.random.default_rng(0)
    X, y, model = rng.random((40, 2)), rng.standard_normal(40), SpatialRegressor(Matern(), tune=None)
    weight = rng.uniform(0.7, 1.3, 40) if weight == "fractions" else np.full(40, weight)
    with pytest.warns(CheckWarning, match=f"{told}.*copies of the row.*Did you mean measurement_variance?"):
        model.fit(X, y, sample_weight=weight)
    with pytest.warns(CheckWarning):
        assert any("Did you mean measurement_variance?" in finding for finding in model.check())


# ---------------------------------------------------------------------- what is learned


def test_the_effect_of_single_rows_is_learned_or_said_to_be_none():
    s = survey(FAMILIES["binomial"], 80, iid=0.8)
    model = SpatialRegressor(Matern(), family="binomial", coords=[0, 1], covariates=[2]).fit(s.X, s.y, **s.known)
    assert 0.2 < model.noise_variance_ < 2
    assert "effect of single rows, on the link" in model.summary()
    held = model_of(s.family, noise_variance=0.0, tune="evidence", kernel=Matern()).fit(s.X, s.y, **s.known)
    assert held.noise_variance_ == 0
    presence = survey(FAMILIES["bernoulli"], 60)
    one = model_of("binomial", noise_variance=None).fit(presence.X, presence.y)
    assert one.noise_variance_ == one.choices_["noise"].value == 0
    amounts = survey(FAMILIES["gamma"], 60)
    gamma = model_of("gamma", noise_variance=None).fit(amounts.X, amounts.y)
    assert gamma.noise_variance_ == gamma.choices_["noise"].value == 0


@pytest.mark.slow
def test_no_effect_of_single_rows_is_an_answer():
    """Counts that scatter as chance would have them: nothing is wrong, and the summary says what was found."""
    s = survey(FAMILIES["poisson"], 80)
    model = SpatialRegressor(Matern(), family="poisson", coords=[0, 1], covariates=[2], tune="likelihood")
    assert model.fit(s.X, s.y, **s.known).noise_variance_ < 1e-3
    assert model.check() == []
    assert model.choices_["noise"].value == model.noise_variance_


@pytest.mark.parametrize("name", ["negative-binomial", "gamma"])
def test_dispersion_is_learned(name):
    s = survey(FAMILIES[name], 200)
    model = model_of(name).fit(s.X, s.y, **s.known)
    assert_allclose(model.family_.dispersion, FAMILIES[name].dispersion, rtol=0.4)
    assert model.choices_["dispersion"].value == model.family_.dispersion and not model.choices_["dispersion"].given
    assert f"dispersion      {model.family_.dispersion:.4g}" in model.summary()
    held = model_of(FAMILIES[name]).fit(s.X, s.y, **s.known)
    assert held.family_ == FAMILIES[name] and "dispersion" not in held.choices_


@pytest.mark.parametrize("tune", ["evidence", "likelihood", "spatial-cv", KFold(4)], ids=str)
def test_tuning(tune):
    s = survey(FAMILIES["poisson"], 60)
    model = model_of(s.family, tune=tune, kernel=Matern()).fit(s.X, s.y, **s.known)
    assert model.choices_["tuning"].value == ("exact" if tune in ("evidence", "likelihood") else "held-out blocks")
    assert 0.05 < model.kernel_.length_scale < 3
    assert_allclose(model.coef_, [0.3, 0.5], atol=1.2)
    assert model.log_likelihood_ > model_of(s.family, kernel=Matern(0.01, 5.0)).fit(s.X, s.y, **s.known).log_likelihood_


def test_likelihood_is_above_its_value_at_any_other_kernel():
    s = survey(FAMILIES["binomial"], 60)
    best = model_of(s.family, tune="likelihood").fit(s.X, s.y, **s.known)
    for factor in (0.7, 1.4):
        kernel = best.kernel_.replace(length_scale=factor * best.kernel_.length_scale)
        near = model_of(s.family, kernel=kernel).fit(s.X, s.y, **s.known)
        assert near.log_likelihood_ < best.log_likelihood_ + 1e-6


@pytest.mark.slow
def test_likelihood_of_many_rows_is_that_of_all_of_them(monkeypatch):
    """A climb that begins on parts of the rows ends at the same maximum, trend and value included."""
    s = survey(FAMILIES["poisson"], 150)
    whole = model_of(s.family, tune="likelihood", kernel=Matern()).fit(s.X, s.y, **s.known)
    monkeypatch.setattr(ladder, "exact_rows", lambda *, gaussian: 100)
    parts = model_of(s.family, tune="likelihood", kernel=Matern()).fit(s.X, s.y, **s.known)
    assert parts.choices_["tuning"].value == "exact"
    assert_allclose(parts.log_likelihood_, whole.log_likelihood_, atol=1e-4)
    assert_allclose(parts.kernel_.theta, whole.kernel_.theta, atol=1e-2)
    assert_allclose(parts.coef_, whole.coef_, atol=1e-3)


@pytest.mark.slow
def test_a_small_field_behind_small_counts_is_found():
    """Chance makes up most of the scatter of rare cases; a dispersion must not be mistaken for the field."""
    rng = np.random.default_rng(6)
    X, people = rng.uniform(size=(120, 2)), np.exp(rng.normal(1.5, 1.0, 120))
    y = rng.poisson(people * np.exp(0.3 * draw(Matern(0.1, nu=0.5), X, rng)[0])).astype(float)
    poisson, scattered = (
        SpatialRegressor(Matern(nu=0.5), family=family, noise_variance=0, tune="likelihood").fit(X, y, exposure=people)
        for family in ("poisson", "negative-binomial")
    )
    # the Poisson is a negative binomial without dispersion, so it cannot be more likely
    assert scattered.log_likelihood_ > poisson.log_likelihood_ - 0.01


# ----------------------------------------------------------------------- coverage


@pytest.mark.parametrize("name", ["binomial", "poisson"])
def test_coverage_of_the_latent_surface(name):
    """Known hyperparameters: what is left is Laplace's approximation. `benchmarks/coverage_families.py` learns all."""
    inside, effects = [], []
    for seed in range(8):
        s = survey(FAMILIES[name], 200, seed=seed, iid=0.1)
        model = model_of(s.family, noise_variance=0.1).fit(s.X[:120], s.y[:120], **s[:120].known)
        low, high = model.predict_interval(s.X[120:]).T
        truth = s.family.mean(s.eta[120:])
        inside.append(np.mean((low <= truth) & (truth <= high)))
        effects.append(model.coef_[1])
    # 8 fields of 80 places that are alike: the mean is known to about .01
    assert 0.92 <= np.mean(inside) <= 0.98
    assert_allclose(np.mean(effects), 0.5, atol=3 * np.std(effects, ddof=1) / np.sqrt(8))


# --------------------------------------------------------------------- files and protocol


@every_family
def test_saved_and_loaded(family, tmp_path):
    s = survey(family, 40)
    model = model_of(family.replace(dispersion=None) if family.has_dispersion else family).fit(s.X, s.y, **s.known)
    model.save(tmp_path / "counts.bochner")
    again = load(tmp_path / "counts.bochner")
    assert again.family_ == model.family_ and again.get_params()["family"] == model.get_params()["family"]
    for include_noise in (False, True):
        assert_array_equal(
            again.predict_interval(s.X, include_noise=include_noise, **s.known),
            model.predict_interval(s.X, include_noise=include_noise, **s.known),
        )
    assert again.summary() == model.summary()
    with pytest.raises(InputError, match="needs the training rows"):
        again.sample_full(s.X, 10)


@every_family
def test_pickled_and_cloned(family):
    s = survey(family, 40)
    model = model_of(family).fit(s.X, s.y, **s.known)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(s.X), model.predict(s.X))
    copy = clone(model)
    assert copy.get_params()["family"] == family and not hasattr(copy, "family_")
    assert_array_equal(copy.fit(s.X, s.y, **s.known).predict(s.X), model.predict(s.X))


def test_searches_and_pipelines_pass_sizes_on():
    s = survey(FAMILIES["binomial"], 90)
    model = model_of("binomial", kernel=KERNEL)
    grid = {"kernel__length_scale": [0.002, 0.3], "family": ["binomial", Binomial("probit")]}

    def prevalence_error(estimator, X, y):
        return -float(np.mean(np.abs(estimator.predict(X) - y / 15)))

    search = GridSearchCV(model, grid, cv=3, scoring=prevalence_error).fit(s.X, s.y, trials=s.size)
    assert search.best_params_["kernel__length_scale"] == 0.3
    pipeline = make_pipeline(FunctionTransformer(), model).fit(s.X, s.y, spatialregressor__trials=s.size)
    assert_array_equal(pipeline.predict(s.X), model.fit(s.X, s.y, trials=s.size).predict(s.X))
    scores = cross_val_score(model_of("poisson"), s.X, s.y, cv=3)
    assert scores.shape == (3,) and np.all(np.isfinite(scores))


@every_family
def test_score_is_r_squared_of_the_counts(family):
    s = survey(family, 60)
    model = model_of(family).fit(s.X, s.y, **s.known)
    mean = model.predict(s.X, **s.known)
    expected = 1 - np.mean((s.y - mean) ** 2) / np.var(s.y)
    assert_allclose(model.score(s.X, s.y, **s.known), expected)


@every_family
@pytest.mark.parametrize("features", ["nystroem", "lattice"])
def test_other_features_agree_with_the_exact_kernel(family, features):
    s = survey(family, 120)
    parts = {"noise_variance": 0.05, "n_frequencies": 100 if features == "nystroem" else 400}
    exact = model_of(family, features="exact", noise_variance=0.05).fit(s.X, s.y, **s.known)
    model = model_of(family, features=features, **parts).fit(s.X, s.y, **s.known)
    new = survey(family, 30, seed=1).X * (0.9, 0.9, 1.0)
    a, b = exact.predict_latent(new), model.predict_latent(new)
    assert np.sqrt(np.mean((a[0] - b[0]) ** 2)) < 0.1 * np.sqrt(np.mean(a[1] ** 2))
    assert_allclose(b[1], a[1], rtol=0.15)


# ---------------------------------------------------------------------------- sampler


@pytest.mark.parametrize("name", ["binomial", "poisson", "gamma"])
@pytest.mark.parametrize("features", ["exact", "quasi"])
def test_sampler_agrees_with_laplace_where_rows_tell_much(name, features):
    s = survey(FAMILIES[name], 40)
    parts = {"features": features, "n_frequencies": 20, "noise_variance": 0.1}
    model = model_of(s.family, **parts).fit(s.X, s.y, **s.known)
    new = survey(s.family, 10, seed=1).X
    draws, chain = model.sample_full(new, 400)
    assert draws.shape == (10, 400) and chain.draws.shape == (400, 10)
    assert 100 < chain.effective and chain.n_evaluations < 4
    mean, sd = model.predict_latent(new)
    # about 200 independent draws tell a mean to 0.07 sd, a sd to 5 %
    assert np.all(np.abs(chain.draws.mean(axis=0) - mean) < 0.4 * sd)
    assert_allclose(chain.draws.std(axis=0), sd, rtol=0.35)
    assert_allclose(draws, s.family.mean(chain.draws).T)


@pytest.mark.slow
def test_sampler_is_exact_where_laplace_is_not():
    """One row of a Bernoulli: the full posterior by quadrature, which is skewed."""
    X, kernel = np.array([[0.0, 0.0]]), Matern(1.0, 4.0)
    model = SpatialRegressor(kernel, family="bernoulli", tune=None, fit_intercept=False, noise_variance=0)
    model.fit(X, [1.0])
    grid = np.linspace(-12, 16, 8001)
    density = np.exp(-(grid**2) / 8) / (1 + np.exp(-grid))
    expected = np.sum(grid * density) / np.sum(density)
    _, chain = model.sample_full(X, 4000)
    spread = chain.draws.std()
    assert_allclose(chain.draws.mean(), expected, atol=5 * spread / np.sqrt(chain.effective))
    assert abs(model.predict_latent(X)[0][0] - expected) > 5 * spread / np.sqrt(chain.effective)


def test_sampler_needs_whole_weights_and_other_families():
    s = survey(FAMILIES["poisson"], 30)
    model = model_of(s.family).fit(s.X, s.y, sample_weight=1.5, **s.known)
    with pytest.raises(InputError, match="whole sample weights"):
        model.sample_full(s.X, 10)
    gaussian = model_of("gaussian", noise_variance=0.1).fit(s.X, s.y)
    with pytest.raises(InputError, match="their posterior is exact already; use sample_y"):
        gaussian.sample_full(s.X, 10)
