"""Laws that every splitter keeps, in 1, 2 and 3 dimensions, and scikit-learn's use of them."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from bochner.exceptions import ColumnError, InputError
from bochner.validation import (
    BlockKFold,
    BufferedBlockKFold,
    BufferedLeaveOneOut,
    GapBlocks,
    SpatialSplitter,
)

Maker = Callable[[int], SpatialSplitter]

SPLITTERS: dict[str, Maker] = {
    "blocks": lambda dim: BlockKFold(4),
    "blocks of a size": lambda dim: BlockKFold(3, block_size=0.3),
    "blocks of a shape": lambda dim: BlockKFold(2, shape=(2,) * dim),
    "blocks in order": lambda dim: BlockKFold(4, shuffle=False),
    "blocks unbalanced": lambda dim: BlockKFold(4, balance=False),
    "blocks in order, unbalanced": lambda dim: BlockKFold(4, balance=False, shuffle=False),
    "buffered blocks": lambda dim: BufferedBlockKFold(4, buffer=0.05),
    "buffered leave-one-out": lambda dim: BufferedLeaveOneOut(0.1),
    "gaps": lambda dim: GapBlocks(np.random.default_rng(5).uniform(0.3, 1.3, size=(60, dim)), 4),
    "far gaps": lambda dim: GapBlocks(np.random.default_rng(5).uniform(9, 9.2, size=(60, dim)), 4),
    "one gap": lambda dim: GapBlocks(np.full((1, dim), 1.5), 3, reflect=False, buffer=0.02),
    "places among rows": lambda dim: GapBlocks(rows(dim)[::3] + 1e-6, 3),
}

every_splitter = pytest.mark.parametrize("make", SPLITTERS.values(), ids=list(SPLITTERS))
every_dimension = pytest.mark.parametrize("dim", [1, 2, 3])


def rows(dim: int, n: int = 120) -> np.ndarray:
    """Random places in the unit cube, some of them twice."""
    places = np.random.default_rng(dim).uniform(size=(n, dim))
    places[-10:] = places[:10]
    return places


@every_splitter
@every_dimension
def test_train_and_test_are_disjoint_sorted_and_not_empty(make: Maker, dim: int) -> None:
    X, splitter = rows(dim), make(dim)
    folds = list(splitter.split(X))
    assert len(folds) == splitter.get_n_splits(X)
    for train, test in folds:
        assert len(train)
        assert len(test)
        assert not np.intersect1d(train, test).size
        for part in (train, test):
            assert_array_equal(part, np.unique(part))
            assert part.min() >= 0
            assert part.max() < len(X)


@every_splitter
@every_dimension
def test_training_rows_are_all_others_beyond_the_buffer(make: Maker, dim: int) -> None:
    X, splitter = rows(dim), make(dim)
    for train, test in splitter.split(X):
        expected = np.setdiff1d(np.arange(len(X)), test)
        if splitter.buffer is not None:
            expected = expected[cdist(X[expected], X[test]).min(axis=1) > splitter.buffer]
        assert_array_equal(train, expected)


@every_splitter
@every_dimension
def test_same_place_is_never_on_both_sides(make: Maker, dim: int) -> None:
    X, splitter = rows(dim), make(dim)
    assert all(cdist(X[test], X[train]).min() > 0 for train, test in splitter.split(X))


@every_splitter
@every_dimension
def test_same_splitter_gives_the_same_folds(make: Maker, dim: int) -> None:
    X, splitter = rows(dim), make(dim)
    for one, two in zip(splitter.split(X), splitter.split(X), strict=True):
        assert_array_equal(one[0], two[0])
        assert_array_equal(one[1], two[1])


@every_splitter
def test_moving_the_map_moves_nothing(make: Maker) -> None:
    """Folds depend on where rows lie to one another (and, for gaps, to the places), not on the origin."""
    X, splitter = rows(2), make(2)
    if isinstance(splitter, GapBlocks):
        moved = GapBlocks(
            splitter.predict_at + 64.0, splitter.n_splits, reflect=splitter.reflect, buffer=splitter.buffer
        )
    else:
        moved = splitter  # type: ignore[assignment]
    for (_, one), (_, two) in zip(splitter.split(X), moved.split(X + 64.0), strict=True):
        assert_array_equal(one, two)


@every_splitter
def test_description_is_of_the_split(make: Maker) -> None:
    X, splitter = rows(2), make(2)
    summary, folds = splitter.describe(X), list(splitter.split(X))
    assert summary.n_test == tuple(len(test) for _, test in folds)
    assert summary.n_train == tuple(len(train) for train, _ in folds)
    nearest = np.concatenate([cdist(X[test], X[train]).min(axis=1) for train, test in folds])
    assert summary.distance == pytest.approx(np.median(nearest))
    assert f"{len(folds)} folds" in str(summary)


@pytest.mark.parametrize("make", [BlockKFold, partial(GapBlocks, [[1.5, 1.5]])], ids=["blocks", "gaps"])
def test_another_seed_gives_other_folds(make: Callable[..., SpatialSplitter]) -> None:
    X = rows(2)
    splits = [make(random_state=seed).split(X) for seed in (0, 1, np.random.default_rng(2))]
    assert len({tuple(next(split)[1]) for split in splits}) == 3


@every_splitter
def test_scikit_learn_takes_it(make: Maker, rng: np.random.Generator) -> None:
    X, splitter = rows(2), make(2)
    y = X @ [1.0, 2.0] + 0.01 * rng.normal(size=len(X))
    scores = cross_val_score(Ridge(1e-3), X, y, cv=splitter, scoring="neg_mean_absolute_error")
    assert scores.shape == (splitter.get_n_splits(X),)
    assert scores.min() > -0.1
    search = GridSearchCV(Ridge(), {"alpha": [1e-3, 1e3]}, cv=splitter, scoring="neg_mean_absolute_error").fit(X, y)
    assert search.best_params_ == {"alpha": 1e-3}
    assert search.n_splits_ == splitter.get_n_splits(X)


def test_blocks_and_leave_one_out_predict_every_row_once(rng: np.random.Generator) -> None:
    X = rows(2)
    for splitter in (BlockKFold(), BufferedLeaveOneOut(0.1)):
        assert cross_val_predict(Ridge(), X, X[:, 0], cv=splitter).shape == (len(X),)


@pytest.mark.parametrize(
    ("table", "coords"),
    [
        (pd.DataFrame(rows(2), columns=["lon", "lat"]), None),
        (pd.DataFrame(rows(2), columns=["lon", "lat"]).assign(soil="clay"), ["lon", "lat"]),
        (pd.DataFrame(rows(2), columns=["lon", "lat"]).assign(soil="clay"), [0, -2]),
        (pl.DataFrame(rows(2), schema=["lon", "lat"]), ("lon", "lat")),
        (np.column_stack([np.full(120, np.nan), rows(2)]), [1, 2]),
        (SimpleNamespace(geometry=SimpleNamespace(x=rows(2)[:, 0], y=rows(2)[:, 1])), None),
        (rows(2).tolist(), None),
    ],
    ids=["pandas", "names", "positions", "polars", "array", "geometry", "list"],
)
def test_coordinates_are_found_in_any_table(table: Any, coords: Any) -> None:
    for (_, one), (_, two) in zip(BlockKFold(coords=coords).split(table), BlockKFold().split(rows(2)), strict=True):
        assert_array_equal(one, two)


def test_one_column_by_name() -> None:
    table = pd.DataFrame(rows(2), columns=["lon", "lat"])
    one, two = BlockKFold(coords="lat").describe(table), BlockKFold().describe(rows(2)[:, 1])
    assert one == two


@pytest.mark.parametrize(
    ("splitter", "table", "error", "hint"),
    [
        (BlockKFold(coords=["lon", "latt"]), pd.DataFrame({"lon": [0.0], "lat": [0.0]}), ColumnError, "mean 'lat'"),
        (BlockKFold(coords=["lon"]), rows(2), ColumnError, "give an index"),
        (BlockKFold(coords=[2]), rows(2), ColumnError, "no column 2"),
        (BlockKFold(coords=[0]), rows(1)[:, 0], InputError, "choose coordinates"),
        (BlockKFold(), [["a", "b"]], InputError, "numeric"),
        (BlockKFold(), np.empty((0, 2)), InputError, "at least one row"),
        (BlockKFold(buffer=2.0), rows(2), InputError, "make the buffer smaller"),
        (BufferedLeaveOneOut(0.1), [[0.0, 0.0]], InputError, "at least 2"),
    ],
)
def test_bad_tables_are_refused_with_a_hint(
    splitter: SpatialSplitter, table: Any, error: type[Exception], hint: str
) -> None:
    with pytest.raises(error, match=hint):
        list(splitter.split(table))


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: BlockKFold(buffer=-1.0), "buffer is -1.0"),
        (lambda: BufferedLeaveOneOut(-1.0), "buffer is -1.0"),
        (lambda: BlockKFold(1), "at least 2"),
        (lambda: BlockKFold(2.5), "whole number"),  # type: ignore[arg-type]
        (lambda: GapBlocks([[0.0]], 0), "at least 1"),
        (lambda: BufferedLeaveOneOut(0.1).get_n_splits(), "pass X"),
    ],
)
def test_bad_parameters_are_refused_when_built(make: Callable[[], object], hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        make()


def test_buffered_splitters_need_their_buffer() -> None:
    with pytest.raises(TypeError, match="buffer"):
        BufferedBlockKFold()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="buffer"):
        BufferedLeaveOneOut()  # type: ignore[call-arg]


def test_leave_one_out_tests_each_row_and_drops_its_twins() -> None:
    X = rows(2)
    folds = list(BufferedLeaveOneOut(0.0).split(X))
    assert_array_equal(np.concatenate([test for _, test in folds]), np.arange(len(X)))
    assert [len(train) for train, _ in folds] == [118] * 10 + [119] * 100 + [118] * 10


@pytest.mark.parametrize("module", ["", ".scores", ".scoring", ".coordinates", ".splitters", ".blocks", ".gaps"])
def test_examples_in_the_docstrings(module: str) -> None:
    assert doctest.testmod(import_module(f"bochner.validation{module}")).failed == 0
