"""Variogram: how much two observations differ, against the distance between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.spatial.distance import cdist

from bochner.arrays import FloatArray
from bochner.diagnostics import limits


@dataclass(frozen=True)
class Variogram:
    """Empirical variogram of the responses about their trend, in bins of distance.

    Attributes
    ----------
    distance : tuple of float
        Mean distance of the pairs in each bin.
    semivariance : tuple of float
        Half their mean squared difference.
    n_pairs : tuple of int
        How many they are.
    lower, upper : tuple of float
        Where 95 % of the variograms of fields drawn from the fitted model lie; empty where none were drawn.
    noise : float
        Mean variance of an observation about the field: where the fitted variogram begins.
    """

    distance: tuple[float, ...]
    semivariance: tuple[float, ...]
    n_pairs: tuple[int, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    noise: float = 0.0


def empirical_variogram(
    coords: FloatArray,
    residual: FloatArray,
    farthest: float,
    rng: Generator,
    draw: Callable[[FloatArray, int, Generator], FloatArray] | None = None,
) -> Variogram | None:
    """Variogram of residuals at places (n, dim), up to a distance; None if no bin has enough pairs.

    `draw(coords, n_draws, rng)` makes fields (n_draws, n) of a model, for an envelope to judge the bins by.
    """
    if len(coords) > limits.MAX_VARIOGRAM_ROWS:
        rows = rng.choice(len(coords), limits.MAX_VARIOGRAM_ROWS, replace=False)
        coords, residual = coords[rows], residual[rows]
    n = len(coords)
    anchors = np.arange(n) if n <= 2 * limits.MAX_ANCHORS else rng.choice(n, limits.MAX_ANCHORS, replace=False)
    pairs = _Pairs.of(coords, anchors, farthest)
    kept = pairs.count >= limits.MIN_PAIRS
    if not kept.any():
        return None
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    if draw is not None and n <= limits.MAX_DRAWN_ROWS:
        fields = np.stack([pairs.semivariance(field) for field in draw(coords, limits.ENVELOPE_DRAWS, rng)])[:, kept]
        lower, upper = (tuple(q.tolist()) for q in np.quantile(fields, [0.025, 0.975], axis=0))
    return Variogram(
        tuple(pairs.distance[kept].tolist()),
        tuple(pairs.semivariance(residual)[kept].tolist()),
        tuple(pairs.count[kept].tolist()),
        lower,
        upper,
    )


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows with the bin of their distance."""

    i: np.ndarray
    j: np.ndarray
    bin: np.ndarray
    count: np.ndarray
    distance: FloatArray

    @classmethod
    def of(cls, coords: FloatArray, anchors: np.ndarray, farthest: float) -> _Pairs:
        i, j, h = [], [], []
        for anchor in np.array_split(anchors, max(1, len(anchors) * len(coords) // 2_000_000)):
            distance = cdist(coords[anchor], coords)
            # replicates tell of the noise alone; a pair of anchors is met twice
            near = (distance > 0) & (distance < farthest)
            first, second = np.nonzero(near)
            i.append(anchor[first])
            j.append(second)
            h.append(distance[near])
        lag = np.concatenate(h)
        bins = np.minimum((lag / farthest * limits.VARIOGRAM_BINS).astype(int), limits.VARIOGRAM_BINS - 1)
        count = np.bincount(bins, minlength=limits.VARIOGRAM_BINS)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(bins, lag, limits.VARIOGRAM_BINS) / count
        seen = 2 if len(anchors) == len(coords) else 1
        return cls(np.concatenate(i), np.concatenate(j), bins, count // seen, mean)

    def semivariance(self, values: FloatArray) -> FloatArray:
        square = (values[self.i] - values[self.j]) ** 2
        weight = np.maximum(np.bincount(self.bin, minlength=limits.VARIOGRAM_BINS), 1)
        return np.asarray(0.5 * np.bincount(self.bin, square, limits.VARIOGRAM_BINS) / weight)
