"""Sums of scales: a short, a middle and a long field with one anisotropy, fitted where a map is judged.

The likelihood of every row given its neighbours is decided by the shortest scale. So it is taken of rows whose
predecessors lie about as far off as data lie from the places to be predicted. The coordinates are whitened by the
anisotropy of a single field first: what is left to learn are three lengths and three variances.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.features import Rows
from bochner.inference.evidence.objective import Objective
from bochner.inference.evidence.vecchia_evidence import VecchiaEvidence
from bochner.inference.fits.folds import Fold
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning import limits
from bochner.inference.tuning.further_fields import gain_of_fields
from bochner.inference.tuning.informed_climb import Rival
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Matern, Sum
from bochner.kernels.anisotropy import turned, whitening
from bochner.neighbours import SharedOrder, Vecchia
from bochner.resources import in_threads, n_threads

# lengths of short and middle in those of the single field; long, in the extent of the data


def fit_sum(
    single: Tuned,
    noise_variance: float | None,
    obs: Observations,
    folds: list[Fold],
    seed: int,
    shared: SharedOrder | None = None,
    worth: float = limits.WORTH_LIKELIHOOD,
    beside: Search | None = None,
) -> tuple[Tuned | None, float]:
    """Sum of Matern fields of smoothness 3/2, 1/2 and 3/2, with the directions of a single one, and what it gains.

    None, if already a coarse sample of the rows finds it more likely than the single field by less than `worth`, or if
    the slopes of the likelihood `beside` the single field foretell that.
    `noise_variance` is None if it is to be learned; `folds` show how far the wanted places lie from data; `shared`
    holds the order of the rows for `fit_rough_sum`, too.
    """
    white, shared = _whitened(obs, single.kernel), SharedOrder() if shared is None else shared
    extent = float(np.ptp(white.rows.coords, axis=0).max())
    starts = [_start(single, extent, *lengths) for lengths in limits.SUM_STARTS]
    if beside is not None and single.kernel.nu >= limits.SMOOTH_ENOUGH:  # type: ignore[attr-defined]
        peak = replace(beside, enough=limits.NEAR_PEAK).maximise(single.kernel, single.noise_variance)
        asked = [*starts, *_shorter(starts, single, extent)]
        foreseen = gain_of_fields(peak, _coloured(reduce(Sum, asked), single.kernel).leaves(), beside)
        if foreseen < limits.FORESEEN_SHARE * worth:
            return None, foreseen
    scale = scale_of(white)
    coarse = Search(_likelihood(white, limits.SUM_COARSE_POINTS, 12, None, seed, shared), scale, noise_variance)
    plain = single.kernel.replace(length_scale=1.0, rotation=None)
    one = coarse.maximise(plain, single.noise_variance, limits.SUM_ITERATIONS, limits.SETTLED)
    # a sum holds the single field, nearly: that much it reaches in the end, by whichever way
    rival = Rival(one.value + worth, dear=True, ledge=one.value - limits.SUM_LEDGE)
    drafts = [
        coarse.maximise(k, single.noise_variance, limits.SUM_ITERATIONS, limits.SETTLED, against=rival) for k in starts
    ]
    draft = max(drafts, key=lambda t: t.value)
    gained = draft.value - one.value
    if gained < worth:
        return None, gained
    n_first = max(limits.MIN_MATCHED_ORDER, int(_share_of_order(white.rows.coords, folds) * len(obs)))
    matched = Search(_likelihood(white, limits.SUM_MATCHED_POINTS, 20, n_first, seed, shared), scale, noise_variance)
    best = matched.maximise(draft.kernel, draft.noise_variance, limits.SUM_ITERATIONS, limits.SETTLED)
    return replace(best, kernel=_coloured(bounded_fields(best.kernel, scale.variance), single.kernel)), gained


def fit_rough_sum(
    single: Tuned, noise_variance: float | None, obs: Observations, seed: int, shared: SharedOrder
) -> Tuned:
    """Sum of a short and a long exponential field with the directions of a single one: no part extrapolates a slope."""
    white = _whitened(obs, single.kernel)
    scale = scale_of(white)
    coarse, fine = (
        Search(_likelihood(white, n, k, None, seed, shared), scale, noise_variance)
        for n, k in ((limits.SUM_COARSE_POINTS, 12), (limits.SUM_MATCHED_POINTS, 20))
    )
    variance = single.kernel.variance  # type: ignore[attr-defined]
    starts = [
        Sum(
            *(
                Matern(l, s * variance, nu=nu)
                for l, s, nu in zip(lengths, limits.ROUGH_SHARES, limits.ROUGH_SUM, strict=True)
            )
        )
        for lengths in limits.ROUGH_STARTS
    ]
    drafts = [coarse.maximise(k, single.noise_variance, limits.SUM_ITERATIONS, limits.SETTLED) for k in starts]
    draft = max(drafts, key=lambda t: t.value)
    best = fine.maximise(draft.kernel, draft.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)
    return replace(best, kernel=_coloured(bounded_fields(best.kernel, scale.variance), single.kernel))


def bounded_fields(kernel: Kernel, variance: float) -> Kernel:
    """Fields of a sum whose variance is no more than some multiple of the data's.

    A smaller variance with a length scale shorter by its power has the same increments between near places, and
    returns to the mean where the larger would go on.
    """
    most, parts = limits.MAX_FIELD_VARIANCE * variance, []
    for field in kernel.leaves():
        size, now, nu = field.length_scale, field.variance, field.nu  # type: ignore[attr-defined]
        if now > most:
            field = field.replace(variance=most, length_scale=float(size * (most / now) ** (0.5 / nu)))
        parts.append(field)
    return reduce(Sum, parts)


def _likelihood(
    obs: Observations, n_points: int, n_neighbours: int, n_first: int | None, seed: int, shared: SharedOrder
) -> Objective:
    plan = Vecchia.plan(
        *obs.columns,
        n_neighbours=n_neighbours,
        n_points=n_points,
        n_first=n_first,
        coarse_share=0.25 if n_first is None else 0.5,
        seed=seed,
        shared=shared,
    )
    return VecchiaEvidence(plan, True)


def _share_of_order(coords: FloatArray, folds: list[Fold]) -> float:
    """First share of a coarse-to-fine order: its points lie half as far apart as wanted places from data, or more."""

    def to_data(fold: Fold) -> FloatArray:
        train, test = fold
        return np.asarray(cKDTree(coords[train]).query(coords[test])[0])

    away = np.median(np.concatenate(list(in_threads(to_data, folds))))
    apart = np.median(cKDTree(coords).query(coords, k=2, workers=n_threads())[0][:, 1])
    return float(min(1.0, (2 * apart / max(away, 1e-300)) ** coords.shape[1]))


def _start(single: Tuned, extent: float, short: float, middle: float, long: float) -> Kernel:
    lengths = (short, middle, long * extent)
    variance = single.kernel.variance  # type: ignore[attr-defined]
    fields: list[Kernel] = [
        Matern(l, s * variance, nu=nu)
        for l, s, nu in zip(lengths, limits.SUM_SHARES, limits.SUM_SMOOTHNESS, strict=True)
    ]
    return reduce(Sum, fields)


def _shorter(starts: list[Kernel], single: Tuned, extent: float) -> list[Kernel]:
    """Fields shorter than those that a climb starts from: one rough and long field plays a short and a long one."""
    least = min(field.length_scale for start in starts for field in start.leaves())  # type: ignore[attr-defined]
    variance, nu = single.kernel.variance, limits.SUM_SMOOTHNESS[0]  # type: ignore[attr-defined]
    lengths = [share * extent for share in limits.SHORTER_ASKED if share * extent < least]
    return [Matern(length, limits.SUM_SHARES[0] * variance, nu=nu) for length in lengths]


def _whitened(obs: Observations, kernel: Kernel) -> Observations:
    """The same rows in coordinates in which the kernel is isotropic, of length scale 1."""
    scale, rotation = kernel.length_scale, kernel.rotation  # type: ignore[attr-defined]
    coords = obs.rows.coords
    # a triangular root: of places in other units of the axes it makes the same coordinates
    coords = coords / np.asarray(scale) if rotation is None else turned(coords, _triangular(whitening(scale, rotation)))
    return replace(obs, rows=Rows(coords, obs.rows.trend))


def _triangular(root: FloatArray) -> FloatArray:
    """The root of the same metric that leaves the direction of the first axis as it is."""
    upper = np.linalg.qr(root, mode="r")
    return np.asarray(upper * np.sign(np.diag(upper))[:, None])


def _coloured(white: Kernel, kernel: Kernel) -> Kernel:
    """A sum of isotropic fields in whitened coordinates, as fields in the coordinates themselves."""
    scale, rotation = kernel.length_scale, kernel.rotation  # type: ignore[attr-defined]
    fields = []
    for field in sorted(white.leaves(), key=lambda leaf: leaf.length_scale):  # type: ignore[attr-defined]
        size = field.length_scale  # type: ignore[attr-defined]
        sizes = tuple(float(size * v) for v in scale) if isinstance(scale, tuple) else float(size * scale)
        fields.append(field.replace(length_scale=sizes, rotation=rotation))
    return reduce(Sum, fields)
