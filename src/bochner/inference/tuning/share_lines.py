"""Lines along the share of the field: the evidence of one correlation with the prior, for every share.

Few rows leave the share open: one tridiagonal form serves all shares. Many rows know it so well that its logit is as
good as normal, and that the peak of the next line lies near those of the last: three factors about it are then enough,
for half of the time or less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.inference.evidence.share_evidence import Line, ShareEvidence
from bochner.inference.tuning import limits

NoiseLevels = list[tuple[float, float]]
"""Noise variances with the logs of their weights."""
SHARES = np.arange(limits.SHARE_LOGITS[0], limits.SHARE_LOGITS[1] + 1e-9, limits.SHARE_STEP)


@dataclass(frozen=True)
class Weighed:
    """A line along the share of the field, the log of its joint density with the prior, and of the sum of it."""

    line: Line
    log_density: FloatArray
    log_sum: float

    @property
    def peak(self) -> tuple[float, float]:
        """Mean and sd of the logit."""
        mass, x = np.exp(self.log_density - self.log_sum), self.line.logit
        mean = float(mass @ x)
        return mean, float(np.sqrt(mass @ (x - mean) ** 2))


@dataclass(frozen=True)
class Parabola:
    """A peak by three values a step apart: the middle one, and the slope and bend of a step."""

    at: int
    middle: float
    slope: float
    bend: float

    @property
    def log_mass(self) -> float:
        """Log of its integral, in steps."""
        return self.middle + self.slope**2 / (2 * self.bend) + float(np.log(np.sqrt(2 * np.pi / self.bend)))

    @property
    def top(self) -> float:
        """Steps from where the search for it began to its top."""
        return self.at + self.slope / self.bend

    @property
    def sd(self) -> float:
        """In steps."""
        return 1 / float(np.sqrt(self.bend))

    @classmethod
    def sought(cls, value: Callable[[int], float], widest: float, moves: int) -> Parabola | None:
        """Whose top is within a step of one of the values; None where it is not found, or wider than so many steps."""
        found: dict[int, float] = {}
        at = 0
        for _ in range(moves):
            for k in (at, at - 1, at + 1):
                if k not in found:
                    found[k] = value(k)
            below, middle, above = (found[k] for k in (at - 1, at, at + 1))
            slope, bend = (above - below) / 2, 2 * middle - above - below
            if bend > 0 and widest * np.sqrt(bend) < 1:
                return None
            if bend > 0 and abs(slope) <= bend:
                return cls(at, middle, slope, bend)
            at += int(np.sign(slope)) * (2 if not bend > 0 or abs(slope) > 2 * bend else 1)
        return None


@dataclass
class ShareLines:
    """Lines of the correlations that are asked for, one after another.

    Attributes
    ----------
    levels : list of (float, float) or None
        Noise variances and the logs of their weights, where it is beside known errors, or is known; None: the noise is
        whatever the field is not.
    variance : float
        Of the responses, which the fields are relative to where the noise has levels.
    first : (float, float) or None
        Mean and sd of the logit, about, where the first line is to follow them, and others those before; None: none
        does.
    trail : list of (float, float, float)
        Relative log ranges of the lines until now with the mean and sd of the logit there.
    """

    evidence: ShareEvidence
    levels: NoiseLevels | None
    variance: float
    first: tuple[float, float] | None = None
    trail: list[tuple[float, float, float]] = field(default_factory=list)
    missed: int = 0  # lines in a row that could not be followed

    def of(self, correlation: FloatArray, log_range: float, log_prior: float) -> list[Weighed]:
        """Lines of one correlation, one for each level of the noise."""
        if self.levels is not None:
            return [
                self._weighed(self.evidence.along_fields(correlation, noise, SHARES, self.variance), log_prior + weight)
                for noise, weight in self.levels
            ]
        line = None
        if self.first is not None and self.missed < limits.LINE_MISSES:
            line = self._followed(correlation, log_range, log_prior)
            self.missed = self.missed + 1 if line is None else 0
        if line is None:
            line = self._weighed(self.evidence.along_shares(correlation, SHARES), log_prior)
        self.trail.append((log_range, *line.peak))
        return [line]

    @staticmethod
    def _weighed(line: Line, log_prior: float) -> Weighed:
        log_density = line.log_evidence + log_share_prior(line.logit) + log_prior
        return Weighed(line, log_density, log_sum(log_density))

    def _expected(self, log_range: float) -> tuple[float, float]:
        """Mean and sd of the logit: those of the nearest range, or the last of such, onwards as they have moved."""
        if not self.trail:
            assert self.first is not None
            return self.first
        away, mean, sd = np.array(self.trail[::-1]).T - np.array([[log_range], [0.0], [0.0]])
        nearest = int(np.argmin(np.round(np.abs(away), 9)))
        near = np.abs(away) < limits.LINE_NEAR
        apart = away[near] - away[near].mean() if near.any() else np.zeros(1)
        slope = float(apart @ mean[near] / (apart @ apart)) if np.ptp(apart) > 0 else 0.0
        return float(mean[nearest] - slope * away[nearest]), float(sd[nearest])

    def _followed(self, correlation: FloatArray, log_range: float, log_prior: float) -> Weighed | None:
        """By three factors about where the peak is expected; None where none is found, or none that is a parabola."""
        few = self.evidence.at_shares(correlation)
        centre, sd = self._expected(log_range)
        for _ in range(limits.LINE_TRIALS):
            if not 0 < sd < limits.LINE_WIDEST:
                return None
            found = _about(few, centre, limits.LINE_STEP * sd)
            if found is None:
                return None
            weighed, before = found, sd
            centre, sd = weighed.peak
            if 1 / limits.LINE_UNLIKE < before / sd < limits.LINE_UNLIKE:
                break
        return Weighed(weighed.line, weighed.log_density + log_prior, weighed.log_sum + log_prior)


def _about(few: Callable[[FloatArray], Line], centre: float, step: float) -> Weighed | None:
    """A normal law through three shares a step apart, the peak between them."""
    seen: dict[int, Line] = {}

    def value(k: int) -> float:
        seen[k] = few(np.array([centre + k * step]))
        return float(seen[k].log_evidence[0] + log_share_prior(seen[k].logit)[0])

    peak = Parabola.sought(value, limits.LINE_WIDEST / step, limits.BESIDE_MOVES)
    if peak is None:
        return None
    z = np.linspace(-limits.LINE_ENDS, limits.LINE_ENDS, limits.LINE_POINTS)
    logit = centre + step * (peak.top + peak.sd * z)
    log_total = np.array([np.log(seen[peak.at + k].field[0] + seen[peak.at + k].noise[0]) for k in (-1, 0, 1)])
    total = np.exp(np.polyval(np.polyfit([-1.0, 0.0, 1.0], log_total, 2), peak.top - peak.at + peak.sd * z))
    line = Line(logit, np.zeros(len(z)), total * special.expit(logit), total * special.expit(-logit))
    # as a sum over shares so far apart as those of other lines are
    log_mass = peak.log_mass + float(np.log(step / limits.SHARE_STEP))
    return Weighed(line, special.log_softmax(-(z**2) / 2) + log_mass, log_mass)


def log_share_prior(logit: FloatArray) -> FloatArray:
    """Of the share of the field, as a density in its logit: Beta, nearly uniform."""
    a, b = limits.SHARE_PRIOR
    return np.asarray(a * special.log_expit(logit) + b * special.log_expit(-logit))


def log_sum(values: FloatArray) -> float:
    """Log of the sum of exponentials; scipy's checks cost more than the sum of so few."""
    top = float(np.max(values))
    return top + float(np.log(np.sum(np.exp(values - top))))
