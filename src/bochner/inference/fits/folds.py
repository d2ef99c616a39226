"""Folds: which rows are held out together, and what was predicted of them, by the model or by nearest neighbours.

The hyperparameters are held. For a Gaussian model the answer is exact: removing rows from a linear model is a small
update of its posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.inference.observed.observations import NOTHING_LEFT, Observations
from bochner.inference.observed.task import residual_of
from bochner.kernels import Kernel, axis_units, measured
from bochner.neighbours import KnownRows, least_noise, local_kriging, whitening_rows
from bochner.random import generator
from bochner.resources import current, in_threads, n_threads

MAX_LOCAL_TARGETS = 1_500  # held-out rows of a fold that neighbours predict: enough to rank kernels

Fold = tuple[IntArray, IntArray]  # training rows, test rows
Refit = Callable[[IntArray, IntArray], tuple[FloatArray, FloatArray]]
"""Rows taken out, and which of them are wanted, to mean and variance of the wanted ones."""


@dataclass(frozen=True)
class HeldOut:
    """Predictions at test rows by a model that was not given them: latent mean and variance."""

    index: IntArray
    fold: IntArray
    mean: FloatArray
    variance: FloatArray


def with_weight(weight: FloatArray, folds: Iterable[Fold] | None) -> tuple[list[Fold] | None, IntArray]:
    """Folds of the rows with a positive weight, and which rows those are: a row without weight is not there."""
    kept = np.flatnonzero(weight > 0)
    if folds is None or len(kept) == len(weight):
        return None if folds is None else list(folds), kept
    position = np.cumsum(weight > 0) - 1
    parts = [tuple(position[rows[weight[rows] > 0]] for rows in fold) for fold in folds]
    return [(train, test) for train, test in parts if len(test)], kept


def each_fold(folds: Iterable[Fold], n: int, refit: Refit) -> HeldOut:
    """Predictions of every fold, one after the other."""
    parts = []
    for k, (train, test) in enumerate(folds):
        if not len(train) or not len(test):
            raise InputError(f"fold {k} has {len(train)} training and {len(test)} test rows; both must have some.")
        # rows in neither (a buffer) are removed as well, and not predicted
        left = np.ones(n, dtype=bool)
        left[train] = False
        out = np.flatnonzero(left)
        mean, variance = refit(out, np.searchsorted(out, test))
        parts.append(HeldOut(np.asarray(test), np.full(len(test), k), mean, variance))
    return stacked(parts)


def stacked(parts: Sequence[HeldOut]) -> HeldOut:
    """Predictions of several folds as one."""
    columns = ([part.index, part.fold, part.mean, part.variance] for part in parts)
    index, fold, mean, variance = (np.concatenate(column) for column in zip(*columns, strict=True))
    return HeldOut(index, fold, mean, variance)


def with_a_trend(refit: Refit, obs: Observations) -> Refit:
    """The refit, refused where the rows that are left do not tell every effect of the trend.

    With Q an orthonormal basis of the trend, the share of each effect that is left is an eigenvalue of
    I - Q_B'Q_B: zero but for rounding, whatever the kernel, where the block B holds all that is known of one.
    """
    if obs.trend_precision is not None or not obs.n_trend:
        return refit
    basis = obs.trend_basis

    def checked(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
        taken = basis[out]
        if np.linalg.eigvalsh(taken.T @ taken)[-1] > 1 - NOTHING_LEFT:
            raise _undetermined(len(out), len(obs))
        return refit(out, keep)

    return checked


def one_by_one(obs: Observations, mean: FloatArray, variance: FloatArray) -> HeldOut:
    """Predictions of each row from all others.

    A row that alone tells an effect of the trend is not among them: the others say nothing of it.
    """
    rows = np.flatnonzero(~obs.alone)
    return HeldOut(rows, rows, mean[rows], variance[rows])


def block_root(matrix: FloatArray, n: int) -> FloatArray:
    """Cholesky root of the precision of a held-out block; refused where the trend cannot do without it."""
    try:
        return np.asarray(linalg.cholesky(matrix, lower=True))
    except linalg.LinAlgError:
        raise _undetermined(len(matrix), n) from None


def _undetermined(n_out: int, n: int) -> InputError:
    return InputError(
        f"leaving out {n_out} of {n} rows leaves the trend undetermined; use smaller blocks or fewer covariates."
    )


def none_to_spare(n: int) -> InputError:
    """What to say of rows each of which alone tells an effect."""
    return InputError(
        f"the trend has as many effects as there are rows ({n}), and says nothing of a row that is left out; give "
        f"fewer covariates, or more rows."
    )


class Nearest(NamedTuple):
    """Rows that one held out is kriged from: its nearest, and farther ones of each of two thinned sets."""

    near: int
    far: int


IN_GAPS = Nearest(36, 12)
AT_RANDOM = Nearest(16, 0)  # others lie all around


def held_out_locally(
    kernel: Kernel,
    obs: Observations,
    noise_variance: float,
    folds: Iterable[Fold],
    most: int = MAX_LOCAL_TARGETS,
    nearest: Nearest = IN_GAPS,
) -> HeldOut:
    """Predictions at (some of) the test rows of each fold from their nearest training rows."""
    return held_out_by_each([(kernel, noise_variance)], obs, folds, most, nearest)[0]


def held_out_by_each(
    pairs: Sequence[tuple[Kernel, float]],
    obs: Observations,
    folds: Iterable[Fold],
    most: int = MAX_LOCAL_TARGETS,
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

    room = 300 * len(folds) * len(obs) <= 0.1 * current().room  # bytes: a row's copy, its place in trees
    known = in_threads(known_rows, range(len(folds))) if room else map(known_rows, range(len(folds)))
    each = list(zip(pairs, trends, strict=True))
    asked = product(known, each) if room else ((rows, one) for rows in known for one in each)
    apart = room and len(folds) * len(pairs) >= 4 * n_threads()  # all share each where a few would leave some idle
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
    def of(cls, kernel: Kernel, noise_variance: float, obs: Observations, most: int = 6_000) -> Self:
        """Of all rows, or of a sample of many; 20 neighbours of each are sought among all."""
        coords, n = obs.rows.coords, len(obs)
        noise = np.maximum(obs.copy_variance(noise_variance) / obs.weight, least_noise(kernel, coords))
        order = generator(0, "order of a trend").permutation(n)
        asked = np.arange(max(0, n - most), n)
        units = axis_units(kernel, np.ptp(coords, axis=0))
        near = measured(coords, units)
        white = whitening_rows(kernel, noise, coords, order, 20, asked, near)
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
        step = 10 * self.step
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
