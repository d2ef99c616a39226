"""Response: moments, distribution, quantiles and scores on the scale of the data, against brute force."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bochner.exceptions import InputError, PartError
from bochner.families import Bernoulli, Binomial, Family, Gamma, Gaussian, NegativeBinomial, Poisson
from bochner.posterior import Latent, Response, quadrature, ranked
from bochner.validation import crps_mixture, crps_sample
from tests.laws.registry_families import FAMILIES

N = 6
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
every_mixture = pytest.mark.parametrize("components", [1, 3])
COUNTED = {name: family for name, family in FAMILIES.items() if family.size_name}
every_counted = pytest.mark.parametrize("family", COUNTED.values(), ids=COUNTED.keys())
OBSERVED = {name: family for name, family in FAMILIES.items() if name != "gaussian"}
every_observed = pytest.mark.parametrize("family", OBSERVED.values(), ids=OBSERVED.keys())


def response(family: Family, components: int = 1, *, new: bool = True, sized: bool = True) -> Response:
    """Law of some rows, from narrow to wide, from few trials to thousands."""
    rng = np.random.default_rng(components)
    means, sd = rng.normal(size=(components, N)), rng.uniform(0.1, 1.0, size=(components, N))
    if family.link == "identity":
        means = means + 1.0  # some of it below zero, where a rate is cut off
    mass = np.array([1.0]) if components == 1 else np.array([0.5, 0.3, 0.2])
    size = np.array([1.0, 2.0, 10.0, 40.0, 300.0, 5000.0]) if sized and family.size_name else None
    return Response(family, Latent(means, sd**2, mass), size, new)


def draws(law: Response, n: int = 40_000, seed: int = 0) -> np.ndarray:
    """Monte Carlo, (n, rows)."""
    rng = np.random.default_rng(seed)
    component = rng.choice(len(law.eta.mass), size=n, p=law.eta.mass)
    eta = law.eta.means[component] + np.sqrt(law.eta.variances[component]) * rng.normal(size=(n, N))
    if law.new and law.family.name != "gaussian":
        return law.family.draw(eta, law.sizes, rng)
    return law.sizes * law.family.mean(eta)


def integral(law: Response, function, component: int, row: int, y: float) -> float:
    """Integral of a function of eta against one component, by brute force."""
    mean, sd = law.eta.means[component, row], np.sqrt(law.eta.variances[component, row])
    near = law.family.start(np.array([y]), law.sizes[[row]]) + 5e-3 * np.linspace(-1, 1, 201)
    ends = np.unique(np.r_[np.linspace(mean - 10 * sd, mean + 10 * sd, 1001), near, 0.0])
    ends = ends[np.abs(ends - mean) <= 10.001 * sd]
    x, weight = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends)[:, None] / 2
    eta = (ends[1:, None] + ends[:-1, None]) / 2 + half * x
    return float(np.sum(half * weight * stats.norm.pdf(eta, mean, sd) * function(eta)))


@every_family
@every_mixture
@pytest.mark.parametrize("new", [False, True])
def test_moments_and_distribution_agree_with_monte_carlo(family, components, new):
    law = response(family, components, new=new)
    y = draws(law)
    n = len(y)
    assert (np.abs(law.mean - y.mean(axis=0)) < 5 * y.std(axis=0) / np.sqrt(n)).all()
    fourth = ((y - y.mean(axis=0)) ** 4).mean(axis=0)
    assert (np.abs(law.variance - y.var(axis=0)) < 6 * np.sqrt(fourth / n) + 1e-12).all()
    assert_allclose(law.sd, np.sqrt(law.variance))
    for q in (0.025, 0.5, 0.9):
        value = law.quantile(q)
        # five standard errors of a share, at most 1/2 / sqrt(n)
        assert_allclose(law.cdf(value), (y <= value).mean(axis=0), atol=2.5 / np.sqrt(n))
        assert_allclose(law.exceedance(value), 1 - law.cdf(value))


@every_family
@every_mixture
def test_surface_without_size_is_prevalence_or_rate(family, components):
    alone, counted = (response(family, components, new=False, sized=sized) for sized in (False, True))
    size = counted.sizes
    assert_allclose(counted.mean, size * alone.mean)
    assert_allclose(counted.sd, size * alone.sd)
    for q in (0.1, 0.5):
        assert_allclose(alone.quantile(q), family.mean(alone.eta.quantile(q)))
        assert_allclose(counted.quantile(q), size * alone.quantile(q))
        if family.name != "poisson" or family.link != "identity":
            assert_allclose(alone.cdf(alone.quantile(q)), q, rtol=1e-6)


@every_observed
def test_distribution_agrees_with_brute_force(family):
    """Probabilities of observations to 1e-6, their densities to 1e-6 of themselves."""
    law = response(family, 3)
    y = draws(law, 4, seed=5)
    # below zero a count with the identity link is zero, as it is at zero
    least = 0.0 if family.name == "poisson" and family.link == "identity" else -np.inf
    for value in (*y, np.zeros(N)) if family.discrete else y:
        cdf, density = law.cdf(value), np.exp(law.log_density(value))
        for row in range(N):
            size, at = law.sizes[row], value[row]

            def mass(eta, at=at, size=size):
                return np.exp(family.log_density(at, np.maximum(eta, least), size))

            def below(eta, at=at, size=size):
                return family.cdf(at, eta, size)

            brute = [law.eta.mass @ [integral(law, f, k, row, at) for k in range(3)] for f in (below, mass)]
            assert_allclose(cdf[row], brute[0], atol=1e-6)
            assert_allclose(density[row], brute[1], rtol=2e-6, atol=1e-9)


@every_counted
def test_probabilities_of_counts_sum_to_their_distribution(family):
    law = response(family, 3).at(np.arange(3))
    total = np.zeros(3)
    for count in range(12):
        inside = count <= law.sizes if isinstance(family, Binomial) else np.full(3, True)
        total[inside] += np.exp(law.at(inside).log_density(np.full(inside.sum(), float(count))))
        lower, upper = law.pit_bounds(np.full(3, float(count)))
        assert_allclose(upper, total, atol=2e-6)
        assert_allclose(lower, law.cdf(count - 1.0))


@every_counted
@every_mixture
def test_quantile_of_counts_is_the_smallest_that_reaches(family, components):
    law = response(family, components)
    for q in (1e-6, 0.025, 0.5, 0.975, 1 - 1e-6):
        value = law.quantile(q)
        assert (value == np.floor(value)).all()
        assert (law.cdf(value) >= q).all()
        assert (law.cdf(value - 1) < q).all()


@pytest.mark.parametrize("dispersion", [1e-4, 0.3, 5.0])
def test_quantile_of_amounts(dispersion):
    law = response(Gamma(dispersion=dispersion), 3)
    for q in (1e-6, 0.025, 0.5, 0.975, 1 - 1e-6):
        assert_allclose(law.cdf(law.quantile(q)), q, rtol=1e-6)


@every_family
def test_known_eta_gives_the_family_itself(family):
    """Variance zero: nothing is left of the mixture."""
    law = response(family)
    law = Response(family, Latent(np.abs(law.eta.means), np.zeros((1, N)), np.ones(1)), law.size, True)
    eta = law.eta.means[0]
    assert_allclose(law.mean, law.sizes * family.mean(eta))
    if family.name != "gaussian":
        y = family.draw(eta, law.sizes, np.random.default_rng(0))
        assert_allclose(law.variance, family.variance(eta, law.sizes), rtol=1e-9)
        assert_allclose(law.cdf(y), family.cdf(y, eta, law.sizes), atol=1e-8)
        assert_allclose(law.log_density(y), family.log_density(y, eta, law.sizes), atol=1e-6)


def test_gaussian_is_its_mixture():
    """The noise is in eta already: new observations and surface have one law."""
    for new in (False, True):
        law = response(Gaussian(), 3, new=new)
        y = law.eta.mean + 0.3
        assert_allclose(law.mean, law.eta.mean)
        assert_allclose(law.variance, law.eta.variance)
        assert_allclose(law.quantile(0.9), law.eta.quantile(0.9))
        assert_allclose(law.cdf(y), law.eta.cdf(y))
        density = law.eta.mass @ stats.norm.pdf(y, law.eta.means, np.sqrt(law.eta.variances))
        assert_allclose(law.log_density(y), np.log(density))
        score = crps_mixture(y, law.eta.means, np.sqrt(law.eta.variances), law.eta.mass)
        assert_allclose(law.crps(y).mean(), score)
        assert_allclose(law.pit_bounds(y)[0], law.pit_bounds(y)[1])


def test_prevalence_has_closed_forms_for_probit():
    law = response(Bernoulli("probit"), new=False)
    mean, variance = law.eta.means[0], law.eta.variances[0]
    assert_allclose(law.mean, stats.norm.cdf(mean / np.sqrt(1 + variance)), rtol=1e-10)
    wide = Response(law.family, Latent(law.eta.means, 100 * law.eta.variances, np.ones(1)))
    assert_allclose(wide.mean, stats.norm.cdf(mean / np.sqrt(1 + 100 * variance)), rtol=1e-10)


def test_rate_is_lognormal():
    law = response(Poisson(), new=False, sized=False)
    known = stats.lognorm(np.sqrt(law.eta.variances[0]), scale=np.exp(law.eta.means[0]))
    assert_allclose(law.mean, known.mean())
    assert_allclose(law.sd, known.std())
    assert_allclose(law.exceedance(1.5), known.sf(1.5), atol=1e-15)
    assert_allclose(law.quantile(0.3), known.ppf(0.3))


def test_values_beyond_the_range():
    prevalence, count = response(Binomial(), new=False, sized=False), response(Binomial())
    assert_allclose(prevalence.cdf(-0.1), 0)
    assert_allclose(prevalence.cdf(0.0), 0)
    assert_allclose(prevalence.exceedance(1.0), 0)
    assert_allclose(count.cdf(-1), 0)
    assert_allclose(count.cdf(count.sizes), 1)
    rate = response(Poisson("identity"), new=False, sized=False)
    assert_allclose(rate.cdf(0.0), rate.eta.cdf(0.0))
    assert_allclose(rate.cdf(-1e-9), 0)


@every_family
@every_mixture
def test_score_agrees_with_draws(family, components):
    law = response(family, components)
    y = draws(law, 1, seed=9)[0]
    sample = draws(law, 20_000)
    scores = law.crps(y)
    assert scores.shape == (N,)
    for row, score in enumerate(scores):
        # standard error of both means over draws, five times
        error = 5 * (np.abs(sample[:, row] - y[row]).std() + sample[:, row].std()) / np.sqrt(len(sample))
        assert_allclose(score, crps_sample(y[[row]], sample[:, [row]]), atol=error + 1e-12)


@pytest.mark.parametrize("family", [Binomial(), Binomial("probit"), Poisson(), NegativeBinomial(dispersion=0.2)])
def test_score_of_many_counts_agrees_with_the_sum(family, monkeypatch):
    rng = np.random.default_rng(3)
    size = np.full(8, 700.0) if isinstance(family, Binomial) else np.full(8, 60.0)
    means = rng.normal(scale=0.5, size=(1, 8))
    law = Response(family, Latent(means, np.full((1, 8), 0.25), np.ones(1)), size, True)
    y = np.r_[law.quantile(0.5)[:3], law.quantile(0.99)[3:5], 0.0, law.quantile(1 - 1e-8)[6:] + 50]
    quick = law.crps(np.minimum(y, 700))
    monkeypatch.setattr(ranked, "_EXACT", 10**9)
    assert_allclose(quick, law.crps(np.minimum(y, 700)), rtol=1e-3)


@pytest.mark.parametrize("family", [Binomial(), Poisson()], ids=lambda f: f.name)
def test_score_of_very_many_counts_agrees_with_panels(family, monkeypatch):
    """Counts in the thousands are taken for amounts."""
    rng = np.random.default_rng(4)
    means = rng.normal(scale=0.3, size=(2, 12))
    law = Response(family, Latent(means, np.full((2, 12), 0.2), np.array([0.3, 0.7])), np.full(12, 20_000.0), True)
    y = np.r_[law.quantile(0.5)[:4], law.quantile(0.01)[4:8], law.quantile(0.999)[8:]]
    quick = law.crps(y)
    monkeypatch.setattr(ranked, "_SMOOTH", 10**9)
    monkeypatch.setattr(ranked, "_PANELS", 60)
    assert_allclose(quick, law.crps(y), rtol=1e-3)


@every_counted
def test_components_that_have_little_in_common(family):
    """One Gaussian far narrower than the other, or far away: the mixture is still the mean of its parts."""
    n = 6
    means, size = np.array([np.linspace(-2, 2, n), np.linspace(3, -3, n)]), np.full(n, 9.0)
    mass = np.array([0.4, 0.6])
    for narrow in (1e-12, 1e-4, 0.05):
        variances = np.array([np.full(n, narrow), np.full(n, 1.5)])
        law = Response(family, Latent(means, variances, mass), size, True)
        parts = [Response(family, Latent(means[[k]], variances[[k]], np.ones(1)), size, True) for k in range(2)]
        for y in (0.0, 1.0, 4.0):
            assert_allclose(law.cdf(y), mass @ [part.cdf(y) for part in parts], atol=1e-7)


def test_score_of_presence_is_its_brier_score():
    law = response(Bernoulli(), 3)
    for y in (0.0, 1.0):
        assert_allclose(law.crps(np.full(N, y)), (law.mean - y) ** 2, rtol=1e-6)


def test_memory_is_bounded():
    """Nodes of all rows at once would be 30 MB for every array of the rule."""
    n, rng = 60_000, np.random.default_rng(0)
    law = Response(Binomial(), Latent(rng.normal(size=(1, n)), np.ones((1, n)), np.ones(1)), np.full(n, 50.0), True)
    tracemalloc.start()
    law.cdf(np.full(n, 20.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(PartError, match=r"log_density was asked of a surface.*new=True"):
        response(Binomial(), new=False).log_density(np.zeros(N))
    with pytest.raises(PartError, match=r"crps was asked of a surface"):
        response(Poisson(), new=False).crps(np.zeros(N))
    with pytest.raises(PartError, match=r"pit_bounds was asked of a surface"):
        response(Poisson(), new=False).pit_bounds(np.zeros(N))
    with pytest.raises(InputError, match=r"q is 97.5; needed is a probability between 0 and 1"):
        response(Poisson()).quantile(97.5)
    with pytest.raises(PartError, match=r"dispersion of family 'gamma' is None"):
        response(Gamma()).cdf(1.0)


@pytest.mark.parametrize("mean", [-14.0, 0.0, 9.0])
def test_score_of_amounts_is_its_integral_at_any_scale(mean):
    """A gamma law of shape 1/5 runs over many decades; its score has the unit of the amount."""
    law = Response(Gamma(dispersion=5.0), Latent(np.full((1, 2), mean), np.zeros((1, 2)), np.ones(1)), None, True)
    y = np.exp(mean) * np.array([0.01, 3.0])
    exact = stats.gamma(0.2, scale=5.0 * np.exp(mean))
    for score, seen in zip(law.crps(y), y, strict=True):
        x = np.exp(np.linspace(np.log(1e-12 * np.exp(mean)), np.log(exact.ppf(1 - 1e-9)), 200_001))
        wanted = np.trapezoid((exact.cdf(x) - (x >= seen)) ** 2, x)
        assert_allclose(score, wanted, rtol=2e-3)


@every_observed
@pytest.mark.parametrize("variance", [0.01, 1.0, 400.0])
def test_the_mode_of_a_row_is_a_mode(family, variance):
    """The slope of log p(y | eta) - (eta - mean)^2 / (2 variance) vanishes there, on its own scale."""
    if family.name == "student" or (family.name == "poisson" and family.link == "identity"):
        pytest.skip("not concave, or with a corner at zero: the bracket alone is promised")
    mean, rng = np.array([-3.0, 0.0, 0.5, 4.0]), np.random.default_rng(0)
    size = np.full(4, 12.0) if family.size_name else np.ones(4)
    y = family.draw(mean[::-1], size, rng)
    eta, scale = quadrature._mode(family, y, mean, np.full(4, variance), size)
    d = family.derivatives(y, eta, size)
    assert_allclose((d.score - (eta - mean) / variance) * scale, 0, atol=2e-3)
