"""Scale: what sizes the data can speak of, hence bounds, starts and weak priors for tuning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, box_of
from bochner.inference.observed.observations import Observations
from bochner.kernels import Hyperparameter, Kernel, axis_groups

STRETCH = 3.0  # largest log of a ratio of rotated length scales
MAX_PLACES = 100_000  # enough to know the spacing


@dataclass(frozen=True)
class Scale:
    """Sizes seen in the data: extent of each axis, relative spacing of the places, variance about the trend."""

    extent: FloatArray
    spacing: float  # median distance to the nearest other place, in units of the extent
    variance: float
    error: float = 0.0  # known error variance of a typical row

    def along(self, h: Hyperparameter) -> FloatArray:
        """Extents of the axes that a hyperparameter belongs to."""
        return self.extent[list(h.axes(len(self.extent)))]

    def length_bounds(self, h: Hyperparameter) -> tuple[float, float]:
        """Smallest and largest length scale that the places could show."""
        reach = self.along(h)
        return 0.3 * self.spacing * float(reach.min()), 10 * float(reach.max())


def scale_of(obs: Observations) -> Scale:
    """Sizes of the observed places and responses; copies and weights make no difference to the places."""
    coords = obs.rows.coords
    low, high = box_of(coords)
    extent = high - low
    fill = extent.max() if extent.max() > 0 else 1.0
    extent = np.where(extent > 0, extent, fill)
    every = max(1, len(coords) // MAX_PLACES)
    # of every k-th row the nearest other is farther away, by the k-th part of the space
    thinned = every ** (-1 / len(extent))
    spacing = _spacing(np.unique(coords[::every], axis=0) / extent) * thinned
    return Scale(extent, spacing, _variance_about_trend(obs), float(np.median(obs.error)))


def spacing_units(kernel: Kernel, coords: FloatArray) -> FloatArray | None:
    """Unit of each axis in which rows lie equally apart, where the kernel measures axes apart (space and time).

    Each group of axes gets cells in proportion to its distinct places, as many in all as there are rows.
    """
    n, dim = coords.shape
    groups = axis_groups(kernel, dim)
    if len(groups) < 2:
        return None
    counts = [len(np.unique(coords[:, list(g)], axis=0)) for g in groups]
    power = np.log(n) / max(float(np.sum(np.log(counts))), 1e-9)
    unit = np.maximum(np.ptp(coords, axis=0), 1e-300)
    for group, count in zip(groups, counts, strict=True):
        unit[list(group)] = np.max(unit[list(group)]) * float(count) ** (-power / len(group))
    return unit


def bounds(kernel: Kernel, scale: Scale, least_noise: float = 1e-8) -> list[tuple[float, float]]:
    """Bounds of each entry of [theta, log noise variance]; `least_noise` is a share of the variance."""
    limits = []
    for h in kernel.hyperparameters:
        match h.role:
            case "length_scale":
                limits.append(scale.length_bounds(h))
            case "variance":
                limits.append((1e-4 * scale.variance, 1e3 * scale.variance))
            case "shape":
                limits.append((0.1, 20.0) if h.name.endswith("nu") else (0.05, 100.0))
            case "stretch":
                limits.append((np.exp(-STRETCH), np.exp(STRETCH)))
            case "period":
                limits.append((shortest_wave(h, scale), 3 * float(scale.along(h).max())))
            case "frequency":
                longest = 30 * float(scale.along(h).max())
                limits.append((2 * np.pi / longest, 2 * np.pi / shortest_wave(h, scale)))
            case "bandwidth":
                low, high = scale.length_bounds(h)
                limits.append((0.1 / high, 1 / low))
            case "interaction":
                limits.append((np.exp(-5.0), np.exp(5.0)))
            case _:
                limits.append((1e-4, 1e4))
    limits.append((least_noise * scale.variance, 10 * scale.variance))
    return [(float(np.log(low)), float(np.log(high))) for low, high in limits]


def starts(kernel: Kernel, scale: Scale, noise_variance: float | None) -> Iterator[tuple[Kernel, float]]:
    """Kernels and noise variances to start from: ranges from short to long, with little and with much noise."""
    shares = (0.05, 0.4) if noise_variance is None else (0.0,)
    reaches = (0.05, 0.15, 0.4, 1.2) if _ranges(kernel) else (1.0,)
    # either end of a sum may be the one of long range, and so may space or time
    several = len(kernel.leaves()) > 1 and len(_ranges(kernel)) > 1
    orders = (1, -1) if several or len(axis_groups(kernel, len(scale.extent))) > 1 else (1,)
    # where known errors (of small counts, say) may explain most of the scatter, the field may be small
    sizes = (1.0, 0.1) if scale.error > 0.2 * scale.variance else (1.0,)
    for reach, share, order, size in product(reaches, shares, orders, sizes):
        noise = share * scale.variance if noise_variance is None else noise_variance
        field = max(scale.variance - noise, 0.1 * scale.variance)
        yield _started(kernel, scale, reach, size * field, order), noise


def log_prior(kernel: Kernel, scale: Scale) -> tuple[float, FloatArray]:
    """Weak prior on ranges and field variance, and its gradient in theta.

    A penalised-complexity prior (Fuglstad et al. 2019) in one dimension for every range: it falls
    slowly towards infinity and fast below the spacing of the places, P(range < spacing) = 0.05. The
    field's sd has an exponential prior, P(sd > 5 sd of the data) = 0.05.
    """
    value, slopes = 0.0, []
    for h, theta in zip(kernel.hyperparameters, kernel.theta, strict=True):
        slope = 0.0
        if h.role == "length_scale":
            shortest = scale.length_bounds(h)[0] / 0.3
            push = -np.log(0.05) * np.sqrt(shortest) * np.exp(-theta / 2)
            # with its constant, else the number of ranges would be judged by the unit of the coordinates
            value += np.log(push / 2) - push
            slope = -0.5 + 0.5 * push
        elif h.role == "variance":
            pull = -np.log(0.05) / 5 * np.exp(theta / 2) / np.sqrt(scale.variance)
            value -= pull
            slope = -0.5 * pull
        elif h.role in ("shape", "stretch", "interaction"):
            value -= 0.5 * theta**2
            slope = -theta
        slopes.append(slope)
    return float(value), np.array(slopes)


def shortest_wave(h: Hyperparameter, scale: Scale) -> float:
    """Shortest wave length that the places could show; shorter ones are seen only where places lie unevenly."""
    return scale.spacing * float(scale.along(h).min())


def _started(kernel: Kernel, scale: Scale, reach: float, variance: float, order: int) -> Kernel:
    lows_highs = bounds(kernel, scale)[:-1]
    theta = []
    n_fields = len(kernel.terms())
    for h, now, (low, high) in zip(kernel.hyperparameters, kernel.theta, lows_highs, strict=True):
        if h.role == "length_scale":
            extent = float(scale.along(h).max())
            crowd = np.sqrt(len(scale.extent) / 2) if len(scale.extent) > 2 else 1.0
            guess = np.log(reach * extent * crowd * _apart(kernel, h, scale, order))
        elif h.role == "variance":
            guess = np.log(variance / n_fields)
        else:
            guess = now
        theta.append(np.clip(guess, low, high))
    started = kernel.with_theta(np.array(theta))
    if not kernel.stationary:
        return started
    # a product keeps some variances fixed: what is free makes up for them
    return started.scaled(variance / float(started.diag(np.zeros((1, len(scale.extent))))[0]))


def _apart(kernel: Kernel, h: Hyperparameter, scale: Scale, order: int) -> float:
    """Factor on a starting range: what starts equal stays equal, be it the parts of a sum or space and time."""
    dim = len(scale.extent)
    mine = set(h.axes(dim))
    rivals = list(dict.fromkeys(_part(g) for g in _ranges(kernel) if mine & set(g.axes(dim))))
    first = mine <= set(axis_groups(kernel, dim)[0])
    return 4.0 ** -rivals[::order].index(_part(h)) * (1.0 if first else 2.0**order)


def _ranges(kernel: Kernel) -> list[Hyperparameter]:
    return [h for h in kernel.hyperparameters if h.role == "length_scale"]


def _part(h: Hyperparameter) -> str:
    return h.name.rpartition("__")[0]


def _spacing(unit_places: FloatArray) -> float:
    n, dim = unit_places.shape
    if n < 2:
        return 0.1
    nearest = cKDTree(unit_places).query(unit_places, k=2)[0][:, 1]
    typical = float(np.median(nearest))
    # clusters of near-duplicates must not push the bound to nothing
    return float(np.clip(typical, 1e-3 * n ** (-1 / dim), 0.5))


def residual_of(obs: Observations) -> FloatArray:
    """Responses without the trend that fits them best."""
    X, y, w = obs.rows.trend, obs.y, obs.weight
    if not X.shape[1]:
        return y
    weighted = X * w[:, None]
    coef = np.linalg.lstsq(weighted.T @ X, weighted.T @ y, rcond=None)[0]
    return np.asarray(y - X @ coef)


def _variance_about_trend(obs: Observations) -> float:
    return float((np.sum(obs.weight * residual_of(obs) ** 2) + obs.scatter.sum()) / obs.total)
