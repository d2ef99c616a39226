"""Intervals that are too narrow: rows held out in blocks, or in whole groups, say so in a few seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.estimators import limits
from bochner.estimators.crossvalidation import summarise
from bochner.exceptions import InputError
from bochner.inference import Fold, Model, Responses
from bochner.random import generator
from bochner.validation import blocks_of, gap_size


def narrow_intervals(model: Model, responses: Responses, groups: IntArray | None) -> str | None:
    """What to say of 95 % intervals that hold too few of the rows held out together; None, if they hold enough."""
    single = model.family.bounded_by_size and bool(np.all(responses.size == 1))
    if single or np.count_nonzero(responses.weight) < limits.LEAST_JUDGED_ROWS or responses.rows.has_areas:
        return None
    codes = None if groups is None else groups[responses.weight > 0]
    rows, obs = model.working(responses)
    try:
        parts, what = held_out_parts(obs.rows.coords, codes)
        folds = [_without(part, len(obs)) for part in parts]
        few = len(obs) <= limits.MAX_EXACTLY_JUDGED
        held = [fit.leave_out(obs, folds) if few else fit.leave_out_quickly(obs, folds) for fit in model.fits]
        found = summarise(held, model, rows, ["coverage"])
    except InputError:  # a single place, say
        return None
    law: Any = found.law
    inside = (found.observed >= law.quantile(0.025)) & (found.observed <= law.quantile(0.975))
    share = np.array([np.mean(inside[found.fold == k]) for k in np.unique(found.fold)])
    size = np.bincount(np.unique(found.fold, return_inverse=True)[1])
    cover = float(np.average(share, weights=size))
    # rows of one block are right or wrong together, so blocks are what is counted
    error = float(np.sqrt(np.sum((size * (share - cover)) ** 2)) / size.sum())
    if cover + 2 * error >= limits.LEAST_COVERAGE:
        return None
    return (
        f"95 % intervals hold {cover:.0%} of the rows held out in {len(parts)} {what}: away from the data they are too "
        f"narrow. Give fit the places to be predicted (predict_at) or the groups of the rows (groups), or learn the "
        f"kernel by tune='spatial-cv'."
    )


def held_out_parts(coords: FloatArray, groups: IntArray | None) -> tuple[list[IntArray], str]:
    """Some rows that belong together, of at most about a thousand, and what they are."""
    rng = generator(0, "held-out blocks")
    label, what = groups, "groups"
    if label is None:
        label, what = small_blocks(coords, gap_size(coords))[0], "blocks"
    order = rng.permutation(label.max() + 1)[: limits.MAX_JUDGED_PARTS]
    total = np.cumsum(np.bincount(label, minlength=int(label.max()) + 1)[order])
    chosen = order[: 1 + int(np.searchsorted(total, limits.MAX_JUDGED_ROWS))]
    if len(chosen) < limits.LEAST_JUDGED_PARTS:
        raise InputError(f"{len(chosen)} {what} are too few to hold out.")
    return [np.flatnonzero(label == part) for part in chosen], what


def small_blocks(coords: FloatArray, side: float) -> tuple[IntArray, float]:
    """Blocks of a side, or of a smaller one where a typical row would share its block with too many others."""
    while True:
        blocks = blocks_of(coords, side)
        if np.median(np.bincount(blocks)[blocks]) <= limits.MAX_PART_ROWS:
            return blocks, side
        side *= 0.7


def _without(test: IntArray, n: int) -> Fold:
    kept = np.ones(n, dtype=bool)
    kept[test] = False
    return np.flatnonzero(kept), test
