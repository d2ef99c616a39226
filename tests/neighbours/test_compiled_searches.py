"""Searches that are compiled for many rows find what NumPy finds for few, to the last row."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bochner.neighbours import empty_sectors, maximin_order, predecessors
from bochner.neighbours.lots import lots

pytest.importorskip("numba")


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 7, 40])
@pytest.mark.parametrize("kind", ["grid", "rounded grid", "repeated", "scattered"])
def test_predecessors(monkeypatch, dim, k, kind):
    """On a grid, where many neighbours are equally far, and with fewer rows before than are asked for."""
    side = {1: 150, 2: 13, 3: 6}[dim]
    places = np.stack(np.meshgrid(*[np.arange(side)] * dim), -1).reshape(-1, dim).astype(float)
    rng = np.random.default_rng(0)
    if kind == "rounded grid":
        places = 0.1 * places + 7.3
    elif kind == "repeated":
        places = places[rng.integers(len(places) // 3, size=len(places))]
    elif kind == "scattered":
        places = rng.normal(size=places.shape)
    order = maximin_order(places)
    expected = predecessors(places, order, k)
    monkeypatch.setattr("bochner.neighbours.limits.COMPILED_ORDER", 2)
    found = predecessors(places, order, k)
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)
    some = rng.integers(len(order), size=20)
    assert_array_equal(predecessors(places, order, k, some), expected[some])


def test_ties_are_broken_by_lot():
    """By all pairs: whatever tree finds them, and in no direction more than in another."""
    places = np.stack(np.meshgrid(*[np.arange(9.0)] * 2), -1).reshape(-1, 2)
    order = np.random.default_rng(1).permutation(len(places))
    for position, found in enumerate(predecessors(places, order, 6)):
        square = np.sum((places[order[:position]] - places[order[position]]) ** 2, axis=1)
        nearest = order[np.lexsort((lots(np.arange(position)), square))[:6]]
        assert_array_equal(found[found >= 0], nearest)
    drawn = lots(np.arange(100_000))
    assert len(np.unique(drawn)) == len(drawn) and 0 <= drawn.min() and drawn.max() < 2**32
    later = drawn[1:] > drawn[:-1]
    assert 0.3 < later.mean() < 0.7


@pytest.mark.parametrize("step", [None, 0.3])
def test_a_tree_of_many_dimensions(monkeypatch, step):
    """Scattered, and on a lattice, where distances that are equal may be rounded in two ways."""
    places = np.random.default_rng(2).normal(size=(700, 9))
    places = places if step is None else step * np.round(places)
    order = maximin_order(places)
    expected = predecessors(places, order, 11)
    monkeypatch.setattr("bochner.neighbours.limits.COMPILED_ORDER", 2)
    assert_array_equal(predecessors(places, order, 11), expected)


@pytest.mark.parametrize("least", [2, 10_000])
def test_no_neighbours_are_none(monkeypatch, least):
    monkeypatch.setattr("bochner.neighbours.limits.COMPILED_ORDER", least)
    places = np.random.default_rng(3).normal(size=(50, 2))
    assert predecessors(places, maximin_order(places), 0).shape == (50, 0)


def test_empty_sectors(monkeypatch):
    """Rows on the rim of a sector or of the radius are counted alike; a place in the open has nothing around it."""
    rows = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), -1).reshape(-1, 2)
    places = np.r_[rows[::3] + 0.25, rows[::7], [[4.0, 12.0], [30.0, 30.0]]]
    by_numpy = empty_sectors(places, rows, 4.0, 12)
    monkeypatch.setattr("bochner.neighbours.limits.PAIRS_OF_SECTORS", 100)
    assert_array_equal(empty_sectors(places, rows, 4.0, 12), by_numpy)
    assert by_numpy[-1] == 12  # nothing within reach
    assert by_numpy[np.all(np.abs(places - 4) < 2, axis=1)].max() == 0  # surrounded
    assert 6 <= by_numpy[-2] < 12  # one side only
