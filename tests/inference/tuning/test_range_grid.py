"""The grid of ranges: it reaches from the peak down to where nothing is left, and its nodes share out its mass."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference.evidence.share_evidence import Line
from bochner.inference.tuning import limits
from bochner.inference.tuning.integration import Branch, RangeGrid, Weighed
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
