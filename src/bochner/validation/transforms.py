"""Probability integral transforms of counts, and the coverage of central intervals that follows from them.

A count y holds all of the step from P(Y < y) to P(Y <= y). Its transform is drawn from that step (`pit_draw`), or its
mass is spread over it (`coverage_table`, and `pit_histogram` in `calibration`); amounts have steps of no width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_finite, as_rows
from bochner.exceptions import InputError
from bochner.validation.scores import as_level, row_mean
from bochner.validation.wilson import wilson_interval

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True, eq=False)
class CoverageTable:
    """Share of observations in central intervals, at many levels: the two agree when predictions are calibrated.

    Attributes
    ----------
    level : ndarray of shape (n_levels,)
        Probability that the intervals claim to hold.
    coverage : ndarray of shape (n_levels,)
        Share of the observations that they hold.
    lower, upper : ndarray of shape (n_levels,)
        95 % interval of that share, for independent observations.
    """

    level: FloatArray
    coverage: FloatArray
    lower: FloatArray
    upper: FloatArray

    def __str__(self) -> str:
        lines = [f"{'level':>8}{'coverage':>10}{'95 % interval':>18}"]
        for row in zip(self.level, self.coverage, self.lower, self.upper, strict=True):
            lines.append("{:>8.3g}{:>10.3f}{:>9.3f} to {:.3f}".format(*row))
        return "\n".join(lines)


def pit_draw(lower: ArrayLike, upper: ArrayLike, rng: Generator) -> FloatArray:
    """Randomised probability integral transform, one value per row: uniform when predictions are calibrated.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        P(Y < y) and P(Y <= y) of every observation y; equal for amounts.
    rng : Generator
        Where in its step each count falls.

    References
    ----------
    Czado, Gneiting and Held (2009), Predictive model assessment for count data, section 2.1.
    """
    lower, upper = as_steps(lower, upper)
    return np.asarray(lower + (upper - lower) * rng.uniform(size=len(lower)))


def coverage_table(
    lower: ArrayLike,
    upper: ArrayLike,
    levels: Sequence[float] = LEVELS,
    *,
    sample_weight: ArrayLike | None = None,
) -> CoverageTable:
    """Coverage of central intervals at many levels, without the slack that whole numbers give to an interval.

    A central interval of counts holds more than its level, as it ends on whole numbers. Here an observation counts with
    the part of its step that lies inside, so the coverage is the level when predictions are calibrated.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        P(Y < y) and P(Y <= y) of every observation y; equal for amounts.
    levels : sequence of float
        Probabilities of the intervals.
    """
    lower, upper = as_steps(lower, upper)
    weight = as_rows(sample_weight, len(lower), "sample_weight", default=1.0)
    assert weight is not None
    level = np.array([as_level(value) for value in levels])
    coverage = np.array([row_mean(_inside(lower, upper, value), weight) for value in level])
    low, high = wilson_interval(coverage, weight.sum() ** 2 / np.sum(weight**2))
    return CoverageTable(level, coverage, low, high)


def as_steps(lower: ArrayLike, upper: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """P(Y < y) and P(Y <= y), checked."""
    low = as_finite(lower, "lower")
    high = as_rows(upper, len(low), "upper")
    if high is None or low.ndim != 1 or not len(low):
        raise InputError(f"lower has shape {low.shape}; needed are P(Y < y) and P(Y <= y), one of each per row.")
    bad = (low < 0) | (high < low) | (high > 1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"lower and upper are {low[row]:.4g} and {high[row]:.4g} in row {row}; needed are P(Y < y) and P(Y <= y), "
            "in this order and between 0 and 1."
        )
    return low, high


def _inside(lower: FloatArray, upper: FloatArray, level: float) -> FloatArray:
    """Part of each step within the central interval; of a step without width, whether it lies there."""
    start, stop = (1 - level) / 2, (1 + level) / 2
    overlap = np.clip(np.minimum(upper, stop) - np.maximum(lower, start), 0.0, None)
    width = upper - lower
    point = (lower >= start) & (lower <= stop)
    return np.where(width > 0, overlap / np.where(width > 0, width, 1.0), point)
