"""A mixture of posteriors against its definition: sums over components, by plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from bochner.features import Rows
from bochner.inference.fits.exact import ExactEngine
from bochner.kernels import Matern
from bochner.posterior.mixture import Latent, Mixture
from tests.laws.registry_fits import observations

MASS = np.array([0.5, 0.3, 0.2])
MEANS = np.array([[0.0, 3.0, -1.0, 5.0], [1.0, -2.0, -1.0, 5.0], [4.0, 3.5, -1.0, 5.0]])
VARIANCES = np.array([[1.0, 0.2, 0.5, 1.0], [0.3, 2.0, 0.5, 0.01], [2.0, 0.1, 0.5, 4.0]])


def latent() -> Latent:
    return Latent(MEANS, VARIANCES, MASS)


def components(j: int) -> list[tuple[float, stats.rv_continuous]]:
    return [(m, stats.norm(MEANS[i, j], np.sqrt(VARIANCES[i, j]))) for i, m in enumerate(MASS)]


@pytest.mark.parametrize("j", range(4))
def test_moments_are_integrals_of_the_density(j):
    def density(x: float) -> float:
        return float(np.exp(latent().at(np.array([j])).log_density(np.array([x]))[0]))

    assert_allclose(density(0.3), sum(m * c.pdf(0.3) for m, c in components(j)), rtol=1e-12)
    low, high = MEANS[:, j].min() - 20, MEANS[:, j].max() + 20
    peaks = MEANS[:, j].tolist()
    mean = integrate.quad(lambda x: x * density(x), low, high, points=peaks, limit=400)[0]
    square = integrate.quad(lambda x: x**2 * density(x), low, high, points=peaks, limit=400)[0]
    assert_allclose(latent().mean[j], mean, atol=1e-6)
    assert_allclose(latent().variance[j], square - mean**2, atol=1e-5)
    assert_allclose(latent().sd ** 2, latent().variance)


@pytest.mark.parametrize("value", [-3.0, 0.0, 1.2, 4.9, 5.0, 60.0])
def test_the_distribution_function_is_the_sum_of_theirs(value):
    wanted = [sum(m * c.cdf(value) for m, c in components(j)) for j in range(4)]
    assert_allclose(latent().cdf(value), wanted, atol=1e-14)
    assert_allclose(latent().cdf(np.full(4, value)), wanted, atol=1e-14)
    assert (latent().cdf(value) <= 1).all()


@pytest.mark.parametrize("q", [1e-6, 0.025, 0.3, 0.5, 0.8, 0.975, 1 - 1e-6])
def test_quantiles_invert_the_distribution_function(q):
    x = latent().quantile(q)
    assert_allclose(latent().cdf(x), q, rtol=1e-9, atol=1e-12)
    one = Latent(MEANS[:1], VARIANCES[:1], np.ones(1))
    assert_allclose(one.quantile(q), MEANS[0] + np.sqrt(VARIANCES[0]) * stats.norm.ppf(q), rtol=1e-12)


def test_quantiles_of_components_far_apart_and_of_points():
    """Newton's steps leave the bracket where the density vanishes; halving does not."""
    far = Latent(np.array([[0.0], [1e6]]), np.array([[1.0], [1e-8]]), np.array([0.6, 0.4]))
    for q in (0.1, 0.599, 0.601, 0.9):
        assert_allclose(far.cdf(far.quantile(q)), q, atol=1e-9)
    points = Latent(np.full((2, 3), 2.5), np.zeros((2, 3)), np.array([0.6, 0.4]))
    assert_allclose(points.quantile(0.3), 2.5)
    assert_array_equal(points.variance, 0.0)


def test_components_without_mass_do_not_count():
    with_none = Latent(np.vstack([MEANS, 1e3 + MEANS[:1]]), np.vstack([VARIANCES, VARIANCES[:1]]), np.r_[MASS, 0.0])
    for ask in (lambda l: l.mean, lambda l: l.variance, lambda l: l.cdf(0.5), lambda l: l.quantile(0.7)):
        assert_allclose(ask(with_none), ask(latent()), rtol=1e-9)
    assert_allclose(with_none.log_density(np.full(4, 0.7)), latent().log_density(np.full(4, 0.7)), rtol=1e-12)


def test_shifted_widened_joined_and_parts():
    shift = np.array([1.0, -2.0, 0.5, 0.0])
    assert_allclose(latent().shifted(shift).mean, latent().mean + shift)
    assert_allclose(latent().shifted(shift).variance, latent().variance)
    parts, mass = np.array([0.5, 3.0]), np.array([0.9, 0.1])
    wide = latent().widened(parts, mass)
    assert_allclose(wide.mass.sum(), 1) and wide.means.shape == (6, 4)
    assert_allclose(wide.mean, latent().mean)
    assert_allclose(wide.variance, latent().variance + parts @ mass)
    wanted = 0.0
    for m, mean, variance in zip(MASS, MEANS[:, 0], VARIANCES[:, 0], strict=True):
        wanted += sum(
            m * w * stats.norm.cdf(0.7, mean, np.sqrt(variance + s)) for s, w in zip(parts, mass, strict=True)
        )
    assert_allclose(wide.cdf(0.7)[0], wanted, rtol=1e-12)
    halves = [latent().at(np.arange(2)), latent().at(np.array([False, False, True, True]))]
    whole = Latent.joined(halves)
    assert_array_equal(whole.means, MEANS)
    assert_array_equal(whole.variances, VARIANCES)
    assert_array_equal(whole.mass, MASS)


# ------------------------------------------------------------------------------------- of real posteriors


