"""Averaging over hyperparameters, for data too few to pin them down.

A plug-in interval pretends that the range and the variance are known. Below a few hundred rows
that makes it too narrow, so predictions are averaged over a few points around the best ones. Where
there is one Gaussian field, `integration` does better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.observed.average import Average
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import bounds
from bochner.inference.tuning.search import Search, Tuned
from bochner.inference.tuning.selection import due
from bochner.kernels import Kernel


def average(search: Search, tuned: Tuned) -> Average:
    """Points along the axes of the Gaussian approximation at the mode, weighted by the true objective."""
    mode, intervals, free = _free_part(search, tuned)
    k = int(free.sum())
    if not k:
        return Average.single(tuned.kernel, tuned.noise_variance)
    told = is_informed(search)
    values, vectors = np.linalg.eigh(_curvature(search, tuned, mode, free, by_information=told))
    widths = 1 / np.sqrt(np.maximum(values, 1 / limits.WIDEST**2))
    radius = limits.DESIGN_REACH * np.sqrt(k)
    points, log_mass = [mode], [np.log(1 - 1 / limits.DESIGN_REACH**2)]
    for width, direction in zip(widths, vectors.T, strict=True):

        def ends(reach: float, along: FloatArray = direction) -> tuple[list[FloatArray], FloatArray]:
            """Points on both sides, and how the objective falls to them."""
            both = [mode.copy(), mode.copy()]
            both[0][free] -= reach * along
            both[1][free] += reach * along
            both = [np.clip(point, *intervals.T) for point in both]
            return both, tuned.value - np.array([search.value(*_unpack(search, tuned.kernel, p)) for p in both])

        both, falls = ends(radius * width)
        ratio = _fallen(falls / (radius**2 / 2)) if told else 1.0
        if ratio != 1.0:
            both, falls = ends(radius * min(width / np.sqrt(ratio), limits.WIDEST))
        points += both
        # mass of the design points under the Gaussian, corrected by how wrong the Gaussian is there
        log_mass += list(-np.log(2 * radius**2) + np.clip(radius**2 / 2 - falls, -3.0, 3.0))
    mass = np.exp(np.array(log_mass) - np.max(log_mass))
    kernels, noises = zip(*(_unpack(search, tuned.kernel, p) for p in points), strict=True)
    return Average(tuple(kernels), np.array(noises), mass / mass.sum())


def _fallen(ratios: FloatArray) -> float:
    """How much more curved the objective is than foretold, where it falls more on both sides, or less on both."""
    least, most = float(ratios.min()), float(ratios.max())
    ratio = least if least > limits.ALIKE_FALL else most if most < 1 / limits.ALIKE_FALL else 1.0
    return float(np.clip(ratio, 1 / limits.FALL_RATIO, limits.FALL_RATIO))


def is_informed(search: Search) -> bool:
    """Whether widths are told by the information and by what the objective falls: slopes of many rows are dear."""
    objective = search.objective
    return isinstance(objective, ExactEvidence) and len(objective.obs) >= limits.THRIFTY_ROWS


def average_of_several(search: Search, found: Sequence[Tuned]) -> Average:
    """The same for kernels of several forms, weighted by what the objective is at their modes."""
    top = max(tuned.value for tuned in found)
    found = [tuned for tuned in found if tuned.value > top + np.log(limits.LEAST_MASS)]
    each = [average(search, tuned) for tuned in found]
    odds = np.exp(np.array([tuned.value for tuned in found]) - top)
    mass = np.concatenate([share * part.mass for share, part in zip(odds / odds.sum(), each, strict=True)])
    kernels = tuple(kernel for part in each for kernel in part.kernels)
    noises = np.concatenate([part.noise_variances for part in each])
    kept = mass > limits.LEAST_MASS * mass.max()
    kept[0] = True
    chosen = np.flatnonzero(kept)
    return Average(tuple(kernels[i] for i in chosen), noises[chosen], mass[chosen] / mass[chosen].sum())


def with_rivals(found: Average, best: Tuned, rivals: Sequence[Tuned]) -> Average:
    """The same with kernels of other forms beside those around the best, by what the objective is at their modes."""
    if not rivals:
        return found
    standing = best.value - due(best, limits.SMOOTHER_TOLL)
    odds = [float(np.exp(min(r.value - due(r, limits.SMOOTHER_TOLL) - standing, 0.0))) for r in rivals]
    kept = [(rival, share) for rival, share in zip(rivals, odds, strict=True) if share > limits.LEAST_RIVAL]
    mass = np.r_[found.mass, [share for _, share in kept]]
    noises = np.r_[found.noise_variances, [rival.noise_variance for rival, _ in kept]]
    return Average((*found.kernels, *(rival.kernel for rival, _ in kept)), noises, mass / mass.sum())


def curvature_at_mode(search: Search, tuned: Tuned) -> FloatArray:
    """Minus the Hessian of the objective in the free entries of [theta, log noise variance]."""
    mode, _, free = _free_part(search, tuned)
    return _curvature(search, tuned, mode, free)


def _curvature(
    search: Search, tuned: Tuned, mode: FloatArray, free: FloatArray, *, by_information: bool = False
) -> FloatArray:
    """By differences of slopes, or the information; parameters of the objective's own follow the others."""
    hidden = search.hidden(tuned.kernel, tuned.noise_variance)
    moved = np.r_[free, np.ones(len(hidden), dtype=bool)]
    if by_information:
        hessian = search.information_at(tuned.kernel, tuned.noise_variance, hidden)[np.ix_(moved, moved)]
    else:
        hessian = _by_slopes(search, tuned, mode, hidden, moved)
    k = int(free.sum())
    follow = np.asarray(np.linalg.lstsq(hessian[k:, k:], hessian[k:, :k], rcond=None)[0], dtype=np.float64)
    search.hidden(tuned.kernel, tuned.noise_variance)  # back at the mode
    search.follows(tuned.kernel, -follow, hessian[k:, k:])
    return np.asarray(hessian[:k, :k] - hessian[:k, k:] @ follow)


