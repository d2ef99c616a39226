"""Objectives whose maximum is known: quadratic in the hyperparameters, so that every decision is, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bochner.inference.evidence.objective import Objective
from bochner.inference.tuning.search import Search
from bochner.kernels import Kernel, Scale

SCALE = Scale(np.ones(2), spacing=0.02, variance=1.0)
NOISE = 0.01


def quadratic(
    lengths: Sequence[float], bonus: Callable[[Kernel], float] = lambda kernel: 0.0, steepness: float = 1.0
) -> Objective:
    """-steepness |theta - target|^2 and a bonus; one length scale counts for every axis, so it ends between theirs."""
    targets = np.log(lengths)

    def objective(kernel: Kernel, noise_variance: float) -> tuple[float, np.ndarray]:
        theta = kernel.theta
        n = len(theta) - 1  # the last one is the variance
        off = (theta[:n] if n > 1 else np.repeat(theta[:1], len(targets))) - targets
        along = -2 * steepness * off
        slopes = along if n > 1 else [along.sum()]
        noise = np.log(noise_variance / NOISE)
        value = -steepness * (off @ off + theta[n] ** 2 + noise**2) + bonus(kernel)
        return float(value), np.r_[slopes, -2 * steepness * theta[n], -2 * steepness * noise]

    return objective


def search(objective: Objective, noise_variance: float | None = None) -> Search:
    """A search of it over the unit square, whose axes are not turned."""
    return Search(objective, SCALE, noise_variance, shared=(0, 1))
