"""Held-out predictions from nearest neighbours: a fast stand-in for the full model while tuning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple, Self

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.inference.fits import limits
from bochner.inference.fits.folds import Fold, HeldOut, stacked
from bochner.inference.fits.whitened_trend import WhitenedTrend, has_covariates
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, axis_units
from bochner.neighbours import KnownRows, local_kriging
from bochner.random import generator
from bochner.resources import current, in_threads, n_threads


class Nearest(NamedTuple):
    """Rows that one held out is kriged from: its nearest, and farther ones of each of two thinned sets."""

    near: int
    far: int


IN_GAPS = Nearest(limits.LOCAL_NEIGHBOURS, limits.LOCAL_FAR)
AT_RANDOM = Nearest(limits.RANDOM_NEIGHBOURS, 0)  # others lie all around


def held_out_locally(
    kernel: Kernel,
    obs: Observations,
    noise_variance: float,
    folds: Iterable[Fold],
    most: int = limits.MAX_LOCAL_TARGETS,
    nearest: Nearest = IN_GAPS,
) -> HeldOut:
    """Predictions at (some of) the test rows of each fold from their nearest training rows."""
    return held_out_by_each([(kernel, noise_variance)], obs, folds, most, nearest)[0]


def held_out_by_each(
    pairs: Sequence[tuple[Kernel, float]],
    obs: Observations,
    folds: Iterable[Fold],
    most: int = limits.MAX_LOCAL_TARGETS,
    nearest: Nearest = IN_GAPS,
) -> list[HeldOut]:
    """The same by several kernels with their noise variances: what does not depend on them is made once a fold."""
    folds = list(folds)
    n_systems = sum(min(len(test), most) for _, test in folds)
    trends = [WhitenedTrend.of(*pair, obs) for pair in pairs] if has_covariates(obs) else [None] * len(pairs)

    def known_rows(k: int) -> _Known:
        return _Known.of(obs, k, folds[k], most, nearest, [kernel for kernel, _ in pairs])

    def held_out(asked: tuple[_Known, tuple[tuple[Kernel, float], WhitenedTrend | None]]) -> HeldOut:
        known, ((kernel, noise_variance), trend) = asked
        return known.beside(trend).predicted(kernel, noise_variance, obs, n_systems)

    room = len(folds) * limits.FOLD_BYTES * len(obs) <= limits.FOLD_ROOM * current().room
    known = in_threads(known_rows, range(len(folds))) if room else map(known_rows, range(len(folds)))
    each = list(zip(pairs, trends, strict=True))
    asked = product(known, each) if room else ((rows, one) for rows in known for one in each)
    apart = room and _go_round(len(folds) * len(pairs))
    found = list(in_threads(held_out, asked) if apart else map(held_out, asked))
    return [stacked(found[j :: len(pairs)]) for j in range(len(pairs))]


@dataclass(frozen=True)
class _Known:
    """Training rows of a fold made ready to be kriged from, whatever the kernel, and its test rows."""

    fold: int
    train: IntArray
    test: IntArray
    obs: Observations
    beta: FloatArray
    extent: FloatArray
    nearest: Nearest
    ready: KnownRows

    @classmethod
    def of(cls, obs: Observations, k: int, fold: Fold, most: int, nearest: Nearest, kernels: Sequence[Kernel]) -> Self:
        """The k-th fold; of its test rows, at most so many."""
        train, test = (np.asarray(rows) for rows in fold)
        if len(test) > most:
            test = np.sort(generator(k, "held-out rows").choice(test, most, replace=False))
        known = obs[train]
        coords, trend, root = known.rows.coords, known.rows.trend, np.sqrt(known.weight)
        beta = np.linalg.lstsq(trend * root[:, None], known.y * root, rcond=None)[0] if obs.n_trend else np.zeros(0)
        extent = np.ptp(coords, axis=0)
        ready = KnownRows(coords, *nearest)
        for kernel in kernels:  # now: kernels that are asked side by side build no tree, and look for no neighbours
            ready.find(_units(kernel, extent), obs.rows.coords[test])
        return cls(k, train, test, known, np.asarray(beta, dtype=float), extent, nearest, ready)

    def beside(self, trend: WhitenedTrend | None) -> _Known:
        """The same with the effects of the trend as they are beside a field."""
        return self if trend is None else replace(self, beta=trend.coefficients(self.train))

    def predicted(self, kernel: Kernel, noise_variance: float, obs: Observations, n_systems: int) -> HeldOut:
        """Test rows of `obs`, by a kernel and a noise variance, among so many of all folds."""
        known, test = self.obs, self.test
        mean, variance = local_kriging(
            kernel,
            known.copy_variance(noise_variance) / known.weight,
            known.rows.coords,
            known.y - known.rows.trend @ self.beta,
            obs.rows.coords[test],
            self.nearest.near,
            _units(kernel, self.extent),
            self.nearest.far,
            self.ready,
            n_systems,
        )
        return HeldOut(test, np.full(len(test), self.fold), mean + obs.rows.trend[test] @ self.beta, variance)


def _units(kernel: Kernel, extent: FloatArray) -> FloatArray:
    units = axis_units(kernel, extent)
    return np.ones(len(extent)) if units is None else units


def _go_round(n_tasks: int) -> bool:
    """Whether folds with their kernels go round among the threads; all share each where a few would leave some idle."""
    n = n_threads()
    return n_tasks >= n and (n_tasks % n == 0 or n_tasks >= limits.MANY_ROUNDS * n)
