"""Responses of other families: Laplace's evidence, sums over parts, and weights of rows under Student's errors.

Noise that is Gaussian with a hidden precision for each row (Student t) is learned in two steps, in turn. Given the
precisions, the rows are Gaussian with weights. Given what the other rows say of a row, its precision has an
expectation, and the parameters of the family a likeliest value. The others are asked, because a rough field follows
an outlier.

Rows within the usual scatter count alike: were each counted by its precision, a row near the surface would bend it
more than others, and the surface come nearer still (such variational posteriors are too narrow, and too smooth a kernel
confirms itself). Beyond, rows count by their precision beside that at the edge of the usual. The information of a row
is then about its Fisher information.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import ConvergenceError
from bochner.families import Family, family_named
from bochner.inference.fits.exact import ExactEngine, ExactFit
from bochner.inference.fits.folds import none_to_spare, residual_beside
from bochner.inference.fits.laplace import Bound, ExactBound, LaplacePoint
from bochner.inference.learning.evidence import Evidence, Point, Theta, effect_slopes, precision_of, surface_of
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task, residual_of
from bochner.kernels import Kernel, axis_units
from bochner.neighbours import left_out
from bochner.resources import blas_threads

Bind = Callable[[Theta, Responses], Bound]
"""Hyperparameters and responses to a `Bound`: the exact kernel, or some waves."""


def bound_exactly(theta: Theta, data: Responses) -> ExactBound:
    """The exact kernel on the rows."""
    return ExactBound(theta.kernel, theta.noise, data)


@dataclass(frozen=True)
class Laplace:
    """Responses of any family, by Laplace's approximation.

    The mode found last is where the next search for one begins; it does not change what is found.
    """

    data: Responses
    blocks: IntArray
    bind: Bind = bound_exactly
    start: list[FloatArray | None] = field(default_factory=lambda: [None], repr=False, compare=False)

    def at(self, theta: Theta) -> Point:
        data = self._data(theta)
        with blas_threads(len(data)):
            bound = self.bind(theta, data)
            point = bound.point(data, self.start[0])
            self.start[0] = point.mode.eta
            gradient = list(bound.slopes(point))
            moved = bound.moved(point)
            product, alpha = point.product, point.mode.alpha
            trend = self.data.rows.trend
            slopes, by_effects = effect_slopes(
                theta, trend, self.blocks, alpha, product, point.b, self.data.trend_precision
            )
            gradient += slopes
            moved += by_effects
            if theta.dispersion is not None:
                gradient.append(point.dispersion_slope())
                moved.append(point.error_slope() / point.mode.obs.weight * alpha)
            information = self._information(theta, moved, product, point)
        if theta.trend is None:
            return Point(point.value, np.array(gradient), information)
        by_trend = np.array([product(x) for x in trend.T]).reshape(trend.shape[1], len(trend)).T
        n, q = len(gradient), trend.shape[1]
        whole = np.zeros((n + q, n + q))
        whole[:n, :n], whole[n:, n:] = information, trend.T @ by_trend
        return Point(point.value, np.r_[gradient, point.trend_slope(trend)], whole)

    def _information(
        self, theta: Theta, moved: list[FloatArray], product: Callable[[FloatArray], FloatArray], point: LaplacePoint
    ) -> FloatArray:
        columns = np.column_stack(moved)
        information = columns.T @ np.column_stack([product(v) for v in moved]) / 2
        obs, p = point.mode.obs, len(theta.kernel.theta)
        if theta.noise > 0:
            share = theta.noise / obs.copy_variance(theta.noise)
            information[p, p] += 0.5 * float(np.sum((obs.weight - 1) * share**2))
        return np.asarray(information + information.T) / 2

    def value(self, theta: Theta) -> tuple[float, float]:
        data = self._data(theta)
        with blas_threads(len(data)):
            mode = self.bind(theta, data).mode(data, self.start[0])
        self.start[0] = mode.eta
        return mode.log_evidence, 1.0

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        data = self._data(theta)
        fit = self.bind(theta, data).mode(data, self.start[0]).fit
        if not isinstance(fit, ExactFit):
            raise ConvergenceError("the surface of waves is not asked")
        return surface_of(fit, places, 1.0)

    @property
    def freedom(self) -> float:
        return float(self.data.weight.sum()) - np.count_nonzero(self.blocks < 0)

    def _data(self, theta: Theta) -> Responses:
        data = self.data
        if theta.dispersion is not None:
            data = replace(data, family=data.family.replace(dispersion=theta.dispersion))
        if theta.trend is not None:
            return data.held_trend(theta.trend)
        precision = precision_of(self.blocks, theta.effects)
        known = data.trend_precision
        if precision is not None:
            data = replace(data, trend_precision=precision if known is None else precision + known)
        return data


@dataclass(frozen=True)
class Parts:
    """Sum of the evidences of parts of the rows, each taken as if it were alone; the last spans all of space."""

    parts: Sequence[Evidence]

    def at(self, theta: Theta) -> Point:
        points = [part.at(theta) for part in self.parts]
        return Point(
            sum(p.value for p in points),
            np.sum([p.gradient for p in points], axis=0),
            np.sum([p.information for p in points], axis=0),
        )

    def value(self, theta: Theta) -> tuple[float, float]:
        return sum(part.value(theta)[0] for part in self.parts), 1.0

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.parts[-1].surface(theta, places)

    @property
    def freedom(self) -> float:
        return sum(part.freedom for part in self.parts)


# ---------------------------------------------------------------------- Student's errors

WATCHED = 0.98  # share of the rows whose change is watched
NEIGHBOURS = 12  # rows that a row is compared with, where there are too many for all


@dataclass(frozen=True)
class Reweighted:
    """Family with its parameters, and how far each row lies from what others predict, from which its weight follows."""

    family: Family
    square: FloatArray  # (y - mean)^2
    variance: FloatArray  # of eta, given the others
    weight: FloatArray  # copies that each row stands for

    @property
    def relative(self) -> FloatArray:
        """Weight of each row: one within the usual scatter, and less beyond."""
        expected = self.variance + (self.family.dispersion or 0.0)
        # rows count alike up to two robust sds
        edge = 2.0**2 * 1.4826**2 * _median(self.square / expected, self.weight) * expected
        relative, beyond = np.ones(len(edge)), self.square > edge
        at = (self.family.expected_precision(s[beyond], self.variance[beyond]) for s in (self.square, edge))
        relative[beyond] = np.minimum(np.divide(*at), 1.0)
        return relative

    def weighted(self, responses: Responses) -> Responses:
        """Gaussian responses that count by their weights, as many in all as there are rows.

        The likelihood is then that of rows with unlike noise: what weights above one add, those below take away.
        """
        relative = _of_mean_one(self.relative, responses.weight)
        return replace(responses, family=family_named("gaussian"), weight=responses.weight * relative)

    def divided(self, unit: float) -> Reweighted:
        """The same in another unit of the response."""
        return Reweighted(self.family.divided(unit), self.square / unit**2, self.variance / unit**2, self.weight)

    def of_rows(self, group: IntArray, weight: FloatArray) -> Reweighted:
        """The same of rows, by the distinct one that each is a copy of."""
        return Reweighted(self.family, self.square[group], self.variance[group], weight)

    def gain(self, relative: FloatArray, noise_variance: float, weight: FloatArray) -> float:
        """What the family adds to the evidence of Gaussian rows with some weights, each given the others."""
        relative = _of_mean_one(relative, weight)
        off, zero, total = np.sqrt(self.square), np.zeros(len(relative)), self.variance + noise_variance / relative
        gaussian = -0.5 * (np.log(2 * np.pi * total) + self.square / total)
        own = self.family.log_average(off, zero, self.variance, zero)
        # a weight below one is noise of its own, and not so many copies
        return float(weight @ (own - gaussian + 0.5 * np.log(relative)))


def first_weights(responses: Responses) -> Reweighted:
    """By how far each row lies from the median of its neighbours."""
    square = (responses.y - responses.offset - _median_around(responses)) ** 2
    return _reweighted(responses, square, np.zeros(len(square)))


def _reweighted(responses: Responses, square: FloatArray, variance: FloatArray) -> Reweighted:
    return Reweighted(responses.family.refitted(square, variance, responses.weight), square, variance, responses.weight)


def gaussian_task(task: Task, now: Reweighted) -> Task:
    """The same task of a Gaussian whose rows count by their weights."""
    # no noise beside the family's is not no noise: rows would be followed wherever they lie
    noise = task.settings.noise_variance or task.responses.family.dispersion
    settings = replace(task.settings, noise_variance=noise)
    return Task.of(settings, now.weighted(task.responses), task.folds, task.domain)


def settled(kernel: Kernel, noise_variance: float, responses: Responses, now: Reweighted) -> Reweighted:
    """Weights and parameters of the family that a kernel and the noise of the usual rows lead to."""
    few = len(responses) <= 1_000
    predicted = _exactly(kernel, noise_variance, responses) if few else _locally(kernel, noise_variance)
    for _ in range(20):
        obs = now.weighted(responses).observations()
        mean, variance = predicted(obs)
        new = _reweighted(responses, (obs.y - mean) ** 2, variance)
        change = float(np.quantile(np.abs(np.log(new.relative / now.relative)), WATCHED))
        now = new
        if change < 0.02:  # of the log weights
            break
    return now


def _median(values: FloatArray, weight: FloatArray) -> float:
    """Median of values that stand for several each."""
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    sides = (np.searchsorted(below, 0.5 * below[-1], side=side) for side in ("left", "right"))
    return float(np.mean([values[order[min(i, len(order) - 1)]] for i in sides]))


def _of_mean_one(relative: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(relative * (weight.sum() / np.sum(weight * relative)))


LeftOut = Callable[[Observations], tuple[FloatArray, FloatArray]]
"""From Gaussian observations to mean and variance of eta at each row, given the others."""


def _exactly(kernel: Kernel, noise_variance: float, responses: Responses) -> LeftOut:
    engine = ExactEngine(kernel, noise_variance).of(responses.rows)

    def predicted(obs: Observations) -> tuple[FloatArray, FloatArray]:
        held = engine.fit(obs).leave_out(obs, None)
        if not len(held.index):
            raise none_to_spare(len(obs))
        mean, variance = obs.y.copy(), np.zeros(len(obs))  # a row that its own effect explains lies where it should
        mean[held.index], variance[held.index] = held.mean, held.variance
        return mean, variance

    return predicted


def _locally(kernel: Kernel, noise_variance: float) -> LeftOut:
    """From the nearest others."""

    def predicted(obs: Observations) -> tuple[FloatArray, FloatArray]:
        every, coords, noise = np.arange(len(obs)), obs.rows.coords, obs.copy_variance(noise_variance) / obs.weight
        residual = residual_beside(kernel, noise_variance, obs)
        units = axis_units(kernel, np.ptp(coords, axis=0))
        k = NEIGHBOURS
        mean, variance = left_out(kernel, noise, coords, residual, every, every, k, units)
        return obs.y - residual + mean, variance

    return predicted


def _median_around(responses: Responses) -> FloatArray:
    """Median of the rows around each, what the trend explains roughly being taken off."""
    obs = responses.observations()
    trend = obs.y - residual_of(obs)
    extent = np.ptp(obs.rows.coords, axis=0)
    unit = obs.rows.coords / np.where(extent > 0, extent, 1.0)
    k = min(NEIGHBOURS + 1, len(unit))
    near = cKDTree(unit).query(unit, k=np.arange(1, k + 1))[1]
    return np.asarray(trend + np.median((obs.y - trend)[near], axis=1))
