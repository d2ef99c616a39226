"""Integration over hyperparameters of other families than the Gaussian, for few rows: the Laplace evidence on a grid.

A few dozen counts or classes leave open whether there is a field at all: often the evidence is largest without one, and
a handful of sets around that says so with certainty. So smoothness, range and variance of the field, and the effect of
single rows where that is learned, are laid on a grid; a set counts by its evidence times a weak prior.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ConvergenceError
from bochner.inference.evidence.laplace_batch import evidence_of_many
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.observed.average import Average
from bochner.inference.observed.responses import Responses
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.branches import in_extents, isotropic
from bochner.inference.tuning.integration import max_nodes
from bochner.inference.tuning.node_rules import thinned
from bochner.inference.tuning.range_grid import Branch
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel

Place = tuple[int, int, int]
"""Numbers of a range, a variance of the field and one of the effects of single rows."""


def laplace_integrated(
    kernel: Kernel | None, objective: LaplaceObjective, search: Search, best: Tuned, n_rows: int
) -> tuple[Average, Choice] | None:
    """Hyperparameters integrated over, and what is told of it; `kernel` is the one given, if any.

    None where the rows tell more than the grid resolves. The objective may be that of some of the `n_rows`.
    """
    axes = _axes(search)
    branches = isotropic(kernel, search.scale, 0.0)
    apart = kernel is None and search.shared is None and unlike(search.scale.extent)
    if apart:
        branches = [*isotropic(None, search.scale, np.log(0.5)), *in_extents(search.scale, np.log(0.5))]
    grids = [_Grid(branch, objective, axes) for branch in branches]
    seeds = [axes.nearest(grids[0].branch, best)]
    known: dict[Place, FloatArray] = {}
    for grid in grids:
        grid.flood(sorted({*seeds, axes.nearest(grid.branch, best)}) if apart else seeds, known)
        seeds, known = grid.within(limits.RULED_OUT / 2), grid.etas  # its heights: the next floods from there
    places = [(grid, place) for grid in grids for place in sorted(grid.values)]
    values = np.array([grid.values[place] for grid, place in places])
    mass = np.exp(values - values.max())
    if mass.max() > limits.HEAVY_RANGE * mass.sum():
        return None
    kept, mass = thinned(mass / mass.sum(), max_nodes(n_rows))
    worth = mass > limits.LEAST_MASS
    kept, mass = kept[worth], mass[worth] / mass[worth].sum()
    pairs = [places[i][0].at(places[i][1]) for i in kept]
    kernels, noises = (best.kernel, *(k for k, _ in pairs)), np.array([best.noise_variance, *(s2 for _, s2 in pairs)])
    starts = [places[i][0].etas.get(places[i][1]) for i in kept] if objective.largest == n_rows else [None] * len(kept)
    told = f"{n_rows} rows (at most {limits.MAX_LAPLACE_GRID_ROWS})"
    if objective.largest < n_rows:
        told = f"all cases and a sample of the others, {objective.largest} of {n_rows:,} rows,"
    text = f"averaged over {len(kept)} sets of hyperparameters, of {len(places)} on a grid: {told} do not pin them down"
    return Average(kernels, noises, np.r_[0.0, mass], starts=(None, *starts)), Choice("intervals", len(kept), text=text)


@dataclass(frozen=True)
class _Axes:
    """Log ranges, variances of the field and of the effects of single rows, each with the logs of its prior masses."""

    ranges: FloatArray
    fields: FloatArray
    noises: FloatArray
    log_prior: tuple[FloatArray, FloatArray, FloatArray]

    @property
    def shape(self) -> Place:
        return len(self.ranges), len(self.fields), len(self.noises)

    def nearest(self, branch: Branch, best: Tuned) -> Place:
        """Place on the grid next to the best hyperparameters."""
        *lengths, variance = best.kernel.theta
        return (
            int(np.argmin(np.abs(self.ranges - (max(lengths) - branch.log_units.max())))),
            int(np.argmin(np.abs(np.log(self.fields) - variance))),
            int(np.argmin(np.abs(np.sqrt(self.noises) - np.sqrt(best.noise_variance)))),
        )

    def logs(self, place: tuple[int, ...]) -> float:
        """Sum of the logs at a place: along one axis, how far it is."""
        i, j, k = place
        return float(self.ranges[i] + np.log(self.fields[j]) + np.log(self.noises[k] or 1.0))

    def beside(self, place: Place) -> list[Place]:
        """Places next to one."""
        (i, j, k), (n_ranges, n_fields, n_noises) = place, self.shape
        moved = [(x, j, k) for x in (i - 1, i + 1) if 0 <= x < n_ranges]
        moved += [(i, x, k) for x in (j - 1, j + 1) if 0 <= x < n_fields]
        return moved + [(i, j, x) for x in (k - 1, k + 1) if 0 <= x < n_noises]


@dataclass
class _Grid:
    """Log of evidence times prior of one smoothness, at the places that are not ruled out and those beside them."""

    branch: Branch
    objective: LaplaceObjective
    axes: _Axes
    values: dict[Place, float] = field(default_factory=dict)
    etas: dict[Place, FloatArray] = field(default_factory=dict)  # linear predictor at each mode
    correlations: dict[int, FloatArray] = field(default_factory=dict)  # of the rows, for each range

    def at(self, place: Place) -> tuple[Kernel, float]:
        """Kernel and variance of the effects of single rows."""
        i, j, k = place
        return self.branch.at(float(self.axes.ranges[i]), float(self.axes.fields[j])), float(self.axes.noises[k])

    def flood(self, seeds: list[Place], begun: dict[Place, FloatArray]) -> None:
        """Evaluate from the seeds outwards, as far as the mass reaches.

        `begun` are linear predictors of another grid to begin from.
        """
        self.etas.update(begun)
        wanted = seeds
        while wanted:
            for start in range(0, len(wanted), limits.SETS_AT_ONCE):
                self._evaluate(wanted[start : start + limits.SETS_AT_ONCE])
            within = self.within(limits.RULED_OUT)
            least = max(self.values.values()) - limits.RULED_OUT - limits.FORESEEN_BELOW
            beside = {p for q in within for p in self.axes.beside(q)} - set(self.values)
            wanted = sorted(p for p in beside if self._most(p) > least)

    def _most(self, place: Place) -> float:
        """The log density at a place as two places in a line with it let expect: of a single hill, it is no more.

        A place next to it whose evidence could not be computed foresees nothing.
        """
        most = np.inf
        for near in self.axes.beside(place):
            i, j, k = far = tuple(2 * a - b for a, b in zip(near, place, strict=True))
            told = self.values.get(near, limits.FAILED_SEARCH) > limits.FAILED_SEARCH
            if told and (i, j, k) in self.values:
                here, there, further = (self.axes.logs(at) for at in (place, near, far))
                slope = (self.values[near] - self.values[i, j, k]) / (there - further)
                most = min(most, self.values[near] + slope * (here - there))
        return most

    def within(self, nats: float) -> list[Place]:
        """Places whose log density is below the largest by no more than so many nats."""
        least = max(self.values.values()) - nats
        return sorted(place for place, value in self.values.items() if value >= least)

    def _evaluate(self, places: list[Place]) -> None:
        """Some places side by side; one correlation serves all of a range."""
        (part,) = self.objective.parts
        responses = replace(part, family=self.objective.family)
        for i in {i for i, _, _ in places} - set(self.correlations):
            self.correlations[i] = part.rows.covariance_within(self.branch.at(float(self.axes.ranges[i])))
        fields, noises = self.axes.fields[[p[1] for p in places]], self.axes.noises[[p[2] for p in places]]
        start = np.array([self._start(place, responses) for place in places])
        correlations = [self.correlations[i] for i, _, _ in places]
        found, etas = evidence_of_many(responses, correlations, fields, noises, start, limits.GRID_STEP)
        for place, value, eta in zip(places, found.tolist(), etas, strict=True):
            told = np.isfinite(value)
            self.values[place] = self._weighed(place, value if told else self._alone(*self.at(place)))
            if told:
                self.etas[place] = eta

    def _start(self, place: Place, responses: Responses) -> FloatArray:
        """Linear predictor as two places in a line let expect, or at a place nearby, if there is one."""
        if place in self.etas:
            return self.etas[place]
        known = [p for p in self.axes.beside(place) if p in self.etas]
        for near in known:
            i, j, k = (2 * a - b for a, b in zip(near, place, strict=True))
            if (i, j, k) in self.etas:
                return 2 * self.etas[near] - self.etas[i, j, k]
        return self.etas[known[0]] if known else responses.start()

    def _alone(self, kernel: Kernel, noise_variance: float) -> float:
        """Evidence by Newton's method with its line search."""
        try:
            return self.objective.value(kernel, noise_variance)
        except (ConvergenceError, np.linalg.LinAlgError):
            return np.nan

    def _weighed(self, place: Place, value: float) -> float:
        prior = sum(float(part[i]) for part, i in zip(self.axes.log_prior, place, strict=True))
        return value + prior + self.branch.log_prior if np.isfinite(value) else limits.FAILED_SEARCH


