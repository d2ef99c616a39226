"""Splitters: what all splits of places share, and the simplest of them, leave-one-out with a buffer."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray, IntArray, positive
from bochner.exceptions import InputError
from bochner.validation.coordinates import coords_of, distance_to

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class SplitSummary:
    """What a splitter does with a table.

    Attributes
    ----------
    n_train, n_test : tuple of int
        Rows to train on and to test on, fold by fold.
    distance : float
        Median distance from a test row to its nearest training row, in units of the coordinates.
    """

    n_train: tuple[int, ...]
    n_test: tuple[int, ...]
    distance: float

    def __str__(self) -> str:
        return (
            f"{len(self.n_test)} folds of {_span(self.n_test)} test rows and {_span(self.n_train)} training rows, "
            f"a median distance of {self.distance:.4g} apart"
        )


@dataclass(frozen=True, eq=False)
class SpatialSplitter(ABC):
    """Contract of a splitter of places: scikit-learn's, and a buffer.

    A subclass says which rows each fold tests on; training rows are all others, less those within
    `buffer` of a test row. Any `cv=` of scikit-learn takes it.

    Parameters
    ----------
    coords : name, index, or sequence of them, optional
        The columns of X that are coordinates. Default: all, or the points of a GeoDataFrame.
    buffer : float, optional
        Rows at this distance of a test row or nearer are left out of training, in units of the coordinates.
    """

    coords: Any = field(default=None, kw_only=True)
    buffer: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.buffer is not None:
            positive(self.buffer, "buffer", zero=True)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Indices of training and test rows, fold by fold; y and groups are ignored."""
        places = coords_of(X, self.coords)
        for test in self._test_masks(places):
            train = ~test
            if self.buffer is not None:
                train &= _beyond(places, test, self.buffer)
            if not train.any():
                raise InputError(f"No row is left to train on with buffer={self.buffer}; make the buffer smaller.")
            yield np.flatnonzero(train), np.flatnonzero(test)

    @abstractmethod
    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""

    def describe(self, X: Any) -> SplitSummary:
        """Sizes of the folds, and how far test rows lie from training rows.

        It makes the split anew: pass an integer `random_state`, not a generator, to describe the split you use.
        """
        places = coords_of(X, self.coords)
        folds = list(self.split(X))
        distance = np.concatenate([distance_to(places[_some(test)], places[train]) for train, test in folds])
        n_train, n_test = (tuple(len(fold[part]) for fold in folds) for part in (0, 1))
        return SplitSummary(n_train, n_test, float(np.median(distance)))

    @abstractmethod
    def _test_masks(self, coords: FloatArray) -> Iterator[BoolArray]:
        """Which rows each fold tests on, never none and never all."""


@dataclass(frozen=True, eq=False)
class BufferedLeaveOneOut(SpatialSplitter):
    """Leave-one-out that trains on nothing within a buffer of the row left out.

    Parameters
    ----------
    buffer : float
        Rows at this distance of the test row or nearer are left out of training, in units of the
        coordinates; 0 leaves out the other rows of the same place.
    coords : name, index, or sequence of them, optional
        The columns of X that are coordinates. Default: all, or the points of a GeoDataFrame.

    Notes
    -----
    As many folds as rows: time and, in scikit-learn's searches, memory grow with their square.
    """

    buffer: float = field(kw_only=False)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds, which is the number of rows of X."""
        if X is None:
            raise InputError("get_n_splits was given no X; leave-one-out has as many folds as X has rows: pass X.")
        return len(coords_of(X, self.coords))

    def _test_masks(self, coords: FloatArray) -> Iterator[BoolArray]:
        if len(coords) < 2:
            raise InputError("X has 1 row; needed are at least 2 to leave one out.")
        rows = np.arange(len(coords))
        return (rows == row for row in rows)


def as_n_splits(n_splits: Any, least: int) -> int:
    """Number of folds, a whole number that is not too small."""
    try:
        number = operator.index(n_splits)
    except TypeError:
        raise InputError(f"n_splits is {n_splits!r}; needed is a whole number.") from None
    if number < least:
        raise InputError(f"n_splits is {number}; needed is at least {least}.")
    return number


def _beyond(coords: FloatArray, test: BoolArray, buffer: float) -> BoolArray:
    """Rows farther than the buffer from every test row."""
    beyond = np.zeros(len(coords), dtype=np.bool_)
    beyond[~test] = distance_to(coords[~test], coords[test]) > buffer
    return beyond


def _some(rows: IntArray, n: int = 10_000) -> IntArray:
    """At most n rows, evenly taken: enough for a median."""
    return rows[:: -(-len(rows) // n)]


def _span(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
