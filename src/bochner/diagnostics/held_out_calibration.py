"""Calibration: whether held-out observations fall where the model said they would, in numbers that name no row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.diagnostics import limits
from bochner.validation import Reliability, reliability
from bochner.validation.transforms import LEVELS

Z_EDGES = tuple(np.round(np.arange(-4.0, 4.01, 0.5), 1).tolist())


@dataclass(frozen=True)
class Calibration:
    """How one kind of cross-validation went.

    Attributes
    ----------
    name : str
        "leave one out" or "blocks".
    text : str
        Which rows were held out, and how.
    n_rows : int
        Held-out rows.
    scores : mapping of str to float
        As `SpatialRegressor.cross_validate` gives them.
    explained : float
        Share of the variance of the held-out responses that their predicted means explain; below 0 if a constant would
        have done better.
    pit : tuple of int
        Counts of the probability integral transform in 20 equal bins from 0 to 1: even when intervals are honest.
    levels, coverage : tuple of float
        Probability that central intervals claim, and the share of held-out observations in them.
    residuals : tuple of int
        Counts of standardised residuals between `Z_EDGES`; the outer bins hold what lies beyond.
    reliability : Reliability
        Predicted against observed means.
    """

    name: str
    text: str
    n_rows: int
    scores: Mapping[str, float]
    explained: float
    pit: tuple[int, ...]
    levels: tuple[float, ...]
    coverage: tuple[float, ...]
    residuals: tuple[int, ...]
    reliability: Reliability

    @property
    def bins(self) -> tuple[float, ...]:
        """Edges of the bins of `residuals`, standard normal when all is well."""
        return Z_EDGES


def calibration(
    name: str, text: str, scores: Mapping[str, float], pit: FloatArray, mean: FloatArray, observed: FloatArray
) -> Calibration:
    """Summary of held-out predictions.

    Parameters
    ----------
    name, text : str
        What was held out.
    scores : mapping
        Scores by name.
    pit : array of shape (n,)
        Predictive probability of a value not above the observed one (drawn at random within its step for counts).
    mean, observed : array of shape (n,)
        Predictive mean and observation; prevalences and rates, for counts.
    """
    pit = np.clip(pit, 0.0, 1.0)
    inside = np.abs(2 * pit - 1)
    z = np.clip(special.ndtri(np.clip(pit, 1e-12, 1 - 1e-12)), Z_EDGES[0] + 1e-9, Z_EDGES[-1] - 1e-9)
    return Calibration(
        name=name,
        text=text,
        n_rows=len(pit),
        scores={key: float(value) for key, value in scores.items()},
        explained=_explained(mean, observed),
        pit=tuple(np.histogram(pit, limits.PIT_BINS, (0, 1))[0].tolist()),
        levels=LEVELS,
        coverage=tuple(float(np.mean(inside <= level)) for level in LEVELS),
        residuals=tuple(np.histogram(z, Z_EDGES)[0].tolist()),
        reliability=reliability(observed, mean, n_groups=max(1, min(10, len(mean) // limits.MIN_RELIABILITY_ROWS))),
    )


def _explained(mean: FloatArray, observed: FloatArray) -> float:
    spread = float(np.var(observed))
    return 1 - float(np.mean((observed - mean) ** 2)) / spread if spread > 0 else 0.0
