"""Boxes of a tree: every place is in one, and always in the same."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from bochner.neighbours.cell_tree import cells_of

from .test_kriging import every_dimension


def near_the_corner(centre: np.ndarray, step: float) -> np.ndarray:
    """Small enough: boxes that shrink towards the origin, to a part in a million."""
    return step <= 0.3 * np.linalg.norm(centre, axis=1) + 1e-6


def boxes(places: np.ndarray) -> np.ndarray:
    """Centre of the box that each place is in, and half its side."""
    found = np.full((len(places), places.shape[1]), np.nan)
    for centres, members in cells_of(places, np.zeros(places.shape[1]), 2.0, near_the_corner):
        for centre, here in zip(centres, members, strict=True):
            assert np.isnan(found[here]).all()
            found[here] = centre
    return found


@every_dimension
def test_every_place_is_in_the_largest_box_that_is_small_enough(dim):
    rng = np.random.default_rng(dim)
    places = rng.uniform(-3, 5, size=(120, dim)) * 10.0 ** rng.uniform(-7, 0, size=(120, 1))
    found = boxes(places)
    for place, centre in zip(places, found, strict=True):
        for level in range(31):  # as by hand, from the coarsest on
            step = 2.0 / 2**level
            expected = (np.floor(place / step) + 0.5) * step
            if near_the_corner(expected[None], step)[0]:
                break
        np.testing.assert_allclose(centre, expected, rtol=1e-12)
    assert_array_equal(boxes(places[::3]), found[::3])


def test_places_that_no_box_parts_share_one():
    places = np.full((5, 2), 0.3)
    ((centre, members),) = cells_of(places, np.zeros(2), 1.0, lambda centre, step: np.zeros(len(centre), bool))
    assert centre.shape == (1, 2) and sorted(np.concatenate(members).tolist()) == [0, 1, 2, 3, 4]
