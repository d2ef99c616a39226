"""Scoring: scores by name, on predictions that carry their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike
from scipy import special

from bochner.arrays import FloatArray, as_finite, as_rows
from bochner.exceptions import InputError
from bochner.spelling import nearest_name
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


class ScoreFunction(Protocol):
    """One number from observations and a prediction of them."""

    def __call__(self, y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float: ...


@dataclass(frozen=True)
class Score:
    """A score with all that is to be known of it; called as a `ScoreFunction`.

    Attributes
    ----------
    name : str
        What `scoring` takes.
    label : str
        Name for people.
    meaning : str
        What it says, and which way is better.
    function : ScoreFunction
    needs : tuple of str
        Parts of a `Prediction` that it is computed from.
    is_share : bool
        Whether it is a share, shown in per cent.
    """

    name: str
    label: str
    meaning: str
    function: ScoreFunction
    needs: tuple[str, ...] = ("mean",)
    is_share: bool = False

    def __call__(self, y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
        for part in self.needs:
            if getattr(prediction, part) is None:
                raise InputError(
                    f"The prediction has no {part}, which {self.name} needs; give it {part}, or score rmse or mae."
                )
        return self.function(y, prediction, sample_weight=sample_weight)

    def applies(self, prediction: Prediction) -> bool:
        """Whether a prediction has all that the score needs."""
        return all(getattr(prediction, part) is not None for part in self.needs)


SCORES: dict[str, Score] = {}
"""Scores by name, in the order in which they are shown. Only `log_score` is better when higher."""


def register_score(score: Score) -> None:
    """Make a score known: by its name to `scoring`, by its label and meaning to reports."""
    SCORES[score.name] = score


def get_scores(scoring: str | Iterable[str] | Mapping[str, ScoreFunction]) -> dict[str, ScoreFunction]:
    """Scores under the names they are asked for.

    Parameters
    ----------
    scoring : str, iterable of str, or mapping of str to function
        Names in `SCORES`; a mapping is for scores of one's own and is returned as it is.
    """
    if isinstance(scoring, Mapping):
        return dict(scoring)
    names = [scoring] if isinstance(scoring, str) else list(scoring)
    if not names:
        raise InputError(f"scoring is empty; needed is at least one of {', '.join(SCORES)}.")
    return {name: _named(name) for name in names}


def _named(name: str) -> Score:
    if name in SCORES:
        return SCORES[name]
    nearest = nearest_name(str(name), SCORES, cutoff=0.0)
    raise InputError(f"scoring {name!r} is not known; did you mean {nearest!r}? There are {', '.join(SCORES)}.")


def _of_parts(function: Callable[..., float], *parts: str) -> ScoreFunction:
    """Hand the named parts of a prediction to a function of arrays."""

    def score(y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
        return function(y, *(getattr(prediction, part) for part in parts), sample_weight=sample_weight)

    return score


def _of_law(gaussian: Callable[..., float], method: str) -> ScoreFunction:
    """Score the law itself where the prediction has it, else a Gaussian."""
    plain = _of_parts(gaussian, "mean", "sd")

    def score(y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
        if prediction.law is None:
            return plain(y, prediction, sample_weight=sample_weight)
        observed = as_rows(y, len(prediction.mean), "y")
        return row_mean(getattr(prediction.law, method)(observed), sample_weight)

    return score


def _brier(y: ArrayLike, prediction: Prediction, sample_weight: ArrayLike | None = None) -> float:
    """Brier score of single trials."""
    trials = prediction.trials
    assert trials is not None  # the score says that it needs them
    return brier(y, prediction.mean / trials, trials=trials, sample_weight=sample_weight)


register_score(Score("rmse", "RMSE", "typical error of the mean; lower is better", _of_parts(rmse, "mean")))
register_score(Score("mae", "MAE", "mean absolute error; lower is better", _of_parts(mae, "mean")))
register_score(
    Score("crps", "CRPS", "error of the whole predicted law; lower is better", _of_law(crps, "crps"), ("mean", "sd"))
)
register_score(
    Score(
        "log_score",
        "log score",
        "log density of what was observed; higher is better",
        _of_law(log_score, "log_density"),
        ("mean", "sd"),
    )
)
register_score(
    Score(
        "interval_score",
        "interval score",
        "width of 95 % intervals plus a fine for misses; lower is better",
        _of_parts(interval_score, "lower", "upper", "level"),
        ("lower", "upper"),
    )
)
register_score(
    Score(
        "coverage",
        "coverage",
        "share inside 95 % intervals; best at 95 %",
        _of_parts(coverage, "lower", "upper"),
        ("lower", "upper"),
        is_share=True,
    )
)
register_score(Score("bias", "bias", "prediction minus observation; best at 0", _of_parts(bias, "mean")))
register_score(
    Score(
        "brier",
        "Brier score",
        "squared error of probabilities, trial by trial; lower is better",
        _brier,
        ("mean", "trials"),
    )
)