def _axes(search: Search) -> _Axes:
    """A range has the prior that it has in Gaussian fields; both sds are exponential."""
    scale = search.scale
    least = min(limits.LEAST_RANGE, scale.spacing)
    n_ranges = 1 + int(np.ceil(np.log(limits.LARGEST_RANGE / least) / limits.RANGE_STEP))
    ranges = np.linspace(np.log(least), np.log(limits.LARGEST_RANGE), n_ranges)
    push = min(limits.SHORT_RANGE, 2 * scale.spacing)
    of_range = -limits.RANGE_POWER * ranges - push * np.exp(-ranges)
    fields, of_field = _levels(limits.FIELD_LOGS, limits.FIELD_SD * np.sqrt(scale.variance))
    noises, of_noise = np.array([search.noise_variance or 0.0]), np.zeros(1)
    if search.noise_variance is None:
        noises, of_noise = _levels(limits.EFFECT_LOGS, limits.EFFECT_SD * np.sqrt(scale.variance))
    return _Axes(ranges, fields, noises, (of_range, of_field, of_noise))


def _levels(logs: tuple[float, ...], mean_sd: float) -> tuple[FloatArray, FloatArray]:
    """Variances, and the logs of their masses, of an sd with an exponential law of this mean."""
    t = np.asarray(logs)
    sd = mean_sd * np.exp(t / 2)
    return sd**2, t / 2 - sd / mean_sd + np.log(np.gradient(t))
