"""Reweighting: Gaussian fits whose outliers count little.

Noise that is Gaussian with a hidden precision for each row (Student t) is learned in two steps, in turn. Given the
precisions, the rows are Gaussian with weights. Given the law of the surface, E (y - eta)^2 of each row is known: from
it follow the expected precision of the row, and the likeliest parameters of the family.

Rows within the usual scatter count alike: were each counted by its precision, a row near the surface would bend it
more than others, and the surface come nearer still (such variational posteriors are too narrow, and too smooth a kernel
confirms itself). Beyond, rows count by their precision beside that of the usual ones. The information of a row is then
about its Fisher information.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.families import Family, family_named
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.scale import residual_of
from bochner.inference.observed.task import Task
from bochner.inference.tuning import limits
from bochner.kernels import Kernel, axis_units
from bochner.neighbours import left_out


@dataclass(frozen=True)
class Reweighted:
    """Family with its parameters, and E (y - eta)^2 of each row, from which its weight follows."""

    family: Family
    square: FloatArray

    @property
    def relative(self) -> FloatArray:
        """Weight of each row: one within the usual scatter, and less beyond."""
        usual = limits.USUAL_SCATTER**2 * 1.4826**2 * np.median(self.square)
        precision = self.family.expected_precision(np.maximum(self.square, usual))
        return np.asarray(precision / precision.max())

    def weighted(self, responses: Responses) -> Responses:
        """Gaussian responses that count by their weights, as many in all as there are rows.

        The likelihood is then that of rows with unlike noise: what weights above one add, those below take away.
        """
        relative = _of_mean_one(self.relative, responses.weight)
        return replace(responses, family=family_named("gaussian"), weight=responses.weight * relative)

    def divided(self, unit: float) -> Reweighted:
        """The same in another unit of the response."""
        return Reweighted(self.family.divided(unit), self.square / unit**2)

    def gain(self, noise_variance: float, weight: FloatArray) -> float:
        """What the family adds to the evidence of the Gaussian rows, as a lower bound."""
        relative = _of_mean_one(self.relative, weight)
        each = self.family.precision_gain(relative / noise_variance) + 0.5 * np.log(relative)
        return float(weight @ each)


def first_weights(responses: Responses) -> Reweighted:
    """By how far each row lies from the median of its neighbours."""
    square = (responses.y - responses.offset - _median_around(responses)) ** 2
    return Reweighted(responses.family.refitted(square, responses.weight), square)


def gaussian_task(task: Task, now: Reweighted) -> Task:
    """The same task of a Gaussian whose rows count by their weights."""
    settings, family = task.settings, task.responses.family
    if "dispersion" not in family.unknown and settings.noise_variance is None:
        settings = replace(settings, noise_variance=family.dispersion)
    return Task.of(settings, now.weighted(task.responses), task.folds, task.domain)


def settled(kernel: Kernel, noise_variance: float, responses: Responses, now: Reweighted) -> Reweighted:
    """Weights and parameters of the family that a kernel and the noise of the usual rows lead to."""
    few = len(responses) <= limits.MAX_EXACT_TUNING_ROWS
    moments = _exact_moments(kernel, noise_variance, responses) if few else _local_moments(kernel, noise_variance)
    for _ in range(limits.MAX_REWEIGHTINGS):
        square = moments(now.weighted(responses).observations())
        new = Reweighted(responses.family.refitted(square, responses.weight), square)
        change = float(np.quantile(np.abs(np.log(new.relative / now.relative)), limits.WATCHED_SHARE))
        now = new
        if change < limits.SETTLED_PRECISION:
            break
    return now


def _of_mean_one(relative: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(relative * (weight.sum() / np.sum(weight * relative)))


Moments = Callable[[Observations], FloatArray]
"""From Gaussian observations to E (y - eta)^2 of each row."""


def _exact_moments(kernel: Kernel, noise_variance: float, responses: Responses) -> Moments:
    engine = ExactEngine(kernel, noise_variance).of(responses.rows)

    def moments(obs: Observations) -> FloatArray:
        fit = engine.fit(obs)
        residual = fit.row_weights(obs) * obs.copy_variance(noise_variance) / obs.weight
        return np.asarray(residual**2 + fit.posterior.variance(obs.rows))

    return moments


def _local_moments(kernel: Kernel, noise_variance: float) -> Moments:
    """From the nearest others of each row, and then from the row itself."""

    def moments(obs: Observations) -> FloatArray:
        every, coords, noise = np.arange(len(obs)), obs.rows.coords, obs.copy_variance(noise_variance) / obs.weight
        residual, units = residual_of(obs), axis_units(kernel, np.ptp(coords, axis=0))
        k = limits.REWEIGHTING_NEIGHBOURS
        mean, variance = left_out(kernel, noise, coords, residual, every, every, k, units)
        share = noise / (variance + noise)  # of the others in the mean of the row
        return np.asarray((share * (residual - mean)) ** 2 + share * variance)

    return moments


def _median_around(responses: Responses) -> FloatArray:
    """Median of the rows around each, what the trend explains roughly being taken off."""
    obs = responses.observations()
    trend = obs.y - residual_of(obs)
    extent = np.ptp(obs.rows.coords, axis=0)
    unit = obs.rows.coords / np.where(extent > 0, extent, 1.0)
    k = min(limits.REWEIGHTING_NEIGHBOURS + 1, len(unit))
    near = cKDTree(unit).query(unit, k=np.arange(1, k + 1))[1]
    return np.asarray(trend + np.median((obs.y - trend)[near], axis=1))
