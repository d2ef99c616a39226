"""Scale: what sizes the data can speak of, hence bounds, starts and weak priors for tuning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.inference.observations import Observations
from bochner.kernels import Kernel, Product

STRETCH = 3.0  # largest log of a ratio of rotated length scales
MAX_PLACES = 100_000  # enough to know the spacing


@dataclass(frozen=True)
class Scale:
    """Sizes seen in the data: extent of each axis, relative spacing of the places, variance about the trend."""

    extent: FloatArray
    spacing: float  # median distance to the nearest other place, in units of the extent
    variance: float

    def length_bounds(self, axis: int | None) -> tuple[float, float]:
        """Smallest and largest length scale that the places could show."""
        reach = self.extent if axis is None else self.extent[axis : axis + 1]
        return 0.3 * self.spacing * float(reach.min()), 10 * float(reach.max())


def scale_of(obs: Observations) -> Scale:
    """Sizes of the observed places and responses; copies and weights make no difference to the places."""
    coords = obs.rows.coords
    extent = np.ptp(coords, axis=0)
    fill = extent.max() if extent.max() > 0 else 1.0
    extent = np.where(extent > 0, extent, fill)
    every = max(1, len(coords) // MAX_PLACES)
    # of every k-th row the nearest other is farther away, by the k-th part of the space
    thinned = every ** (-1 / len(extent))
    spacing = _spacing(np.unique(coords[::every], axis=0) / extent) * thinned
    return Scale(extent, spacing, _variance_about_trend(obs))


def bounds(kernel: Kernel, scale: Scale) -> list[tuple[float, float]]:
    """Bounds of each entry of [theta, log noise variance]."""
    limits = []
    for h in kernel.hyperparameters:
        match h.role:
            case "length_scale":
                limits.append(scale.length_bounds(h.axis))
            case "variance":
                limits.append((1e-4 * scale.variance, 1e3 * scale.variance))
            case "shape":
                limits.append((0.1, 20.0) if h.name.endswith("nu") else (0.05, 100.0))
            case "stretch":
                limits.append((np.exp(-STRETCH), np.exp(STRETCH)))
            case _:
                limits.append((1e-4, 1e4))
    limits.append((1e-8 * scale.variance, 10 * scale.variance))
    return [(float(np.log(low)), float(np.log(high))) for low, high in limits]


def starts(kernel: Kernel, scale: Scale, noise_variance: float | None) -> Iterator[tuple[Kernel, float]]:
    """Kernels and noise variances to start from: ranges from short to long, with little and with much noise."""
    shares = (0.05, 0.4) if noise_variance is None else (0.0,)
    # either end of a sum may be the one of long range
    orders = (1, -1) if len(kernel.leaves()) > 1 else (1,)
    for reach, share, order in product((0.05, 0.15, 0.4, 1.2), shares, orders):
        noise = share * scale.variance if noise_variance is None else noise_variance
        field = max(scale.variance - noise, 0.1 * scale.variance)
        yield _started(kernel, scale, reach, field, order), noise


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
            shortest = scale.length_bounds(h.axis)[0] / 0.3
            push = -np.log(0.05) * np.sqrt(shortest) * np.exp(-theta / 2)
            # with its constant, else the number of ranges would be judged by the unit of the coordinates
            value += np.log(push / 2) - push
            slope = -0.5 + 0.5 * push
        elif h.role == "variance":
            pull = -np.log(0.05) / 5 * np.exp(theta / 2) / np.sqrt(scale.variance)
            value -= pull
            slope = -0.5 * pull
        elif h.role in ("shape", "stretch"):
            value -= 0.5 * theta**2
            slope = -theta
        slopes.append(slope)
    return float(value), np.array(slopes)


def _started(kernel: Kernel, scale: Scale, reach: float, variance: float, order: int) -> Kernel:
    lows_highs = bounds(kernel, scale)[:-1]
    parts = list(dict.fromkeys(h.name.rpartition("__")[0] for h in kernel.hyperparameters))
    theta = []
    n_fields = len(kernel.terms())
    for h, now, (low, high) in zip(kernel.hyperparameters, kernel.theta, lows_highs, strict=True):
        part = h.name.rpartition("__")[0]
        if h.role == "length_scale":
            extent = scale.extent.max() if h.axis is None else scale.extent[h.axis]
            crowd = np.sqrt(len(scale.extent) / 2) if len(scale.extent) > 2 else 1.0
            # the parts of a sum start at different ranges, else they stay the same
            guess = np.log(reach * extent * crowd / 4.0 ** parts[::order].index(part))
        elif h.role == "variance":
            guess = np.log(variance / n_fields) - (_held(kernel, len(scale.extent)) if part == parts[0] else 0.0)
        else:
            guess = now
        theta.append(np.clip(guess, low, high))
    return kernel.with_theta(np.array(theta))


def _held(kernel: Kernel, dim: int) -> float:
    # log of the variances that a product keeps fixed
    if isinstance(kernel, Product):
        return float(np.log(kernel.k2.diag(np.zeros((1, dim)))[0])) if kernel.k2.stationary else 0.0
    return 0.0


def _spacing(unit_places: FloatArray) -> float:
    n, dim = unit_places.shape
    if n < 2:
        return 0.1
    nearest = cKDTree(unit_places).query(unit_places, k=2)[0][:, 1]
    typical = float(np.median(nearest))
    # clusters of near-duplicates must not push the bound to nothing
    return float(np.clip(typical, 1e-3 * n ** (-1 / dim), 0.5))


def _variance_about_trend(obs: Observations) -> float:
    X, y, w = obs.rows.trend, obs.y, obs.weight
    if X.shape[1]:
        weighted = X * w[:, None]
        coef = np.linalg.lstsq(weighted.T @ X, weighted.T @ y, rcond=None)[0]
        y = y - X @ coef
    return float((np.sum(w * y**2) + obs.scatter.sum()) / obs.total)
