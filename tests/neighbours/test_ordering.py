"""Orders from coarse to fine, and the nearest predecessors in them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from bochner.neighbours import maximin_order, ordering, predecessors

every_dimension = pytest.mark.parametrize("dim", [1, 2, 3])


def covering_radius(coords, rows):
    """Largest distance of a point from the nearest of some rows."""
    return cKDTree(coords[rows]).query(coords)[0].max()


def greedy_order(coords):
    """Exact maximin order, in n^2 steps."""
    rows, gap = [0], np.linalg.norm(coords - coords[0], axis=1)
    for _ in range(len(coords) - 1):
        rows.append(int(gap.argmax()))
        gap = np.minimum(gap, np.linalg.norm(coords - coords[rows[-1]], axis=1))
    return np.array(rows)


@every_dimension
def test_order_is_a_permutation_and_the_same_every_time(dim):
    """Every row occurs once; the seed alone decides."""
    coords = np.random.default_rng(0).normal(size=(500, dim))
    order = maximin_order(coords, seed=3)
    assert_array_equal(np.sort(order), np.arange(500))
    assert_array_equal(order, maximin_order(coords, seed=3))
    assert (order != maximin_order(coords, seed=4)).any()


@every_dimension
@pytest.mark.parametrize("n_prefix", [16, 64, 256])
def test_prefix_covers_the_data_nearly_as_well_as_exact_maximin(dim, n_prefix):
    """A prefix ends within a level, so it covers as its last full level does: half as finely, by diagonals."""
    coords = np.random.default_rng(1).uniform(size=(2000, dim))
    ours = covering_radius(coords, maximin_order(coords)[:n_prefix])
    exact = covering_radius(coords, greedy_order(coords)[:n_prefix])
    assert ours < 2 * np.sqrt(dim) * exact


def test_repeated_places_come_last():
    """A place is repeated only when every place is there."""
    places = np.random.default_rng(2).uniform(size=(100, 2))
    coords = np.repeat(places, 3, axis=0)
    assert len(np.unique(maximin_order(coords)[:100] // 3)) == 100


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(n):
    """One point has no predecessor, the second has one."""
    coords = np.arange(n, dtype=float)[:, None]
    order = maximin_order(coords)
    found = predecessors(coords, order, 5)
    assert found.shape == (n, n - 1)
    assert_array_equal((found >= 0).sum(axis=1), np.arange(n))


def test_coinciding_points_have_an_order():
    """All rows at one place."""
    coords = np.ones((10, 2))
    order = maximin_order(coords)
    assert_array_equal(np.sort(order), np.arange(10))
    assert_array_equal((predecessors(coords, order, 4) >= 0).sum(axis=1), np.minimum(np.arange(10), 4))


@every_dimension
@pytest.mark.parametrize("n_neighbours", [1, 7, 20])
def test_predecessors_are_the_nearest_earlier_points(dim, n_neighbours):
    """Against all pairs of distances."""
    rng = np.random.default_rng(4)
    coords = rng.normal(size=(700, dim))
    order = rng.permutation(700)
    found = predecessors(coords, order, n_neighbours)
    for position, rows in enumerate(found):
        distances = cdist(coords[order[[position]]], coords[order[:position]])[0]
        nearest = order[:position][np.argsort(distances)[:n_neighbours]]
        assert_array_equal(rows[: len(nearest)], nearest)
        assert (rows[len(nearest) :] == -1).all()


def test_predecessors_of_some_positions():
    """The rows of the full answer."""
    coords = np.random.default_rng(5).normal(size=(300, 2))
    order = maximin_order(coords)
    positions = np.array([250, 3, 70])
    assert_array_equal(predecessors(coords, order, 8, positions), predecessors(coords, order, 8)[positions])


def test_the_first_of_a_cell_is_the_nearest_to_its_centre():
    """Cells of the unit square cut into four; of an empty one the point nearest to its middle is taken, wherever."""
    rng = np.random.default_rng(0)
    unit = rng.uniform(0, 2, size=(60, 2))
    cell = (np.floor(unit) @ [2, 1]).astype(int)
    rows = np.argsort(cell, kind="stable")
    unit, cell = unit[rows], cell[rows]
    waiting = cell != 2  # one cell has its point already
    new = ordering._one_per_empty_cell(cell, unit, waiting)
    assert sorted(cell[new]) == [0, 1, 3]
    for one in new:
        away = np.linalg.norm(unit - np.floor(unit) - 0.5, axis=1)
        assert away[one] == away[cell == cell[one]].min()
