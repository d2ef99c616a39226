"""Predictions: means, sd, intervals, probabilities and draws, all of one law."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from bochner import SpatialRegressor
from bochner.kernels import Laplacian, Matern, Polynomial, RationalQuadratic, SquaredExponential
from tests.estimators.fields import KINDS, field, new_places

every_name = pytest.mark.parametrize("kind", KINDS)
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
with_and_without_noise = pytest.mark.parametrize("include_noise", [False, True], ids=["surface", "observation"])


@cache
def fitted(kind: str) -> SpatialRegressor:
    """A model of each kind, of the same rows for all tests that only ask it."""
    return KINDS[kind]().fit(*field())


def fixed(kernel=None, **more) -> SpatialRegressor:
    return SpatialRegressor(kernel or Matern(0.4), tune=None, **{"noise_variance": 0.05, **more})


# ------------------------------------------------------------------------------- one law


@every_name
@with_and_without_noise
def test_sd_is_the_root_of_the_covariance_s_diagonal(kind, include_noise):
    model, new = fitted(kind), new_places()
    mean, sd = model.predict(new, return_std=True, include_noise=include_noise)
    same, covariance = model.predict(new, return_cov=True, include_noise=include_noise)
    assert_allclose(model.predict(new), mean, rtol=1e-13)
    assert_allclose(same, mean, rtol=1e-12)
    assert_allclose(np.sqrt(np.diag(covariance)), sd, rtol=1e-7)
    assert_allclose(covariance, covariance.T, atol=1e-10)
    assert np.linalg.eigvalsh(covariance).min() >= -1e-9 * np.trace(covariance)


@every_name
def test_noise_adds_its_variance(kind):
    model, new = fitted(kind), new_places()
    latent, noisy = (model.predict(new, return_std=True, include_noise=noise)[1] for noise in (False, True))
    mixture = model.fitted_.model.mixture
    assert_allclose(noisy**2 - latent**2, mixture.mass @ mixture.noise_variance, rtol=1e-7)
    assert_allclose(mixture.noise_variance[0], model.noise_variance_)


@every_name
@with_and_without_noise
def test_intervals_quantiles_and_exceedance_agree(kind, include_noise):
    model, new, noise = fitted(kind), new_places(), {"include_noise": include_noise}
    q = [0.025, 0.5, 0.9, 0.975]
    quantiles = model.predict_quantiles(new, q, **noise)
    assert quantiles.shape == (20, 4) and np.all(np.diff(quantiles, axis=1) >= 0)
    assert_allclose(model.predict_interval(new, 0.95, **noise), quantiles[:, [0, 3]], rtol=1e-12)
    assert_array_equal(model.predict_quantiles(new, 0.5, **noise), quantiles[:, 1])
    for level, column in zip(q, quantiles.T, strict=True):
        assert_allclose(model.predict_exceedance(new, column, **noise), 1 - level, atol=1e-9)
    if len(model.fitted_.model.mixture.mass) == 1:
        mean, sd = model.predict(new, return_std=True, **noise)
        assert_allclose(quantiles, mean[:, None] + stats.norm.ppf(q) * sd[:, None], rtol=1e-10)
        assert_allclose(model.predict_exceedance(new, 1.0, **noise), stats.norm.sf(1.0, mean, sd), atol=1e-12)


@every_name
@with_and_without_noise
def test_draws_have_the_mean_and_covariance(kind, include_noise):
    model, new, n = fitted(kind), new_places(8), 4000
    draws = model.sample_y(new, n, random_state=1, include_noise=include_noise)
    assert draws.shape == (8, n)
    mean, covariance = model.predict(new, return_cov=True, include_noise=include_noise)
    sd = np.sqrt(np.diag(covariance))
    # a mixture of Gaussians with different variances has a kurtosis of at most about twice a Gaussian's here
    assert np.all(np.abs(draws.mean(axis=1) - mean) <= 6 * sd / np.sqrt(n))
    error = np.sqrt((np.outer(sd, sd) ** 2 + covariance**2) / n)
    assert np.all(np.abs(np.cov(draws) - covariance) <= 9 * error)
    # and the share of draws above a threshold is the exceedance probability: a binomial with sd at most 1 / sqrt(4n)
    share = np.mean(draws > mean[:, None] + 0.5 * sd[:, None], axis=1)
    expected = model.predict_exceedance(new, mean + 0.5 * sd, include_noise=include_noise)
    assert_allclose(share, expected, atol=6 / np.sqrt(4 * n))


def test_draws_follow_their_seed():
    X, y = field()
    model = fixed().fit(X, y)
    assert_array_equal(model.sample_y(X, 3, random_state=4), model.sample_y(X, 3, random_state=4))
    assert not np.array_equal(model.sample_y(X, 3, random_state=4), model.sample_y(X, 3, random_state=5))


def test_nystroem_draws_at_many_places_keep_their_variance():
    """Beyond 2,000 places the missing part is drawn place by place: the variance stays right."""
    X, y = field()
    model, new, n = KINDS["nystroem"]().fit(X, y), new_places(2_100), 400
    draws = model.sample_y(new, n)
    sd = model.predict(new, return_std=True)[1]
    # the mean square of n draws has relative error sqrt(2 / n); averaged over many places much less
    assert_allclose(np.mean(draws.var(axis=1) / sd**2), 1.0, atol=0.03)


@every_name
def test_parts_predict_as_the_whole(kind):
    model, new = fitted(kind), new_places(31)
    mean, sd = model.predict(new, return_std=True)
    parts = [model.predict(part, return_std=True) for part in (new[:1], new[1:20], new[20:])]
    assert_allclose(np.concatenate([m for m, _ in parts]), mean, rtol=1e-9)
    assert_allclose(np.concatenate([s for _, s in parts]), sd, rtol=1e-7)


# --------------------------------------------------------------- weights, errors, offsets


@every_kind
def test_weights_are_copies_and_zero_is_absence(make):
    X, y = field()
    copies = np.arange(60) % 3
    index = np.repeat(np.arange(60), copies)
    weighted, repeated = make().fit(X, y, sample_weight=copies), make().fit(X[index], y[index])
    new = new_places()
    # learned hyperparameters agree to the optimiser's tolerance
    rtol = 1e-9 if weighted.tune is None else 1e-5
    for include_noise in (False, True):
        a, b = (m.predict(new, return_std=True, include_noise=include_noise) for m in (weighted, repeated))
        assert_allclose(a[0], b[0], rtol=rtol)
        assert_allclose(a[1], b[1], rtol=rtol)
    if make is not KINDS["least-squares"]:
        assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-8)
        assert_allclose(weighted.log_likelihood_, repeated.log_likelihood_, rtol=1e-8)


@every_kind
def test_conflicting_values_at_a_place_break_nothing(make):
    """Copies of a location with other values: their mean is fitted, their scatter is noise."""
    X, y = field(30)
    rng = np.random.default_rng(1)
    doubled, values = np.r_[X, X, X[:5]], np.r_[y, y + 0.3 * rng.normal(size=30), y[:5] + 1.0]
    model = make().fit(doubled, values)
    mean, sd = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean)) and np.all(sd > 0)
    order = rng.permutation(65)
    again = make().fit(doubled[order], values[order])
    assert_allclose(again.predict(X), mean, rtol=1e-5 if model.tune else 1e-9)


@pytest.mark.parametrize("features", ["exact", "quasi", "nystroem"])
def test_measurement_variance_is_noise_that_is_known(features):
    X, y = field()
    new, parts = new_places(), {"features": features, "n_frequencies": 30}
    constant = fixed(noise_variance=0.02, **parts).fit(X, y, measurement_variance=0.03)
    assert_allclose(constant.predict(new), fixed(noise_variance=0.05, **parts).fit(X, y).predict(new), rtol=1e-9)
    assert constant.noise_variance_ == 0.02  # of a new observation, measured without that error
    # an observation of enormous error is as good as absent
    error = np.where(np.arange(60) < 20, 1e9, 0.0)
    vague, absent = fixed(**parts).fit(X, y, measurement_variance=error), fixed(**parts)
    if features == "nystroem":  # the landmarks are chosen among all places
        return
    assert_allclose(vague.predict(new), absent.fit(X[20:], y[20:]).predict(new), atol=1e-4)


@pytest.mark.parametrize("features", ["exact", "quasi", "nystroem"])
def test_known_errors_alone_can_be_all_the_noise(features):
    """noise_variance=0 with known errors is no least squares: the prior and the errors stay."""
    X, y = field()
    parts = {"features": features, "n_frequencies": 30}
    model = fixed(noise_variance=0, **parts).fit(X, y, measurement_variance=0.05)
    assert_allclose(model.predict(X), fixed(noise_variance=0.05, **parts).fit(X, y).predict(X), rtol=1e-8)


def test_learned_noise_leaves_out_what_is_known():
    X, _ = field(300)
    rng = np.random.default_rng(2)
    error = rng.uniform(0, 0.5, size=300)
    y = np.sin(5 * X[:, 0]) + np.sqrt(0.04 + error) * rng.normal(size=300)
    model = SpatialRegressor(Matern(nu=2.5)).fit(X, y, measurement_variance=error)
    # the noise variance from about 300 residuals, half of whose variance is the known error's: se about .02
    assert_allclose(model.noise_variance_, 0.04, atol=0.05)
    assert model.noise_variance_ < SpatialRegressor(Matern(nu=2.5)).fit(X, y).noise_variance_ / 2


@every_name
def test_offset_is_a_known_part(kind):
    X, y = field()
    offset = 100 + X[:, 0] ** 2
    new = new_places()
    shifted, plain = KINDS[kind]().fit(X, y + offset, offset=offset), fitted(kind)
    rtol = 1e-9 if plain.tune is None else 1e-5
    assert_allclose(shifted.predict(new), plain.predict(new), rtol=rtol)
    assert_allclose(shifted.predict(new, offset=5.0), plain.predict(new) + 5.0, rtol=rtol)
    step = np.arange(20.0)
    assert_allclose(shifted.predict_interval(new, offset=step), plain.predict_interval(new) + step[:, None], rtol=rtol)
    assert_allclose(
        shifted.predict_exceedance(new, 2.0 + step, offset=step), plain.predict_exceedance(new, 2.0), atol=rtol
    )
    if plain.tune is None:
        assert_allclose(shifted.sample_y(new, 2, offset=step), plain.sample_y(new, 2) + step[:, None], rtol=1e-6)
    assert_allclose(shifted.predict(new, return_cov=True, offset=step)[0], plain.predict(new) + step, rtol=rtol)


@every_name
def test_level_of_the_response_costs_no_digits(kind):
    """A response far from zero, as elevations or years are, gives the same surface."""
    X, y = field()
    high, plain = KINDS[kind]().fit(X, y + 1e6), fitted(kind)
    new = new_places()
    assert_allclose(high.predict(new) - 1e6, plain.predict(new), atol=1e-5)
    assert_allclose(high.intercept_ - 1e6, plain.intercept_, atol=1e-5)
    assert_allclose(high.log_evidence_, plain.log_evidence_, atol=1e-4)


@every_name
@pytest.mark.parametrize(("factor", "shift"), [(1e3, 0.0), (1e-3, 0.0), (1.0, 1e4)])
def test_units_of_coordinates_make_no_difference(kind, factor, shift):
    """Kilometres or metres, here or there: the same map."""
    X, y = field()
    model = KINDS[kind]()
    kernel = model.kernel
    scaled = {h: getattr(kernel, h) for h in ("length_scale",) if hasattr(kernel, h)}
    model.set_params(**{f"kernel__{name}": np.multiply(value, factor) for name, value in scaled.items()})
    new = new_places()
    found, expected = model.fit(factor * X + shift, y).predict(factor * new + shift), fitted(kind).predict(new)
    assert_allclose(found, expected, rtol=1e-6 if model.tune is None else 1e-4)


@pytest.mark.parametrize(("factor", "shift"), [(1e3, 0.0), (1e-3, 1e4)])
def test_units_make_no_difference_to_the_choice_of_a_kernel(factor, shift):
    X, y = field(80)
    a, b = SpatialRegressor().fit(X, y), SpatialRegressor().fit(factor * X + shift, y)
    assert a.choices_["kernel"].value == b.choices_["kernel"].value
    new = new_places()
    assert_allclose(b.predict(factor * new + shift), a.predict(new), rtol=1e-4)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_of_the_response_make_no_difference(factor):
    X, y = field()
    a, b = SpatialRegressor().fit(X, y), SpatialRegressor().fit(X, factor * y)
    mean, sd = b.predict(X, return_std=True)
    expected_mean, expected_sd = a.predict(X, return_std=True)
    assert_allclose(mean / factor, expected_mean, rtol=1e-4)
    assert_allclose(sd / factor, expected_sd, rtol=1e-4)


# --------------------------------------------------------------------- far from the data


@pytest.mark.parametrize(
    "kernel",
    [Matern(0.3, 2.0), SquaredExponential(0.3, 2.0), Laplacian(0.3, 2.0), Matern(0.2, 0.5) + Matern(0.4, 1.5, nu=0.5)],
)
@pytest.mark.parametrize("features", ["exact", "nystroem"])
def test_far_from_the_data_the_prior_returns(kernel, features):
    X, y = field()
    model = fixed(kernel, features=features, n_frequencies=20, fit_intercept=False).fit(X, y)
    mean, sd = model.predict(1000 + new_places(), return_std=True)
    assert_allclose(mean, 0.0, atol=1e-10)
    assert_allclose(sd, np.sqrt(2.0), rtol=1e-10)
    # heavy tails take longer
    slow = fixed(RationalQuadratic(0.3, 2.0), fit_intercept=False).fit(X, y)
    assert_allclose(slow.predict(1e6 + new_places(), return_std=True)[1], np.sqrt(2.0), rtol=1e-6)


def test_far_from_the_data_the_intercept_is_left():
    X, y = field()
    model = fixed().fit(X, y)
    mean, sd = model.predict(1000 + new_places(), return_std=True)
    assert_allclose(mean, model.intercept_, rtol=1e-10)
    assert np.all(sd > 1.0)  # the field's variance, and that of the intercept


def test_without_noise_the_data_are_met():
    X, y = field()
    model = fixed(Matern(0.4, nu=0.5), noise_variance=0, features="exact").fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert_allclose(mean, y, atol=1e-6)
    assert np.all(sd < 1e-4)
    assert np.all(model.predict(new_places(), return_std=True)[1] > 0.01)


@pytest.mark.parametrize("features", ["exact", "quasi"])
def test_noise_can_be_held_at_zero_while_the_kernel_is_learned(features):
    X, y = field(noise=0.0)
    model = SpatialRegressor(Matern(nu=2.5), features=features, n_frequencies=100, noise_variance=0).fit(X, y)
    assert model.noise_variance_ == 0
    assert model.kernel_.length_scale != 1.0
    assert_allclose(model.predict(X), y, atol=1e-3)


@pytest.mark.parametrize("kernel", [Polynomial(degree=3), Polynomial(degree=2) + Matern(0.3)])
@pytest.mark.parametrize("features", ["exact", "nystroem", "auto"])
def test_kernels_that_are_not_shift_invariant(kernel, features):
    X, y = field()
    model = SpatialRegressor(kernel, features=features, noise_variance=0.05, tune=None).fit(X, y)
    assert model.score(X, y) > 0.8
    assert SpatialRegressor(kernel, features=features).fit(X, y).score(X, y) > 0.8


# ------------------------------------------------------------------------- shape of input


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize("features", ["exact", "quasi", "orthogonal", "nystroem"])
def test_any_number_of_coordinates(dim, features):
    X, y = field(80, dim)
    model = fixed(Matern(0.7), features=features, n_frequencies=40).fit(X, y)
    mean, sd = model.predict(new_places(5, dim), return_std=True)
    assert mean.shape == sd.shape == (5,) and np.all(np.isfinite(mean)) and np.all(sd > 0)
    assert model.score(X, y) > 0.7


def test_attributes_of_a_fit():
    X, y = field()
    model = KINDS["primal"](covariates=[1]).fit(X, y)
    assert model.coef_.shape == (2 + 24,)
    assert model.n_frequencies_ == 12
    assert not hasattr(model, "dual_coef_")
    exact = fixed().fit(X, y)
    assert exact.coef_.shape == (1,) and exact.dual_coef_.shape == (60,) and exact.n_frequencies_ is None
    assert fixed(fit_intercept=False).fit(X, y).intercept_ == 0.0
    assert str(exact.estimate(X)).startswith("60 rows: about")
