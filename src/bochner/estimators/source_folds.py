"""Cross-validation over a source: blocks are held out of the sums of all rows, and rows of the sample are scored.

One pass gives the sums of each fold; those of the others, added, are the model that has not seen it. Rows of the sample
(some 100,000) stand for all rows when the held-out predictions are scored: the standard deviation of every row of a
source would cost more than its fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.estimators.crossvalidation import CrossValidation, summarise
from bochner.estimators.streaming import Request, SourceRows, laid_out, told_of
from bochner.exceptions import InputError, PartError
from bochner.inference import HeldOut, Model, Responses, RowSums, WavePlan, held_where_separated, stacked
from bochner.layout import Layout
from bochner.posterior import CoefficientPosterior
from bochner.random import seed_of
from bochner.sources import Reading, Sketch
from bochner.validation import BlockKFold
from bochner.validation.blocks import DealtBlocks
from bochner.validation.coordinates import coords_of


def cross_validate_source(estimator: Any, rows: SourceRows, cv: Any, scoring: Any, groups: Any) -> CrossValidation:
    """Scores of blocks, or single rows (`cv` None), held out of a model of rows that were read in parts."""
    model, layout = estimator.fitted_.model, estimator.fitted_.layout
    if groups is not None or "groups" in rows.request.wanted.roles:
        raise PartError(
            "groups with rows that are read in parts: which blocks a group lies in is not known before all are read. "
            "Leave groups out, or fit a table in memory."
        )
    posterior = model.posterior
    if not isinstance(posterior, CoefficientPosterior):
        raise PartError(
            "the model answers from a store of rows, of which none can be held out; score places that the fit has not "
            "seen (bochner.validation.SCORES), or fit the rows of a window in memory."
        )
    sample: Responses = estimator.sample_responses()
    kept = np.flatnonzero(sample.weight > 0)
    responses = sample[kept]
    plan = plan_of(model, sample)
    if cv is None:
        obs = plan.working(responses, np.asarray(posterior.coef))
        held = model.fits[0].leave_out(obs, None)
    else:
        axes = layout.blocks(responses.rows.coords).axes
        splitter = _splitter(cv, seed_of(estimator.random_state), axes)
        held = _blocks_out(estimator, plan, layout, rows, responses, splitter)
    return summarise([replace(held, index=kept[held.index])], model, sample, scoring)


def plan_of(model: Model, sample: Responses) -> WavePlan:
    """The plan behind a model of waves, with the prior that a sample gives to a trend that would run away."""
    posterior = model.posterior
    assert isinstance(posterior, CoefficientPosterior)
    told = None if model.family.observes_eta else held_where_separated(replace(sample, family=model.family))[0]
    return WavePlan.of(model, posterior.features, None if told is None else told.trend_precision)


@dataclass(frozen=True)
class FoldSums:
    """Sums of the rows of each fold; None where it has none yet."""

    folds: tuple[RowSums | None, ...]

    def __add__(self, other: FoldSums) -> FoldSums:
        return FoldSums(tuple(_both(a, b) for a, b in zip(self.folds, other.folds, strict=True)))

    def without(self, k: int) -> RowSums:
        """Sums of all rows but those of a fold."""
        others = [sums for j, sums in enumerate(self.folds) if j != k and sums is not None]
        if not others or self.folds[k] is None:
            raise InputError(f"fold {k} has no row, or all of them; take more blocks, or fewer folds.")
        return reduce(add, others)


@dataclass(frozen=True)
class FoldWork:
    """The sums of a part by fold; a family's, as seen from the coefficients of all rows."""

    request: Request
    layout: Layout
    plan: WavePlan
    coef: FloatArray | None
    sample: Sketch
    dealt: DealtBlocks
    axes: Any  # of the coordinates, that the blocks are cut in; None: all

    def __call__(self, reading: Reading) -> FoldSums:
        usable = self.request.wanted.usable(reading)
        self.sample.check(reading.number, reading.where, usable.columns)
        with told_of(reading, usable.rows):
            rows = laid_out(self.request, self.layout, self.plan.family, usable.columns)
            fold = self.dealt.fold(coords_of(rows.rows.coords + self.layout.centre, self.axes))
            parts = (np.flatnonzero((fold == k) & (rows.weight > 0)) for k in range(self.dealt.n_splits))
            return FoldSums(tuple(self.plan.sums(rows[i], self.coef) if len(i) else None for i in parts))


def _blocks_out(
    estimator: Any, plan: WavePlan, layout: Layout, rows: SourceRows, responses: Responses, splitter: BlockKFold
) -> HeldOut:
    """Predictions of the sample's rows by models of the other folds."""
    coords = coords_of(responses.rows.coords + layout.centre, splitter.coords)
    dealt = splitter.dealt(coords)
    coef = None if plan.family.observes_eta else np.asarray(estimator.fitted_.model.posterior.coef)
    work = FoldWork(rows.request, layout, plan, coef, rows.sample, dealt, splitter.coords)
    with rows.work.runner(rows.request.source) as runner:
        sums: FoldSums = runner.total(rows.request.source, rows.request.wanted.names, work)
    fold, found = dealt.fold(coords), []
    for k in range(dealt.n_splits):
        test = np.flatnonzero(fold == k)
        if not len(test):
            continue
        posterior = plan.fit(sums.without(k)).posterior
        mean, variance = np.empty(len(test)), np.empty(len(test))
        for i in posterior.features.slices(len(test)):
            some = responses.rows[test[i]]
            mean[i], variance[i] = posterior.mean(some), posterior.variance(some)
        found.append(HeldOut(test, np.full(len(test), k), mean, variance))
    return stacked(found)


def _splitter(cv: Any, seed: int, axes: list[int] | None) -> BlockKFold:
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        return BlockKFold(int(cv), random_state=seed, coords=axes)
    if not isinstance(cv, BlockKFold) or cv.buffer:
        raise PartError(
            f"cv={cv!r} with rows that are read in parts; needed is None, a number of folds, or a BlockKFold without a "
            f"buffer: folds that follow from the place of a row alone."
        )
    return cv


def _both(a: RowSums | None, b: RowSums | None) -> RowSums | None:
    return a if b is None else b if a is None else a + b
