"""Objectives of tuning: how likely the data are, by whichever route is affordable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.features import ArealRows
from bochner.frequencies import Frequencies, rule_named, shares_of
from bochner.inference.evidence.laplace import ExactBound, LinearBound
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.fits.exact import exact_objective
from bochner.inference.fits.folds import Fold
from bochner.inference.fits.linear import linear_objective
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.scale import Scale, spacing_units
from bochner.inference.observed.settings import Settings
from bochner.inference.schemes.choose import ADAPTIVE, EXACT_ROWS
from bochner.inference.tuning.search import Objective
from bochner.kernels import Kernel, SpectralKernel
from bochner.neighbours import Vecchia
from bochner.random import generator

EXACT_TUNING_ROWS = 1_000  # an exact evidence with gradient takes about 0.1 s
EXACT_ENDING_ROWS = 1_500  # of a Laplace evidence whose climb begins on parts of the rows and ends on all
VECCHIA_POINTS = 6_000
COARSE_POINTS = 2_000  # for the first, coarse climbs
LINEAR_TUNING_WORK = 2e10  # multiplications in one evaluation of a feature model's evidence
COARSE_PARTS, FINE_PARTS = (4, 150, 300), (12, 200, 600)  # clusters, rows in each, and rows from everywhere


@dataclass(frozen=True)
class Problem:
    """What is to be learned from."""

    settings: Settings
    responses: Responses  # as they were given
    data: Responses | Observations  # with equal rows merged; Gaussian ones as observations
    obs: Observations  # the same as Gaussian observations
    scale: Scale
    kind: str
    folds: Sequence[Fold] | None
    predict_at: FloatArray | None

    @property
    def dim(self) -> int:
        return self.obs.rows.coords.shape[1]

    @property
    def reml(self) -> bool:
        return self.settings.criterion != "likelihood"

    @property
    def own_evidence(self) -> bool:
        """Whether the evidence of the features themselves can be had, instead of the kernel's."""
        s = self.settings
        if self.kind in ("exact", "nystroem", "lattice", *ADAPTIVE):
            return False
        if s.kernel is None or s.spec.n_frequencies == "auto":
            return False
        columns = 2 * int(s.spec.n_frequencies)
        if not all(k.smooth for k in s.kernel.leaves() if isinstance(k, SpectralKernel)):  # lines jump
            return False
        return len(self.obs) * min(columns, len(self.obs)) * columns <= LINEAR_TUNING_WORK


def gaussian_objectives(problem: Problem) -> tuple[list[Objective], str]:
    """Objectives from coarse to fine for Gaussian observations, and what they are."""
    obs, criterion = problem.obs, problem.settings.criterion
    if problem.own_evidence:
        draw = _drawing(problem)
        return [
            lambda k, s2: linear_objective(lambda theta: draw(k, theta), k.theta, obs, s2, reml=problem.reml)
        ], f"{criterion} of the feature model itself"
    if len(obs) <= EXACT_TUNING_ROWS or isinstance(obs.rows, ArealRows):
        return [
            lambda k, s2: exact_objective(k, obs, s2, reml=problem.reml)
        ], f"{criterion} of the exact kernel, {len(obs)} distinct rows"
    n_points = min(VECCHIA_POINTS, len(obs))
    coarse, fine = _vecchia(problem, min(COARSE_POINTS, n_points), 12), _vecchia(problem, n_points, 20)
    return [coarse, fine], (
        f"{criterion} by Vecchia's approximation: {n_points:,} of {len(obs):,} rows, each given its nearest "
        f"predecessors"
    )


def laplace_objectives(problem: Problem) -> tuple[list[LaplaceObjective], str]:
    """Objectives from coarse to fine for responses of other families, and what they are."""
    data, criterion, reml = problem.data, problem.settings.criterion, problem.reml
    assert isinstance(data, Responses)
    if problem.own_evidence:
        draw = _drawing(problem)

        def bind(kernel: Kernel, noise_variance: float, part: Responses) -> LinearBound:
            return LinearBound(lambda theta: draw(kernel, theta), kernel.theta, noise_variance)

        return [LaplaceObjective([data], bind, reml=reml)], f"Laplace {criterion} of the feature model itself"
    if len(data) <= EXACT_TUNING_ROWS:
        told = f"Laplace {criterion} of the exact kernel, {len(data)} distinct rows"
        return [LaplaceObjective([data], ExactBound, reml=reml)], told
    coarse, fine = (composite_parts(data, problem.settings.spec.seed, *sizes) for sizes in (COARSE_PARTS, FINE_PARTS))
    # a likelihood is asked for to be compared with other software, which takes its time
    if problem.kind == "exact" and len(data) <= (EXACT_ENDING_ROWS if reml else EXACT_ROWS):
        told = f"Laplace {criterion} of the exact kernel, {len(data):,} distinct rows; begun on parts of them"
        return [LaplaceObjective(parts, ExactBound, reml=reml) for parts in (coarse, [data])], told
    n_used = sum(len(part) for part in fine)
    return [LaplaceObjective(parts, ExactBound, reml=reml) for parts in (coarse, fine)], (
        f"composite Laplace {criterion}: {n_used:,} of {len(data):,} rows, {len(fine) - 1} clusters of neighbours for "
        f"the short range and one sample from everywhere for the long"
    )


def composite_parts(
    responses: Responses, seed: int, n_clusters: int, cluster_rows: int, spread_rows: int
) -> list[Responses]:
    """Clusters of neighbouring rows, and rows from everywhere; each can be treated exactly."""
    rng = generator(seed, "rows")
    coords = responses.rows.coords
    extent = np.ptp(coords, axis=0)
    unit = coords / np.where(extent > 0, extent, 1.0)
    everywhere = rng.choice(len(unit), min(spread_rows, len(unit)), replace=False)
    centres = rng.choice(len(unit), n_clusters, replace=False)
    groups = cKDTree(unit).query(unit[centres], k=min(cluster_rows, len(unit) // 4))[1]
    return [responses[np.sort(rows)] for rows in (*groups, everywhere)]


def _drawing(problem: Problem) -> Callable[[Kernel, FloatArray], Frequencies]:
    rule, spec, kernel = rule_named(problem.kind), problem.settings.spec, problem.settings.kernel
    assert kernel is not None
    m = int(spec.n_frequencies)
    shares = shares_of(kernel, m)

    def draw(k: Kernel, theta: FloatArray) -> Frequencies:
        return rule.draw(k.with_theta(theta), m, problem.dim, generator(spec.seed, "frequencies"), shares=shares)

    return draw


def _vecchia(problem: Problem, n_points: int, n_neighbours: int) -> Objective:
    o = problem.responses.observations()
    plan = Vecchia.plan(
        o.rows.coords,
        o.y,
        o.rows.trend,
        o.weight,
        o.error,
        n_neighbours=n_neighbours,
        n_points=n_points,
        scales=None if problem.settings.kernel is None else spacing_units(problem.settings.kernel, o.rows.coords),
        seed=problem.settings.spec.seed,
    )
    return lambda k, s2: plan.evaluate(k, s2, reml=problem.reml)
