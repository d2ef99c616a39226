"""Laws of every family: derivatives of the log density, its sum, its moments, draws, distribution and domain."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp

from bochner.exceptions import InputError, PartError
from bochner.families import FAMILIES as BY_NAME
from bochner.families import Bernoulli, Binomial, Family, Gamma, Gaussian, NegativeBinomial, Poisson, family_named
from tests.laws.registry_families import FAMILIES, LAWS

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
EXTREME = np.array([-600.0, -200.0, -40.0, -31.0, -29.0, -9.0, -3.0, -0.4, 0.0, 0.7, 2.0, 6.0, 9.0, 33.0, 200.0, 600.0])
MODERATE = np.array([-2.0, -0.4, 0.0, 0.7, 2.0])


def ordinary(family: Family) -> np.ndarray:
    """Linear predictors for which responses are neither tiny nor huge."""
    return np.exp(MODERATE) if family.name == "poisson" and family.link == "identity" else MODERATE


def extreme(family: Family) -> np.ndarray:
    """Linear predictors as far out as Newton's method may stray."""
    return np.geomspace(1e-6, 1e6, 13) if family.name == "poisson" and family.link == "identity" else EXTREME


def sizes(family: Family, n: int = 8) -> np.ndarray:
    rng = np.random.default_rng(1)
    if family.size_name == "trials":
        return np.r_[1.0, 2.0, rng.integers(3, 5000, size=n - 2)]
    return np.exp(rng.normal(size=n)) if family.size_name == "exposure" else np.ones(n)


