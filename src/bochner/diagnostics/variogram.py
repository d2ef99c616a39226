"""Variogram: how much two observations differ, against the distance between them.

Of rows with a time or a depth, pairs at the same time or depth are taken, or the nearest to it: a kilometre is no day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.spatial.distance import cdist

from bochner.arrays import FloatArray, IntArray
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
    axes : tuple of int
        Columns of places that distances are taken in; empty: all.
    unit : str
        Of the distances, where it is not that of the length scales.
    among : str
        Which pairs are taken, where not all are: "at the same day", say.
    """

    distance: tuple[float, ...]
    semivariance: tuple[float, ...]
    n_pairs: tuple[int, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    noise: float = 0.0
    axes: tuple[int, ...] = ()
    unit: str = ""
    among: str = ""


def empirical_variogram(
    coords: FloatArray,
    residual: FloatArray,
    farthest: float,
    rng: Generator,
    draw: Callable[[FloatArray, int, Generator], FloatArray] | None = None,
    axes: Sequence[int] | None = None,
    beside: str = "",
) -> Variogram | None:
    """Variogram of residuals at places (n, dim), up to a distance; None if no bin has enough pairs.

    `draw(coords, n_draws, rng)` makes fields (n_draws, n) of a model, for an envelope to judge the bins by. Distances
    are in some `axes` (default: all), of pairs that lie close in the others, which are called `beside`.
    """
    if len(coords) > limits.MAX_VARIOGRAM_ROWS:
        rows = rng.choice(len(coords), limits.MAX_VARIOGRAM_ROWS, replace=False)
        coords, residual = coords[rows], residual[rows]
    n = len(coords)
    anchors = np.arange(n) if n <= 2 * limits.MAX_ANCHORS else rng.choice(n, limits.MAX_ANCHORS, replace=False)
    pairs = _Pairs.of(coords, anchors, farthest, axes)
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
        axes=tuple(axes or ()),
        among="" if axes is None else f"at {'nearly ' if pairs.apart else ''}the same {beside}",
    )


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows with the bin of their distance, and how far they lie apart in other columns, of their extents."""

    i: np.ndarray
    j: np.ndarray
    bin: np.ndarray
    count: np.ndarray
    distance: FloatArray
    apart: float = 0.0

    @classmethod
    def of(cls, coords: FloatArray, anchors: np.ndarray, farthest: float, axes: Sequence[int] | None = None) -> _Pairs:
        places = coords if axes is None else coords[:, list(axes)]
        others = np.delete(coords, list(range(coords.shape[1]) if axes is None else axes), axis=1)
        extent = np.ptp(others, axis=0)
        others = others / np.where(extent > 0, extent, 1.0)
        parts: list[tuple[IntArray, IntArray, FloatArray, FloatArray]] = []
        for anchor in np.array_split(anchors, max(1, len(anchors) * len(coords) // 2_000_000)):
            distance = cdist(places[anchor], places)
            # replicates tell of the noise alone; a pair of anchors is met twice
            first, second = np.nonzero((distance > 0) & (distance < farthest))
            apart = np.abs(others[anchor[first]] - others[second]).max(axis=1, initial=0.0)
            parts.append((anchor[first], second, distance[first, second], apart))
        i, j, lag, apart = (np.concatenate(part) for part in zip(*parts, strict=True))
        seen = 2 if len(anchors) == len(coords) else 1
        most = 0.0
        if np.count_nonzero(apart == 0) < seen * limits.VARIOGRAM_BINS * limits.MIN_PAIRS and len(apart):
            wanted = min(limits.CLOSE_PAIRS, len(apart) - 1)
            most = float(np.partition(apart, wanted)[wanted])
        close = apart <= most
        i, j, lag = i[close], j[close], lag[close]
        return cls._binned(i, j, lag, farthest, most, seen)

    @classmethod
    def _binned(cls, i: IntArray, j: IntArray, lag: FloatArray, farthest: float, apart: float, seen: int) -> _Pairs:
        bins = np.minimum((lag / farthest * limits.VARIOGRAM_BINS).astype(int), limits.VARIOGRAM_BINS - 1)
        count = np.bincount(bins, minlength=limits.VARIOGRAM_BINS)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(bins, lag, limits.VARIOGRAM_BINS) / count
        return cls(i, j, bins, count // seen, mean, apart)

    def semivariance(self, values: FloatArray) -> FloatArray:
        square = (values[self.i] - values[self.j]) ** 2
        weight = np.maximum(np.bincount(self.bin, minlength=limits.VARIOGRAM_BINS), 1)
        return np.asarray(0.5 * np.bincount(self.bin, square, limits.VARIOGRAM_BINS) / weight)
