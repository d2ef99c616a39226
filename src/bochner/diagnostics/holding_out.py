"""Holding out: how a fitted model predicts rows that it is not given, in a few seconds whatever the number of rows."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray, IntArray
from bochner.diagnostics import limits
from bochner.diagnostics.held_out_calibration import Calibration, calibration
from bochner.estimators import SpatialRegressor
from bochner.estimators.crossvalidation import CrossValidation, summarise
from bochner.estimators.doubtful_intervals import small_blocks, without
from bochner.exceptions import InputError
from bochner.inference import Fold, Observations, Responses
from bochner.posterior.response import Response
from bochner.random import generator
from bochner.validation import BlockKFold, gap_size


def hold_out(model: SpatialRegressor, unit: str = "") -> tuple[Calibration, ...]:
    """Leave one out, then blocks; what cannot be done (a single place, say) is left out."""
    responses = model.training_responses()
    few = np.count_nonzero(responses.weight) <= limits.MAX_HELD_OUT_ROWS
    ways = (_one_by_one, _in_blocks) if few else (_some_one_by_one, _some_blocks)
    rng, done = generator(0, "held-out rows"), []
    for way in ways:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done.append(way(model, responses, rng, unit))
        except InputError:
            continue
    return tuple(done)


def pit_of(law: Response, observed: FloatArray) -> FloatArray:
    """Predictive probability of a value not above the observed one; within the step of a count, at random."""
    lower, upper = law.pit_bounds(observed)
    return np.asarray(lower + generator(0, "pit").uniform(size=len(upper)) * (upper - lower))


# --------------------------------------------------------------------------------- all rows


def _one_by_one(model: SpatialRegressor, responses: Responses, rng: Generator, unit: str) -> Calibration:
    n, groups = np.count_nonzero(responses.weight), model.training_groups()
    text = f"each of the {n:,} rows predicted from all the others"
    if groups is not None:
        text = f"each of the {groups.max() + 1:,} groups predicted from all the others"
    return _calibration("leave one out", text, model.cross_validate(None), responses)


def _in_blocks(model: SpatialRegressor, responses: Responses, rng: Generator, unit: str) -> Calibration:
    coords, groups = responses.rows.coords, model.training_groups()
    if groups is not None:
        text = f"{groups.max() + 1:,} groups in 5 folds of blocks, each group as a whole"
        return _calibration("blocks", text, model.cross_validate(5), responses)
    blocked = model.fitted_.layout.blocks(coords)
    unit = unit if blocked.axes is None else blocked.unit
    splitter = BlockKFold(5, block_size=gap_size(blocked.of(coords)), coords=blocked.axes)
    try:
        blocks = splitter.describe(coords)
    except InputError:  # gaps so wide that few blocks are left: smaller ones
        splitter = BlockKFold(5, coords=blocked.axes)
        blocks = splitter.describe(coords)
    text = (
        f"{blocks.n_blocks} blocks, {_length(blocks.block_size[0], unit)} wide{blocked.rest}, in 5 folds: rows "
        f"predicted from others typically {_length(blocks.distance, unit)} away"
    )
    return _calibration("blocks", text, model.cross_validate(splitter), responses)


# -------------------------------------------------------------------------------- some rows


def _some_one_by_one(model: SpatialRegressor, responses: Responses, rng: Generator, unit: str) -> Calibration:
    fits, weighted = model.fitted_.model.fits, responses.weight > 0
    responses, obs = model.fitted_.model.working(responses)
    groups = model.training_groups()
    if groups is not None:
        return _some_groups(model, responses, obs, groups[weighted], rng)
    rows = np.sort(rng.choice(len(obs), limits.SAMPLED_ROWS, replace=False))
    drawn = f"{len(rows):,} of the {len(obs):,} rows, drawn at random,"
    if fits[0].forgets_rows:
        held = [replace(h, index=rows[h.index]) for h in (fit.leave_out(obs[rows], None) for fit in fits)]
        text = f"{drawn} each predicted from all the others"
    else:
        folds = [_without(part, len(obs)) for part in np.array_split(rng.permutation(rows), limits.N_PARTS)]
        held = [fit.leave_out_quickly(obs, folds) for fit in fits]
        text = (
            f"{drawn} held out {limits.SAMPLED_ROWS // limits.N_PARTS} at a time and predicted from the nearest others"
        )
    return _calibration("leave one out", text, summarise(held, model.fitted_.model, responses, None), responses)


def _some_groups(
    model: SpatialRegressor, responses: Responses, obs: Observations, groups: IntArray, rng: Generator
) -> Calibration:
    """Some whole groups, a tenth of them at a time."""
    order = rng.permutation(groups.max() + 1)
    drawn = order[: 1 + int(np.searchsorted(np.cumsum(np.bincount(groups)[order]), limits.SAMPLED_ROWS))]
    parts = [part for part in np.array_split(drawn, limits.N_PARTS) if len(part)]
    folds = [_without(np.flatnonzero(np.isin(groups, part)), len(obs)) for part in parts]
    held = [fit.leave_out_quickly(obs, folds) for fit in model.fitted_.model.fits]
    text = f"{len(drawn):,} of the {groups.max() + 1:,} groups, drawn at random, each held out as a whole"
    return _calibration("leave one out", text, summarise(held, model.fitted_.model, responses, None), responses)


def _some_blocks(model: SpatialRegressor, responses: Responses, rng: Generator, unit: str) -> Calibration:
    """Some whole blocks, small enough to be taken out one after the other."""
    responses, obs = model.fitted_.model.working(responses)
    blocked = model.fitted_.layout.blocks(obs.rows.coords)
    unit = unit if blocked.axes is None else blocked.unit
    places = blocked.of(obs.rows.coords)
    blocks, side = small_blocks(places, gap_size(places))
    order = rng.permutation(blocks.max() + 1)[: limits.MAX_BLOCKS]
    most = limits.SAMPLED_ROWS // limits.N_PARTS
    total = np.cumsum(np.minimum(np.bincount(blocks), most)[order])
    chosen = order[: 1 + int(np.searchsorted(total, limits.SAMPLED_ROWS))]
    folds = [without(np.flatnonzero(blocks == block), len(obs), most, rng) for block in chosen]
    held = [fit.leave_out_quickly(obs, folds) for fit in model.fitted_.model.fits]
    text = f"{len(folds)} blocks, {_length(side, unit)} wide{blocked.rest}, drawn at random, each held out as a whole"
    return _calibration("blocks", text, summarise(held, model.fitted_.model, responses, None), responses)


def _without(test: IntArray, n: int) -> Fold:
    kept = np.ones(n, dtype=bool)
    kept[test] = False
    return np.flatnonzero(kept), np.sort(test)


def _calibration(name: str, text: str, held: CrossValidation, responses: Responses) -> Calibration:
    y, size = responses.y[held.index], responses.size[held.index]
    return calibration(name, text, held, pit_of(held.law, y), held.prediction.mean / size, y / size)


def _length(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}".rstrip()
