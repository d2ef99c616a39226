"""Blocks held out of rows that are read in parts: as of the same rows in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import PartError
from bochner.sources import ArraySource
from bochner.validation import BlockKFold, GapBlocks

from .conftest import FIXED

PLACES: dict[str, Any] = {"coords": ["x", "y"]}


class Dealt:
    """A splitter of rows in memory, with the folds of a source."""

    def __init__(self, fold: np.ndarray) -> None:
        self.fold = fold

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        return [(np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)) for k in range(self.fold.max() + 1)]


def source(table: pd.DataFrame) -> ArraySource:
    return ArraySource({name: table[name].to_numpy() for name in table}, part_rows=450)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_blocks_of_a_source_are_those_of_a_table(family: str, table: pd.DataFrame) -> None:
    target = "count" if family == "poisson" else "z"
    given = {**FIXED, **PLACES, "family": family}
    parts = SpatialRegressor(**given).fit(source(table), target=target)
    whole = SpatialRegressor(**given).fit(table[["x", "y"]], table[target])
    cv = BlockKFold(4, block_size=0.2)
    found = parts.cross_validate(cv)
    sample = parts.sample_responses()
    dealt = cv.dealt(sample.rows.coords + parts.fitted_.layout.centre)
    known = whole.cross_validate(Dealt(dealt.fold(table[["x", "y"]].to_numpy())))
    # rows of the sample among all: by their places
    at = {tuple(np.round(p, 9)): i for i, p in enumerate(table[["x", "y"]].to_numpy())}
    places = sample.rows.coords + parts.fitted_.layout.centre
    row = np.array([at[tuple(np.round(p, 9))] for p in places[found.index]])
    order = np.argsort(known.index)
    tight = 1e-9 if family == "gaussian" else 1e-5  # the last Newton steps differ
    assert_allclose(found.prediction.mean, known.prediction.mean[order][row], rtol=tight)
    assert_allclose(found.prediction.sd, known.prediction.sd[order][row], rtol=tight)
    assert found["rmse"] == pytest.approx(known["rmse"], rel=0.15)  # 300 rows of 2,000
    single = parts.cross_validate()
    alone = whole.cross_validate()
    row = np.array([at[tuple(np.round(p, 9))] for p in places[single.index]])
    assert_allclose(single.prediction.mean, alone.prediction.mean[row], rtol=tight)


def test_what_cannot_be_held_out_is_told(table: pd.DataFrame) -> None:
    model = SpatialRegressor(**FIXED, **PLACES).fit(source(table), target="z")
    with pytest.raises(PartError, match="BlockKFold without a buffer"):
        model.cross_validate(GapBlocks(table[["x", "y"]].to_numpy()[:50]))
    with pytest.raises(PartError, match="groups with rows that are read in parts"):
        model.cross_validate(4, groups=np.zeros(2_000))


def test_a_block_without_a_sampled_row_has_a_fold(tmp_path: Path) -> None:
    """Blocks that only the source has rows in go by their number; every row belongs to one fold."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(5_000, 2))
    dealt = BlockKFold(3, block_size=0.02).dealt(np.vstack([rows[:200], [[0, 0], [1, 1]]]))
    fold = dealt.fold(rows)
    assert set(fold) == {0, 1, 2} and len(dealt.blocks) < 250
    np.testing.assert_array_equal(fold, dealt.fold(rows))
