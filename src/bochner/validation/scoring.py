"""Scoring: scores by name, on predictions that carry their uncertainty."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from numpy.typing import ArrayLike
from scipy import special

from bochner.arrays import FloatArray, as_finite, as_rows
from bochner.exceptions import InputError
from bochner.validation.scores import (
    as_level,
    bias,
    brier,
    coverage,
    crps,
    interval_score,
    log_score,
    mae,
    rmse,
    row_mean,
)


class Law(Protocol):
    """Pointwise law of n new observations, counts or amounts: what the posterior says on the scale of the data."""

    @property
    def mean(self) -> FloatArray: ...

    @property
    def sd(self) -> FloatArray: ...

    def quantile(self, q: float) -> FloatArray: ...

    def log_density(self, y: FloatArray) -> FloatArray: ...

    def crps(self, y: FloatArray) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says about n new observations.

    Attributes
    ----------
    mean : ndarray of shape (n,)
        Predictive mean, in the unit of y.
    sd : ndarray of shape (n,), optional
        Standard deviation of a new observation, noise included.
    lower, upper : ndarray of shape (n,), optional
        Ends of the central interval.
    level : float
        Probability that the interval claims to hold; for counts it holds at least that.
    law : Law, optional
        The whole law, of which crps and log score are then taken; None: a Gaussian of this mean and sd.
    trials : ndarray of shape (n,), optional
        For positives out of trials: what the Brier score needs.
    """

    mean: FloatArray
    sd: FloatArray | None = None
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    level: float = 0.95
    law: Law | None = None
    trials: FloatArray | None = None

    def __post_init__(self) -> None:
        mean = as_finite(self.mean, "mean")
        if mean.ndim != 1:
            raise InputError(f"mean has shape {mean.shape}; needed is one value per row, (n,).")
        object.__setattr__(self, "mean", mean)
        for name in ("sd", "lower", "upper", "trials"):
            object.__setattr__(self, name, as_rows(getattr(self, name), len(mean), name))
        object.__setattr__(self, "level", as_level(self.level))

    @classmethod
    def gaussian(cls, mean: ArrayLike, sd: ArrayLike, level: float = 0.95) -> Prediction:
        """Gaussian prediction with its central interval of probability `level`."""
        mean, sd = as_finite(mean, "mean"), as_finite(sd, "sd")
        half = special.ndtri(0.5 + as_level(level) / 2) * sd
        return cls(mean, sd, mean - half, mean + half, level)

    @classmethod
    def of(cls, law: Law, level: float = 0.95, trials: FloatArray | None = None) -> Prediction:
        """Prediction of a law, with its central interval of probability `level`."""
        tail = (1 - as_level(level)) / 2
        return cls(law.mean, law.sd, law.quantile(tail), law.quantile(1 - tail), level, law, trials)


class Score(Protocol):
    """One number from observations and a prediction of them."""

    def __call__(self, y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float: ...


def get_scores(scoring: str | Iterable[str] | Mapping[str, Score]) -> dict[str, Score]:
    """Scores under the names they are asked for.

    Parameters
    ----------
    scoring : str, iterable of str, or mapping of str to Score
        Names in `SCORES`, or "brier" for predictions with trials; a mapping is for scores of one's own and is
        returned as it is.
    """
    if isinstance(scoring, Mapping):
        return dict(scoring)
    names = [scoring] if isinstance(scoring, str) else list(scoring)
    if not names:
        raise InputError(f"scoring is empty; needed is at least one of {', '.join(SCORES)}.")
    return {name: _named(name) for name in names}


def _named(name: str) -> Score:
    known = {**SCORES, "brier": _brier}
    if name in known:
        return known[name]
    (nearest,) = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.0)
    raise InputError(f"scoring {name!r} is not known; did you mean {nearest!r}? There are {', '.join(known)}.")


def _score(function: Callable[..., float], *parts: str) -> Score:
    """Score that hands the named parts of a prediction to a function of arrays."""

    def score(y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
        given = (_part(prediction, part, function.__name__) for part in parts)
        return function(y, *given, sample_weight=sample_weight)

    score.__name__, score.__doc__ = function.__name__, function.__doc__
    return score


def _law_score(gaussian: Callable[..., float], method: str) -> Score:
    """Score of the law itself where the prediction has it, else of a Gaussian."""
    plain = _score(gaussian, "mean", "sd")

    def score(y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
        if prediction.law is None:
            return plain(y, prediction, sample_weight=sample_weight)
        observed = as_rows(y, len(prediction.mean), "y")
        return row_mean(getattr(prediction.law, method)(observed), sample_weight)

    score.__name__, score.__doc__ = gaussian.__name__, gaussian.__doc__
    return score


def _brier(y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
    """Brier score of single trials."""
    trials = _part(prediction, "trials", "brier")
    return brier(y, prediction.mean / trials, trials=trials, sample_weight=sample_weight)


def _part(prediction: Prediction, part: str, score: str) -> Any:
    value = getattr(prediction, part)
    if value is None:
        raise InputError(f"The prediction has no {part}, which {score} needs; give it {part}, or score rmse or mae.")
    return value


SCORES: Mapping[str, Score] = MappingProxyType(
    {
        "rmse": _score(rmse, "mean"),
        "mae": _score(mae, "mean"),
        "crps": _law_score(crps, "crps"),
        "log_score": _law_score(log_score, "log_density"),
        "interval_score": _score(interval_score, "lower", "upper", "level"),
        "coverage": _score(coverage, "lower", "upper"),
        "bias": _score(bias, "mean"),
    }
)
"""Scores by name: functions of (y, prediction, sample_weight). Only `log_score` is better when higher."""
