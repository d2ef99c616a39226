"""Validation of a fitted model by several ways of holding out rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from bochner import SpatialRegressor
from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.validation import BlockKFold, GapBlocks, gap_size


@dataclass(frozen=True)
class Test:
    """Scores of one way of holding out rows.

    Attributes
    ----------
    name : what was held out
    n_rows : number of held-out rows
    distance : median distance from one of them to the nearest row that was kept
    scores : by name
    """

    name: str
    n_rows: int
    distance: float
    scores: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        return {"held_out": self.name, "n_rows": self.n_rows, "distance": self.distance, "scores": self.scores}


def held_out(
    model: SpatialRegressor, predict_at: Any, blocks: Sequence[float], folds: int, scoring: list[str] | None
) -> list[Test]:
    """Rows one by one, in blocks of every size, and, where it is known, as the places to be predicted lie.

    Of rows that were read in parts the sample is scored, and the distance between rows follows from its density.
    """
    layout = model.fitted_.layout
    responses = model.training_responses() if model.has_training else model.sample_responses()
    # in the user's own frame, in which folds are made
    coords = responses.rows.coords + layout.centre
    blocked = layout.blocks(coords)
    places = blocked.of(coords)
    single = cKDTree(places).query(places, k=2)[0][:, 1]
    if not model.has_training:
        single *= (len(coords) / float(model.choices_["rows"].value)) ** (1 / places.shape[1])
    scores = model.cross_validate(None, scoring)
    what = "single rows" if model.training_groups() is None else "single groups"
    tests = [Test(what, len(scores.index), float(np.median(single)), dict(scores))]
    for side in blocks or [_gap_side(places, folds)]:
        if side <= 0:
            raise InputError(f"--blocks is {side:g}; needed is a length > 0.")
        name = f"blocks of {side:.3g} {blocked.unit}".strip() + blocked.rest
        with _by_option():
            splitter = BlockKFold(folds, block_size=side, coords=blocked.axes)
            tests.append(_split(model, coords, splitter, name, scoring))
    wanted = layout.wanted(predict_at) if model.has_training else None
    if wanted is not None:
        wanted = wanted + layout.centre
        as_wanted = layout.blocks(coords, wanted)
        gaps = GapBlocks(as_wanted.of(wanted), folds, coords=as_wanted.axes)
        tests.append(_split(model, coords, gaps, "as places to predict", scoring))
    return tests


def _split(model: SpatialRegressor, coords: FloatArray, splitter: Any, name: str, scoring: list[str] | None) -> Test:
    distance = splitter.describe(coords).distance
    scores = model.cross_validate(splitter, scoring)
    return Test(name, len(scores.index), float(distance), dict(scores))


@contextmanager
def _by_option() -> Iterator[None]:
    """Within: an error names options of the command line, where it would name parameters."""
    try:
        yield
    except InputError as error:
        text = re.sub(r"n_splits=(\d+) blocks", r"\1 blocks (--folds)", str(error))
        raise InputError(text.replace("block_size=", "--blocks ")) from error


def _gap_side(coords: FloatArray, folds: int) -> float:
    """Side of blocks as wide as the gaps between rows, or less where these would be too few."""
    side = gap_size(coords)
    try:
        BlockKFold(folds, block_size=side).describe(coords)
    except InputError:
        return float(BlockKFold(folds).describe(coords).block_size[0])
    return side
