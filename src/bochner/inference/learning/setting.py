"""What a task asks of learning: blocks of effects, what all forms share, and where a surface is looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.learning.evidence import Exact
from bochner.inference.learning.form import Common
from bochner.inference.learning.ladder import Rung
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task, variance_about_trend


def common_of(task: Task, rung: Rung, noise: float | None) -> Common:
    """What all forms of a task have beside their kernels."""
    blocks, proper = blocks_of(task), task.settings.reml
    sizes = tuple(int(np.count_nonzero(blocks == b)) for b in range(blocks.max(initial=-1) + 1))
    dispersion, trend, data = None, None, task.data
    if isinstance(data, Responses):
        family = data.with_dispersion().family
        dispersion = family.dispersion if family is not data.family else None
        trend = None if proper or rung.of_features else fixed_effects(data).coef
    free = isinstance(rung.evidence, Exact) and rung.evidence.free
    return Common(float(np.sqrt(variance_of(task))), noise, free, sizes, dispersion, trend, proper)


def variance_of(task: Task) -> float:
    """Variance of the responses about what has a flat prior; 1 behind a link."""
    if not task.gaussian:
        return 1.0
    obs = task.obs
    return variance_about_trend(replace(obs, rows=replace(obs.rows, trend=obs.rows.trend[:, blocks_of(task) < 0])))


def blocks_of(task: Task) -> IntArray:
    """Block of each column of the trend: -1 of the intercept, whose prior is flat; of covariates; of their bends."""
    trend, n_bends = task.obs.rows.trend, task.settings.n_bends
    varies = np.ptp(trend, axis=0) > 1e-9 * np.abs(trend).max(axis=0, initial=0.0)
    if not task.settings.shrinks or np.count_nonzero(~varies) != 1:
        return np.full(len(varies), -1)
    blocks = np.where(varies, 0, -1)
    if n_bends:
        blocks[-n_bends:] = 1
    return blocks


def probes(coords: FloatArray, predict_at: FloatArray | None) -> FloatArray:
    """Locations at which the effect of hyperparameters is measured: requested ones, or between rows far apart."""
    if predict_at is not None and len(predict_at):
        return predict_at[:: max(len(predict_at) // POLICY.probes, 1)]
    distance = np.sum((coords - coords.mean(axis=0)) ** 2, axis=1)
    chosen = [int(np.argmax(distance))]
    nearest = np.sum((coords - coords[chosen[0]]) ** 2, axis=1)
    middles = []
    for _ in range(min(POLICY.probes, len(coords) - 1)):
        new = int(np.argmax(nearest))
        apart = np.sum((coords[chosen] - coords[new]) ** 2, axis=1)
        middles.append((coords[new] + coords[chosen[int(np.argmin(apart))]]) / 2)
        chosen.append(new)
        nearest = np.minimum(nearest, np.sum((coords - coords[new]) ** 2, axis=1))
    return np.array(middles)
