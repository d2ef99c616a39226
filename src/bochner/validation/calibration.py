"""Calibration tables: whether observations fall where they were said to, in a few numbers.

Both take what a model said of rows that it had not seen. Their text is a small table, their parts are arrays to draw.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, IntArray, as_finite, as_rows
from bochner.exceptions import InputError


@dataclass(frozen=True, eq=False)
class PitHistogram:
    """Histogram of the probability integral transform: even when predictions are calibrated.

    High at both ends: intervals too narrow. High in the middle: too wide. Sloped: biased.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins, from 0 to 1.
    share : ndarray of shape (n_bins,)
        Share of the observations in each bin; 1 / n_bins is expected.
    standard_error : float
        Of a share when all is well.
    """

    edges: FloatArray
    share: FloatArray
    standard_error: float

    def __str__(self) -> str:
        expected = 1 / len(self.share)
        lines = [f"{'PIT':<14}{'share':>7}   expected {expected:.3f}, standard error {self.standard_error:.3f}"]
        for low, high, share in zip(self.edges[:-1], self.edges[1:], self.share, strict=True):
            lines.append(f"{low:.2f} to {high:.2f}  {share:>7.3f}   {'#' * round(20 * share / expected)}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted beside observed means, in groups of rows of like prediction.

    Attributes
    ----------
    predicted, observed : ndarray of shape (n_groups,)
        Mean of the predictions and of the observations in each group, per unit of size.
    standard_error : ndarray of shape (n_groups,)
        Of the observed mean.
    n_rows : ndarray of shape (n_groups,)
        Rows in each group.
    """

    predicted: FloatArray
    observed: FloatArray
    standard_error: FloatArray
    n_rows: IntArray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reliability) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        lines = [f"{'predicted':>10}{'observed':>10}{'(se)':>9}{'rows':>7}"]
        for row in zip(self.predicted, self.observed, self.standard_error, self.n_rows, strict=True):
            lines.append("{:>10.4g}{:>10.4g}{:>9.2g}{:>7d}".format(*row))
        return "\n".join(lines)


def pit_histogram(
    lower: ArrayLike, upper: ArrayLike, n_bins: int = 10, *, sample_weight: ArrayLike | None = None
) -> PitHistogram:
    """Histogram of the probability integral transform, without chance for counts.

    A count y holds all of [P(Y < y), P(Y <= y)], so its mass is spread evenly over it.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        P(Y < y) and P(Y <= y) of every observation y; equal for amounts.
    n_bins : int
        Number of bins.

    References
    ----------
    Czado, Gneiting and Held (2009), Predictive model assessment for count data, section 2.1.
    """
    lower = as_finite(lower, "lower")
    upper = _column(upper, len(lower), "upper")
    if np.any((lower < 0) | (upper < lower) | (upper > 1)):
        raise InputError("lower and upper are not 0 <= lower <= upper <= 1 everywhere; needed are P(Y < y), P(Y <= y).")
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 2:
        raise InputError(f"n_bins={n_bins!r}; needed is an integer >= 2.")
    weight = _weights(sample_weight, len(lower))
    edges = np.linspace(0, 1, n_bins + 1)
    start = np.minimum(lower, upper - 1e-12)  # an amount has a step of no width
    below = np.clip((edges[:, None] - start) / (upper - start), 0.0, 1.0)  # mass of each row below each edge
    share = np.diff(below @ weight, prepend=0.0)[1:]
    share[0] += below[0] @ weight
    error = float(np.sqrt(np.sum(weight**2) * (1 - 1 / n_bins) / n_bins))
    return PitHistogram(edges, share, error)


def reliability(
    y: ArrayLike,
    mean: ArrayLike,
    size: ArrayLike | None = None,
    n_groups: int = 10,
    *,
    sample_weight: ArrayLike | None = None,
) -> Reliability:
    """Predicted against observed means, per unit of size: calibrated predictions lie on the diagonal.

    Parameters
    ----------
    y, mean : array-like of shape (n,)
        Observations, and their predictive means; counts, where `size` is given.
    size : array-like of shape (n,), optional
        Trials or exposure: means are then prevalences or rates.
    n_groups : int
        Groups of about equally many rows, in order of their prediction; fewer where there are not 5 rows for each.
    """
    y = as_finite(y, "y")
    mean, out_of = _column(mean, len(y), "mean"), _column(1.0 if size is None else size, len(y), "size")
    if np.any(out_of <= 0):
        raise InputError(f"size is {out_of.min():g} somewhere; needed are trials or exposures > 0.")
    weight = _weights(sample_weight, len(y)) * out_of
    order = np.argsort(mean / out_of, kind="stable")
    groups = np.array_split(order, max(1, min(n_groups, len(y) // 5)))
    predicted, observed, errors = [], [], []
    for g in groups:
        w = weight[g] / weight[g].sum()
        rate = y[g] / out_of[g]
        predicted.append(w @ (mean[g] / out_of[g]))
        observed.append(w @ rate)
        errors.append(np.sqrt(np.sum(w**2 * (rate - observed[-1]) ** 2)))
    return Reliability(np.array(predicted), np.array(observed), np.array(errors), np.array([len(g) for g in groups]))


def _column(values: ArrayLike, n: int, name: str) -> FloatArray:
    rows = as_rows(values, n, name)
    if rows is None:
        raise InputError(f"{name} is None; needed is one value per row, ({n},).")
    return rows


def _weights(sample_weight: ArrayLike | None, n: int) -> FloatArray:
    """Weights that sum to one."""
    weight = _column(1.0 if sample_weight is None else sample_weight, n, "sample_weight")
    if np.any(weight < 0) or not weight.sum() > 0:
        raise InputError("sample_weight is negative or all zero; needed are numbers >= 0, some of them positive.")
    return np.asarray(weight / weight.sum())
