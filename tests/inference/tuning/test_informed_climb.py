"""Climbs that begin with the information: they reach the top, within the box, in few steps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference.tuning.informed_climb import Rival, scored


def hill(centre, curvature):
    calls = []

    def value_and_slope(x):
        calls.append(x)
        d = x - centre
        return float(-np.log1p(0.5 * d @ curvature @ d)), -curvature @ d / (1 + 0.5 * d @ curvature @ d)

    return value_and_slope, calls


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_the_top_of_a_ridge_is_reached_in_few_steps(dim):
    """Curvatures a thousandfold apart, and an information that is wrong by a factor of three."""
    turned = np.linalg.qr(np.random.default_rng(dim).normal(size=(dim, dim)))[0]
    curvature = turned @ np.diag(np.geomspace(1000, 1, dim)) @ turned.T
    centre = np.linspace(-1, 1, dim)
    function, calls = hill(centre, curvature)
    box = np.array([[-5.0, 5.0]] * dim)
    x, value, _ = scored(function, centre + 0.5, 3 * curvature, box, 100, 1e-10)
    assert_allclose(x, centre, atol=1e-3)
    assert value == pytest.approx(0, abs=1e-6) and len(calls) <= 50


def test_the_best_place_on_the_border_is_found():
    function, _ = hill(np.array([3.0, 0.0]), np.array([[2.0, 0.5], [0.5, 1.0]]))
    x, _, _ = scored(function, np.array([0.0, 0.0]), np.eye(2), np.array([[-1.0, 1.0], [-1.0, 1.0]]), 100, 1e-12)
    assert x[0] == 1.0
    assert_allclose(x[1], 1.0)  # along the border the slope is 0.5 * 2 - x[1]


def test_without_information_it_still_climbs():
    function, _ = hill(np.array([0.3, -0.2]), np.eye(2))
    x, _, _ = scored(function, np.zeros(2), np.zeros((2, 2)), np.array([[-4.0, 4.0]] * 2), 200, 1e-12)
    assert_allclose(x, [0.3, -0.2], atol=1e-3)


def fading(top):
    """A variance v = exp(x) that adds top v - v^2 / 2 to a hill in y."""

    def value_and_slope(x):
        v = np.exp(x[1])
        return float(-2 * x[0] ** 2 + top * v - v**2 / 2), np.array([-4 * x[0], top * v - v**2])

    return value_and_slope


@pytest.mark.parametrize("top", [-0.5, 0.3])
def test_a_tiny_variance_vanishes_or_grows_without_a_walk(top):
    calls = []

    def counted(x):
        calls.append(x)
        return fading(top)(x)

    box = np.array([[-5.0, 5.0], [-18.0, 3.0]])
    for start in (-17.9, -4.0):
        calls.clear()
        x, _, _ = scored(counted, np.array([0.5, start]), np.diag([4.0, 1e-9]), box, 100, 1e-12)
        assert_allclose(x, [0, -18.0 if top < 0 else np.log(top)], atol=2e-3)
        assert len(calls) < 20


def test_a_climb_ends_on_the_peak_of_its_rival():
    function, calls = hill(np.array([0.3, -0.2]), np.eye(2))
    box = np.array([[-4.0, 4.0]] * 2)
    scored(function, np.ones(2), np.eye(2), box, 100, 1e-12)
    whole = len(calls)
    calls.clear()
    scored(function, np.ones(2), np.eye(2), box, 100, 1e-12, Rival(0.0, np.array([0.3, -0.2])))
    assert len(calls) < whole


def test_a_climb_does_not_give_up_a_slope_that_begins_gently():
    """Far below its rival, with little to gain at first, it climbs on."""
    function, _ = hill(np.array([3.0, -0.2]), np.diag([1e-2, 1.0]))
    box = np.array([[-4.0, 4.0]] * 2)
    x, value, _ = scored(function, np.zeros(2), np.diag([1.0, 1.0]), box, 100, 1e-12, Rival(50.0))
    np.testing.assert_allclose(x, [3.0, -0.2], atol=1e-2)
    assert value > -1e-5


@pytest.mark.parametrize(("ledge", "goes_on"), [(-1.0, False), (-0.01, True)])
def test_a_climb_that_cannot_win_ends_above_the_ledge_alone(ledge, goes_on):
    function, calls = hill(np.array([0.3, -0.2]), np.eye(2))
    box = np.array([[-4.0, 4.0]] * 2)
    x, _, _ = scored(function, np.zeros(2), 2 * np.eye(2), box, 100, 1e-12, Rival(50.0, dear=True, ledge=ledge))
    assert (len(calls) > 1) is goes_on and np.allclose(x, [0.3, -0.2], atol=0.2) is goes_on


def test_a_step_that_the_box_cuts_is_still_a_step_up():
    """A hair below the border, where the other coordinates would follow the one that cannot move."""
    curvature = np.array(
        [[378.0, 98.0, 234.0, -104.0], [98.0, 130, 166, -28], [234.0, 166, 419, -66], [-104.0, -28, -66, 29.2]]
    )
    slope = np.array([49.0, -12.0, -63.0, -7.0])

    def function(x):
        return float(slope @ x - 0.5 * x @ curvature @ x), slope - curvature @ x

    box = np.array([[-6.0, 3e-4], [-3.0, 3.0], [-3.0, 3.0], [-14.0, 1.6]])
    x, value, _ = scored(function, np.zeros(4), curvature, box, 100, 1e-12)
    free = np.array([False, True, True, True])  # along the border
    aim = np.linalg.solve(curvature[np.ix_(free, free)], slope[free] - curvature[free, 0] * 3e-4)
    assert_allclose(x, np.r_[3e-4, aim], atol=1e-3)
    assert value > 10


def test_a_climb_that_cannot_win_ends_early_where_evaluations_are_dear():
    """Of one peak whose height is known by its slopes and curvature: far below the rival, and where it is near."""
    box = np.array([[-9.0, 9.0]])

    def function(x):
        return float(-np.cosh(x[0])), -np.sinh(x)

    for rival, ends in ((Rival(50.0, dear=True), False), (Rival(-0.9999, dear=True), True), (Rival(50.0), True)):
        value = scored(function, np.ones(1), np.eye(1), box, 100, 1e-12, rival)[1]
        assert (abs(value + 1) < 1e-6) == ends


def test_a_climb_ends_where_its_last_step_would_gain_too_little():
    function, asked = hill(np.array([0.3, -0.2]), np.diag([4.0, 2.0]))
    box = np.array([[-4.0, 4.0]] * 2)
    ends = {}
    for enough in (1e-9, 0.05):
        asked.clear()
        _, value, _ = scored(function, np.ones(2), 3 * np.eye(2), box, 100, 1e-15, None, enough)
        ends[enough] = len(asked), -value
    assert ends[0.05][0] < ends[1e-9][0] and 1e-8 < ends[0.05][1] < 0.05
    assert ends[1e-9][1] == pytest.approx(0.0, abs=1e-8)