def rows(family: Family, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses that fit, and responses that do not fit, at each of some linear predictors."""
    rng, size = np.random.default_rng(2), sizes(family)
    likely = [family.draw(np.full_like(size, value), size, rng) for value in ordinary(family)]
    if family.discrete:
        likely += [np.zeros_like(size), size if isinstance(family, Binomial) else np.full_like(size, 1e5)]
    y, size = np.concatenate(likely), np.tile(size, len(likely))
    grid = np.repeat(eta, len(y))
    return np.tile(y, len(eta)), grid, np.tile(size, len(eta))


def slope_of(function: Any, x: np.ndarray | float, h: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Derivative by five points, and what rounding of the values may do to it."""
    far, near = function(x + 2 * h) - function(x - 2 * h), function(x + h) - function(x - h)
    return (8 * near - far) / (12 * h), np.abs(function(x)) * 4e-16 * 8 / h


def assert_slope(value: np.ndarray, slope: tuple[np.ndarray, np.ndarray], rtol: float = 1e-7) -> None:
    expected, rounding = slope
    assert np.all(np.isfinite(value))
    excess = np.abs(value - expected) - rounding - rtol * np.abs(expected)
    assert np.all(excess <= 1e-300), f"row {excess.argmax()}: {value[excess.argmax()]} {expected[excess.argmax()]}"


@every_family
def test_derivatives_match_finite_differences(family):
    """Score, curvature and slope, from saturated to absurd rows."""
    y, eta, size = rows(family, extreme(family))
    h = 1e-3 * np.maximum(eta, 1e-9) if family.link == "identity" and family.name == "poisson" else 1e-3
    derivatives = family.derivatives(y, eta, size)
    # Larger terms than the log density itself are rounded: the constant and both halves of the binomial.
    density = slope_of(lambda x: family.log_density(y, x, size), eta, h)
    terms = np.abs(family.log_density(y, eta, size)) + np.abs(y * eta) + np.abs(y) * np.log1p(np.abs(y)) + size + 1e3
    assert_slope(derivatives.score, (density[0], 2e-14 * terms / h))
    if not family.reweighted:  # whose curvature is an expectation: the next law
        score = slope_of(lambda x: family.derivatives(y, x, size).score, eta, h)
        assert_slope(-derivatives.curvature, score, rtol=1e-6)
    slope = slope_of(lambda x: family.derivatives(y, x, size).curvature, eta, h)
    assert_slope(derivatives.slope, slope, rtol=1e-6)


@every_family
def test_curvature_is_the_expectation_of_the_squared_score_where_the_family_says_so(family):
    """Fisher's information, by a sum over quantiles; such noise is also a mixture of Gaussians."""
    if not family.reweighted:
        return
    share = (np.arange(200_000) + 0.5) / 200_000
    y = LAWS[family.name](family, 0.3, np.ones(1)).ppf(share)
    derivatives = family.derivatives(y, np.full_like(y, 0.3), np.ones_like(y))
    # the score is bounded, so that quantiles halfway miss about 1e-5 of its square
    assert_allclose(derivatives.curvature, np.mean(derivatives.score**2), rtol=1e-4)
    assert not derivatives.slope.any()


@every_family
def test_noise_parts_are_the_noise(family):
    """Of a family that is eta and noise, as a mixture of Gaussians, from the middle to far out."""
    if not family.additive:
        return
    y = np.array([0.0, 0.1, -1.0, 3.0, -5.0])
    variances, mass = family.noise_parts()
    each = stats.norm(0, np.sqrt(variances)[:, None]).logpdf(y)
    zero, one = np.zeros_like(y), np.ones_like(y)
    expected = family.log_density(y, zero, one)
    assert_allclose(logsumexp(each, axis=0, b=mass[:, None]), expected, rtol=1e-6, atol=1e-6)


@every_family
def test_curvature_is_never_negative(family):
    assert (family.derivatives(*rows(family, extreme(family))).curvature >= 0).all()


@every_family
def test_dispersion_slopes_match_finite_differences(family):
    y, eta, size = rows(family, ordinary(family))
    slopes = family.dispersion_slopes(y, eta, size)
    if not family.has_dispersion:
        assert all(slope.shape == y.shape and not slope.any() for slope in slopes)
        return

    def at(log_dispersion: float) -> tuple[np.ndarray, ...]:
        changed = family.replace(dispersion=float(np.exp(log_dispersion)))
        derivatives = changed.derivatives(y, eta, size)
        return changed.log_density(y, eta, size), derivatives.score, derivatives.curvature

    for i, slope in enumerate(slopes):
        expected, rounding = slope_of(lambda x, i=i: at(x)[i], np.log(family.dispersion))
        assert_slope(slope, (expected, 10 * rounding + 1e-9 * (1 + y)), rtol=1e-6)


@every_family
def test_density_sums_to_one_with_its_moments(family):
    """Total, mean and variance of the law itself."""
    for eta, size in zip(ordinary(family), [3.0, 1.0, 7.0, 2.0, 5.0], strict=True):
        size = 1.0 if family.size_name is None else size
        mean = float(family.mean(np.array(eta))) * size
        sd = float(np.sqrt(family.variance(np.array([eta]), np.array([size]))[0]))
        y, weight = support(family, mean, sd, size)
        density = weight * np.exp(family.log_density(y, np.full_like(y, eta), np.full_like(y, size)))
        assert_allclose(density.sum(), 1.0, rtol=1e-6)
        assert_allclose(density @ y, mean, rtol=1e-6, atol=1e-6 * sd)
        assert_allclose(density @ (y - mean) ** 2, sd**2, rtol=1e-5)


def support(family: Family, mean: float, sd: float, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Values that hold all the probability, and the step around each."""
    if isinstance(family, Binomial):
        return np.arange(size + 1.0), np.ones(int(size) + 1)
    if family.discrete:
        y = np.arange(mean + 40 + (400 if (family.dispersion or 0) > 1 else 60) * sd)
        return y, np.ones_like(y)
    if family.name == "gaussian":
        y = np.linspace(mean - 12 * sd, mean + 12 * sd, 4001)
        return y, np.full_like(y, y[1] - y[0])
    if family.additive:  # with long tails
        t = np.linspace(-12, 12, 4001)
        return mean + sd * np.sinh(t), sd * np.cosh(t) * (t[1] - t[0])
    log_y = np.linspace(np.log(mean) - min(60 * sd / mean, 130), np.log(mean) + min(12 * sd / mean, 6), 40_001)
    return np.exp(log_y), np.exp(log_y) * (log_y[1] - log_y[0])


@every_family
def test_law_agrees_with_scipy(family):
    y, eta, size = rows(family, ordinary(family))
    law = LAWS[family.name](family, eta, size)
    # scipy's own negative binomial and gamma lose digits where their shape is 1e7 or 1e9
    rtol = 1e-9 if family.dispersion is None or family.dispersion > 1e-3 else 2e-5
    assert_allclose(size * family.mean(eta), law.mean(), rtol=max(rtol, 1e-8))
    assert_allclose(family.variance(eta, size), law.var(), rtol=max(rtol, 1e-7))
    assert_allclose(family.cdf(y, eta, size), law.cdf(y), rtol=1e-7, atol=1e-10 if rtol == 1e-9 else 1e-6)
    log_density = law.logpmf(y) if family.discrete else law.logpdf(y)
    possible = np.isfinite(log_density)
    assert_allclose(
        family.log_density(y, eta, size)[possible],
        log_density[possible],
        rtol=rtol,
        atol=2e-9 + 100 * (rtol > 1e-6) * rtol,
    )


@every_family
def test_distribution_function_jumps_by_the_density(family):
    """cdf(y) - cdf(y - 1) is the mass of a count; its derivative is the density of an amount."""
    y, eta, size = rows(family, ordinary(family))
    density = np.exp(family.log_density(y, eta, size))
    if family.discrete:
        assert_allclose(family.cdf(y, eta, size) - family.cdf(y - 1, eta, size), density, rtol=1e-6, atol=1e-12)
        assert_allclose(family.cdf(y + 0.5, eta, size), family.cdf(y, eta, size), rtol=0)
        assert not family.cdf(np.full_like(y, -1.0), eta, size).any()
    else:
        sd = np.sqrt(family.variance(eta, size))
        h = 1e-3 * sd * np.minimum(1, np.abs(y) / sd)
        slope = (family.cdf(y + h, eta, size) - family.cdf(y - h, eta, size)) / (2 * h)
        assert_allclose(slope, density, rtol=1e-3, atol=1e-9)


@every_family
def test_distribution_function_falls_with_eta(family):
    """By as much as `cdf_slope` says."""
    y, eta, size = rows(family, ordinary(family))
    below = y < size if isinstance(family, Binomial) else np.full(y.shape, True)
    h = 1e-4 if family.dispersion is None or family.dispersion > 1e-3 else 1e-5
    slope, _ = slope_of(lambda x: family.cdf(y, x, size), eta, h)
    scale = family.cdf_slope(y, eta, size)[below].max()
    assert_allclose(family.cdf_slope(y, eta, size)[below], -slope[below], rtol=1e-5, atol=1e-7 * scale + 1e-10)


@every_family
def test_expected_variance_at_a_known_eta_is_the_variance(family):
    eta, size = ordinary(family), sizes(family, 5)
    mean = family.mean(eta)
    assert_allclose(family.expected_variance(mean, mean**2, size), family.variance(eta, size), rtol=1e-12)


@every_family
def test_draws_have_the_moments(family, n=40_000):
    rng, size = np.random.default_rng(3), sizes(family, 6)
    eta = ordinary(family)[[0, 1, 2, 3, 4, 2]]
    draws = family.draw(np.tile(eta, (n, 1)), size, rng)
    mean, variance = size * family.mean(eta), family.variance(eta, size)
    assert draws.shape == (n, 6) and draws.dtype == np.float64
    # five standard errors of a mean
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / n)).all()
    # of a variance, from the fourth moment of the draws themselves
    fourth = ((draws - mean) ** 4).mean(axis=0)
    assert (np.abs(((draws - mean) ** 2).mean(axis=0) - variance) < 6 * np.sqrt(fourth / n)).all()
    family.check(draws[0], size)


@every_family
def test_nothing_overflows(family):
    eta = np.r_[-700, extreme(family), 700]
    y, grid, size = rows(family, np.maximum(eta, 1e-90) if family.link == "identity" else eta)
    with np.errstate(over="raise", invalid="raise"):
        assert all(np.isfinite(values).all() for values in dataclasses.astuple(family.derivatives(y, grid, size)))
        assert np.isfinite(family.log_density(y, grid, size)).all()
    assert np.isfinite(family.draw(eta, np.ones_like(eta), np.random.default_rng(0))).all()
    assert np.isfinite(family.mean(eta)).all()
    assert np.isfinite(family.variance(eta, np.ones_like(eta))).all()
    assert np.isfinite(family.cdf(np.ones_like(eta), eta, np.ones_like(eta))).all()


@every_family
def test_link_round_trip(family):
    eta = ordinary(family)
    assert_allclose(family.link_of(family.mean(eta)), eta, rtol=1e-12, atol=1e-12)


@every_family
def test_start_is_near_each_rows_maximum(family):
    """Finite, and no worse than any other of many linear predictors by much."""
    y, _, size = rows(family, ordinary(family)[:1])
    start = family.start(y, size)
    assert np.isfinite(start).all()
    best = np.max([family.log_density(y, np.full_like(y, eta), size) for eta in extreme(family)], axis=0)
    # half a count is what one takes away from a likelihood that has no maximum
    assert (family.log_density(y, start, size) > best - 0.51).all()


@every_family
def test_first_bad_row_is_named(family):
    y, _, size = rows(family, ordinary(family)[:1])
    family.check(y, size)
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"y is (nan|inf) in row 3; needed is"):
            family.check(np.r_[y[:3], bad, y[4:]], size)


@every_family
def test_families_are_found_by_name(family):
    assert type(family_named(family.name)) is type(family)
    assert family_named(family) is family
    assert all(family.replace(link=name).link == name for name in family.links)
    assert type(family)().link == next(iter(family.links))  # the first is the default


@every_family
def test_traits_say_what_the_family_is(family):
    """What the library asks a family instead of its name holds for the law itself."""
    y, eta, size = rows(family, ordinary(family))
    ends_at_size = np.all(family.cdf(size, np.full_like(eta, ordinary(family)[-1]), size) == 1)
    assert ends_at_size == family.bounded_by_size
    moved = family.cdf(y + 0.3, eta + 0.3, size)  # a law that is moved with eta, as a whole
    assert np.allclose(moved, family.cdf(y, eta, size), rtol=1e-12) == family.additive
    assert family.additive or not (family.observes_eta or family.reweighted)
    if family.additive:
        assert family.link_function.linear
    given = [value is not None for value in family.parameters.values()]
    assert all(given) and not family.unknown and len(given) >= family.has_dispersion
    try:
        family.check(np.zeros_like(y), size)
        assert not family.positive_only
    except InputError:
        assert family.positive_only
    if family.binary:
        assert set(np.unique(y[: len(sizes(family)) * 5])) <= {0.0, 1.0}


@every_family
def test_a_family_describes_itself(family):
    """One sentence that names the response, and how the link is undone."""
    told = family.describe("catch of cod")
    assert "catch of cod" in told and "{" not in told and "\n" not in told
    assert family.additive or family.link_function.inverse in told
    assert family.surface_name is None or family.surface_name.islower()


def refused(family: Family, y: list[float], size: list[float], match: str) -> None:
    with pytest.raises(InputError, match=match):
        family.check(np.array(y), np.array(size))


def test_binomial_domain():
    refused(Binomial(), [1, 7, 2], [5, 5, 5], r"y is 7 in row 1, more than its 5 trials.*correct the row")
    refused(Binomial(), [1, -2, 2], [5, 5, 5], r"y is -2 in row 1; needed is a count")
    refused(Binomial(), [1, 2, 0.25], [5, 5, 5], r"y is 0.25 in row 2; needed is a whole number.*not shares")
    refused(Binomial(), [1, 0, 0], [5, 0, 0], r"trials is 0 in row 1.*leave it out.*2 such rows")
    refused(Binomial(), [1, 0, 0], [5, 5, 2.5], r"trials is 2.5 in row 2; needed is a whole number")
    refused(Bernoulli(), [1, 0, 2], [1, 1, 1], r"y is 2 in row 2; needed is 0 or 1.*family='binomial'")
    for y in (0.0, 5.0):  # no positives at all, or nothing else
        Binomial().check(np.full(3, y), np.full(3, 5.0))


@pytest.mark.parametrize("counts", [Poisson(), NegativeBinomial()])
def test_count_domain(counts):
    refused(counts, [1, -1], [1, 1], r"y is -1 in row 1; needed is a count")
    refused(counts, [1.5, 1], [1, 1], r"y is 1.5 in row 0; needed is a whole number")
    refused(counts, [1, 1], [1, 0], r"exposure is 0 in row 1; needed is a finite number > 0.*leave it out")
    refused(counts, [1, 1], [np.nan, 1], r"exposure is nan in row 0")
    counts.check(np.zeros(3), np.ones(3))


def test_gamma_domain():
    refused(Gamma(), [1, 0], [1, 1], r"y is 0 in row 1; needed is an amount > 0.*bernoulli")


def test_identity_link_ends_at_zero():
    """Below zero the log density is -inf and the mean 0; at zero only a count of zero is possible."""
    family, eta = Poisson("identity"), np.array([-1.0, 0.0, 0.0, 2.0])
    y, size = np.array([0.0, 0.0, 1.0, 1.0]), np.full(4, 3.0)
    assert_allclose(family.log_density(y, eta, size), [-np.inf, 0, -np.inf, np.log(6) - 6])
    assert_allclose(family.mean(eta), [0, 0, 0, 2])
    assert_allclose(family.draw(eta[:2], size[:2], np.random.default_rng(0)), 0)


def test_negative_binomial_tends_to_poisson():
    y, eta, size = rows(Poisson(), MODERATE)
    near, far = NegativeBinomial(dispersion=1e-18), Poisson()
    assert_allclose(near.log_density(y, eta, size), far.log_density(y, eta, size), rtol=1e-7)
    ours, theirs = near.derivatives(y, eta, size), far.derivatives(y, eta, size)
    for field in dataclasses.fields(ours):
        assert_allclose(getattr(ours, field.name), getattr(theirs, field.name), rtol=1e-7, atol=1e-9)


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match=r"'gausian'.*did you mean 'gaussian'\? Choose from gaussian, bernoulli"):
        family_named("gausian")
    with pytest.raises(InputError, match=r"did you mean 'negative-binomial'"):
        family_named("negative_binomial")
    with pytest.raises(InputError, match=r"is a class; needed is a family: Poisson\(\)"):
        family_named(Poisson)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"link='logt'.*logit, probit.*did you mean 'logit'"):
        Binomial("logt")
    with pytest.raises(InputError, match=r"family 'poisson' has none; leave it out.*negative-binomial"):
        Poisson(dispersion=0.5)
    with pytest.raises(InputError, match=r"dispersion is -1; needed is a finite number > 0"):
        Gamma(dispersion=-1)
    with pytest.raises(PartError, match=r"dispersion of family 'gaussian' is None.*replace\(dispersion=0\.5\)"):
        Gaussian().log_density(np.ones(1), np.ones(1), np.ones(1))
    assert list(BY_NAME) == ["gaussian", "bernoulli", "binomial", "poisson", "negative-binomial", "gamma", "student"]
