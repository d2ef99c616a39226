"""The grid of ranges: it reaches from the peak down to where nothing is left, and its nodes share out its mass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.share_evidence import Line, Tridiagonal
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning import limits
from bochner.inference.tuning.averaging import curvature_at_mode
from bochner.inference.tuning.branches import isotropic, stretched
from bochner.inference.tuning.integration import integrate
from bochner.inference.tuning.range_grid import Branch, RangeGrid
from bochner.inference.tuning.search import Search
from bochner.inference.tuning.share_lines import Weighed
from bochner.kernels import Matern

BRANCH = Branch(Matern(), np.zeros(1), 0.0)
LOGIT = np.linspace(-3.0, 3.0, 13)


def grid_of(log_density, first) -> RangeGrid:
    """A grid whose density in the log range is known; along the share of the field it is flat."""

    def lines(log_range: float) -> list[Weighed]:
        along = np.full(len(LOGIT), log_density(log_range) - np.log(len(LOGIT)))
        line = Line(LOGIT, along, np.exp(LOGIT), np.full(len(LOGIT), 0.5))
        return [Weighed(line, along, log_density(log_range))]

    return RangeGrid(BRANCH, lines, np.asarray(first))


@pytest.mark.parametrize("start", [-3.0, 0.0])
def test_the_grid_is_flooded_from_a_start_until_it_has_fallen(start):
    """The peak is passed, and beyond it the first point that is ruled out is the last."""
    first = np.linspace(-8, 8, 65)
    grid = grid_of(lambda t: -2.0 * (t - 0.5) ** 2, first)
    top = grid.flood(start, -np.inf)
    assert_allclose(top, 0.0, atol=0.05)
    t = grid.log_ranges
    value = -2.0 * (t - 0.5) ** 2
    below = value < top - limits.VALLEY_NATS
    inside = t[~below]
    assert_allclose(np.diff(t), 0.25)  # nothing is left out between the ends
    assert below[0] and below[-1]
    assert np.sum(t > inside.max()) == 1 and not np.isin(first[[0, -1]], t).any()


def test_a_start_in_the_valley_climbs_out():
    """Points on the way up are far below the best, and no end of the grid."""
    grid = grid_of(lambda t: -2.0 * (t - 4.0) ** 2, np.linspace(-8, 8, 65))
    assert_allclose(grid.flood(-2.0, -np.inf), 0.0, atol=1e-9)


@pytest.mark.parametrize(("below", "looked"), [(1.1, 1), (0.9, 3)])
def test_a_branch_that_begins_far_below_the_best_is_given_up(below, looked):
    grid = grid_of(lambda t: -2.0 * t**2, np.linspace(-6, 6, 5))
    top = below * limits.HOPELESS_NATS
    assert grid.flood(0.0, top) == top and len(grid.points) == looked
    assert grid.nodes(top) == [] and grid.log_mass < top - 20


def test_nodes_share_out_the_mass_of_uneven_ranges():
    """Trapezoids between ranges that lie apart unevenly: masses sum to one, and the mean is that of the density."""
    t = np.sort(np.random.default_rng(0).uniform(-5, 5, 120))
    grid = grid_of(lambda t: -0.5 * (t - 0.3) ** 2, t)
    grid.add(t)
    nodes = grid.nodes(grid.log_mass)
    mass = np.array([node.mass for node in nodes])
    assert_allclose(mass.sum(), 1, atol=len(t) * limits.LEAST_MASS)
    assert_allclose(mass @ [node.log_range for node in nodes], 0.3, atol=0.15)
    assert_allclose(np.exp(grid.log_mass), np.sqrt(2 * np.pi), rtol=0.05)
    assert {node.noise for node in nodes} == {0.5}


def test_ranges_that_hold_too_much_are_halved():
    grid = grid_of(lambda t: -8.0 * t**2, np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    grid.add(grid.first)
    assert grid.missing() == [-0.5, 0.5]


def stretched_field(n, scales, seed, nu=0.5):
    """Observations, their scale, the best kernel with its noise, and all branches."""
    rng = np.random.default_rng(seed)
    dim = len(scales)
    coords = rng.uniform(size=(n, dim))
    root = np.linalg.cholesky(Matern(scales, nu=nu).covariance(coords, coords))
    y = root @ rng.normal(size=n) + 0.1 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    scale = scale_of(obs)
    search = Search(ExactEvidence(obs, reml=True), scale, None, prior=True)
    best = search.maximise(Matern(scales, nu=nu), 0.01)
    branches = [
        *isotropic(None, scale, np.log(1 - limits.STRETCHED_PRIOR)),
        *stretched(None, search, best, np.log(limits.STRETCHED_PRIOR)),
    ]
    return obs, scale, branches, (best.kernel, best.noise_variance)


@pytest.fixture
def masses(monkeypatch):
    """Masses of all smoothnesses and of what is stretched, and how many tridiagonal forms they took."""
    forms, plain = [0], Tridiagonal.of.__func__
    monkeypatch.setattr(Tridiagonal, "of", classmethod(lambda *a: (forms.append(1), plain(*a))[1]))

    def found(obs, scale, branches, best):
        forms.clear()
        integral = integrate(obs, scale, None, branches, best)
        smooth = [integral.mass_of(lambda b, nu=nu: b.kernel.nu == nu) for nu in limits.SMOOTHNESS_PRIOR]
        return [*smooth, integral.mass_of(lambda b: b.stretched)], len(forms)

    return found


@pytest.mark.parametrize(("seed", "scales", "kept"), [(0, (0.2, 0.2), False), (3, (0.1, 0.6), True)])
def test_stretches_that_are_not_kept_are_hardly_looked_at(seed, scales, kept, masses, monkeypatch):
    """Smoothnesses that one range for all axes rules out are not stretched: the same masses for half of the work."""
    given = stretched_field(240, scales, seed)
    quick, few = masses(*given)
    monkeypatch.setattr(limits, "RULED_OUT_SMOOTHNESS", np.inf)
    monkeypatch.setattr(limits, "HOPEFUL_STRETCH", 1e-9)
    whole, many = masses(*given)
    assert_allclose(quick, whole, atol=5e-3)
    assert (whole[-1] > 0) == kept
    assert few < (0.9 if kept else 0.7) * many, (few, many)


@pytest.mark.parametrize(("n", "scales", "nu"), [(260, (0.1, 0.4), 1.5), (300, (0.2, 0.4, 0.8), 1.5)])
def test_many_rows_have_the_same_masses_for_half_of_the_work(n, scales, nu, masses, monkeypatch):
    given = stretched_field(n, scales, 1, nu)
    thrifty, few = masses(*given)
    monkeypatch.setattr(limits, "THRIFTY_ROWS", 10_000)
    whole, many = masses(*given)
    assert_allclose(thrifty, whole, atol=0.05)
    assert few < 0.6 * many, (few, many)
    # one smoothness alone, and none stretched
    alone, _ = masses(given[0], given[1], given[2][:1], given[3])
    assert_allclose(alone, [1.0, 0.0, 0.0, 0.0], atol=1e-9)


def test_a_peak_between_two_of_the_first_ranges_is_not_lost(masses, monkeypatch):
    """400 rows in space: at the first ranges nu = 2.5 has a twentieth of the mass that it has between them."""
    monkeypatch.setattr(limits, "THRIFTY_ROWS", 10_000)
    obs, scale, branches, best = stretched_field(400, (0.3, 0.3, 0.1), 0, 1.5)
    given = obs, scale, [b for b in branches if b.ring == 1 and b.kernel.nu > 1], best
    coarse, _ = masses(*given)
    monkeypatch.setattr(limits, "RANGE_STEP", 0.05)
    fine, _ = masses(*given)
    assert_allclose(coarse, fine, atol=0.02)
    assert 0.2 < fine[2] < 0.8


def test_a_smoothness_begins_where_it_was_climbed():
    """A step is no Matern field: the rough one lies far from where the smooth one, made rougher, falls off as far."""
    rng = np.random.default_rng(4)
    coords, n = rng.uniform(size=(300, 2)), 300
    y = 5.0 * (coords[:, 0] > 0.5) + 0.1 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    scale = scale_of(obs)
    search = Search(ExactEvidence(obs, reml=True), scale, None, prior=True)
    each = [search.maximise(Matern(0.3, nu=nu), 0.1) for nu in limits.SMOOTHNESS_PRIOR]
    branches = isotropic(None, scale, 0.0)
    for best in each:  # whichever is taken for the best
        found = integrate(obs, scale, None, branches, (best.kernel, best.noise_variance), each)
        masses = [found.mass_of(lambda b, nu=nu: b.kernel.nu == nu) for nu in limits.SMOOTHNESS_PRIOR]
        assert np.argmax(masses) == np.argmax([t.value for t in each])


def test_ratios_are_as_open_as_the_evidence_falls():
    """Of many rows: the nodes about the learned stretch are as far from it as the slopes of the evidence say."""
    obs, scale, branches, best = stretched_field(260, (0.1, 0.4), 1, 1.5)
    search = Search(ExactEvidence(obs, reml=True), scale, None, prior=True)
    tuned = search.maximise(*best)
    spread = {ring: [b.log_units[0] - b.log_units[1] for b in branches if b.ring == ring] for ring in (1, 2)}
    sd = np.ptp(spread[2]) / (2 * np.sqrt(3) * np.sqrt(2))
    curvature = curvature_at_mode(search, tuned)
    across = np.array([1.0, -1.0]) / np.sqrt(2)
    known = across @ np.linalg.inv(curvature)[:2, :2] @ across
    assert_allclose(sd, np.sqrt(1 / (1 / known + 1 / limits.RATIO_SD**2)), rtol=0.15)


def test_rows_that_tell_nothing_keep_what_was_known_of_smoothness(masses, monkeypatch):
    """Without a field every range is as likely, and so is every smoothness: no edge is taken for a peak."""
    rng = np.random.default_rng(7)
    coords, n = rng.uniform(size=(300, 2)), 300
    obs = Observations(Rows(coords, np.ones((n, 1))), rng.normal(size=n), np.ones(n), np.zeros(n), np.zeros(n))
    scale = scale_of(obs)
    given = obs, scale, isotropic(None, scale, 0.0), (Matern(0.2, 0.01, nu=2.5), 1.0)
    thrifty, _ = masses(*given)
    monkeypatch.setattr(limits, "THRIFTY_ROWS", 10_000)
    assert_allclose(thrifty, masses(*given)[0], atol=0.05)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_smoothness_whose_climb_fell_far_short_has_no_part(dim, monkeypatch):
    """The masses of the others are as they would be with it."""
    rng = np.random.default_rng(5)
    n = 300
    coords = rng.uniform(size=(n, dim))
    root = np.linalg.cholesky(Matern(0.2 * dim, nu=2.5).covariance(coords, coords) + 1e-9 * np.eye(n))
    y = root @ rng.normal(size=n) + 0.1 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    scale = scale_of(obs)
    search = Search(ExactEvidence(obs, reml=True), scale, None, prior=True)
    each = [search.maximise(Matern(0.3, nu=nu), 0.1) for nu in limits.SMOOTHNESS_PRIOR]
    best = max(each, key=lambda t: t.value)
    short = np.array([best.value - t.value for t in each])
    assert short.max() > limits.HOPELESS_CLIMB
    given = obs, scale, None, isotropic(None, scale, 0.0), (best.kernel, best.noise_variance)
    found = integrate(*given, each)
    with monkeypatch.context() as patched:
        patched.setattr(limits, "HOPELESS_CLIMB", np.inf)
        whole = integrate(*given, each)
    parts = sorted(branch.kernel.nu for branch in found.branches)
    assert parts == [nu for nu, by in zip(limits.SMOOTHNESS_PRIOR, short, strict=True) if by <= limits.HOPELESS_CLIMB]
    for nu in limits.SMOOTHNESS_PRIOR:
        assert found.mass_of(lambda b, nu=nu: b.kernel.nu == nu) == pytest.approx(
            whole.mass_of(lambda b, nu=nu: b.kernel.nu == nu), abs=0.03
        )
    # a stretched kernel that is not averaged over rules out no other
    far = Search(ExactEvidence(obs, reml=True), scale, None).maximise(Matern((0.3,) * dim, nu=0.5), 0.1)
    above = replace(far, value=best.value + 100)
    assert len(integrate(*given, [*each, above]).branches) == len(parts)


def test_ranges_beside_a_wide_peak_are_those_of_the_first_grid():
    """What was looked at for a parabola is not looked at again where there is none."""
    first = np.linspace(-6.0, 6.0, 25)
    wide = grid_of(lambda t: -0.5 * (t / 1.5) ** 2, first)
    wide.flood(0.0, -np.inf)
    assert wide.is_wide
    grid = grid_of(lambda t: -0.5 * (t / 1.5) ** 2, first)
    assert not grid.beside(0.1, wide, -100.0)
    begun = set(grid.points)
    assert begun <= set(first.tolist())
    looked, evaluate = [], grid.evaluate
    grid.evaluate = lambda t: (looked.append(t), evaluate(t))[1]
    grid.flood(0.0, -np.inf)
    assert not begun & set(looked) and set(looked) | begun == set(grid.points)


def test_another_smoothness_follows_a_wide_peak_where_it_lies():
    """Four nodes, moved by how much further it reaches: its mass is that of its whole range."""
    first = np.linspace(-8.0, 8.0, 65)
    wide = grid_of(lambda t: -0.5 * (t / 1.2) ** 2, first)
    wide.flood(0.0, -np.inf)
    other = grid_of(lambda t: -0.7 - 0.5 * ((t - 0.8) / 1.0) ** 2, first)
    other.follow(wide, 0.8)
    assert len(other.points) == limits.FOLLOWED_NODES + 1
    assert other.log_mass - wide.log_mass == pytest.approx(-0.7 + np.log(1.0 / 1.2), abs=0.02)
