"""Guided search: climbs on an evidence that is dear begin where they end on a cheap one that is nearly the same.

Vecchia's likelihood of all rows with a dozen neighbours has its peaks near those of the exact one, for a tenth of its
time at a thousand rows. It ranks the starts and leads to every peak; the exact evidence, by whose slope and information
it is told how far the peak is, compares them and has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bochner.inference.evidence.objective import Objective
from bochner.inference.tuning import limits
from bochner.inference.tuning.informed_climb import Rival
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.kernels import Kernel


@dataclass(frozen=True)
class GuidedSearch(Search):
    """A search whose climbs are begun by another objective, the `guide`, of about the same shape."""

    guide: Objective | None = None
    enough: float = 0.0  # relative gain that ends a climb whatever is asked for

    @cached_property
    def before(self) -> Search:
        """The same search by the guide."""
        assert self.guide is not None
        names = ("scale", "noise_variance", "prior", "least_noise", "shared", "prior_scale", "reach")
        return Search(self.guide, **{name: getattr(self, name) for name in names})

    def rank(self, kernel: Kernel, noise_variance: float) -> float:
        """By the guide: starts are compared with each other alone."""
        return self.before.rank(kernel, noise_variance)

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
        found = self.before.maximise(kernel, noise_variance, max_iterations, limits.SETTLED)
        if found.failed:
            return super().maximise(kernel, noise_variance, max_iterations, tolerance, against=against)
        if isinstance(against, Tuned) and _alike(found, against):
            return replace(against, n_evaluations=1)
        value, gain = self.foreseen(found.kernel, found.noise_variance)
        if not gain < limits.GUIDED_ASTRAY:
            return super().maximise(kernel, noise_variance, max_iterations, tolerance, against=against)
        if against is not None:
            if value + gain < (against if isinstance(against, float) else against.value) - limits.GUIDED_DOUBT:
                return replace(found, value=value, n_evaluations=1)
        enough = max(tolerance, self.enough)
        return super().maximise(found.kernel, found.noise_variance, max_iterations, enough, against=against)


def _alike(a: Tuned, b: Tuned) -> bool:
    """Whether two climbs have ended in one place, as far as a guide can tell."""
    pairs = [np.r_[t.kernel.theta, np.log(max(t.noise_variance, 1e-300))] for t in (a, b)]
    return bool(np.max(np.abs(pairs[0] - pairs[1])) < limits.GUIDED_NEAR)
