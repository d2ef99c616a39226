"""Gaps: test rows lie as the places to be predicted lie."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import InputError
from bochner.validation import BlockKFold, GapBlocks


def grid(*sizes: int) -> np.ndarray:
    axes = np.meshgrid(*(np.arange(float(size)) for size in sizes), indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, len(sizes))


GRIDS = [grid(600), grid(40, 40), grid(12, 12, 12)]
every_grid = pytest.mark.parametrize("places", GRIDS, ids=["1-D", "2-D", "3-D"])


def ball(places: np.ndarray, share: float) -> np.ndarray:
    """The share of the places that lies closest to a point off the centre."""
    distance = np.linalg.norm(places - 0.4 * places.max(axis=0), axis=1)
    inside: np.ndarray = distance < np.quantile(distance, share)
    return inside


def bottle(places: np.ndarray) -> np.ndarray:
    """A box 6 wide, and on it along the first axis one 5 long and 3 wide: not its own mirror image."""
    x, others = places[:, 0] - 5, places[:, 1:] - 3
    body = (x >= 0) & (x < 6) & ((others >= 0) & (others < 6)).all(axis=1)
    neck = (x >= 6) & (x < 11) & ((others >= 0) & (others < 3)).all(axis=1)
    if places.shape[1] == 1:
        neck = (x >= 20) & (x < 25)
    inside: np.ndarray = body | neck
    return inside


def as_shape(places: np.ndarray) -> frozenset[tuple[float, ...]]:
    """A set of places, wherever it lies."""
    return frozenset(map(tuple, places - places.min(axis=0)))


@every_grid
def test_test_rows_are_as_far_from_data_as_the_places(places: np.ndarray) -> None:
    gap = ball(places, 0.08)
    summary = GapBlocks(places[gap], 5).describe(places[~gap])
    assert summary.share_in_gaps == 1
    # distances on a grid are those of few lattice vectors: 2 and sqrt(5) are next to each other in 2-D
    assert_allclose(summary.distance, summary.wanted_distance, rtol=0.12)
    assert "in gaps" in str(summary)


@pytest.mark.parametrize("places", [grid(300), grid(60, 40), grid(30, 16, 16)], ids=["1-D", "2-D", "3-D"])
@pytest.mark.parametrize("reflect", [False, True])
def test_whole_copies_are_the_shape_moved_or_mirrored(places: np.ndarray, reflect: bool) -> None:
    """Where a copy fits on the rows, the test rows are the shape, place by place."""
    gap = bottle(places)
    rows, signs = places[~gap], list(itertools.product([1, -1], repeat=places.shape[1]))
    splitter = GapBlocks(places[gap], 100, test_fraction=gap.sum() / len(rows), reflect=reflect)
    held_out = {as_shape(rows[test]) for _, test in splitter.split(rows)}
    found = [sign for sign in signs if as_shape(places[gap] * sign) in held_out]
    assert found == (signs if reflect else signs[:1])


@every_grid
@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.5])
def test_folds_hold_about_the_fraction(places: np.ndarray, fraction: float) -> None:
    gap = ball(places, 0.1)
    n_test = np.array(GapBlocks(places[gap], 4, test_fraction=fraction).describe(places[~gap]).n_test)
    wanted = fraction * (~gap).sum()
    assert (n_test >= 0.8 * wanted - 1).all()
    assert (n_test <= wanted + 1).all()


def test_places_among_rows_need_no_gap(rng: np.random.Generator) -> None:
    """To predict between the rows is to predict rows left out at random."""
    rows, targets = rng.uniform(size=(1500, 2)), rng.uniform(0.05, 0.95, size=(1000, 2))
    summary = GapBlocks(targets, 5).describe(rows)
    assert summary.share_in_gaps < 0.25
    # held-out rows thin the rest by 20 %, which widens distances by 12 %
    assert_allclose(summary.distance, summary.wanted_distance, rtol=0.3)
    assert BlockKFold(5).describe(rows).distance > 2 * summary.distance


def test_places_at_rows_are_drawn_at_random(rng: np.random.Generator) -> None:
    rows = rng.uniform(size=(100, 2))
    summary = GapBlocks(rows, 3).describe(rows)
    assert summary.share_in_gaps == 0
    assert summary.n_test == (20, 20, 20)


def test_a_lone_place_takes_its_empty_surroundings_with_it() -> None:
    """Rows nearer to the anchor than the place is to data are held out, and no others."""
    rows = grid(50, 50)
    place = np.array([[60.0, 25.0]])  # 11 from the nearest row
    for _, test in GapBlocks(place, 8, test_fraction=0.2).split(rows):
        centre_count = (np.linalg.norm(rows[test][:, None] - rows[test], axis=-1) < 11).sum(axis=1)
        assert centre_count.max() >= 95  # a quarter of the ball, if the first copy sits in a corner


def test_far_away_shapes_are_brought_to_the_rows() -> None:
    rows = grid(30, 30)
    near, far = (grid(6, 6) + np.array(offset) for offset in ([40, 10], [1e4, -1e4]))
    for (_, one), (_, two) in zip(GapBlocks(near).split(rows), GapBlocks(far).split(rows), strict=True):
        assert_array_equal(one, two)


def test_predict_at_may_be_a_table() -> None:
    places = grid(30, 30)
    gap = ball(places, 0.1)
    table = pd.DataFrame(places, columns=["x", "y"]).assign(soil="clay")
    named = GapBlocks(table[gap], coords=["x", "y"]).split(table[~gap])
    plain = GapBlocks(places[gap]).split(places[~gap])
    for (_, one), (_, two) in zip(named, plain, strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("predict_at", "rows", "hint"),
    [
        (np.zeros((3, 3)), grid(5, 5), "predict_at has 3 columns"),
        (np.empty((0, 2)), grid(5, 5), "at least one row"),
        ([[np.nan, 0.0]], grid(5, 5), "predict_at holds 1 NaN"),
        ([[1.0, 0.0]], np.ones((5, 2)), "one place"),
    ],
)
def test_impossible_gaps_are_refused_with_a_hint(predict_at: np.ndarray, rows: np.ndarray, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        list(GapBlocks(predict_at).split(rows))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.2])
def test_fraction_is_a_share(fraction: float) -> None:
    with pytest.raises(InputError, match="test_fraction"):
        GapBlocks([[0.0]], test_fraction=fraction)
