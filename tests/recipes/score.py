"""A score of one's own: the largest error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bochner.validation import Prediction, Score, register_score


def worst(y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
    """Largest absolute error of the mean, among rows that have a weight."""
    weight = np.ones(len(prediction.mean)) if sample_weight is None else np.asarray(sample_weight)
    return float(np.max(np.abs(np.asarray(y) - prediction.mean)[weight > 0]))


register_score(Score("worst", "worst error", "largest of all errors; lower is better", worst, ("mean",)))
