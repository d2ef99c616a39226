"""Guided search: climbs on an evidence that is dear begin where they end on a cheap one that is nearly the same.

Vecchia's likelihood of all rows with a dozen neighbours has its peaks near those of the exact one, for a tenth of its
time at a thousand rows. It ranks the starts and leads to every peak; the exact evidence, by whose slope and information
it is told how far the peak is, compares them and has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bochner.inference.evidence.objective import Objective
from bochner.inference.tuning import limits
from bochner.inference.tuning.informed_climb import Rival
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.kernels import Kernel


class LedAstrayError(Exception):
    """The evidence lies elsewhere than where the guide has led, and so may all that it has led to."""


@dataclass(frozen=True)
class Guide(Search):
    """Climbs on the cheap evidence, of which the peaks with kernels of every form are kept, the highest first."""

    peaks: dict[Kernel, list[Tuned]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, search: Search, cheap: Objective) -> Guide:
        """The same search by another objective, whose climbs need not be exact."""
        names = ("scale", "noise_variance", "prior", "least_noise", "shared", "prior_scale", "reach")
        return cls(cheap, **{name: getattr(search, name) for name in names}, enough=limits.GUIDED_ENOUGH)

    def maximise(
        self,
        kernel: Kernel,
        noise_variance: float,
        max_iterations: int = 200,
        tolerance: float = limits.CLIMBED,
        *,
        against: float | Tuned | Rival | None = None,
    ) -> Tuned:
        """A climb from one start, as any."""
        found = super().maximise(kernel, noise_variance, max_iterations, tolerance, against=against)
        if not found.failed:
            others = [peak for peak in self.peaks.get(form(kernel), []) if self._apart(peak, found)]
            same = [peak for peak in self.peaks.get(form(kernel), []) if peak not in others]
            highest = max([*same, found], key=lambda t: t.value)
            self.peaks[form(kernel)] = sorted([*others, highest], key=lambda t: -t.value)
        return found

    def _apart(self, a: Tuned, b: Tuned) -> bool:
        """Whether there is a valley between the ends of two climbs."""
        theta = (a.kernel.theta + b.kernel.theta) / 2
        between = self.value(a.kernel.with_theta(theta), float(np.sqrt(a.noise_variance * b.noise_variance)))
        return between < min(a.value, b.value)


@dataclass(frozen=True)
class GuidedSearch(Search):
    """A search whose climbs are begun by another objective, the `guide`, of about the same shape.

    Attributes
    ----------
    leads : dict of Kernel to list of Tuned
        Peaks that the guide has found for kernels of a form, the highest first: its climbs are not repeated.
    pairs : dict of (int, bool) to list of (float, float)
        What the guide says of peaks, and the evidence where climbs from them ended, by the kind of their kernels.
    strays : list of float
        Nats that the evidence was foreseen to gain from peaks of the guide.
    """

    guide: Objective | None = None
    leads: dict[Kernel, list[Tuned]] = field(default_factory=dict, repr=False, compare=False)
    pairs: dict[tuple[int, bool], list[tuple[float, float]]] = field(default_factory=dict, repr=False, compare=False)
    strays: list[float] = field(default_factory=list, repr=False, compare=False)

    @cached_property
    def before(self) -> Guide:
        """The same search by the guide."""
        assert self.guide is not None
        return Guide.of(self, self.guide)

    def rank(self, kernel: Kernel, noise_variance: float) -> float:
        """By the guide: starts are compared with each other alone; where it has a lead, by how near they are."""
        leads = self.leads.get(form(kernel))
        return self.before.rank(kernel, noise_variance) if leads is None else -_away(leads[0], kernel, noise_variance)

    def trusted(self, kernel: Kernel) -> bool:
        """Whether the guide leads near a peak of the evidence; of smooth fields with little noise it does not."""
        found = tune(self.before, kernel, n_climbs=1, tolerance=limits.SETTLED)
        return self.foreseen(found.kernel, found.noise_variance)[1] < limits.GUIDED_ASTRAY

    def maximise(
        self,
        kernel: Kernel,
        noise_variance: float,
        max_iterations: int = 200,
        tolerance: float = limits.CLIMBED,
        *,
        against: float | Tuned | Rival | None = None,
    ) -> Tuned:
        """Climb by the guide, then on from there; what falls far short of its rival there is not climbed on.

        Where the evidence would go far from where the guide leads, that is not followed.
        """
        leads = self.leads.get(form(kernel))
        if leads is None:
            leads = [self.before.maximise(kernel, noise_variance, max_iterations, limits.SETTLED)]
        elif isinstance(against, Tuned) and form(against.kernel) == form(kernel):
            return replace(against, n_evaluations=1)
        found = leads[0]
        if found.failed:
            return super().maximise(kernel, noise_variance, max_iterations, tolerance, against=against)
        if isinstance(against, Tuned) and _alike(found, against):
            return replace(against, n_evaluations=1)
        if isinstance(against, float) and self.leads:
            expected, doubt = self._expected(found)
            if expected + doubt < against:
                return replace(found, value=expected, n_evaluations=0)
        if len(leads) > 1 and leads[1].value > found.value - limits.GUIDED_DOUBT:
            found = max(leads[:2], key=lambda t: sum(self.foreseen(t.kernel, t.noise_variance)))
        value, gain = self.foreseen(found.kernel, found.noise_variance)
        self.strays.append(gain)
        astray = not gain < limits.GUIDED_ASTRAY
        if form(kernel) in self.leads and not gain < limits.GUIDED_LOST:
            raise LedAstrayError
        if astray and not (gain < limits.GUIDED_LOST and value > self.value(kernel, noise_variance)):
            return super().maximise(kernel, noise_variance, max_iterations, tolerance, against=against)
        if against is not None and not astray:
            # of few rows all that may win are averaged over, the best or not
            doubt = 0.0 if self.prior and gain < limits.GUIDED_DOUBT else limits.GUIDED_DOUBT
            if value + gain < (against if isinstance(against, float) else against.value) - doubt:
                return replace(found, value=value + gain, n_evaluations=1)
        ended = super().maximise(found.kernel, found.noise_variance, max_iterations, tolerance, against=against)
        self.pairs.setdefault(_kind(kernel), []).append((found.value, ended.value))
        return ended

    def _expected(self, found: Tuned) -> tuple[float, float]:
        """The evidence at a peak of the guide, as that of others of its kind was, and how far it may be off.

        Nothing is expected of a guide whose peaks are not those of the evidence.
        """
        pairs = self.pairs.get(_kind(found.kernel))
        if not pairs or max(self.strays) > limits.GUIDED_DOUBT:
            return np.inf, np.inf
        known, value = max(pairs, key=lambda pair: pair[1])
        away = found.value - known
        return value + away, limits.GUIDED_DOUBT + limits.GUIDED_SHARE * abs(away)


def form(kernel: Kernel) -> Kernel:
    """What all kernels have in common that differ in their hyperparameters alone."""
    return kernel.with_theta(np.zeros(len(kernel.theta)))


def _kind(kernel: Kernel) -> tuple[int, bool]:
    """Number of its hyperparameters, and whether its axes are turned."""
    return len(kernel.theta), getattr(kernel, "rotation", None) is not None


def _alike(a: Tuned, b: Tuned) -> bool:
    """Whether two climbs have ended in one place, as far as a guide can tell."""
    return _away(a, b.kernel, b.noise_variance) < limits.GUIDED_NEAR


def _away(found: Tuned, kernel: Kernel, noise_variance: float) -> float:
    """The largest difference in [theta, log noise variance]."""
    noises = (np.log(max(noise, 1e-300)) for noise in (found.noise_variance, noise_variance))
    return float(np.max(np.abs(np.r_[found.kernel.theta - kernel.theta, np.subtract(*noises)])))
