"""Objectives of tuning: how likely the data are, by whichever route is affordable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.feature_evidence import linear_objective
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.evidence.laplace import ExactBound, LinearBound
from bochner.inference.evidence.objective import Objective
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.evidence.vecchia_evidence import VecchiaEvidence
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.scale import spacing_units
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.schemes.limits import MAX_EXACT_ROWS
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.lattice_search import Told
from bochner.kernels import Kernel
from bochner.neighbours import SharedOrder, Vecchia
from bochner.random import generator
from bochner.resources import side_by_side, small_systems


def gaussian_objectives(task: Task, scheme: Scheme) -> tuple[list[Objective], Choice]:
    """Objectives from coarse to fine for Gaussian observations, and what they are."""
    obs, reml, criterion = task.obs, task.settings.reml, task.settings.criterion
    draw = scheme.own_draw(task)
    if draw is not None:
        told = Choice("tuning", "features", text=f"{criterion} of the feature model itself")
        return [lambda k, s2: linear_objective(lambda theta: draw(k, theta), k.theta, obs, s2, reml=reml)], told
    if len(obs) <= limits.MAX_EXACT_TUNING_ROWS or obs.rows.has_areas:
        text = f"{criterion} of the exact kernel, {len(obs)} distinct rows"
        return [ExactEvidence(obs, reml)], Choice("tuning", "exact", text=text)
    n_points = min(limits.VECCHIA_POINTS, len(obs))
    shared = SharedOrder()
    coarse, fine = side_by_side(
        lambda: _vecchia(task, min(limits.COARSE_POINTS, n_points), limits.COARSE_NEIGHBOURS, shared),
        lambda: _vecchia(task, n_points, limits.FINE_NEIGHBOURS, shared),
    )
    text = (
        f"{criterion} by Vecchia's approximation: {n_points:,} of {len(obs):,} rows, each given its nearest "
        f"predecessors"
    )
    return [coarse, fine], Choice("tuning", "vecchia", text=text)


def likelihood_in(task: Task, metric: FloatArray) -> Objective:
    """The finer of these by Vecchia's approximation, with neighbours that are near in units of the axes, or turned."""
    return _vecchia(task, min(limits.VECCHIA_POINTS, len(task.obs)), limits.FINE_NEIGHBOURS, SharedOrder(), metric)


def guiding_objective(task: Task, objectives: Sequence[Objective]) -> Objective | None:
    """Vecchia's likelihood of all rows, to begin climbs of the exact evidence by; None where that would gain little."""
    exact, many = isinstance(objectives[0], ExactEvidence), len(task.obs) >= limits.MIN_GUIDED_ROWS
    if not (exact and many and task.dim <= limits.MAX_GAP_DIMENSIONS) or task.obs.rows.has_areas:
        return None
    return _vecchia(task, len(task.obs), limits.COARSE_NEIGHBOURS, SharedOrder())


def laplace_objectives(task: Task, scheme: Scheme) -> tuple[list[LaplaceObjective], Choice]:
    """Objectives from coarse to fine for responses of other families, and what they are."""
    data, criterion, reml = task.data, task.settings.criterion, task.settings.reml
    assert isinstance(data, Responses)
    draw = scheme.own_draw(task)
    if draw is not None:

        def bind(kernel: Kernel, noise_variance: float, part: Responses) -> LinearBound:
            return LinearBound(lambda theta: draw(kernel, theta), kernel.theta, noise_variance)

        told = Choice("tuning", "features", text=f"Laplace {criterion} of the feature model itself")
        return [LaplaceObjective([data], bind, reml=reml)], told
    exact = f"Laplace {criterion} of the exact kernel, {len(data):,} distinct rows"
    if len(data) <= limits.MAX_EXACT_TUNING_ROWS:
        return [InformedLaplace([data], reml=reml)], Choice("tuning", "exact", text=exact)
    if scheme.exact and _chosen_by_all(task, data):
        told = Choice("tuning", "exact", text=f"{exact}; begun on some of them")
        return [InformedLaplace([data], reml=True)], told
    whole = with_shared_trend(data) if reml else data
    coarse, fine = (
        composite_parts(whole, task.settings.seed, *sizes) for sizes in (limits.COARSE_PARTS, limits.FINE_PARTS)
    )
    # a likelihood is asked for to be compared with other software, which takes its time
    if scheme.exact and len(data) <= (limits.MAX_EXACT_ENDING_ROWS if reml else MAX_EXACT_ROWS):
        told = Choice("tuning", "exact", text=f"{exact}; begun on parts of them")
        return [LaplaceObjective(coarse, ExactBound, reml=reml), InformedLaplace([data], reml=reml)], told
    text = (
        f"composite Laplace {criterion} of parts of {len(data):,} rows: {len(fine) - 1} clusters of {len(fine[0])} "
        f"neighbours for the short range and {len(fine[-1]):,} rows from everywhere for the long"
    )
    told = Choice("tuning", "composite", text=text)
    return [LaplaceObjective(parts, ExactBound, reml=reml) for parts in (coarse, fine)], told


def _chosen_by_all(task: Task, data: Responses) -> bool:
    """Whether all rows choose a kernel: parts see little of smoothness.

    Not where they say little, or have a dispersion besides: what scatters is that or a rough field, which takes many
    evaluations to tell.
    """
    if task.settings.kernel is not None or not task.settings.reml or len(data) > limits.MAX_EXACT_ENDING_ROWS:
        return False
    return data.with_dispersion().family is data.family and not Told.by(data, task.scale).little


def with_shared_trend(responses: Responses) -> Responses:
    """Fixed effects of all rows, for the parts of a composite evidence to begin from.

    They are known in advance as a few rows would know them: a part of one class, or one that a covariate separates, has
    an evidence all the same, and says next to nothing.
    """
    found, n = fixed_effects(responses), float(responses.weight.sum())
    known = found.information * min(limits.SHARED_ROWS / n, limits.SHARED_SHARE)
    offset = responses.offset + responses.rows.trend @ found.coef
    return replace(responses, offset=offset, trend_precision=(known + known.T) / 2)


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


@small_systems()
def _vecchia(
    task: Task, n_points: int, n_neighbours: int, shared: SharedOrder, metric: FloatArray | None = None
) -> Objective:
    obs, kernel = task.responses.observations(), task.settings.kernel
    scales = metric
    if metric is None:
        scales = _first_units(task) if kernel is None else spacing_units(kernel, obs.rows.coords)
    plan = Vecchia.plan(
        *obs.columns,
        n_neighbours=n_neighbours,
        n_points=n_points,
        scales=scales,
        seed=task.settings.seed,
        shared=shared,
    )
    return VecchiaEvidence(plan, task.settings.reml)


def _first_units(task: Task) -> FloatArray | None:
    """Units of the axes while nothing is known of the kernel: pixels, or extents where the axes are unlike."""
    if task.grid is not None:
        return np.asarray(task.grid.step)
    extent = task.scale.extent
    return extent if task.domain.shared is None and extent.min() > 0 and unlike(extent) else None
