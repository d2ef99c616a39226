"""Tuning: hyperparameters that make the data most likely, or predict held-out rows best."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, optimize

from bochner.arrays import BoolArray, FloatArray, IntArray
from bochner.exceptions import ConvergenceError
from bochner.inference.evidence.objective import InformedObjective, JointObjective, Objective
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import bounds, close, log_priors, starts
from bochner.inference.tuning.informed_climb import Rival, scored
from bochner.inference.tuning.limits import LEAST_NOISE
from bochner.kernels import Kernel, Scale

logger = logging.getLogger("bochner")


@dataclass(frozen=True)
class Tuned:
    """Best hyperparameters found, how good they are, and which of them stopped at a bound."""

    kernel: Kernel
    noise_variance: float
    value: float
    n_evaluations: int
    at_bounds: tuple[str, ...]
    by_all_rows: bool = False  # whether the evidence of all rows had the last word
    calibration: float = 1.0  # factor on its variances, by rows held out

    @property
    def failed(self) -> bool:
        """Whether there was no value for which the objective could be had."""
        return self.value <= limits.FAILED_SEARCH


@dataclass(frozen=True)
class Search:
    """What is optimised: an objective in [theta, log noise variance], within bounds, with or without a prior."""

    objective: Objective
    scale: Scale
    noise_variance: float | None  # None: learned
    prior: bool = False
    least_noise: float = LEAST_NOISE  # of the variance
    shared: tuple[int, ...] | None = (
        None  # number of the length scale of each axis, in the ratios of a start; None: own
    )
    prior_scale: Scale | None = None  # sizes that the prior goes by, if not those of the data
    reach: float = np.inf  # in theta: how far from its start a climb may go
    enough: float = limits.SCORED  # nats that the last step of a climb by slopes and information gains

    def evaluate(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """Objective and gradient, the prior included; a failed factorisation counts as very bad."""
        return self.evaluate_jointly(kernel, noise_variance, np.zeros(0))

    def evaluate_jointly(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> tuple[float, FloatArray]:
        """The same in [theta, log noise variance, hidden], with parameters of the objective's own, if any."""
        nothing = limits.FAILED_SEARCH, np.zeros(len(kernel.theta) + 1 + len(hidden))
        try:
            if len(hidden):
                assert isinstance(self.objective, JointObjective)
                value, gradient = self.objective.joint(kernel, noise_variance, hidden)
            else:
                value, gradient = self.objective(kernel, noise_variance)
        except (ConvergenceError, np.linalg.LinAlgError):
            return nothing
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            return nothing
        more, slope = self._log_prior(kernel)
        return value + more, gradient + np.r_[slope, np.zeros(1 + len(hidden))]

    def hidden(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """Where parameters of the objective's own may begin; none, where it has none to climb with the others."""
        if not isinstance(self.objective, JointObjective):
            return np.zeros(0)
        return self.objective.hidden(kernel, noise_variance)

    def rank(self, kernel: Kernel, noise_variance: float) -> float:
        """The objective alone, as far as starts are ranked by it."""
        if not isinstance(self.objective, JointObjective):
            return self.value(kernel, noise_variance)
        return self._value_of(self.objective.ranked, kernel, noise_variance)

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        """The objective alone."""
        if not isinstance(self.objective, InformedObjective):
            return self.evaluate(kernel, noise_variance)[0]
        return self._value_of(self.objective.value, kernel, noise_variance)

    def _value_of(self, objective: Callable[[Kernel, float], float], kernel: Kernel, noise_variance: float) -> float:
        try:
            value = objective(kernel, noise_variance)
        except (ConvergenceError, np.linalg.LinAlgError, OverflowError):
            return limits.FAILED_SEARCH
        if not np.isfinite(value):
            return limits.FAILED_SEARCH
        return value + self._log_prior(kernel)[0]

    def _log_prior(self, kernel: Kernel) -> tuple[float, FloatArray]:
        """Of what is learned: length scales that move together have one."""
        values, slopes = log_priors(kernel, self.prior_scale or self.scale, few_rows=self.prior)
        ties = self._ties(kernel)[:-1]
        first = ties == np.arange(len(ties))
        return float(values[first].sum()), slopes * first

    def follows(self, kernel: Kernel, slope: FloatArray, curvature: FloatArray) -> None:
        """Tell the objective how parameters of its own move with theta, and how curved it is in them."""
        if isinstance(self.objective, JointObjective) and len(slope):
            self.objective.follows(kernel, slope, curvature)

    def information_at(self, kernel: Kernel, noise_variance: float, hidden: FloatArray | None = None) -> FloatArray:
        """Of the objective, as far as it can be had; `hidden` are parameters of its own, climbed with the others."""
        hidden = np.empty(0) if hidden is None else hidden
        try:
            if len(hidden):
                assert isinstance(self.objective, JointObjective)
                found = self.objective.joint_information(kernel, noise_variance, hidden)
            else:
                assert isinstance(self.objective, InformedObjective)
                found = self.objective.information(kernel, noise_variance)
        except (ConvergenceError, np.linalg.LinAlgError):
            found = np.eye(len(kernel.theta) + 1 + len(hidden))
        return found if np.all(np.isfinite(found)) else np.eye(len(found))

    def foreseen(self, kernel: Kernel, noise_variance: float, hidden: FloatArray | None = None) -> tuple[float, float]:
        """The objective, and what a climb from there would gain by its slope and information.

        `hidden` are parameters of the objective's own, if they are to climb with the others.
        """
        hidden = np.zeros(0) if hidden is None else hidden
        tied = linalg.block_diag(self.tied(kernel), np.eye(len(hidden)))
        information = tied.T @ self.information_at(kernel, noise_variance, hidden) @ tied
        value, gradient = self.evaluate_jointly(kernel, noise_variance, hidden)
        if value <= limits.FAILED_SEARCH:
            return value, np.inf
        slope = tied.T @ gradient
        information += limits.LEAST_CURVATURE * np.eye(len(slope))
        return value, 0.5 * float(slope @ np.linalg.solve(information, slope))

    def tied(self, kernel: Kernel) -> FloatArray:
        """Which entries of [theta, log noise] each free value moves, (entries, free)."""
        ties = self._ties(kernel)
        return np.eye(len(ties))[ties][:, self._free(kernel)]

    def with_prior(self) -> Search:
        """Plain climbs of the same objective with the prior of few rows."""
        given = (self.objective, self.scale, self.noise_variance, True, self.least_noise, self.shared)
        return Search(*given, prior_scale=self.prior_scale, reach=self.reach)

    def n_scales(self, dim: int) -> int:
        """Number of length scales of a kernel with one for each axis that has its own."""
        return dim if self.shared is None else len(set(self.shared))

    def _ties(self, kernel: Kernel) -> IntArray:
        """Of each entry of [theta, log noise], the first one that it moves with."""
        ties = np.arange(len(kernel.theta) + 1)
        first: dict[tuple[str, int], int] = {}
        for i, h in enumerate(kernel.hyperparameters if self.shared is not None else ()):
            axis = _axis_of(h.name)
            if axis is not None and self.shared is not None and axis[1] < len(self.shared):
                ties[i] = first.setdefault((axis[0], self.shared[axis[1]]), i)
        return ties

    def _free(self, kernel: Kernel) -> BoolArray:
        """Entries of [theta, log noise] that are climbed: the first of those that move together, noise if unknown."""
        ties = self._ties(kernel)
        return (ties == np.arange(len(ties))) & np.r_[np.ones(len(ties) - 1, dtype=bool), self.noise_variance is None]

    def maximise(
        self,
        kernel: Kernel,
        noise_variance: float,
        max_iterations: int = 200,
        tolerance: float = limits.CLIMBED,
        *,
        against: float | Tuned | Rival | None = None,
    ) -> Tuned:
        """A climb from one start, until steps gain less than `tolerance` of the value.

        `against` is a value that it has to reach in order to count, or the end of another climb over the same
        hyperparameters: where it is clear that it will not, or that it leads to the same end, it may stop short. A
        `Rival` says more of when.
        """
        ties = self._ties(kernel)  # entry of [theta, log noise] that each entry moves with
        free = self._free(kernel)
        intervals = bounds(kernel, self.scale, self.least_noise)
        full = begun = np.r_[kernel.theta, np.log(max(noise_variance, 1e-300))]
        if self.noise_variance is None:
            full = full.copy()
            full[-1] = np.clip(full[-1], *intervals[-1])
        apart = full - full[ties]
        count = 0

        n_free = int(np.count_nonzero(free))

        def unpack(x: FloatArray) -> tuple[Kernel, float]:
            point = full.copy()
            point[free] = x
            point = point[ties] + apart
            if np.array_equal(point, begun):  # to the last digit, for what is known of it
                return kernel, noise_variance if self.noise_variance is None else self.noise_variance
            noise = float(np.exp(point[-1])) if self.noise_variance is None else self.noise_variance
            return kernel.with_theta(point[:-1]), noise

        def positive(x: FloatArray) -> tuple[float, FloatArray]:
            nonlocal count
            count += 1
            value, gradient = self.evaluate_jointly(*unpack(x[:n_free]), x[n_free:])
            return value, np.r_[np.bincount(ties, gradient[: len(ties)], len(ties))[free], gradient[len(ties) :]]

        def negative(x: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = positive(x)
            return -value, -gradient

        x0 = np.clip(full[free], *np.array(intervals)[free].T)
        box = [limit for limit, is_free in zip(intervals, free, strict=True) if is_free]
        if not len(x0):
            return Tuned(kernel, noise_variance, self.evaluate(kernel, noise_variance)[0], 1, ())
        near = [(max(low, x - self.reach), min(high, x + self.reach)) for x, (low, high) in zip(x0, box, strict=True)]
        if isinstance(self.objective, InformedObjective):
            hidden = self.hidden(*unpack(x0))
            # (entries, free): which of them each free value moves
            tied = linalg.block_diag(self.tied(kernel), np.eye(len(hidden)))
            information = tied.T @ self.information_at(*unpack(x0), hidden) @ tied
            rival = None if against is None else self._rival(against, free, len(hidden))
            joint = self.objective if isinstance(self.objective, JointObjective) and len(hidden) else None
            within = np.array(near) if joint is None else np.r_[near, joint.hidden_bounds()]
            ends = max_iterations, tolerance, rival, self.enough
            end = scored(positive, np.r_[x0, hidden], information, within, *ends)
            x, hidden, value = end.x[:n_free], end.x[n_free:], end.value
            if joint is not None:
                joint.arrived(*unpack(x), hidden)
                if not end.gave_up and not len(self.hidden(*unpack(x))):  # next to nothing is left of them: on without
                    alone = replace(against, back=np.inf) if isinstance(against, Rival) else against
                    return self.maximise(*unpack(x), max_iterations, tolerance, against=alone)
        else:
            options = {"maxiter": max_iterations, "ftol": tolerance, "gtol": 1e-6, "maxls": 30}
            result = optimize.minimize(negative, x0, jac=True, method="L-BFGS-B", bounds=near, options=options)
            x, value = result.x, -float(result.fun)
        logger.info("tuning: %d evaluations, objective %.4f, %s", count, value, unpack(x)[0])
        names = np.array([*(h.name for h in kernel.hyperparameters), "noise_variance"])[free]
        stuck = [str(name) for name, x, (low, high) in zip(names, x, box, strict=True) if min(x - low, high - x) < 1e-3]
        return Tuned(*unpack(x), value, count, tuple(stuck))

    def rival(self, tuned: Tuned) -> Rival:
        """What another climb over the same hyperparameters is up against."""
        return self._rival(tuned, self._free(tuned.kernel), len(self.hidden(tuned.kernel, tuned.noise_variance)))

    def _rival(self, against: float | Tuned | Rival, free: BoolArray, n_hidden: int) -> Rival:
        if isinstance(against, Rival):
            return against
        dear = isinstance(self.objective, JointObjective)
        if not isinstance(against, Tuned):
            return Rival(against, dear=dear)
        peak = np.r_[against.kernel.theta, np.log(max(against.noise_variance, 1e-300))][free]
        hidden = self.hidden(against.kernel, against.noise_variance) if n_hidden else np.zeros(0)
        return Rival(against.value, np.r_[peak, hidden] if len(hidden) == n_hidden else None, dear)


def _axis_of(name: str) -> tuple[str, int] | None:
    """Name and axis of a hyperparameter such as `k1__length_scale[2]`."""
    head, bracket, tail = name.partition("[")
    return (head, int(tail[:-1])) if bracket and head.endswith("length_scale") else None


def tune(
    search: Search,
    kernel: Kernel,
    extra_starts: Sequence[tuple[Kernel, float]] = (),
    n_climbs: int = 2,
    tolerance: float = limits.CLIMBED,
) -> Tuned:
    """Best of several climbs: a coarse grid of starts is ranked, the best distinct ones are climbed."""
    candidates = [*extra_starts, *starts(kernel, search.scale, search.noise_variance)]
    values = [search.rank(k, noise) for k, noise in candidates]
    chosen: list[int] = []
    for i in np.argsort(values)[::-1]:
        near = any(close(candidates[i][0], candidates[j][0]) for j in chosen)
        if not near and len(chosen) < n_climbs and values[i] > limits.FAILED_SEARCH:
            chosen.append(int(i))
    climbs: list[Tuned] = []
    for i in chosen or [0]:
        before = max(climbs, key=lambda t: t.value) if climbs else None
        climbs.append(search.maximise(*candidates[i], tolerance=tolerance, against=before))
    best = max(climbs, key=lambda t: t.value)
    total = len(candidates) + sum(t.n_evaluations for t in climbs)
    return Tuned(best.kernel, best.noise_variance, best.value, total, best.at_bounds)


def score_objective(score: Callable[[Kernel, float], float]) -> Objective:
    """Objective from a score without gradient (block cross-validation): central differences."""

    def objective(kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        theta = np.r_[kernel.theta, np.log(max(noise_variance, 1e-300))]

        def at(x: FloatArray) -> float:
            return score(kernel.with_theta(x[:-1]), float(np.exp(x[-1])) if noise_variance else 0.0)

        steps = 1e-3 * np.eye(len(theta))
        slopes = [(at(theta + e) - at(theta - e)) / 2e-3 for e in steps]
        return at(theta), np.array(slopes)

    return objective
