"""Quantiles of new observations: a search in each row for the value whose probability reaches q.

The search steps out from a guess until the answer is enclosed and then in again, by straight lines in the normal score
of the probability (which is nearly a line for most laws) and, now and then, by halves. Rows leave as they are done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bochner.arrays import FloatArray, IntArray
from bochner.families.overflow import bounded_exp
from bochner.posterior.predictive import Predictive

_FAR = 9.0
_MOST_TURNS = 300

Shortfall = Callable[[IntArray, FloatArray], FloatArray]
"""From rows and a value for each: the normal score of its probability, less that of q."""


@dataclass
class Bracket:
    """Ends of each row's search, by how much their probabilities miss q, and which of them moved last."""

    low: FloatArray
    high: FloatArray
    at_low: FloatArray
    at_high: FloatArray
    moved: NDArray[np.int8]

    @classmethod
    def between(cls, low: FloatArray, high: FloatArray) -> Bracket:
        """Ends of which nothing more is known."""
        ends = low.copy(), high.copy(), np.full_like(low, -_FAR), np.full_like(high, _FAR)
        return cls(*ends, np.zeros(len(low), dtype=np.int8))

    def update(self, rows: IntArray, value: FloatArray, score: FloatArray) -> None:
        """Move one end of each row to a value that was tried."""
        short = score < 0
        # an end that stays twice counts half, lest the other crawl (the Illinois rule)
        again = np.where(short, self.moved[rows] < 0, self.moved[rows] > 0)
        for end, at, other, chosen in (
            (self.low, self.at_low, self.at_high, short),
            (self.high, self.at_high, self.at_low, ~short),
        ):
            end[rows[chosen]], at[rows[chosen]] = value[chosen], score[chosen]
            other[rows[chosen & again]] *= 0.5
        self.moved[rows] = np.where(short, -1, 1)


def observed_quantile(law: Predictive, q: float) -> FloatArray:
    """Quantile of each row: of counts the smallest whose probability below or at it reaches q."""
    return _count_quantile(law, q) if law.family.discrete else _amount_quantile(law, q)


def _count_quantile(law: Predictive, q: float) -> FloatArray:
    """Smallest count of each row with a probability of q or more below or at it."""
    guess, spread = _guess(law, q)
    most = np.where(law.family.bounded_by_size, law.size, np.inf)
    bracket = Bracket.between(np.full_like(guess, -1.0), most)
    shortfall = _shortfall(law, q)
    _enclose(shortfall, bracket, np.clip(np.ceil(guess), 0.0, np.minimum(most, 1e300)), np.ceil(spread) + 1.0)
    for turn in range(_MOST_TURNS):
        low, high = bracket.low, bracket.high
        rows = np.flatnonzero(high - low > np.maximum(1.0, 1e-15 * high))  # floats end to hold whole numbers
        if not len(rows):
            break
        value = np.clip(np.ceil(_between(bracket, rows, turn)), low[rows] + 1, high[rows] - 1)
        bracket.update(rows, value, shortfall(rows, value))
    return bracket.high


def _amount_quantile(law: Predictive, q: float) -> FloatArray:
    """Amount of each row with probability q below it, its log good to 1e-8."""
    by_value = _shortfall(law, q)

    def shortfall(rows: IntArray, log_value: FloatArray) -> FloatArray:
        return by_value(rows, bounded_exp(log_value))

    guess, spread = _guess(law, q)
    step = np.maximum(spread / np.maximum(guess, 1e-300), 1e-3)
    endless = np.full_like(guess, np.inf)
    bracket = Bracket.between(-endless, endless)
    _enclose(shortfall, bracket, np.log(np.maximum(guess, 1e-300)), step)
    done = np.zeros(len(guess), dtype=np.bool_)
    for turn in range(_MOST_TURNS):
        rows = np.flatnonzero(~done)
        if not len(rows):
            break
        value = _between(bracket, rows, turn)
        score = shortfall(rows, value)
        bracket.update(rows, value, score)
        close = np.abs(score) < 1e-8
        bracket.high[rows[close]] = value[close]
        done[rows] = close | (bracket.high[rows] - bracket.low[rows] < 1e-8)
    return bounded_exp(bracket.high)


def _shortfall(law: Predictive, q: float) -> Shortfall:
    def shortfall(rows: IntArray, value: FloatArray) -> FloatArray:
        score = np.clip(special.ndtri(law.at(rows).cdf(value)), -_FAR, _FAR)
        return np.asarray(score - special.ndtri(q))

    return shortfall


def _guess(law: Predictive, q: float) -> tuple[FloatArray, FloatArray]:
    """Quantile of the surface, and the spread of an observation about it."""
    eta = law.eta.quantile(q)
    spread = np.sqrt(law.family.variance(eta, law.size))
    return law.size * law.family.mean(eta), np.minimum(spread, 1e150)


def _enclose(shortfall: Shortfall, bracket: Bracket, value: FloatArray, step: FloatArray) -> None:
    """Step out from a value, in steps that double, until both ends are known."""
    value, step = value.copy(), step.copy()
    bottom, top = bracket.low.copy(), bracket.high.copy()
    rows = np.flatnonzero(value < top)  # the others are at all their trials, which is enough
    while len(rows):
        score = shortfall(rows, value[rows])
        short = score < 0
        bracket.update(rows, value[rows], score)
        other_end = np.where(short, bracket.high[rows] < top[rows], bracket.low[rows] > bottom[rows])
        value[rows] += np.where(short, step[rows], -step[rows])
        step[rows] *= 2
        outside = np.where(short, value[rows] >= top[rows], value[rows] <= bottom[rows])
        rows = rows[~(other_end | outside)]


def _between(bracket: Bracket, rows: IntArray, turn: int) -> FloatArray:
    """Value inside each bracket: where a line through its ends is zero, or halfway at every fourth turn."""
    low, high, at_low, at_high = (getattr(bracket, name)[rows] for name in ("low", "high", "at_low", "at_high"))
    share = 0.5 if turn % 4 == 3 else np.clip(at_low / (at_low - at_high), 1e-3, 0.999)
    return np.asarray(low + (high - low) * share)
