"""Scoring: a quasi-Newton climb that begins with the information, for objectives that know it.

A climb that has to learn the curvature needs a dozen evaluations for it, and where range and variance lie on a ridge
dozens. Here it begins with the information at the start, corrects it by the gradients that it meets (BFGS), and damps
its steps as Levenberg and Marquardt do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from bochner.arrays import BoolArray, FloatArray
from bochner.inference.tuning import limits

Sloped = Callable[[FloatArray], tuple[float, FloatArray]]
"""A point to the value there, and its gradient."""


@dataclass(frozen=True)
class Rival:
    """What a climb is up against: the value that it has to reach, and, if that is one of its own, the peak there.

    Where evaluations are `dear`, it ends before it is quite certain that it cannot win; but not on a `ledge`, a value
    that its own kind reaches in any case, and below which slow gains are no end. One of its own kind is reached by
    most, however slowly, unless it is `elsewhere` that the climb has begun. One that began with a dispersion next to
    nothing has come `back` where that is what it was, nearly.
    """

    value: float
    peak: FloatArray | None = None
    dear: bool = False
    ledge: float = -np.inf
    elsewhere: bool = False
    back: float = np.inf  # log dispersion, the last of what is climbed

    def won(self, x: FloatArray, value: float, gain: float, curvature: FloatArray) -> bool:
        """Whether a climb need not go on from a point, at which it expects to gain so much."""
        has_come_back = bool(x[-1] > self.back) and self.value >= value > self.value - limits.BACK_NATS
        return has_come_back or self._same(x, value, curvature) or self._out_of_reach(value, gain)

    def _same(self, x: FloatArray, value: float, curvature: FloatArray) -> bool:
        """Whether a point that lies lower is on the same peak."""
        if self.peak is None or value > self.value or len(self.peak) != len(x):  # some have vanished on the way
            return False
        away = x - self.peak
        return bool(0.5 * away @ curvature @ away < limits.SAME_PEAK)

    def _out_of_reach(self, value: float, gain: float) -> bool:
        """Whether a climb of another kind that expects to gain so much more would fall short of it by far."""
        hopeless = (
            self.dear and (self.peak is None or self.elsewhere) and gain < limits.LAST_HOPE and value > self.ledge
        )
        return hopeless and value + limits.HOPED_TIMES * gain < self.value


class End(NamedTuple):
    """Where a climb ended, the value there, and whether it gave up before its rival."""

    x: FloatArray
    value: float
    gave_up: bool = False


def scored(
    function: Sloped,
    x: FloatArray,
    information: FloatArray,
    box: FloatArray,
    max_steps: int,
    tolerance: float,
    rival: Rival | None = None,
    enough: float = limits.SCORED,
) -> End:
    """Maximum within a box (k, 2) from a point with its information.

    It ends where the next step would gain less than `tolerance` of the value or `enough` nats, on the peak of its
    rival, or where that is clearly out of reach.
    """
    value, gradient = function(x)
    low, high = box.T
    curvature = information + limits.LEAST_CURVATURE * np.eye(len(x))
    damping = limits.FIRST_DAMPING
    for _ in range(max_steps):
        free = ~((x <= low) & (gradient < 0) | (x >= high) & (gradient > 0))
        tiny = free & (np.abs(gradient) < limits.FADED) & (np.diag(curvature) < limits.FADING * np.abs(gradient))
        rest = free & ~tiny
        step = _within(gradient, curvature, damping, rest, low - x, high - x)
        step[tiny] = _of_tiny(gradient[tiny])
        new = np.clip(x + step, low, high)
        step = new - x
        # what a tiny variance adds is in proportion to it, not to its logarithm
        gain = float(gradient[rest] @ step[rest] + gradient[tiny] @ np.expm1(step[tiny]))
        if not gain > max(enough, tolerance * abs(value)):
            break
        if rival is not None and rival.won(x, value, gain, curvature):
            return End(x, value, gave_up=True)
        expected = gain - 0.5 * float(step[rest] @ curvature[np.ix_(rest, rest)] @ step[rest])
        new_value, new_gradient = function(new)
        gained = new_value - value
        if new_value > limits.FAILED_SEARCH:
            fall = gradient - new_gradient
            own = np.abs(fall) if gained >= 0 else 2 * limits.FADING * np.abs(gradient)
            curvature = _with_own(curvature, tiny, own) if tiny.any() else _corrected(curvature, step, fall)
        if gained < 0:
            damping = max(limits.DAMPING_STEP**2 * damping, limits.FIRST_DAMPING)
            if damping > limits.LARGEST_DAMPING:
                break
            continue
        x, value, gradient = new, new_value, new_gradient
        if gained > limits.AS_EXPECTED[1] * expected:
            damping /= limits.DAMPING_STEP
        elif gained < limits.AS_EXPECTED[0] * expected:
            damping *= limits.DAMPING_STEP
    return End(x, value)


def _of_tiny(slope: FloatArray) -> FloatArray:
    """Steps of the logs of variances that are next to nothing: to the lower bound, or to where they tell."""
    rise = np.log(2 * limits.FADED / np.maximum(slope, 1e-300))
    return np.where(slope > 0, rise, -np.inf)


def _with_own(curvature: FloatArray, tiny: BoolArray, own: FloatArray) -> FloatArray:
    """After a tiny variance has grown or vanished: its own curvature is that of its slope, or more if it did not."""
    now = curvature.copy()
    np.einsum("ii->i", now)[tiny] = np.maximum(np.diag(curvature), own)[tiny]
    return now


def _within(
    gradient: FloatArray, curvature: FloatArray, damping: float, free: BoolArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """A damped step of what is free; where it would leave the box, the best one that does not."""
    step = np.zeros(len(gradient))
    step[free] = _damped(gradient[free], curvature[np.ix_(free, free)], damping)
    if np.all((step >= low) & (step <= high)):
        return step
    own = curvature[np.ix_(free, free)]
    root = linalg.cholesky(own + np.diag(damping * np.diag(own)))
    aim = linalg.solve_triangular(root, gradient[free], trans="T")
    near = np.clip([low[free], high[free]], -limits.LONGEST_STEP, limits.LONGEST_STEP)
    apart = near[1] > near[0]
    found = np.where(apart, 0.0, near[0])
    found[apart] = optimize.lsq_linear(root[:, apart], aim, near[:, apart], method="bvls").x
    step[free] = found
    return step


def _damped(gradient: FloatArray, curvature: FloatArray, damping: float) -> FloatArray:
    """A damped step, no longer than the curvature can speak for."""
    if not len(gradient):
        return gradient
    step = np.linalg.solve(curvature + np.diag(damping * np.diag(curvature)), gradient)
    return np.asarray(step * min(1.0, limits.LONGEST_STEP / max(float(np.max(np.abs(step))), 1e-300)))


def _corrected(curvature: FloatArray, step: FloatArray, fall: FloatArray) -> FloatArray:
    """Curvature that explains how far the gradient fell along a step (BFGS); less of it where it did not fall."""
    along = float(step @ fall)
    if along <= limits.LEAST_BEND * np.linalg.norm(step) * np.linalg.norm(fall):
        return curvature / limits.DAMPING_STEP
    before = curvature @ step
    return np.asarray(curvature - np.outer(before, before) / (step @ before) + np.outer(fall, fall) / along)