def mixture(mass: tuple[float, ...] = (0.7, 0.3)) -> Mixture:
    noise = (0.05, 0.4)
    fits = [ExactEngine(Matern(0.6, v), s2).fit(observations(2)) for v, s2 in zip((1.5, 0.3), noise, strict=True)]
    return Mixture([fit.posterior for fit in fits], np.array(mass), np.array(noise))


def rows(n: int = 5) -> Rows:
    coords = np.random.default_rng(5).uniform(-1, 1, size=(n, 2))
    return Rows(coords, np.column_stack([np.ones(n), coords[:, 0]]))


def test_latent_values_are_those_of_the_components():
    mix, at = mixture(), rows()
    seen, new, means = mix.latent(at), mix.latent(at, new=True), mix.latent(at, spread=False)
    for i, component in enumerate(mix.components):
        assert_allclose(seen.means[i], component.mean(at), rtol=1e-9)
        assert_allclose(seen.variances[i], component.variance(at), rtol=1e-9)
        assert_allclose(new.variances[i], component.variance(at) + mix.noise_variance[i], rtol=1e-9)
    assert_allclose(means.means, seen.means, rtol=1e-9)
    assert_array_equal(means.variances, 0.0)
    assert mix.n_averaged == 2 and mixture((0.0, 1.0)).n_averaged == 1


def test_covariance_has_the_spread_of_the_means():
    mix, at = mixture(), rows()
    means, mass = np.stack([c.mean(at) for c in mix.components]), mix.mass
    moments = [c.covariance(at) + np.outer(m, m) for c, m in zip(mix.components, means, strict=True)]
    mean = mass @ means
    wanted = mass[0] * moments[0] + mass[1] * moments[1] - np.outer(mean, mean)
    assert_allclose(mix.covariance(at), wanted, atol=1e-10)
    assert_allclose(np.diag(mix.covariance(at)), mix.latent(at).variance, rtol=1e-7)


@pytest.mark.parametrize("new", [False, True])
def test_draws_are_of_the_mixture(new):
    mix, at, n = mixture(), rows(), 20_000
    draws = mix.draw(at, n, np.random.default_rng(0), new=new)
    assert draws.shape == (n, len(at))
    law = mix.latent(at, new=new)
    # standard errors sd / sqrt(n) of a mean, sqrt(2 / n) of a variance of a Gaussian
    assert_allclose(draws.mean(axis=0), law.mean, atol=5 * float(law.sd.max()) / np.sqrt(n))
    assert_allclose(draws.var(axis=0), law.variance, rtol=8 * np.sqrt(2 / n))
    if not new:
        assert_allclose(np.cov(draws.T), mix.covariance(at), atol=0.05 * float(law.variance.max()))
    # components are drawn in turn and then shuffled: neighbours in the list are unrelated
    assert abs(np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]) < 5 / np.sqrt(n)


def test_a_component_without_mass_is_never_drawn():
    mix, at = mixture((0.0, 1.0)), rows()
    draws = mix.draw(at, 2_000, np.random.default_rng(1))
    assert_allclose(draws.mean(axis=0), mix.components[1].mean(at), atol=0.15)
    assert_allclose(mix.covariance(at), mix.components[1].covariance(at), atol=1e-12)


def many() -> Mixture:
    """Twenty-four components that differ in range, variance and noise."""
    pairs = [(scale, variance) for scale in np.geomspace(0.1, 2.0, 8) for variance in (0.3, 1.0, 3.0)]
    fits = [ExactEngine(Matern(scale, v), 0.1 * v).fit(observations(2)) for scale, v in pairs]
    mass = np.random.default_rng(1).dirichlet(np.ones(len(fits)))
    return Mixture([fit.posterior for fit in fits], mass, np.array([0.1 * v for _, v in pairs]))


def test_joint_draws_have_the_covariance_of_the_mixture():
    """Without groups nothing is approximated: the law of every row, and draws of the mean over all."""
    made, at = mixture(), rows(40)
    eta, draws = made.joint(at, 40_000, np.random.default_rng(0))
    known = made.latent(at)
    assert_allclose(eta.means, known.means, atol=1e-10)
    assert_allclose(eta.variances, known.variances, atol=1e-10)
    # five standard errors of an sd, 1 / sqrt(2 n)
    assert_allclose(draws.mean(axis=1).std(), np.sqrt(made.covariance(at).mean()), rtol=5 / np.sqrt(80_000))


def test_alike_components_share_correlations_and_no_more():
    """Draws have each row's own law; the sd of their mean is that of all components to some per cent."""
    made, at = many(), rows(60)
    alike = made.alike([at])
    assert alike is not None and len(alike) < len(made.mass)
    assert sorted(np.concatenate([group for _, group in alike])) == list(range(len(made.mass)))
    draws = made.joint_alike(at, made.latent(at), alike, 40_000, np.random.default_rng(0))
    known = made.latent(at)
    # six standard errors: of a mean, and of an sd whose draws have tails up to twice the Gaussian's kurtosis
    assert_allclose(draws.mean(axis=0), known.mean, atol=6 * known.sd.max() / 200)
    assert_allclose(draws.std(axis=0), known.sd, rtol=6 / 200)
    # what sharing costs (1 %), and what draws leave open
    assert_allclose(draws.mean(axis=1).std(), np.sqrt(made.covariance(at).mean()), rtol=0.03)


def test_few_components_share_nothing():
    assert mixture().alike([rows()]) is None


def test_the_heaviest_are_a_mixture_of_their_own():
    made = many().heaviest(3)
    order = np.argsort(-many().mass)[:3]
    assert_allclose(np.sort(made.mass), np.sort(many().mass[order] / many().mass[order].sum()))
    assert mixture((0.0, 1.0)).heaviest(5).n_averaged == 1
