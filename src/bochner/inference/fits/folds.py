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


def block_root(matrix: FloatArray, n: int) -> FloatArray:
    """Cholesky root of the precision of a held-out block; refused where the trend cannot do without it."""
    try:
        return np.asarray(linalg.cholesky(matrix, lower=True))
    except linalg.LinAlgError:
        raise InputError(
            f"leaving out {len(matrix)} of {n} rows leaves the trend undetermined; use smaller blocks or fewer "
            f"covariates."
        ) from None
