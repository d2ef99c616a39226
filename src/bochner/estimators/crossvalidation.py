"""Cross-validation results, and the folds that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.inference import Fold, HeldOut, Model, Observations
from bochner.posterior import Moments
from bochner.validation import SCORES, BlockKFold, GapBlocks, Prediction, crps_mixture, gap_size, get_scores


class CrossValidation(dict[str, float]):
    """Scores by name, with the held-out predictions they come from.

    Attributes
    ----------
    prediction : Prediction
        Mean, sd and 95 % interval of a new observation at each held-out row.
    index : array
        Row of the training data that each prediction is for.
    fold : array
        Fold that held it out.
    """

    prediction: Prediction
    index: IntArray
    fold: IntArray

    def __str__(self) -> str:
        rows = "\n".join(f"  {name:<16}{value:10.4g}" for name, value in self.items())
        return f"{len(np.unique(self.fold))} folds, {len(self.index)} held-out rows\n{rows}"


def make_folds(
    cv: Any, coords: FloatArray, y: FloatArray, predict_at: FloatArray | None, seed: int, groups: Any = None
) -> list[Fold] | None:
    """Folds of a splitter; None for tuning that needs none."""
    if cv is None or (isinstance(cv, str) and cv in ("evidence", "likelihood")):
        return None
    if isinstance(cv, str) and cv == "spatial-cv":
        return _spatial_folds(coords, predict_at, seed)
    elif isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        cv = BlockKFold(int(cv), random_state=seed)
    if isinstance(cv, str) or not hasattr(cv, "split"):
        raise InputError(f"cv={cv!r}; needed is None, a number of folds, or a splitter such as BlockKFold(5).")
    return [(np.asarray(train), np.asarray(test)) for train, test in cv.split(coords, y, groups)]


def _spatial_folds(coords: FloatArray, predict_at: FloatArray | None, seed: int) -> list[Fold]:
    """Folds shaped like the places to be predicted, or blocks as wide as the gaps between the rows."""
    if predict_at is not None:
        return list(GapBlocks(predict_at, random_state=seed).split(coords))
    try:
        return list(BlockKFold(5, block_size=gap_size(coords), random_state=seed).split(coords))
    except InputError:  # gaps so wide that few blocks are left: smaller ones
        return list(BlockKFold(5, random_state=seed).split(coords))


def summarise(
    held: Sequence[HeldOut], model: Model, obs: Observations, shift: FloatArray, scoring: Any
) -> CrossValidation:
    """Scores of new observations at the held-out rows, averaged over the components of the model.

    `shift` is the known part of each row's response, which the observations are without.
    """
    index = held[0].index
    noise = model.mixture.noise_variance[:, None] + obs.error[index]
    moments = Moments(
        np.stack([h.mean for h in held]) + shift[index],
        np.stack([h.variance for h in held]) + noise,
        model.mixture.mass,
    )
    prediction = Prediction(
        moments.mean, np.sqrt(moments.variance), moments.quantile(0.025), moments.quantile(0.975), 0.95
    )
    y, weight = obs.y[index] + shift[index], obs.weight[index]
    result = CrossValidation()
    for name, score in get_scores(list(SCORES) if scoring is None else scoring).items():
        if name == "crps":
            result[name] = crps_mixture(
                y, moments.means, np.sqrt(moments.variances), moments.mass, sample_weight=weight
            )
        else:
            result[name] = score(y, prediction, sample_weight=weight)
    result.prediction, result.index, result.fold = prediction, index, held[0].fold
    return result
