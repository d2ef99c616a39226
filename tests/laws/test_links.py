"""Laws of every link: its range, its inverse, and the moments of a mean whose linear predictor is Gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bochner.families import FAMILIES as BY_NAME
from bochner.families import Link
from bochner.families.averages import REACH

# every link that some family takes: a new one is tested as soon as it is taken
LINKS = {f"{name}-{key}": link for name, family in BY_NAME.items() for key, link in family.links.items()}
every_link = pytest.mark.parametrize("link", LINKS.values(), ids=LINKS.keys())
BOUNDED = {name: link for name, link in LINKS.items() if np.all(np.isfinite(link.range))}
every_bounded_link = pytest.mark.parametrize("link", BOUNDED.values(), ids=BOUNDED.keys())
every_width = pytest.mark.parametrize("sd", [1e-4, 0.05, 0.7, 1.4, 1.6, 4.0, 20.0])
CENTRES = np.array([-4.0, -1.0, 0.0, 0.3, 2.0, 5.0])


def brute_force(link: Link, mean: float, sd: float) -> tuple[float, float]:
    """Moments by Gauss-Legendre on many panels, cut where a link may have a kink; far enough for a lognormal."""
    far = REACH + 2 * sd * (link.range[1] == np.inf)
    ends = np.unique(np.r_[np.linspace(mean - REACH * sd, mean + far * sd, 4001), 0.0])
    ends = ends[(ends >= mean - REACH * sd) & (ends <= mean + far * sd)]
    x, weight = np.polynomial.legendre.leggauss(6)
    half = np.diff(ends)[:, None] / 2
    eta = (ends[1:, None] + ends[:-1, None]) / 2 + half * x
    mass = half * weight * stats.norm.pdf(eta, mean, sd)
    first = float(np.sum(mass * link.mean(eta)))
    return first, float(np.sum(mass * (link.mean(eta) - first) ** 2))


@every_link
def test_range_holds_the_mean_of_every_eta(link):
    eta = np.r_[-1e300, np.linspace(-700, 700, 2001), 1e300]
    mean = link.mean(eta)
    low, high = link.range
    assert ((mean >= low) & (mean <= high)).all()
    assert (np.diff(mean) >= 0).all()  # and it rises with eta
    # to either end, as far as floats go: exp(700) is 1e304, held there
    assert_allclose(np.clip(mean[[0, -1]], -1e300, 1e300), np.clip([low, high], -1e300, 1e300), atol=1e-300)


@every_link
def test_link_and_inverse_undo_each_other(link):
    eta = np.linspace(1e-3, 5, 50)
    assert_allclose(link.eta(link.mean(eta)), eta, rtol=1e-9)
    inside = np.linspace(0.01, 0.99, 50)
    assert_allclose(link.mean(link.eta(inside)), inside, rtol=1e-12)


@every_link
def test_linear_says_whether_the_mean_is_eta(link):
    eta = np.linspace(-3, 3, 61)
    assert np.array_equal(link.mean(eta), eta) == link.linear


@every_link
def test_smooth_says_whether_there_is_a_kink(link):
    """Slopes on either side of zero agree, or they do not."""
    h = 1e-6
    left, right = (
        (link.mean(np.array([0.0])) - link.mean(np.array([-h]))),
        (link.mean(np.array([h])) - link.mean([0.0])),
    )
    assert np.allclose(left, right, rtol=1e-4) == link.smooth


@every_link
@every_width
def test_moments_agree_with_brute_force(link, sd):
    if link.range[1] == np.inf and not link.linear and link.smooth and sd > 4:
        pytest.skip("the mean of this lognormal is beyond any number of nodes")
    mean, variance = link.moments(CENTRES, np.full(len(CENTRES), sd**2))
    expected = np.array([brute_force(link, centre, sd) for centre in CENTRES])
    # 1e-8 is what `Response` promises; a tiny variance is a difference of means near one
    assert_allclose(mean, expected[:, 0], rtol=1e-8, atol=1e-12)
    assert_allclose(variance, expected[:, 1], rtol=1e-6, atol=1e-8 * expected[:, 1].max() + 1e-20)


@every_link
def test_moments_agree_with_draws(link, n=200_000):
    sd = np.linspace(0.1, 1.0, len(CENTRES))
    draws = link.mean(CENTRES + sd * np.random.default_rng(0).standard_normal((n, len(CENTRES))))
    mean, variance = link.moments(CENTRES, sd**2)
    # five standard errors of a mean; six of a variance, from the fourth moment of the draws
    assert (np.abs(draws.mean(axis=0) - mean) <= 5 * np.sqrt(variance / n)).all()
    fourth = ((draws - mean) ** 4).mean(axis=0)
    assert (np.abs(((draws - mean) ** 2).mean(axis=0) - variance) <= 6 * np.sqrt(fourth / n)).all()


@every_bounded_link
@every_width
def test_a_link_need_not_know_its_moments(link, sd):
    """What the contract offers to a link that gives no moments is as good."""
    variance = np.full(len(CENTRES), sd**2)
    for found, own in zip(Link.moments(link, CENTRES, variance), link.moments(CENTRES, variance), strict=True):
        assert_allclose(found, own, rtol=1e-6, atol=1e-8)


@every_link
def test_moments_of_no_rows(link):
    mean, variance = link.moments(np.zeros(0), np.zeros(0))
    assert mean.shape == variance.shape == (0,)


@every_link
def test_a_link_has_words(link):
    assert link.name and link.inverse
    assert link.ratio is None or link.ratio.endswith("ratio")
