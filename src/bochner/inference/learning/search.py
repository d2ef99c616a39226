"""Search for the modes of a form: log evidence plus log prior, from several starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from bochner.arrays import FloatArray
from bochner.inference.learning.evidence import FAILURES, Evidence
from bochner.inference.learning.forms import OneField
from bochner.inference.learning.policy import POLICY

NOTHING = -1e10  # where there is no evidence


@dataclass(frozen=True)
class Posterior:
    """Log posterior density of the points of a form, up to the evidence of the data."""

    form: OneField
    evidence: Evidence

    def at(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient."""
        try:
            point = self.evidence.at(*self.form.at(x))
        except FAILURES:
            return NOTHING, np.zeros(len(x))
        gradient = self.form.chained(x, point.gradient)
        if not (np.isfinite(point.value) and np.all(np.isfinite(gradient))):
            return NOTHING, np.zeros(len(x))
        prior, slope = self.form.log_prior(x)
        return point.value + prior, gradient + slope

    def value(self, x: FloatArray) -> float:
        """Value alone."""
        try:
            value = self.evidence.value(*self.form.at(x))[0]
        except FAILURES:
            return NOTHING
        return value + self.form.log_prior(x)[0] if np.isfinite(value) else NOTHING

    def scale(self, x: FloatArray) -> float:
        """Factor of the variances that the evidence integrates over, at its best."""
        return self.evidence.value(*self.form.at(x))[1]


@dataclass(frozen=True)
class Mode:
    """Where a climb ended.

    Attributes
    ----------
    status : str
        "climbed", or "failed" where no value could be computed.
    """

    x: FloatArray
    value: float
    gradient: FloatArray
    status: str


def search(posterior: Posterior) -> list[Mode]:
    """Modes, the best first: climbs from those of the starts that rank best and lie apart."""
    starts = list(posterior.form.starts())
    values = [posterior.value(x) for x in starts]
    chosen: list[FloatArray] = []
    for i in np.argsort(values)[::-1]:
        if len(chosen) < POLICY.climbs and all(abs(starts[i][0] - x[0]) > 0.5 for x in chosen):
            chosen.append(starts[i])
    modes = sorted((climb(posterior, x) for x in chosen), key=lambda mode: -mode.value)
    return [m for m in modes if m.status != "failed"] or modes[:1]


def climb(posterior: Posterior, start: FloatArray) -> Mode:
    """The mode that a quasi-Newton climb leads to."""
    result = optimize.minimize(
        lambda x: tuple(-part for part in posterior.at(x)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=posterior.form.bounds(),
        options={"maxiter": 100, "ftol": 1e-300, "gtol": 1e-2, "maxcor": 20},
    )
    value, gradient = -float(result.fun), -np.asarray(result.jac)
    return Mode(np.asarray(result.x), value, gradient, "failed" if value <= NOTHING else "climbed")
