"""Gaps: hold out rows in the shape of the places that are to be predicted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from hashlib import blake2b
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray, as_coords
from bochner.exceptions import InputError
from bochner.random import generator, seed_of
from bochner.resources import n_threads
from bochner.validation import limits
from bochner.validation.coordinates import coords_of, distance_to, distinct, spacing
from bochner.validation.splitters import BoolArray, SpatialSplitter, SplitSummary, as_n_splits


@dataclass(frozen=True)
class GapSummary(SplitSummary):
    """What a gap splitter does with a table.

    Attributes
    ----------
    n_train, n_test, distance
        As in `SplitSummary`.
    wanted_distance : float
        Median distance from a place to be predicted to its nearest row: what `distance` should be.
    share_in_gaps : float
        Share of the places to be predicted that lie in gaps between rows.
    """

    wanted_distance: float
    share_in_gaps: float

    def __str__(self) -> str:
        return (
            f"{super().__str__()} ({self.wanted_distance:.4g} at the places to be predicted, "
            f"of which {self.share_in_gaps:.0%} lie in gaps)"
        )


@dataclass(frozen=True, eq=False)
class GapBlocks(SpatialSplitter):
    """Splits whose test rows lie as the places to be predicted lie, in such gaps.

    A model is best judged on the task it is for. If the task is to fill the clouds of a satellite image,
    the test rows should lie under such clouds; if it is to map between villages, between villages.

    Each fold is made in two steps.

    1. *Places in gaps*: those farther from every row than rows there are from one another, and what lies
       in the empty space around them. All of them together, as one rigid shape, are reflected at random along
       every axis and moved so that a random place of the shape falls on a random row. The rows inside the moved
       shape are test rows: those nearer to a place of it than the spacing of the places there, and nearer
       than that place is to data in truth. Copies are added until the fold holds its share of rows; of
       a copy that holds too many, only the rows closest to where it was put down are kept.
    2. *Places among rows*, the others, need no gap: for their share of the fold, rows are drawn at random.

    `describe` compares the distances from test to training rows with those that prediction faces.

    Parameters
    ----------
    predict_at : array-like or DataFrame of shape (m, dim)
        The places to be predicted, in the coordinates of X (columns `coords`, if a DataFrame).
    n_splits : int, default=5
        Number of folds, from 1. Drawn independently: test sets may overlap and need not cover all rows.
    test_fraction : float, default=0.2
        Share of the distinct places of X to test on, about. From 0.8 of it to all of it is held out, less if the
        shape is so small that 200 copies of it do not suffice.
    reflect : bool, default=True
        Also use mirror images of the shape (in two dimensions this includes the half turn).
    random_state : int, RandomState, Generator or None
        Seed of the copies. None is 0: the same folds every time.
    coords : name, index, or sequence of them, optional
        The columns of X that are coordinates. Default: all, or the points of a GeoDataFrame.
    buffer : float, optional
        Rows at this distance of a test row or nearer are left out of training, in units of the coordinates.

    Notes
    -----
    Rows at the same place are held out together. Each copy costs O(n log m) time; memory is O(n + m).

    Examples
    --------
    >>> import numpy as np
    >>> grid = np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), axis=-1).reshape(-1, 2)
    >>> cloud = np.linalg.norm(grid - [12, 25], axis=1) < 7
    >>> summary = GapBlocks(grid[cloud], n_splits=3).describe(grid[~cloud])
    >>> round(summary.distance, 2), round(summary.wanted_distance, 2)
    (2.24, 2.24)
    """

    predict_at: Any = field(repr=False)
    n_splits: int = 5
    _: KW_ONLY
    test_fraction: float = 0.2
    reflect: bool = True
    random_state: int | RandomState | Generator | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_n_splits(self.n_splits, least=1)
        if not 0 < self.test_fraction < 1:
            raise InputError(f"test_fraction is {self.test_fraction}; needed is a share between 0 and 1.")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def describe(self, X: Any) -> GapSummary:
        """Sizes of the folds, their distances, and those that prediction faces."""
        summary = super().describe(X)
        coords = coords_of(X, self.coords)
        targets = self._targets(coords.shape[1])
        places, _, shape = _shape_among(targets, coords)
        wanted = float(np.median(distance_to(distinct(targets)[0], places)))
        parts = {part.name: getattr(summary, part.name) for part in fields(summary)}
        return GapSummary(**parts, wanted_distance=wanted, share_in_gaps=shape.share)

    def _test_masks(self, coords: FloatArray) -> Iterator[BoolArray]:
        places, place_of_row, shape = _shape_among(self._targets(coords.shape[1]), coords)
        if len(places) < 2:
            raise InputError(f"All {len(coords)} rows lie at one place; needed are at least 2 places.")
        rng = generator(seed_of(self.random_state), "gap blocks")
        for _ in range(self.n_splits):
            yield self._draw(places, shape, rng)[place_of_row]

    def _targets(self, dim: int) -> FloatArray:
        """Places to be predicted."""
        if hasattr(self.predict_at, "columns"):
            targets = coords_of(self.predict_at, self.coords, "predict_at")
        else:
            targets = coords_of(self.predict_at, name="predict_at")
        return as_coords(targets, dim, "predict_at")

    def _draw(self, places: FloatArray, shape: _Shape, rng: Generator) -> BoolArray:
        """Which places one fold tests on."""
        n = len(places)
        wanted = int(np.clip(round(self.test_fraction * n), 1, n - 1))
        in_gaps = round(shape.share * wanted)
        test = np.zeros(n, dtype=np.bool_)
        for _ in range(limits.MAX_COPIES):
            if test.sum() >= limits.FULL_ENOUGH * in_gaps:
                break
            test[self._copy(places, shape, test, rng)[: in_gaps - test.sum()]] = True
        test[rng.choice(np.flatnonzero(~test), wanted - in_gaps, replace=False)] = True
        return test

    def _copy(self, places: FloatArray, shape: _Shape, taken: BoolArray, rng: Generator) -> IntArray:
        """Free places inside one copy of the shape, the closest to its anchor first."""
        anchor = places[rng.choice(np.flatnonzero(~taken))]
        target = shape.places[rng.integers(len(shape.places))]
        sign = rng.choice([-1.0, 1.0], size=len(anchor)) if self.reflect else np.ones(len(anchor))
        # Moving the shape onto the places, or the places onto the shape, is the same.
        inside = np.flatnonzero(~taken & shape.holds(target + sign * (places - anchor)))
        return inside[np.argsort(np.linalg.norm(places[inside] - anchor, axis=1), kind="stable")]


def share_in_gaps(predict_at: FloatArray, coords: FloatArray) -> float:
    """Share of the places to be predicted that lie in gaps between rows."""
    return _shape_among(predict_at, coords)[2].share


def mirrored_gaps(predict_at: FloatArray, coords: FloatArray, most_images: int | None = None) -> list[BoolArray]:
    """Rows under mirror images of the places to be predicted, about the middle of the rows, one mask an image.

    Gaps at the edge stay at the edge, which moved copies of them do not: what is only half surrounded by data is so in
    the mirror, too. Images that hold next to no row, or most of them, are left out; of the others, `most_images` are
    enough, if it is given.
    """
    places, place_of_row, shape = _shape_among(predict_at, coords)
    if not len(shape.places):
        return []
    middle, dim = places.min(axis=0) + places.max(axis=0), places.shape[1]
    signs = [sign for sign in product((1.0, -1.0), repeat=dim) if -1.0 in sign]
    masks = (shape.holds(np.where(np.array(sign) < 0, middle - places, places)) for sign in signs)
    least, most = limits.MIRRORED_SHARES
    images = (mask[place_of_row] for mask in masks if least <= mask.mean() <= most)
    return list(islice(images, most_images))


_KEPT: dict[bytes, tuple[FloatArray, IntArray, _Shape]] = {}  # the last one


def _shape_among(targets: FloatArray, coords: FloatArray) -> tuple[FloatArray, IntArray, _Shape]:
    """Distinct places of some rows, which of them each row has, and the shape of the gaps that targets lie in.

    One fit asks several times for the same: the last is kept.
    """
    arrays = [np.ascontiguousarray(a, dtype=np.float64) for a in (targets, coords)]
    key = b"".join(repr(a.shape).encode() + blake2b(a.data, digest_size=16).digest() for a in arrays)
    found = _KEPT.get(key)
    if found is None:
        places, place_of_row = distinct(coords)
        found = places, place_of_row, _Shape.of(distinct(targets)[0], places)
        _KEPT.clear()
        if len(coords) + len(targets) <= limits.MAX_KEPT_PLACES:
            _KEPT[key] = found
    return found


@dataclass(frozen=True, eq=False)
class _Shape:
    """The places to be predicted that lie in gaps, as a region of space."""

    places: FloatArray
    radius: FloatArray
    share: float

    @classmethod
    def of(cls, targets: FloatArray, places: FloatArray) -> _Shape:
        distance, nearest = cKDTree(places).query(targets, workers=n_threads())
        deep = distance > spacing(places)[nearest] * (1 + 1e-9)
        if not deep.any():
            return cls(targets[deep], distance[deep], share=0.0)
        # The ball around a deep place that reaches to the nearest row is empty: what lies in it is in the gap.
        to_deep, which = cKDTree(targets[deep]).query(targets, workers=n_threads())
        in_gap = to_deep < distance[deep][which]
        radius = np.minimum(spacing(targets[in_gap]), distance[in_gap])
        return cls(targets[in_gap], radius, float(in_gap.mean()))

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.places)

    def holds(self, coords: FloatArray) -> BoolArray:
        """Whether each row is within the radius of its nearest place of the shape."""
        most = self.radius.max()
        distance, nearest = self._tree.query(coords, distance_upper_bound=most, workers=n_threads())
        # On grids rows fall exactly on the rim, which is outside. No place near: index m, distance infinite.
        inside: BoolArray = distance < (1 - 1e-9) * np.append(self.radius, 0.0)[nearest]
        return inside
