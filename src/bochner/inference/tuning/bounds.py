"""Bounds, starting values and priors of hyperparameters: each from its role and the scale of the data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.tuning import limits
from bochner.inference.tuning.limits import LARGEST_NOISE, LEAST_NOISE
from bochner.kernels import Hyperparameter, Kernel, Scale, Start, axis_groups


def bounds(kernel: Kernel, scale: Scale, least_noise: float = LEAST_NOISE) -> list[tuple[float, float]]:
    """Bounds of each entry of [theta, log noise variance]; `least_noise` is a share of the variance."""
    intervals = [h.role.bounds(h.sides(scale), scale) for h in kernel.hyperparameters]
    intervals.append((least_noise * scale.variance, LARGEST_NOISE * scale.variance))
    return [(float(np.log(low)), float(np.log(high))) for low, high in intervals]


def starts(kernel: Kernel, scale: Scale, noise_variance: float | None) -> Iterator[tuple[Kernel, float]]:
    """Kernels and noise variances to start from: ranges from short to long, with little and with much noise."""
    ranges = _ranges(kernel)
    shares = limits.START_NOISES if noise_variance is None else (0.0,)
    reaches = limits.START_REACHES if ranges else (1.0,)
    # either end of a sum may be the one of long range, and so may space or time
    several = len(kernel.leaves()) > 1 and len(ranges) > 1
    orders = (1, -1) if several or len(axis_groups(kernel, len(scale.extent))) > 1 else (1,)
    # where known errors (of small counts, say) may explain most of the scatter, the field may be small
    sizes = (1.0, limits.SMALL_FIELD) if scale.error > limits.KNOWN_ERRORS * scale.variance else (1.0,)
    for reach, share, order, size in product(reaches, shares, orders, sizes):
        noise = share * scale.variance if noise_variance is None else noise_variance
        field = max(scale.variance - noise, 0.1 * scale.variance)
        yield _started(kernel, scale, reach, size * field, order), noise


def unlike(extent: FloatArray) -> bool:
    """Whether axes are so unlike that they may have units of their own."""
    return bool(extent.max() > limits.UNLIKE_EXTENTS * extent.min())


def log_priors(kernel: Kernel, scale: Scale, *, few_rows: bool = True) -> tuple[FloatArray, FloatArray]:
    """Weak prior of each hyperparameter, or of those that many rows leave in doubt, too; and its slope in theta."""
    pairs = zip(kernel.hyperparameters, kernel.theta, strict=True)
    found = [
        h.role.log_prior(float(theta), h.sides(scale), scale) if few_rows else h.role.lasting_log_prior(float(theta))
        for h, theta in pairs
    ]
    values, slopes = np.array(found, dtype=float).reshape(-1, 2).T
    return values, slopes


def close(a: Kernel, b: Kernel) -> bool:
    """Whether two starts lie so near to each other that they lead to one optimum."""
    intervals = [(i, h.role.nearness) for i, h in enumerate(a.hyperparameters) if h.role.nearness is not None]
    if not intervals or a.hyperparameters != b.hyperparameters:
        return a == b
    return all(abs(a.theta[i] - b.theta[i]) < limit for i, limit in intervals)


def _started(kernel: Kernel, scale: Scale, reach: float, variance: float, order: int) -> Kernel:
    theta = []
    for h, now, (low, high) in zip(kernel.hyperparameters, kernel.theta, bounds(kernel, scale), strict=False):
        start = Start(reach, variance / len(kernel.terms()), _stagger(kernel, h, scale, order))
        theta.append(np.clip(h.role.start(float(now), h.sides(scale), scale, start), low, high))
    started = kernel.with_theta(np.array(theta))
    if not kernel.stationary:
        return started
    # a product keeps some variances fixed: what is free makes up for them
    return started.scaled(variance / float(started.diag(np.zeros((1, len(scale.extent))))[0]))


def _stagger(kernel: Kernel, h: Hyperparameter, scale: Scale, order: int) -> float:
    """Factor on a starting range, because symmetric starts are saddle points: parts of a sum, space and time differ."""
    if not h.role.is_range:
        return 1.0
    dim = len(scale.extent)
    mine = set(h.axes(dim))
    rivals = list(dict.fromkeys(_part(g) for g in _ranges(kernel) if mine & set(g.axes(dim))))
    first = mine <= set(axis_groups(kernel, dim)[0])
    return float(limits.STAGGER ** -rivals[::order].index(_part(h)) * (1.0 if first else 2.0**order))


def _ranges(kernel: Kernel) -> list[Hyperparameter]:
    return [h for h in kernel.hyperparameters if h.role.is_range]


def _part(h: Hyperparameter) -> str:
    return h.name.rpartition("__")[0]
