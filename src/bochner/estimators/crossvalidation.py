"""Cross-validation results, and the folds that they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.inference import Fold, HeldOut, Model, Responses
from bochner.layout import Layout
from bochner.posterior import Latent
from bochner.posterior.response import Response
from bochner.validation import (
    SCORES,
    BlockKFold,
    CoverageTable,
    GapBlocks,
    PitHistogram,
    Prediction,
    Reliability,
    coverage_table,
    gap_size,
    get_scores,
    pit_histogram,
    reliability,
)


class CrossValidation(dict[str, float]):
    """Scores by name, with the held-out predictions they come from.

    Attributes
    ----------
    prediction : Prediction
        Mean, sd and 95 % interval of a new observation at each held-out row.
    index : array
        Row of the training data that each prediction is for.
    fold : array
        Fold that held it out.
    law : Response
        Law of a new observation at each held-out row, in the same order.
    observed, weight : array
        What was observed there, and the copies that it stands for.
    """

    prediction: Prediction
    index: IntArray
    fold: IntArray
    law: Response
    observed: FloatArray
    weight: FloatArray

    def pit_histogram(self, n_bins: int = 10) -> PitHistogram:
        """Histogram of the probability integral transform: even when whole predictions are calibrated."""
        return pit_histogram(*self.law.pit_bounds(self.observed), n_bins, sample_weight=self.weight)

    def coverage_table(self) -> CoverageTable:
        """Coverage of central intervals at many levels, without the slack that whole numbers give to an interval."""
        return coverage_table(*self.law.pit_bounds(self.observed), sample_weight=self.weight)

    def reliability(self, n_groups: int = 10) -> Reliability:
        """Predicted beside observed prevalences, rates or means."""
        return reliability(self.observed, self.law.mean, self.law.size, n_groups, sample_weight=self.weight)

    def __str__(self) -> str:
        rows = "\n".join(f"  {name:<16}{value:10.4g}" for name, value in self.items())
        return f"{len(np.unique(self.fold))} folds, {len(self.index)} held-out rows\n{rows}"


def make_folds(
    cv: Any,
    coords: FloatArray,
    y: FloatArray,
    predict_at: FloatArray | None,
    seed: int,
    groups: Any = None,
    layout: Layout | None = None,
) -> list[Fold] | None:
    """Folds of a splitter; None for tuning that needs none.

    Blocks that are made here hold whole groups, cut between their middles, in the columns that the `layout` tells; a
    splitter does with groups what it does.
    """
    if cv is None or (isinstance(cv, str) and cv in ("evidence", "likelihood")):
        return None
    made_here = cv == "spatial-cv" if isinstance(cv, str) else _is_number(cv)
    axes = layout.blocks(coords, predict_at, groups).axes if made_here and layout is not None else None
    chosen = slice(None) if axes is None else axes
    if isinstance(cv, str) and cv == "spatial-cv":
        wanted = None if predict_at is None else predict_at[:, chosen]
        return _whole(groups, coords[:, chosen], lambda places: _spatial_folds(places, wanted, seed))
    if _is_number(cv):
        blocks = BlockKFold(int(cv), random_state=seed)
        return _whole(groups, coords[:, chosen], lambda places: list(blocks.split(places)))
    if isinstance(cv, str) or not hasattr(cv, "split"):
        raise InputError(f"cv={cv!r}; needed is None, a number of folds, or a splitter such as BlockKFold(5).")
    return [(np.asarray(train), np.asarray(test)) for train, test in cv.split(coords, y, groups)]


def _is_number(cv: Any) -> bool:
    return isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)


def each_group(groups: IntArray) -> list[Fold]:
    """Folds of one group each: leave one out, where rows of a group belong together."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    return [(np.delete(np.arange(len(groups)), test), test) for test in np.split(order, starts[1:])]


def _whole(groups: Any, coords: FloatArray, split: Callable[[FloatArray], list[Fold]]) -> list[Fold]:
    """Folds of rows, or of groups at their middles, whose rows then go together."""
    if groups is None:
        return split(coords)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    middles = np.stack([np.bincount(codes, axis) for axis in coords.T], axis=1) / np.bincount(codes)[:, None]
    parts = [np.isin(codes, test) for _, test in split(middles)]
    return [(np.flatnonzero(~test), np.flatnonzero(test)) for test in parts]


def _spatial_folds(coords: FloatArray, predict_at: FloatArray | None, seed: int) -> list[Fold]:
    """Folds shaped like the places to be predicted, or blocks as wide as the gaps between the rows."""
    if predict_at is not None:
        return list(GapBlocks(predict_at, random_state=seed).split(coords))
    try:
        return list(BlockKFold(5, block_size=gap_size(coords), random_state=seed).split(coords))
    except InputError:  # gaps so wide that few blocks are left: smaller ones
        return list(BlockKFold(5, random_state=seed).split(coords))


def summarise(held: Sequence[HeldOut], model: Model, responses: Responses, scoring: Any) -> CrossValidation:
    """Scores of new observations at the held-out rows, averaged over the components of the model."""
    index = held[0].index
    noise = model.mixture.noise_variance[:, None] + responses.error[index]
    eta = Latent(
        np.stack([h.mean for h in held]) + responses.offset[index],
        np.stack([h.variance for h in held]) + noise,
        model.mixture.mass,
    )
    law = Response(model.family, eta, responses.size[index], new=True)
    result = CrossValidation()
    result.prediction, result.law = law.prediction(0.95), law
    result.index, result.fold = index, held[0].fold
    result.observed, result.weight = responses.y[index], responses.weight[index]
    if scoring is None:
        scoring = [name for name, score in SCORES.items() if score.applies(result.prediction)]
    for name, score in get_scores(scoring).items():
        result[name] = score(result.observed, result.prediction, sample_weight=result.weight)
    return result
