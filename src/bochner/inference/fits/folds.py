"""Folds: which rows are held out together, and what was predicted of them.

The hyperparameters are held. For a Gaussian model the answer is exact: removing rows from a linear model is a small
update of its posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.inference.observed.observations import NOTHING_LEFT, Observations

Fold = tuple[IntArray, IntArray]  # training rows, test rows
Refit = Callable[[IntArray, IntArray], tuple[FloatArray, FloatArray]]
"""Rows taken out, and which of them are wanted, to mean and variance of the wanted ones."""


@dataclass(frozen=True)
class HeldOut:
    """Predictions at test rows by a model that was not given them: latent mean and variance."""

    index: IntArray
    fold: IntArray
    mean: FloatArray
    variance: FloatArray


def with_weight(weight: FloatArray, folds: Iterable[Fold] | None) -> tuple[list[Fold] | None, IntArray]:
    """Folds of the rows with a positive weight, and which rows those are: a row without weight is not there."""
    kept = np.flatnonzero(weight > 0)
    if folds is None or len(kept) == len(weight):
        return None if folds is None else list(folds), kept
    position = np.cumsum(weight > 0) - 1
    parts = [tuple(position[rows[weight[rows] > 0]] for rows in fold) for fold in folds]
    return [(train, test) for train, test in parts if len(test)], kept


def each_fold(folds: Iterable[Fold], n: int, refit: Refit) -> HeldOut:
    """Predictions of every fold, one after the other."""
    parts = []
    for k, (train, test) in enumerate(folds):
        if not len(train) or not len(test):
            raise InputError(f"fold {k} has {len(train)} training and {len(test)} test rows; both must have some.")
        # rows in neither (a buffer) are removed as well, and not predicted
        left = np.ones(n, dtype=bool)
        left[train] = False
        out = np.flatnonzero(left)
        mean, variance = refit(out, np.searchsorted(out, test))
        parts.append(HeldOut(np.asarray(test), np.full(len(test), k), mean, variance))
    return stacked(parts)


def stacked(parts: Sequence[HeldOut]) -> HeldOut:
    """Predictions of several folds as one."""
    columns = ([part.index, part.fold, part.mean, part.variance] for part in parts)
    index, fold, mean, variance = (np.concatenate(column) for column in zip(*columns, strict=True))
    return HeldOut(index, fold, mean, variance)


def with_a_trend(refit: Refit, obs: Observations) -> Refit:
    """The refit, refused where the rows that are left do not tell every effect of the trend.

    With Q an orthonormal basis of the trend, the share of each effect that is left is an eigenvalue of
    I - Q_B'Q_B: zero but for rounding, whatever the kernel, where the block B holds all that is known of one.
    """
    if obs.trend_precision is not None or not obs.n_trend:
        return refit
    basis = obs.trend_basis

    def checked(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
        taken = basis[out]
        if np.linalg.eigvalsh(taken.T @ taken)[-1] > 1 - NOTHING_LEFT:
            raise _undetermined(len(out), len(obs))
        return refit(out, keep)

    return checked


def one_by_one(obs: Observations, mean: FloatArray, variance: FloatArray) -> HeldOut:
    """Predictions of each row from all others.

    A row that alone tells an effect of the trend is not among them: the others say nothing of it.
    """
    rows = np.flatnonzero(~obs.alone)
    return HeldOut(rows, rows, mean[rows], variance[rows])


def block_root(matrix: FloatArray, n: int) -> FloatArray:
    """Cholesky root of the precision of a held-out block; refused where the trend cannot do without it."""
    try:
        return np.asarray(linalg.cholesky(matrix, lower=True))
    except linalg.LinAlgError:
        raise _undetermined(len(matrix), n) from None


def _undetermined(n_out: int, n: int) -> InputError:
    return InputError(
        f"leaving out {n_out} of {n} rows leaves the trend undetermined; use smaller blocks or fewer covariates."
    )


def none_to_spare(n: int) -> InputError:
    """What to say of rows each of which alone tells an effect."""
    return InputError(
        f"the trend has as many effects as there are rows ({n}), and says nothing of a row that is left out; give "
        f"fewer covariates, or more rows."
    )