def _by_slopes(search: Search, tuned: Tuned, mode: FloatArray, hidden: FloatArray, moved: FloatArray) -> FloatArray:
    """Minus the Hessian by differences of slopes.

    Those of the exact evidence are so exact that a short step to one side is enough, and dear; of many counts or
    classes they are dear.
    """
    n, whole = len(mode), np.r_[mode, hidden]
    exact = isinstance(search.objective, ExactEvidence)
    step = limits.ONE_SIDED_STEP if exact else limits.CENTRAL_STEP

    def slopes(point: FloatArray) -> FloatArray:
        at = tuned.kernel, tuned.noise_variance  # itself, to the last digit, for what is known of it
        at = at if np.array_equal(point[:n], mode) else _unpack(search, tuned.kernel, point[:n])
        return search.evaluate_jointly(*at, point[n:])[1][moved]

    dear = isinstance(search.objective, InformedLaplace) and search.objective.largest >= limits.THRIFTY_ROWS
    at_mode = slopes(whole) if exact or dear else None
    columns = []
    for e in step * np.eye(len(whole))[moved]:
        ahead = slopes(whole + e)
        columns.append((slopes(whole - e) - ahead) / (2 * step) if at_mode is None else (at_mode - ahead) / step)
    return np.asarray((np.array(columns) + np.array(columns).T) / 2)


def _free_part(search: Search, tuned: Tuned) -> tuple[FloatArray, FloatArray, FloatArray]:
    learned = search.noise_variance is None
    mode = np.r_[tuned.kernel.theta, np.log(tuned.noise_variance) if tuned.noise_variance > 0 else 0.0]
    free = np.r_[np.ones(len(mode) - 1, dtype=bool), learned]
    return mode, np.array(bounds(tuned.kernel, search.scale, search.least_noise)), free


def _unpack(search: Search, kernel: Kernel, point: FloatArray) -> tuple[Kernel, float]:
    noise = float(np.exp(point[-1])) if search.noise_variance is None else search.noise_variance
    return kernel.with_theta(point[:-1]), noise
