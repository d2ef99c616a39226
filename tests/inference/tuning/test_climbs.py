"""Climbs, and what is chosen at their ends: tops within a box, directions that pay, masses of rivals and levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from bochner.families import Gaussian, Poisson, Student
from bochner.features import Rows
from bochner.inference import Responses
from bochner.inference.observed.average import Average
from bochner.inference.tuning import branches, limits, reweighting, selection
from bochner.inference.tuning.averaging import with_rivals
from bochner.inference.tuning.informed_climb import scored
from bochner.inference.tuning.laplace_integration import _levels
from bochner.inference.tuning.objectives import composite_parts, with_shared_trend
from bochner.inference.tuning.search import Search, Tuned, score_objective
from bochner.kernels import Matern, Scale
from tests.inference.tuning.objectives import NOISE, quadratic, search

pytestmark = pytest.mark.every_case

CURVATURE = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
TOP = np.array([0.3, -1.0, 2.0])


def hill(x: np.ndarray) -> tuple[float, np.ndarray]:
    off = x - TOP
    return float(-0.5 * off @ CURVATURE @ off), -CURVATURE @ off


@pytest.mark.parametrize("wrong", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("wide", [True, False])
def test_a_climb_ends_at_the_top_of_its_box(wrong, wide):
    """Whatever was thought of the curvature at first; in a box that does not hold the top, where its slopes press."""
    low, high = (np.full(3, -9.0), np.full(3, 9.0)) if wide else (np.full(3, -0.5), np.full(3, 1.0))
    count = []
    found, value, _ = scored(
        lambda x: (count.append(1), hill(x))[1],
        np.zeros(3),
        wrong * CURVATURE,
        np.stack([low, high], axis=1),
        60,
        1e-10,
    )
    best = optimize.minimize(lambda x: -hill(x)[0], np.zeros(3), bounds=list(zip(low, high, strict=True)), tol=1e-14)
    assert_allclose(found, best.x, atol=1e-3)
    assert_allclose(value, -best.fun, atol=1e-5)
    assert np.all((found >= low) & (found <= high))
    assert len(count) < 40 and (wrong != 1.0 or not wide or len(count) < 12)


def test_a_climb_leaves_a_place_without_curvature_and_heeds_failures():
    """Two humps with a hollow between; beyond 3 nothing can be computed."""

    def humps(x: np.ndarray) -> tuple[float, np.ndarray]:
        if x[0] > 3:
            return limits.FAILED_SEARCH, np.zeros(1)
        return float(np.sin(x[0])), np.cos(x)

    box = np.array([[-9.0, 9.0]])
    for start in (0.0, 0.5, 2.5):
        found, value, _ = scored(humps, np.array([start]), np.array([[1e-3]]), box, 80, 1e-12)
        assert_allclose(found, np.pi / 2, atol=1e-3)
        assert value == pytest.approx(1.0)
    stays, _, _ = scored(humps, np.array([np.pi / 2]), np.eye(1), box, 80, 1e-8)
    assert_allclose(stays, np.pi / 2, atol=1e-6)


def test_slopes_of_a_score_are_those_of_its_differences():
    objective = score_objective(lambda kernel, noise: quadratic((0.2, 0.5))(kernel, noise)[0])
    kernel = Matern((0.3, 0.4), 1.5)
    value, slope = objective(kernel, 0.02)
    exact = quadratic((0.2, 0.5))(kernel, 0.02)
    assert_allclose(value, exact[0])
    assert_allclose(slope, exact[1], rtol=1e-6)
    without = score_objective(lambda kernel, noise: -1.0 - noise)
    assert without(kernel, 0.0) == (-1.0, pytest.approx(np.zeros(4)))


# ------------------------------------------------------------------------------------------------------ the kernel


def turned_objective(gain: float, angle: float):
    """Worth `gain` where axes of scales 0.3 and 0.1 are turned by an angle, and nothing otherwise."""

    def score(kernel, noise_variance):
        noise = np.log(noise_variance / NOISE)
        if kernel.rotation is None:
            return -float(noise**2)
        off = np.log(np.array(kernel.length_scale) / [0.3, 0.1])
        turn = np.sin(float(kernel.rotation) - angle)
        return gain - float(off @ off) - 4 * float(turn**2) - float(noise**2)

    return score_objective(score)


@pytest.mark.parametrize(
    ("gain", "angle", "extent", "turned"),
    [
        (10.0, 0.6, (1.0, 1.0), True),
        (4.0, 0.6, (1.0, 1.0), False),  # two parameters more cost the log of 100 rows, 4.6
        (10.0, 0.0, (1.0, 1.0), False),  # no turn at all
        (10.0, 0.6, (9.0, 1.0), False),  # axes in unlike units have no angle
    ],
)
def test_axes_are_turned_where_it_pays(gain, angle, extent, turned):
    looked = Search(turned_objective(gain, angle), Scale(np.array(extent), 0.02, 1.0), None)
    found = selection.select_kernel(looked, n_rows=100, dim=2)
    assert found.choice.value.endswith("turned") == turned == bool(found.turned)
    if turned:
        assert_allclose(found.tuned.kernel.length_scale, [0.3, 0.1], rtol=0.05)
        assert len(found.turned) == len(limits.SELECTED_SMOOTHNESS)
        assert [t.value for t in found.turned] == sorted((t.value for t in found.turned), reverse=True)
    shared = replace(looked, shared=(0, 1))
    assert not selection.select_kernel(shared, n_rows=100, dim=2).turned  # axes of their own are not turned
    assert not selection.select_kernel(looked, n_rows=100, dim=2, toll=1.0).turned


@pytest.mark.parametrize("ratio", [1.0, 1.3, 8.0])
def test_axes_that_hardly_differ_are_not_climbed_apart(ratio):
    """Half the square of the log ratio is what unequal scales gain, of a quadratic objective exactly."""
    lengths = 0.3 * np.array([ratio, 1.0])
    looked = search(quadratic(lengths))
    best = looked.maximise(Matern(0.2), NOISE)
    gain = 0.5 * np.log(ratio) ** 2
    for price in (0.2, 20.0):
        assert selection._alike(looked, best, 2, price) == (gain < limits.SPLIT_DOUBT * price)
    unlike = replace(looked, scale=Scale(np.array([9.0, 1.0]), 0.02, 1.0))
    assert not selection._alike(unlike, best, 2, 1e9)


def test_a_rougher_kernel_reaches_as_far_by_a_longer_scale():
    one = Matern(0.4, 2.0, nu=2.5)
    rough = selection.of_smoothness(one, 0.5)
    assert rough.nu == 0.5 and rough.variance == 2.0 and rough.length_scale > 0.4
    back = selection.of_smoothness(rough, 2.5)
    assert_allclose(back.length_scale, 0.4)
    assert selection.due(Tuned(rough, 0.1, 0.0, 1, ()), 3.0) == 0.0
    assert selection.due(Tuned(one, 0.1, 0.0, 1, ()), 3.0) == 3.0


def test_smoothness_begins_where_it_is_told_to():
    looked = search(quadratic((0.2, 0.2), lambda kernel: {0.5: 0.0, 1.5: 1.0, 2.5: 5.0}[kernel.nu]))
    found = selection.select_kernel(looked, 100, 2, first=(Matern(0.21), NOISE))
    assert found.tuned.kernel.nu == 2.5 and found.tuned.value == pytest.approx(5.0, abs=1e-3)
    plain = selection.select_kernel(looked, 100, 2)
    assert found.tuned.n_evaluations < plain.tuned.n_evaluations
    assert "must gain 2.0" in str(selection.select_kernel(looked, 100, 2, toll=2.0).choice)
    assert "must gain" not in str(plain.choice)


# ---------------------------------------------------------------------------------------------------------- masses


def test_rivals_count_by_what_they_miss_of_the_best():
    found = Average((Matern(0.2, nu=0.5), Matern(0.3, nu=0.5)), np.array([0.1, 0.2]), np.array([0.6, 0.4]))
    best = Tuned(Matern(0.2, nu=0.5), 0.1, -10.0, 1, ())
    toll = limits.SMOOTHER_TOLL  # paid by smoother ones alone
    rival = Tuned(Matern(0.5, nu=2.5), 0.3, -10.0 + toll - np.log(4.0), 1, ())
    mixed = with_rivals(found, best, [rival])
    assert_allclose(mixed.mass, np.array([0.6, 0.4, 0.25]) / 1.25)
    assert mixed.kernels[-1] == rival.kernel and mixed.noise_variances[-1] == 0.3
    better = replace(rival, value=99.0)
    assert_allclose(with_rivals(found, best, [better]).mass, [0.3, 0.2, 0.5])  # no more than the best
    faint = replace(rival, value=-10.0 + toll + np.log(limits.LEAST_RIVAL / 2))
    assert len(with_rivals(found, best, [faint, rival]).mass) == 3
    assert with_rivals(found, best, []) is found


def test_levels_of_a_variance_have_an_exponential_sd():
    """Of many levels, close to each other: mean and mean square of the sd are those of the law."""
    t = tuple(np.linspace(-16.0, 8.0, 600))
    variances, log_mass = _levels(t, 0.7)
    mass = np.exp(log_mass)
    mass /= mass.sum()
    assert_allclose(mass @ np.sqrt(variances), 0.7, rtol=2e-3)
    assert_allclose(mass @ variances, 2 * 0.7**2, rtol=2e-3)


@pytest.mark.parametrize("dim", [2, 3])
def test_contrasts_of_axes_leave_their_mean_alone(dim):
    contrast = branches._contrasts(dim)
    assert contrast.shape == (dim, dim - 1)
    assert_allclose(contrast.T @ contrast, np.eye(dim - 1), atol=1e-12)
    assert_allclose(contrast.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("extent", [(1.0, 1.0), (1.0, 8.0)])
def test_stretches_lie_about_what_was_found(extent):
    """Nodes about the best ratio; an objective without end leaves the prior of the ratio, one that is steep none."""
    lengths = np.array([0.2, 0.5]) * np.array(extent)
    widest = 1 / np.sqrt(1 / limits.RATIO_SD**2 + 1 / limits.WIDEST**2)
    for steepness, spread in ((1e-6, widest), (1e6, 0.0)):
        looked = Search(quadratic(lengths, steepness=steepness), Scale(np.array(extent), 0.02, 1.0), None)
        found = Tuned(Matern(tuple(lengths)), NOISE, 0.0, 1, ())
        covariance = branches._ratio_covariance(looked, found, branches._contrasts(2))
        assert_allclose(np.sqrt(covariance), spread, atol=0.02, rtol=0.05)
        nodes = branches.stretched(Matern(), looked, found, 0.0)
        middle = min(nodes, key=lambda node: abs(np.diff(node.log_units)[0] - np.log(lengths[1] / lengths[0])))
        assert_allclose(np.diff(middle.log_units), np.log(lengths[1] / lengths[0]), atol=1e-6)
        # unlike axes are in units of their own; alike ones in that of the longer side
        level = np.mean(np.log(extent)) if max(extent) > 3 * min(extent) else np.log(max(extent))
        assert_allclose(np.mean(middle.log_units), level, atol=1e-9)


# -------------------------------------------------------------------------- parts, and rows that count less


def counts(n: int = 200) -> Responses:
    rng = np.random.default_rng(0)
    one, zero = np.ones(n), np.zeros(n)
    rows = Rows(rng.uniform(size=(n, 2)) * [1.0, 1e4], np.column_stack([one, rng.normal(size=n)]))
    return Responses(Poisson(), rows, rng.poisson(3.0, n).astype(float), one, zero, one, zero)


def test_parts_are_clusters_and_rows_from_everywhere():
    """Whatever the units of the axes."""
    *clusters, spread = composite_parts(counts(), 0, 3, 20, 50)
    assert [len(part) for part in clusters] == [20, 20, 20] and len(spread) == 50
    for part in clusters:
        assert np.all(np.ptp(part.rows.coords, axis=0) < [0.6, 6e3])
        assert len(np.unique(part.rows.coords[:, 0])) == 20
    assert np.all(np.ptp(spread.rows.coords, axis=0) > [0.8, 8e3])
    few = composite_parts(counts(40), 0, 2, 100, 1_000)
    assert [len(part) for part in few] == [10, 10, 40]


def test_parts_share_a_trend_that_is_weakly_known():
    given = counts()
    found = with_shared_trend(given)
    assert_allclose(found.trend_precision, found.trend_precision.T)
    assert np.all(np.linalg.eigvalsh(found.trend_precision) > 0)
    # the mean count and no slope: what a row tells of its level is 3, in all 600, of which a few rows' are kept
    assert_allclose(np.mean(np.exp(found.offset)), np.mean(given.y), rtol=0.02)
    share = min(limits.SHARED_ROWS / 200, limits.SHARED_SHARE)
    assert_allclose(found.trend_precision[0, 0], share * given.y.sum(), rtol=0.02)


def test_medians_of_copies_are_those_of_rows():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 8):
        values, copies = rng.normal(size=n), rng.integers(1, 4, n)
        assert_allclose(reweighting._median(values, copies.astype(float)), np.median(np.repeat(values, copies)))


def student(n: int = 60) -> Responses:
    rng = np.random.default_rng(1)
    one, zero = np.ones(n), np.zeros(n)
    coords = rng.uniform(size=(n, 2))
    y = np.sin(4 * coords[:, 0]) + 0.1 * rng.standard_t(3, n)
    y[:2] += 9.0
    return Responses(Student(dispersion=0.02, dof=4.0), Rows(coords, one[:, None]), y, one, zero, one, zero)


def test_rows_left_out_are_predicted_alike_by_all_and_by_the_nearest():
    given = student()
    obs = replace(given, family=Gaussian(), y=np.sin(4 * given.rows.coords[:, 0])).observations()
    exact = reweighting._exactly(Matern(0.5), 0.1, student())(obs)
    near = reweighting._locally(Matern(0.5), 0.1)(obs)
    assert_allclose(near[0], exact[0], atol=0.2)
    assert np.corrcoef(near[0], exact[0])[0, 1] > 0.98
    assert_allclose(near[1], exact[1], rtol=0.5)


def test_weights_have_no_unit_and_outliers_none_to_speak_of():
    now = reweighting.settled(Matern(0.5), 0.02, student(), reweighting.first_weights(student()))
    assert np.all(now.relative[:2] < 0.1) and np.median(now.relative) == 1.0 and now.relative.max() == 1.0
    assert_allclose(now.divided(100.0).relative, now.relative)
    doubled = now.of_rows(np.repeat(np.arange(60), 2), np.ones(120))
    assert_allclose(doubled.relative, np.repeat(now.relative, 2))
    assert_allclose(now.weighted(student()).weight.sum(), 60)


def test_a_student_with_endless_freedom_adds_nothing_to_a_gaussian():
    rng = np.random.default_rng(2)
    family = Student(dispersion=0.3, dof=1e7)
    now = reweighting.Reweighted(family, rng.normal(size=30) ** 2, rng.uniform(0.1, 0.2, 30), np.ones(30))
    assert abs(now.gain(np.ones(30), 0.3, np.ones(30))) < 1e-4
    assert now.gain(np.ones(30), 30.0, np.ones(30)) > 5  # a noise too wide by a hundred
    assert_array_equal(reweighting._of_mean_one(np.full(4, 7.0), np.ones(4)), np.ones(4))
