"""Scoring: a quasi-Newton climb that begins with the information, for objectives that know it.

A climb that has to learn the curvature needs a dozen evaluations for it, and where range and variance lie on a ridge
dozens. Here it begins with the information at the start, corrects it by the gradients that it meets (BFGS), and damps
its steps as Levenberg and Marquardt do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.tuning import limits

Sloped = Callable[[FloatArray], tuple[float, FloatArray]]
"""A point to the value there, and its gradient."""


def scored(
    function: Sloped, x: FloatArray, information: FloatArray, box: FloatArray, max_steps: int, tolerance: float
) -> tuple[FloatArray, float]:
    """Maximum within a box (k, 2) from a point with its information, and the value there.

    It ends where the next step would gain less than `tolerance` of the value.
    """
    value, gradient = function(x)
    low, high = box.T
    curvature = information + limits.LEAST_CURVATURE * np.eye(len(x))
    damping = limits.FIRST_DAMPING
    for _ in range(max_steps):
        free = ~((x <= low) & (gradient < 0) | (x >= high) & (gradient > 0))
        step = np.zeros(len(x))
        step[free] = _damped(gradient[free], curvature[np.ix_(free, free)], damping)
        new = np.clip(x + step, low, high)
        step = new - x
        if not gradient @ step > max(limits.SCORED, tolerance * abs(value)):
            break
        expected = float(gradient @ step - 0.5 * step @ curvature @ step)
        new_value, new_gradient = function(new)
        gained = new_value - value
        if new_value > limits.FAILED_SEARCH:
            curvature = _corrected(curvature, step, gradient - new_gradient)
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
    return x, value


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
