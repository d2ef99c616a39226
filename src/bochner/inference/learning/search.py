"""Search for the modes of a form: log evidence plus log prior, from several starts; what is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.learning.evidence import FAILURES, Evidence, Theta
from bochner.inference.learning.form import Begun, Form
from bochner.inference.learning.policy import POLICY


@dataclass(frozen=True)
class Mode:
    """A point of a climb, and whether it is the end.

    Attributes
    ----------
    x : array
    value : float
        Log posterior density.
    gradient, information : array
        About minus the Hessian is the information; it is never negative.
    status : str
        "climbed"; "passed" where the climb did not end; "known" where it led to a mode that was known; "ruled out"
        where it could not come near to what is wanted; "failed" where no value could be computed.
    """

    x: FloatArray
    value: float
    gradient: FloatArray
    information: FloatArray
    status: str


@dataclass(frozen=True)
class Posterior:
    """Log posterior density of the points of a form, up to the evidence of the data."""

    form: Form
    evidence: Evidence

    def at(self, x: FloatArray) -> Mode:
        """Value, gradient and about minus the Hessian."""
        nothing = Mode(x, -np.inf, np.zeros(len(x)), np.eye(len(x)), "failed")
        try:
            point = self.evidence.at(self.form.at(x))
        except FAILURES:
            return nothing
        if not (np.isfinite(point.value) and np.all(np.isfinite(point.gradient))):
            return nothing
        slopes, (prior, slope) = self.form.slopes(x), self.form.log_prior(x)
        information = point.information
        if self.form.common.free:  # the common factor takes its part of it
            scaled = self.form.scaled
            factor = information[:, scaled].sum(axis=1)
            information = information - np.outer(factor, factor) / factor[scaled].sum()
        bend = slopes.T @ information @ slopes + self.form.prior_bend(x)
        return Mode(x, point.value + prior, slopes.T @ point.gradient + slope, bend, "passed")

    def value(self, x: FloatArray) -> float:
        """Value alone."""
        try:
            value = self.evidence.value(self.form.at(x))[0]
        except FAILURES:
            return -np.inf
        return value + self.form.log_prior(x)[0] if np.isfinite(value) else -np.inf

    def factor(self, x: FloatArray) -> float:
        """Posterior mean of the factor of the variances that the evidence integrates over; 1 where there is none."""
        if not self.form.common.free:
            return 1.0
        scale, freedom = self.evidence.value(self.form.at(x))[1], self.evidence.freedom
        return scale * freedom / (freedom - 2)


def search(posterior: Posterior, begun: Begun, wanted: float = -np.inf) -> list[Mode]:
    """Modes, the best first: climbs from those of the starts that rank best and lie apart, to the value wanted."""
    starts = posterior.form.points(begun)
    chosen: list[FloatArray] = []
    values = [posterior.value(x) for x in starts] if len(starts) > 1 else [0.0] * len(starts)
    most = 1 if begun else POLICY.climbs  # what begins at a mode is near its own
    for i in np.argsort(values)[::-1]:
        if len(chosen) < most and all(np.abs(starts[i] - x).max() > 0.5 for x in chosen):
            chosen.append(starts[i])
    modes: list[Mode] = []
    for x in chosen:
        modes.append(climb(posterior, x, modes, wanted))
    return sorted((m for m in modes if m.status in ("climbed", "passed")), key=lambda mode: -mode.value)


def climb(posterior: Posterior, start: FloatArray, known: Sequence[Mode] = (), wanted: float = -np.inf) -> Mode:
    """The mode that damped quasi-Newton steps lead to, which begin with the information.

    It ends early where it leads to a mode that is known, or where ten times the gain that is promised is not enough.
    """
    low, high = posterior.form.bounds.T
    here, damping = posterior.at(np.clip(start, low, high)), 0.0
    bend = here.information
    # a likelihood is compared with that of other software, to more digits than a weight needs
    enough = POLICY.climbed if posterior.form.common.proper else POLICY.climbed**4
    for _ in range(POLICY.steps):
        if here.status == "failed":
            return here
        if any(_leads_to(mode, here) for mode in known):
            return replace(here, status="known")
        leaving = ((here.x <= low) & (here.gradient < 0)) | ((here.x >= high) & (here.gradient > 0))
        free = ~leaving
        inside, slope = bend[np.ix_(free, free)], here.gradient[free]
        step = np.zeros(len(here.x))
        step[free] = np.linalg.solve(inside + (damping + 1e-3) * np.eye(len(inside)), slope)
        if here.value + 5 * float(step @ here.gradient) < wanted:
            return replace(here, status="ruled out")
        # no step is longer than 1 in any entry
        step *= min(1.0, 1.0 / np.abs(step[: posterior.form.n_sizes]).max(initial=1e-300))
        if 0.5 * float(step @ here.gradient) < enough:
            return replace(here, status="climbed")
        there = posterior.at(np.clip(here.x + step, low, high))
        if there.value > here.value:
            bend = _updated(bend, there.x - here.x, here.gradient - there.gradient)
            here, damping = there, damping / 4
        else:
            bend = here.information
            damping = 4 * max(damping, 0.25 * float(np.linalg.norm(inside, 2)))
    return here


def _updated(bend: FloatArray, step: FloatArray, change: FloatArray) -> FloatArray:
    """BFGS: the curvature along a step as the gradients have it, where it is positive."""
    curvature, moved = float(step @ change), bend @ step
    if curvature <= 1e-3 * float(step @ moved):
        return bend
    return np.asarray(bend + np.outer(change, change) / curvature - np.outer(moved, moved) / float(step @ moved))


def _leads_to(mode: Mode, here: Mode) -> bool:
    """Whether a climb has come within an sd of a mode."""
    apart = here.x - mode.x
    return mode.status == "climbed" and float(apart @ mode.information @ apart) < 1


@dataclass(frozen=True)
class Found:
    """Modes of a form, the best first."""

    form: Form
    posterior: Posterior
    modes: Sequence[Mode]
    by: str = ""  # the evidence, where it is not that of all rows
    beaten: tuple[str, float] | None = None  # the next form, and its log odds, where that was not climbed on

    @property
    def name(self) -> str:
        """Of the form, and of the evidence."""
        return self.form.name + (f" ({self.by})" if self.by else "")

    @property
    def theta(self) -> Theta:
        """Hyperparameters at the best mode."""
        return self.at(self.modes[0].x)

    def at(self, x: FloatArray) -> Theta:
        """Hyperparameters at a point, with the mean of the common factor, where that is integrated out."""
        theta, factor = self.form.at(x), self.posterior.factor(x)
        effects = tuple(v * factor for v in theta.effects)
        return replace(theta, kernel=theta.kernel.scaled(factor), noise=theta.noise * factor, effects=effects)

    @property
    def log_evidence(self) -> float:
        """Log evidence of the form by Laplace's method with the information at the best mode, and its prior odds."""
        mode = self.modes[0]
        log_det = float(np.linalg.slogdet(mode.information + 1e-3 * np.eye(len(mode.x)))[1])
        return mode.value + self.form.log_odds + 0.5 * (len(mode.x) * float(np.log(2 * np.pi)) - log_det)

    @property
    def at_bounds(self) -> tuple[str, ...]:
        """Names of the entries that ended at a bound."""
        x, (low, high) = self.modes[0].x, self.form.bounds.T
        return tuple(n for n, d in zip(self.form.names, np.minimum(x - low, high - x), strict=True) if d < 1e-3)
