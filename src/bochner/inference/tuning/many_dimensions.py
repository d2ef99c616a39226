"""Many dimensions: a length scale for every axis from the exact evidence of a sample, the rest from neighbours.

Neighbours in coordinates of unknown scale are no neighbours, so Vecchia's likelihood cannot learn a scale for each of
ten or twenty axes. A thousand rows with the exact kernel can: they see which axes matter. In coordinates divided by
those scales neighbours mean something again; one common length, the variance and the noise are then learned from many
more rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.features import Rows
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.objective import Objective
from bochner.inference.evidence.vecchia_evidence import VecchiaEvidence
from bochner.inference.fits.folds import Fold
from bochner.inference.fits.local_folds import held_out_locally
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.scale import scale_of
from bochner.inference.observed.task import Task
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.inference.tuning.variance_factor import variance_factor
from bochner.kernels import Kernel, Matern
from bochner.neighbours import Vecchia
from bochner.random import generator
from bochner.validation import crps


def select_many_dimensions(task: Task, noise: float | None) -> tuple[Search, Tuned, tuple[Choice, ...]]:
    """Matern field with a length scale for every axis, learned on samples and judged on held-out rows."""
    obs, seed, reml = task.obs, task.settings.seed, task.settings.reml
    few, more = (_sample(obs, n, seed) for n in (limits.ARD_COARSE_ROWS, limits.ARD_FINE_ROWS))
    coarse, fine = (Search(_exact(part, reml), task.scale, noise) for part in (few, more))
    sampled = fine.maximise(*_scales(coarse, task.dim), limits.ARD_FINE_ITERATIONS, limits.SETTLED)
    local = _from_neighbours(sampled, noise, obs, seed)
    fold = _fold(len(obs), seed)
    judged = [(name, t, *_held_out(t, obs, fold)) for name, t in (("a sample", sampled), ("neighbours", local))]
    scores = [crps(y, mean, sd, sample_weight=weight) for _, _, y, mean, sd, weight in judged]
    best = int(np.argmin(scores))
    name, tuned, *held = judged[best]
    factor = variance_factor(*held)
    more_noise = factor if noise is None else 1.0
    tuned = replace(
        tuned, kernel=tuned.kernel.scaled(factor), noise_variance=tuned.noise_variance * more_noise, at_bounds=()
    )
    text = (
        f"one length scale per axis by the exact evidence of {len(more):,} rows; variance and noise by {name} "
        f"(CRPS of held-out rows: {scores[0]:.4g} by a sample, {scores[1]:.4g} by neighbours in scaled coordinates)"
    )
    if factor != 1.0:
        text += f"; variances times {factor:.2f}, so that intervals hold of them what they say"
    nu = tuned.kernel.nu  # type: ignore[attr-defined]
    told = (
        Choice("tuning", "sampled", text=f"exact evidence of {len(more):,} of {len(obs):,} rows"),
        Choice("kernel", f"matern {nu:g} per axis", text=text),
        *_against_trees(task, fold, held[0], held[1]),
    )
    return fine, tuned, told


def _scales(coarse: Search, dim: int) -> tuple[Kernel, float]:
    """Length scales and smoothness by a small sample."""
    first = tune(coarse, Matern(nu=1.5), n_climbs=1)
    scale = float(first.kernel.length_scale)  # type: ignore[attr-defined]
    sides = coarse.scale.extent
    starts = [first.kernel.replace(length_scale=(scale,) * dim)]
    if unlike(sides):
        root = float(np.sqrt(dim))
        starts.append(first.kernel.replace(length_scale=tuple(float(root * s / 3) for s in sides)))
    steps = limits.ARD_COARSE_ITERATIONS
    best = max((coarse.maximise(k, first.noise_variance, steps, limits.SETTLED) for k in starts), key=lambda t: t.value)
    for nu in (0.5, 2.5):
        other = coarse.maximise(best.kernel.replace(nu=nu), best.noise_variance, steps // 3, limits.SETTLED)
        best = max(best, other, key=lambda t: t.value)
    return best.kernel, best.noise_variance


def _from_neighbours(found: Tuned, noise: float | None, obs: Observations, seed: int) -> Tuned:
    """A common length, variance and noise by Vecchia's likelihood in coordinates divided by the scales found."""
    scales = np.asarray(found.kernel.length_scale)  # type: ignore[attr-defined]
    white = replace(obs, rows=Rows(obs.rows.coords / scales, obs.rows.trend))
    plan = Vecchia.plan(
        *white.columns, n_neighbours=limits.ARD_NEIGHBOURS, n_points=limits.ARD_VECCHIA_POINTS, seed=seed
    )
    search = Search(VecchiaEvidence(plan, True), scale_of(white), noise)
    start = found.kernel.replace(length_scale=1.0)
    best = search.maximise(start, found.noise_variance, limits.ARD_FINE_ITERATIONS, limits.SETTLED)
    length = float(best.kernel.length_scale)  # type: ignore[attr-defined]
    return replace(best, kernel=best.kernel.replace(length_scale=tuple(float(length * s) for s in scales)))


def _held_out(tuned: Tuned, obs: Observations, fold: Fold) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    held = held_out_locally(tuned.kernel, obs, tuned.noise_variance, [fold])
    sd = np.sqrt(held.variance + obs.copy_variance(tuned.noise_variance)[held.index])
    return obs.y[held.index], held.mean, sd, obs.weight[held.index]


def _against_trees(task: Task, fold: Fold, y: FloatArray, mean: FloatArray) -> tuple[Choice, ...]:
    """What boosted trees make of the same rows: where they do better, this is no smooth function of its coordinates."""
    if task.dim < limits.TREES_DIMENSIONS:
        return ()
    from sklearn.ensemble import HistGradientBoostingRegressor

    obs, (train, test) = task.obs, fold
    known = train if len(train) <= limits.TREES_ROWS else generator(0, "trees").choice(train, limits.TREES_ROWS, False)
    columns = np.column_stack([obs.rows.coords, obs.rows.trend])
    trees = HistGradientBoostingRegressor(random_state=0).fit(columns[known], obs.y[known], obs.weight[known])
    ours, theirs = (float(np.sqrt(np.mean((y - m) ** 2))) for m in (mean, trees.predict(columns[test])))
    text = (
        f"gradient-boosted trees predict {len(test):,} held-out rows with RMSE {theirs:.4g}, this field with {ours:.4g}"
    )
    return (Choice("trees", theirs / ours, text=text),)


def _exact(obs: Observations, reml: bool) -> Objective:
    # without its information: of a dozen length scales most matter little, and steps by it lead astray
    evidence = ExactEvidence(obs, reml)
    return lambda kernel, noise: evidence(kernel, noise)


def _sample(obs: Observations, n: int, seed: int) -> Observations:
    if len(obs) <= n:
        return obs
    return obs[np.sort(generator(seed, "rows of the exact evidence").choice(len(obs), n, replace=False))]


def _fold(n: int, seed: int) -> Fold:
    rows = generator(seed, "held-out rows").permutation(n)
    n_test = min(limits.ARD_HELD_OUT, n // 5)
    return np.sort(rows[n_test:]), np.sort(rows[:n_test])
