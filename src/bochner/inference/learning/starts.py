"""Starts of a user's kernel: from roles and the scale of the data, and from the spectrum of the responses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import product

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.inference.learning.form import Begun, Pair
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task, residual_of
from bochner.kernels import (
    Hyperparameter,
    Kernel,
    OnAxes,
    Periodic,
    Scale,
    Separable,
    SpectralMixture,
    Start,
    axis_groups,
    spectral_lines,
)


def bounds(kernel: Kernel, scale: Scale) -> list[tuple[float, float]]:
    """Bounds of each entry of theta."""
    intervals = [h.role.bounds(h.sides(scale), scale) for h in kernel.hyperparameters]
    return [(float(np.log(low)), float(np.log(high))) for low, high in intervals]


def ties(kernel: Kernel, shared: tuple[int, ...] | None) -> IntArray:
    """Of each entry of theta, the first one that it moves with: length scales of axes that share one."""
    found = np.arange(len(kernel.theta))
    first: dict[tuple[str, int], int] = {}
    for i, h in enumerate(kernel.hyperparameters if shared is not None else ()):
        head, bracket, tail = h.name.partition("[")
        if bracket and head.endswith("length_scale") and shared is not None and int(tail[:-1]) < len(shared):
            found[i] = first.setdefault((head, shared[int(tail[:-1])]), i)
    return found


def of_kernel(begun: Begun, kernel: Kernel, task: Task, noise: float | None) -> list[Pair]:
    """The kernel with ranges from short to long, little and much noise, and with periods and peaks of the data."""
    scale = task.scale
    values = noise if noise is not None else 0.05 * scale.variance
    own = (kernel, values)
    return [own, *_from_ranges(kernel, scale, noise), *_from_spectrum(kernel, scale, task.obs, values)]


def _from_ranges(kernel: Kernel, scale: Scale, noise: float | None) -> Iterator[Pair]:
    """Kernels and noise variances: ranges from short to long, with little and with much noise."""
    ranges = _ranges(kernel)
    shares = (0.05, 0.4) if noise is None else (0.0,)
    reaches = (*POLICY.start_ranges, 1.2) if ranges else (1.0,)
    # either end of a sum may be the one of long range, and so may space or time
    several = len(kernel.leaves()) > 1 and len(ranges) > 1
    orders = (1, -1) if several or len(axis_groups(kernel, len(scale.extent))) > 1 else (1,)
    for reach, share, order in product(reaches, shares, orders):
        own = share * scale.variance if noise is None else noise
        field = max(scale.variance - own, 0.1 * scale.variance)
        yield _started(kernel, scale, reach, field, order), own


def _started(kernel: Kernel, scale: Scale, reach: float, variance: float, order: int) -> Kernel:
    theta = []
    for h, now, (low, high) in zip(kernel.hyperparameters, kernel.theta, bounds(kernel, scale), strict=True):
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
    # starting ranges of two parts of a sum differ by a factor of 4
    return float(4.0 ** -rivals[::order].index(_part(h)) * (1.0 if first else 2.0**order))


def _ranges(kernel: Kernel) -> list[Hyperparameter]:
    return [h for h in kernel.hyperparameters if h.role.is_range]


def _part(h: Hyperparameter) -> str:
    return h.name.rpartition("__")[0]


# --------------------------------------------------------------------------- the spectrum


def _from_spectrum(kernel: Kernel, scale: Scale, obs: Observations, noise: float) -> list[Pair]:
    """Kernels with periods and peaks where the data have them: no climb would find them."""
    every = max(1, len(obs) // 5_000)
    coords, y = obs.rows.coords[::every], residual_of(obs)[::every]
    if len(y) < 10:
        return []
    field = max(scale.variance - noise, 0.1 * scale.variance)
    found = []
    for variant in _variants(kernel, coords, y):
        for start in _ranged(variant, scale):
            total = float(start.diag(np.zeros((1, coords.shape[1])))[0])
            found.append((start.scaled(field / total) if start.stationary else start, noise))
    return found


def _variants(kernel: Kernel, coords: FloatArray, y: FloatArray) -> Iterator[Kernel]:
    """The kernel with one of its parts informed by the data, and with all of them."""
    match kernel:
        case SpectralMixture() if coords.shape[1] <= 3:
            yield SpectralMixture.from_data(coords, y, kernel.n_components)
        case Periodic():
            yield from (kernel.replace(period=period) for period in _periods(kernel, coords, y))
        case OnAxes():
            axes = list(kernel.seen_axes(coords.shape[1]))
            yield from (kernel.replace(kernel=k) for k in _variants(kernel.kernel, coords[:, axes], y))
        case Separable():
            for k in _variants(kernel.product, coords, y):
                yield kernel.replace(space=k.k1.kernel, time=k.k2.kernel)  # type: ignore[attr-defined]
        case _:
            yield from _of_parts(kernel, coords, y)


def _of_parts(kernel: Kernel, coords: FloatArray, y: FloatArray) -> Iterator[Kernel]:
    fields = dataclasses.fields(kernel)  # type: ignore[arg-type]
    names = [f.name for f in fields if isinstance(getattr(kernel, f.name), Kernel)]
    informed = {name: list(_variants(getattr(kernel, name), coords, y)) for name in names}
    for name, variants in informed.items():
        yield from (kernel.replace(**{name: variant}) for variant in variants)
    best = {name: variants[0] for name, variants in informed.items() if variants}
    if len(best) > 1:
        # two parts that look for the same peak should not both take the highest
        yield kernel.replace(**best)
        yield kernel.replace(**{name: informed[name][i % len(informed[name])] for i, name in enumerate(best)})


def _periods(kernel: Periodic, coords: FloatArray, y: FloatArray) -> list[float | tuple[float, ...]]:
    """Lengths of the highest waves along each axis, and twice the best, which may be an overtone."""
    along = []
    for axis in range(coords.shape[1]):
        if len(np.unique(coords[:, axis])) < 10:
            return []
        lines = spectral_lines(coords[:, [axis]], y, 3, 3)[0][:, 0]  # three periods along each axis
        along.append([2 * np.pi / abs(w) for w in (*lines, lines[0] / 2)])
    if isinstance(kernel.period, tuple):
        return [tuple(choice) for choice in zip(*along, strict=True)]
    return [period for choices in along for period in choices]


def _ranged(kernel: Kernel, scale: Scale) -> Iterator[Kernel]:
    """The kernel with its ranges, if it has any, at some shares of the extent."""
    intervals = bounds(kernel, scale)
    ranges = [i for i, h in enumerate(kernel.hyperparameters) if h.role.is_range]
    for reach in POLICY.start_ranges if ranges else (1.0,):
        theta = kernel.theta
        for i in ranges:
            theta[i] = np.log(reach * float(kernel.hyperparameters[i].sides(scale).max()))
        yield kernel.with_theta(np.clip(theta, *np.array(intervals).T))
