"""Search on the Laplace evidence of all rows, on waves of a lattice that follows the kernel.

A lattice serves kernels near the one that it was planned for. So a climb goes in rounds: plan, climb, and plan again at
the kernel that was found, until it stays where it is. A dispersion is held during a climb and settled after it. Parts
of rare presence hold few cases and tell little of the range, so a climb begins at whichever of several ranges the
evidence of all rows is largest for, and each evaluation where the mode of the last one was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.evidence.lattice_laplace import LatticeBound, LatticePlan, lattice_plan
from bochner.inference.evidence.objective import Objective
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.fits.fixed_effects import information_of
from bochner.inference.observed.responses import Responses
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import close
from bochner.inference.tuning.informed_climb import Rival
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Scale


@dataclass(frozen=True)
class Told:
    """What rows of another family tell, as measurements would.

    Attributes
    ----------
    little : bool
        Whether it is as little as of rows that leave the hyperparameters open.
    scale : Scale
        Of as many measurements, with errors of variance 1 on the link.
    crowded : float
        Information of all rows, as if they were spread evenly.
    """

    little: bool
    scale: Scale
    crowded: float

    @classmethod
    def by(cls, responses: Responses, scale: Scale) -> Told:
        information, crowded = information_of(responses)
        thinned = scale.spacing * (max(len(responses) / max(information, 1.0), 1.0)) ** (1 / len(scale.extent))
        few = information < limits.MAX_AVERAGING_ROWS
        return cls(few, replace(scale, spacing=min(thinned, 0.5), variance=1.0), crowded)


@dataclass(frozen=True)
class LatticeSearch(Search):
    """All rows on waves; `maximise` plans them as often as the kernel moves away from them."""

    responses: Responses | None = None
    information: float = 0.0  # of the rows in all, as if they were spread evenly
    modes: list[FloatArray] = field(default_factory=list)  # linear predictor at the last mode, if there was one

    @classmethod
    def of(
        cls,
        responses: Responses,
        scale: Scale,
        noise: float | None,
        laplace: LaplaceObjective,
        shared: tuple[int, ...] | None = None,
    ) -> LatticeSearch:
        """Search of all rows, where an evidence of parts of them has found a first family."""
        told = Told.by(replace(responses, family=laplace.family), scale)
        sizes = {"prior_scale": told.scale, "information": told.crowded}
        return cls(laplace, scale, noise, told.little, shared=shared, responses=responses, **sizes)  # type: ignore[arg-type]

    def plain(self, objective: Objective, reach: float = np.inf) -> Search:
        """The same search of another objective."""
        given = (objective, self.scale, self.noise_variance, self.prior, self.least_noise)
        return Search(*given, shared=self.shared, prior_scale=self.prior_scale, reach=reach)

    def holds(self, kernel: Kernel) -> bool:
        """Whether few enough waves tell what the rows know of a kernel."""
        return self.plan(kernel) is not None

    def at(self, plan: LatticePlan, family_of: LaplaceObjective) -> LaplaceObjective:
        """Evidence of all rows on the waves of a plan."""
        assert self.responses is not None
        whole = LaplaceObjective(
            [self.responses], lambda kernel, noise, _: LatticeBound(plan, kernel, noise), reml=True
        )
        whole.family, whole.first = family_of.family, family_of.first
        whole.starts = [self.modes[-1] if self.modes else None]
        return whole

    def evaluate(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """Evidence of all rows and its gradient on waves made for this kernel; very bad where there are none."""
        plan = self.plan(kernel)
        if plan is None:
            return limits.FAILED_SEARCH, np.zeros(len(kernel.theta) + 1)
        assert isinstance(self.objective, LaplaceObjective)
        laplace = self.at(plan, self.objective)
        found = self.plain(_Held(laplace)).evaluate(kernel, noise_variance)
        self._remember(laplace)
        return found

    def begun(self, candidates: Iterable[tuple[Kernel, float]]) -> tuple[Kernel, float] | None:
        """The candidate with the largest evidence of all rows, of those that waves hold; None if they hold none."""
        tried: list[tuple[Kernel, float]] = []
        for kernel, noise in candidates:
            if not any(close(kernel, other) for other, _ in tried):
                tried.append((kernel, noise))
        values = [self.evaluate(*candidate)[0] for candidate in tried]
        best = int(np.argmax(values))
        return None if values[best] <= limits.FAILED_SEARCH else tried[best]

    def gain(self, tuned: Tuned) -> float:
        """Log evidence of all rows that the field adds to that of the fixed effects alone; none without waves."""
        plan = self.plan(tuned.kernel)
        if plan is None:
            return 0.0
        assert isinstance(self.objective, LaplaceObjective)
        return field_gain(_Held(self.at(plan, self.objective)), tuned)

    def _remember(self, laplace: LaplaceObjective) -> None:
        self.modes[:] = [eta for eta in laplace.starts if eta is not None]

    def maximise(
        self,
        kernel: Kernel,
        noise_variance: float,
        max_iterations: int = limits.LATTICE_ITERATIONS,
        tolerance: float | None = None,
        *,
        against: float | Tuned | Rival | None = None,
    ) -> Tuned:
        """Climb, plan again where it ended, and climb on until nothing is gained; none is cut short."""
        laplace = self.objective
        assert isinstance(laplace, LaplaceObjective)
        found: Tuned | None = None
        for _ in range(limits.LATTICE_ROUNDS):
            plan = self.plan(kernel)
            if plan is None:
                break
            laplace = self.at(plan, laplace)
            climb = _Held(laplace)
            search = self.plain(climb, limits.PLANNED_REACH)
            before = search.evaluate(kernel, noise_variance)[0]
            enough = limits.LATTICE_SETTLED / max(abs(before), 1.0) if tolerance is None else tolerance
            new = search.maximise(kernel, noise_variance, max_iterations, enough)
            self._remember(laplace)
            if new.failed:
                break
            moved = float(np.max(np.abs(new.kernel.theta - kernel.theta), initial=0.0))
            value = new.value
            if laplace.learns:
                laplace.settle(new.kernel, new.noise_variance)
                value = search.evaluate(new.kernel, new.noise_variance)[0]
            count = new.n_evaluations + (0 if found is None else found.n_evaluations)
            settled = value < before + limits.SETTLED_NATS
            found = replace(new, value=value, n_evaluations=count, by_all_rows=True)
            kernel, noise_variance = new.kernel, new.noise_variance
            if settled or (moved < limits.SAME_PLAN and value < new.value + limits.SETTLED_NATS):
                break
        # where the climb has left what waves hold, its value is not to be compared with that of other kernels
        if found is None or not self.holds(found.kernel):
            return Tuned(kernel, noise_variance, limits.FAILED_SEARCH, 1, ())
        return found

    def plan(self, kernel: Kernel) -> LatticePlan | None:
        """Waves for kernels near one; None if they are too many."""
        assert self.responses is not None
        n = len(self.responses)
        most = limits.LATTICE_WAVES * (n / 1e4) ** (1 / 3)
        most = min(max(most, limits.LATTICE_WAVES), 2 * limits.LATTICE_WAVES, n / 3)
        return lattice_plan(kernel, self.responses.rows.coords, self.information, int(most))


def field_gain(objective: Objective, tuned: Tuned) -> float:
    """Log evidence that a kernel adds to that of next to no field."""
    none = tuned.kernel.scaled(limits.NO_FIELD)
    return float(objective(tuned.kernel, tuned.noise_variance)[0] - objective(none, tuned.noise_variance)[0])


class _Held:
    """The evidence with the dispersion that it has, and its information: what a climb begins with."""

    def __init__(self, laplace: LaplaceObjective) -> None:
        self.laplace = laplace
        self._known: tuple[Kernel, float, tuple[float, FloatArray]] | None = None

    def __call__(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        if self._known is None or self._known[:2] != (kernel, noise_variance):
            self._known = kernel, noise_variance, self.laplace.held(kernel, noise_variance)
        return self._known[2]

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        return self(kernel, noise_variance)[0]

    def information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """About minus the Hessian in [theta, log noise variance]; value and gradient there are kept."""
        value, gradient, information = self.laplace.held_with_information(kernel, noise_variance)
        self._known = kernel, noise_variance, (value, gradient)
        return information
