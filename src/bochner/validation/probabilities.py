"""Probability tables: predicted probabilities beside the frequencies that were observed, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, IntArray, as_finite, as_rows
from bochner.exceptions import InputError
from bochner.validation.scores import as_level
from bochner.validation.wilson import wilson_interval


@dataclass(frozen=True, eq=False)
class ProbabilityTable:
    """Reliability of probabilities: where predictions are calibrated, observed equals predicted.

    Attributes
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean predicted probability of the trials in each bin.
    observed : ndarray of shape (n_bins,)
        Share of positives among them.
    lower, upper : ndarray of shape (n_bins,)
        Interval of the probability that they had, of probability `level`.
    n_trials, n_rows : ndarray of shape (n_bins,)
        Trials and rows in each bin.
    level : float
        Probability of the intervals.
    """

    predicted: FloatArray
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray
    n_trials: FloatArray
    n_rows: IntArray
    level: float

    def __str__(self) -> str:
        lines = [f"{'predicted':>10}{'observed':>10}{f'{self.level:.0%} interval':>18}{'trials':>9}{'rows':>7}"]
        columns = (self.predicted, self.observed, self.lower, self.upper, self.n_trials, self.n_rows)
        for row in zip(*columns, strict=True):
            lines.append("{:>10.3f}{:>10.3f}{:>9.3f} to {:.3f}{:>9.0f}{:>7d}".format(*row))
        return "\n".join(lines)


def probability_table(
    y: ArrayLike,
    probability: ArrayLike,
    trials: ArrayLike | None = None,
    *,
    n_bins: int = 10,
    edges: ArrayLike | None = None,
    level: float = 0.95,
) -> ProbabilityTable:
    """Predicted probabilities in bins, beside the frequencies observed.

    Intervals are Wilson's. Trials of one row go together, and differ from those of the next: where the rows of a bin
    scatter more than single trials would, their trials count for less.

    Parameters
    ----------
    y : array-like of shape (n,)
        0 or 1; positives, where `trials` are given.
    probability : array-like of shape (n,)
        Predicted probability of each row, not seen in training.
    trials : array-like of shape (n,), optional
        Trials of each row.
    n_bins : int
        Bins of about equally many rows each, in order of the predicted probability; equal predictions stay together.
    edges : array-like of shape (any number,), optional
        Ends of bins of one's own, increasing, from 0 to 1; empty bins are left out.
    level : float
        Probability of the intervals.
    """
    y, p, n = _checked(y, probability, trials)
    bins = _bins(p, n_bins, edges)
    groups = [bins == b for b in np.unique(bins)]
    parts = [_summary(y[rows], p[rows], n[rows], as_level(level)) for rows in groups]
    predicted, observed, lower, upper, total, count = (np.array(column) for column in zip(*parts, strict=True))
    return ProbabilityTable(predicted, observed, lower, upper, total, count.astype(np.intp), float(level))


def _summary(
    y: FloatArray, p: FloatArray, n: FloatArray, level: float
) -> tuple[float, float, float, float, float, int]:
    total = n.sum()
    observed = y.sum() / total
    lower, upper = wilson_interval(np.asarray(observed), total / _inflation(y, n, observed), level)
    return float(n @ p / total), float(observed), float(lower), float(upper), float(total), len(y)


def _inflation(y: FloatArray, n: FloatArray, share: float) -> float:
    """Variance of the share between rows over that of single trials; at least 1."""
    if len(y) < 2 or not 0 < share < 1:
        return 1.0
    between = np.sum((y - share * n) ** 2) * len(y) / (len(y) - 1)
    return max(1.0, float(between / (n.sum() * share * (1 - share))))


def _bins(p: FloatArray, n_bins: int, edges: ArrayLike | None) -> IntArray:
    """Bin of each row."""
    if edges is None:
        if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
            raise InputError(f"n_bins={n_bins!r}; needed is a whole number >= 1.")
        inner = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)[1:-1]))
    else:
        ends = as_finite(edges, "edges")
        if ends.ndim != 1 or len(ends) < 2 or np.any(np.diff(ends) <= 0) or ends[0] > p.min() or ends[-1] < p.max():
            raise InputError("edges do not increase from below to above all probabilities; pass, say, [0, 0.2, 1].")
        inner = ends[1:-1]
    return np.searchsorted(inner, p, side="left")


def _checked(
    y: ArrayLike, probability: ArrayLike, trials: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    positives = as_finite(y, "y")
    if positives.ndim != 1 or not len(positives):
        raise InputError(f"y has shape {positives.shape}; needed is one number per row, at least one.")
    p = as_rows(probability, len(positives), "probability")
    n = as_rows(trials, len(positives), "trials", default=1.0)
    if p is None or np.any((p < 0) | (p > 1)):
        raise InputError("probability is not between 0 and 1 everywhere; needed are shares, not counts or per cent.")
    assert n is not None
    bad = (positives < 0) | (positives > n) | (n <= 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        hint = "" if trials is not None else " Pass `trials` for positives out of several."
        raise InputError(f"y is {positives[row]:g} of {n[row]:g} in row {row}; needed is 0 up to the trials.{hint}")
    return positives, p, n
