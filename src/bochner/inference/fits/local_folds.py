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
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import residual_of
from bochner.kernels import Kernel, axis_units, measured
from bochner.neighbours import KnownRows, least_noise, local_kriging, whitening_rows
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


@dataclass(frozen=True)
class WhitenedTrend:
    """Responses and columns of the trend of some rows, each given its neighbours by a kernel, in units of its error.

    Attributes
    ----------
    rows : (t,)
    trend : (t, q)
    y : (t,)
        Less what plain least squares explains.
    plain : (q,)
        Effects by plain least squares.
    step : (q,)
        Size of an effect that moves some row as far as all are spread about those: few times as much is believed.
    """

    rows: IntArray
    trend: FloatArray
    y: FloatArray
    plain: FloatArray
    step: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, noise_variance: float, obs: Observations) -> Self:
        """Of all rows, or of a sample of many; their neighbours are sought among all."""
        coords, n = obs.rows.coords, len(obs)
        noise = np.maximum(obs.copy_variance(noise_variance) / obs.weight, least_noise(kernel, coords))
        order = generator(0, "order of a trend").permutation(n)
        asked = np.arange(max(0, n - limits.TREND_ROWS), n)
        units = axis_units(kernel, np.ptp(coords, axis=0))
        near = measured(coords, units)
        white = whitening_rows(kernel, noise, coords, order, limits.TREND_NEIGHBOURS, asked, near)
        trend = obs.rows.trend
        residual = residual_of(obs)
        plain = np.asarray(np.linalg.lstsq(trend, obs.y - residual, rcond=None)[0], dtype=np.float64)
        spread = max(float(np.sqrt(np.average(residual**2, weights=obs.weight))), 1e-300)
        step = spread / np.maximum(np.abs(trend).max(axis=0), 1e-300)
        return cls(order[asked], np.asarray(white @ trend), np.asarray(white @ residual), plain, step)

    def coefficients(self, among: IntArray | None = None) -> FloatArray:
        """Effects (q,) by the whitened rows, or by those that are among others.

        Of a level that hardly any of them has they say next to nothing: a weak prior keeps it near plain least squares.
        """
        kept = slice(None) if among is None else np.isin(self.rows, among)
        step = limits.TREND_STEPS * self.step
        trend = np.vstack([self.trend[kept] * step, np.eye(len(step))])
        return np.asarray(
            self.plain + step * np.linalg.lstsq(trend, np.r_[self.y[kept], np.zeros(len(step))], rcond=None)[0]
        )


def has_covariates(obs: Observations) -> bool:
    """Whether the trend is more than a constant, of points."""
    return bool(obs.n_trend and not obs.rows.has_areas and np.any(np.ptp(obs.rows.trend, axis=0) > 0))


def residual_beside(kernel: Kernel, noise_variance: float, obs: Observations) -> FloatArray:
    """Responses without the trend that is likeliest beside a field with this kernel."""
    if not has_covariates(obs):
        return residual_of(obs)
    return np.asarray(obs.y - obs.rows.trend @ WhitenedTrend.of(kernel, noise_variance, obs).coefficients())
