"""The ladder: which evidence of how many rows, by operation counts, one reference speed and a budget.

Nothing here asks how quick the machine is: the answer depends on the data and on `Policy` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.inference.fits.fixed_effects import fixed_effects, information_of
from bochner.inference.fits.laplace import LinearBound
from bochner.inference.fits.lattice_evidence import LatticeBound, lattice_objective, lattice_plan
from bochner.inference.learning.evidence import Evidence, Exact, Nearest, OnLattice, Theta, Waves
from bochner.inference.learning.other_families import Laplace, Parts
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task, spacing_units
from bochner.inference.schemes.base import Draw
from bochner.kernels import Kernel, Matern
from bochner.kernels.anisotropy import whitening
from bochner.neighbours import SharedOrder, Vecchia, random_order
from bochner.random import generator
from bochner.resources import small_systems

PART_ROWS = 250  # rows of a cluster of a composite evidence
SPREAD_ROWS = 600  # its rows from all over
CLUSTERS = 4  # its clusters


@dataclass(frozen=True)
class Rung:
    """An evidence, what is said of it, and the operations of one evaluation as far as they can be foretold."""

    evidence: Evidence
    name: str
    text: str
    operations: float = 0.0
    one_form: bool = False  # whether the likeliest form alone is climbed on it: others would cost as much
    of_features: bool = False  # whether it is that of features of the user's own

    @property
    def told(self) -> str:
        """The text, with the seconds of a search at the reference speed."""
        seconds = POLICY.evaluations * self.operations / POLICY.speed
        return f"{self.text}, {seconds:.1g} s at the reference speed" if seconds else self.text


def rungs(task: Task, draw: Draw | None, blocks: IntArray) -> Rung:
    """The first rung: the best evidence that the budget allows before anything is known of the kernel."""
    n, criterion = len(task.data), task.settings.criterion
    if not task.gaussian:
        return _of_others(task, draw, blocks)
    obs, reml = task.obs, task.settings.reml
    if draw is not None:
        text = f"{criterion} of the feature model itself"
        return Rung(Waves(draw, obs, blocks, reml), "features", text, of_features=True)
    if obs.rows.has_areas or n <= (exact_rows(gaussian=True) if reml else _compared_rows()):
        free = _is_free(task, blocks)
        text = f"{criterion} of the exact kernel, all {n:,} distinct rows"
        return Rung(Exact(obs, blocks, free, reml), "exact", text, exact_operations(n))
    return _nearest(task, blocks, first_units(task), POLICY.draft)


def next_rungs(task: Task, rung: Rung, blocks: IntArray) -> list[Callable[[Theta], Rung | None]]:
    """What makes the rungs above, each about the mode of the one below; a rung may be out of the question there."""
    if isinstance(rung.evidence, Nearest):
        further: list[Callable[[Theta], Rung | None]] = [lambda theta: _nearest_of_all(task, blocks, theta)]
        if most_nodes(task) == 1:
            further.append(lambda theta: _on_lattice(task, blocks, theta))
        return further
    if not isinstance(rung.evidence, Parts) or task.dim > 3 or not task.settings.reml:
        return []
    return [lambda theta: _laplace_on_lattice(task, blocks, theta)]


def _nearest_of_all(task: Task, blocks: IntArray, theta: Theta) -> Rung | None:
    """All rows, and neighbours in the learned metric."""
    units, n = metric_of(theta.kernel, task), len(task.obs)
    if units is None and neighbour_plan(n, task.dim, POLICY.draft) == neighbour_plan(n, task.dim, POLICY.seconds):
        return None
    return _nearest(task, blocks, first_units(task) if units is None else units, POLICY.seconds)


def _on_lattice(task: Task, blocks: IntArray, theta: Theta) -> Rung | None:
    """The evidence of all rows, where few waves hold the field."""
    if len(theta.effects):
        return None
    objective = lattice_objective(theta.kernel, theta.noise, task.obs, reml=task.settings.reml)
    if objective is None:
        return None
    below = _nearest(task, blocks, metric_of(theta.kernel, task), POLICY.draft).evidence
    assert isinstance(below, Nearest)
    text = f"{task.settings.criterion} of all {len(task.obs):,} rows on waves of a lattice"
    return Rung(OnLattice(objective, below), "lattice", text, one_form=True)


def _laplace_on_lattice(task: Task, blocks: IntArray, theta: Theta) -> Rung | None:
    """Laplace's evidence of all rows, where few waves hold what they tell."""
    assert isinstance(task.data, Responses)
    coords = task.data.rows.coords
    most = min(900, len(coords) // 4)  # waves
    plan = lattice_plan(theta.kernel, coords, information_of(task.data)[0], most)
    if plan is None:
        return None

    def bind(at: Theta, data: Responses) -> LatticeBound:
        return LatticeBound(plan, at.kernel, at.noise)

    text = f"Laplace {task.settings.criterion} of all {len(coords):,} rows on {len(plan.omega):,} waves of a lattice"
    return Rung(Laplace(task.data.with_dispersion(), blocks, bind), "lattice", text, one_form=True)


def exact_operations(n: int) -> float:
    """Operations of an exact evaluation with its gradient."""
    return 24.0 * n**3


def exact_rows(*, gaussian: bool) -> int:
    """Rows up to which the exact evidence is within the budget."""
    # other families have 40 times the budget: their cheaper evidence is coarser
    operations = POLICY.seconds * POLICY.speed * (1.0 if gaussian else 40.0)
    return int((operations / (POLICY.evaluations * exact_operations(1))) ** (1 / 3))


def _compared_rows() -> int:
    """Rows up to which a likelihood is exact: it is compared with that of other software."""
    return 2 * exact_rows(gaussian=False)


def most_nodes(task: Task) -> int:
    """Sets of hyperparameters that the budget can solve for."""
    n = len(task.data)
    return max(1, int(POLICY.seconds * POLICY.speed / ((1 if task.gaussian else 4) * n**3)))


def neighbour_plan(n: int, dim: int, seconds: float) -> tuple[int, int]:
    """Rows, and neighbours of each, that a budget allows; in many dimensions rows have more near ones."""
    operations = seconds * POLICY.speed / (2 * POLICY.evaluations)
    few, many = (int(k * np.clip(dim / 3, 1.0, 2.0)) for k in POLICY.neighbours)
    if n * many**3 <= operations:
        return n, many
    return min(n, int(operations / few**3)), few


def in_gaps(task: Task, share: float, theta: Theta, blocks: IntArray) -> Rung:
    """The evidence of rows whose predecessors lie about as far off as data from prediction locations in gaps."""
    first = max(int(share * len(task.obs)), 500)
    return _nearest(task, blocks, metric_of(theta.kernel, task), POLICY.draft, first)


@small_systems()
def _nearest(
    task: Task, blocks: IntArray, units: FloatArray | None, seconds: float, n_first: int | None = None
) -> Rung:
    obs = task.obs
    n_points, k = neighbour_plan(len(obs) if n_first is None else min(n_first, len(obs)), task.dim, seconds)
    plan = Vecchia.plan(
        *task.responses.observations().columns,
        n_neighbours=k,
        n_points=n_points,
        n_first=n_first,
        scales=units,
        seed=task.settings.seed,
        shared=SharedOrder(),
    )
    rows = f"all {len(obs):,}" if n_points >= len(obs) else f"{n_points:,} of {len(obs):,}"
    if n_first is not None:
        return Rung(Nearest(plan, obs, blocks, task.settings.reml), "in gaps", f"{n_points:,} rows far apart")
    text = f"{task.settings.criterion} of {rows} distinct rows, each given its {k} nearest predecessors (Vecchia)"
    return Rung(Nearest(plan, obs, blocks, task.settings.reml), "nearest", text, 2.0 * n_points * k**3)


def _is_free(task: Task, blocks: IntArray) -> bool:
    """Whether a common factor of all variances can be integrated out, and has a mean."""
    s = task.settings
    told = task.obs.total - np.count_nonzero(blocks < 0) > 2
    return bool(s.kernel is None and s.noise_variance is None and s.reml and told and not task.obs.error.any())


def first_units(task: Task) -> FloatArray | None:
    """Units of the axes while nothing is known of the kernel: extents, where they are not all of one space."""
    if task.settings.kernel is not None:
        return spacing_units(task.settings.kernel, task.obs.rows.coords)
    apart = task.domain.last_is_time or (task.dim > 3 and task.domain.shared is None)
    if not apart:
        return None
    extent = task.scale.extent.copy()
    if task.domain.last_is_time:
        extent[:-1] = extent[:-1].max()
    return extent


def metric_of(kernel: Kernel, task: Task) -> FloatArray | None:
    """Units in which neighbours are near to a kernel; None where those of the coordinates serve."""
    if task.settings.kernel is not None:
        return None
    first = kernel.leaves()[0]
    if not isinstance(first, Matern):
        return spacing_units(kernel, task.obs.rows.coords)
    lengths = first.length_scale
    if not isinstance(lengths, tuple):
        return None
    if first.rotation is None:
        return np.asarray(lengths)
    # where they differ little, distances of the coordinates find the same neighbours
    if max(lengths) < 2.0 * min(lengths):
        return None
    return whitening(lengths, first.rotation)


# ------------------------------------------------------------------------ other families


def _of_others(task: Task, draw: Draw | None, blocks: IntArray) -> Rung:
    data, criterion = task.data, task.settings.criterion
    assert isinstance(data, Responses)
    data, n = data.with_dispersion(), len(data)
    if draw is not None:

        def bind(theta: Theta, part: Responses) -> LinearBound:
            return LinearBound(lambda t: draw(theta.kernel, t), theta.kernel.theta, theta.noise)

        text = f"Laplace {criterion} of the feature model itself"
        return Rung(Laplace(data, blocks, bind), "features", text, of_features=True)
    if n <= (exact_rows(gaussian=False) if task.settings.reml else _compared_rows()):
        text = f"Laplace {criterion} of the exact kernel, all {n:,} distinct rows"
        return Rung(Laplace(data, blocks), "exact", text, exact_operations(n))
    text = (
        f"Laplace {criterion} of {CLUSTERS} clusters of {PART_ROWS} neighbouring rows and {SPREAD_ROWS} from all over"
    )
    operations = CLUSTERS * exact_operations(PART_ROWS) + exact_operations(SPREAD_ROWS)
    whole = with_shared_trend(data) if task.settings.reml else data
    return Rung(Parts([Laplace(p, blocks) for p in _parts(whole, task.settings.seed)]), "composite", text, operations)


def _parts(data: Responses, seed: int) -> list[Responses]:
    """Clusters of neighbouring rows, and rows from everywhere; each can be treated exactly."""
    rng, coords = generator(seed, "rows"), data.rows.coords
    unit = coords / np.maximum(np.sqrt(((coords - coords.mean(axis=0)) ** 2).mean()), 1e-300)
    everywhere = random_order(coords, rng)[:SPREAD_ROWS]
    centres = random_order(coords, rng)[:CLUSTERS]
    clusters = cKDTree(unit).query(unit[centres], k=min(PART_ROWS, len(unit) // 4))[1]
    return [data[np.sort(rows)] for rows in (*clusters, everywhere)]


def with_shared_trend(data: Responses) -> Responses:
    """Fixed effects of all rows, for the parts of a composite evidence to begin from.

    They are known in advance as a few rows would know them: a part of one class, or one that a covariate separates, has
    an evidence all the same, and says next to nothing.
    """
    found, n = fixed_effects(data), float(data.weight.sum())
    known = found.information * min(50 / n, 0.1)
    offset = data.offset + data.rows.trend @ found.coef
    return replace(data, offset=offset, trend_precision=(known + known.T) / 2)
