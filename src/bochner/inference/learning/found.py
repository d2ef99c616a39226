"""What a search found: modes of a form, and what they say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.learning.form import Form
from bochner.inference.learning.search import Mode, Posterior
from bochner.inference.learning.theta import Theta


@dataclass(frozen=True)
class Found:
    """Modes of a form, the best first."""

    form: Form
    posterior: Posterior
    modes: Sequence[Mode]
    by: str = ""  # the evidence, where it is not that of all rows

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
