"""Branches of an integration: the smoothnesses and stretches that are averaged over, with their prior weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference.observed.average import Average
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.averaging import curvature_at_mode, is_informed
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.integration import Integral, integrate
from bochner.inference.tuning.range_grid import Branch
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Matern, Scale


def integrated(
    kernel: Kernel | None,
    obs: Observations,
    search: Search,
    best: Tuned,
    per_axis: Tuned | None,
    each: Sequence[Tuned] = (),
) -> tuple[Average, Choice]:
    """Hyperparameters integrated over, and what is told of it; `kernel` is the one given, if any.

    `each` are those of every smoothness that was climbed, with one length scale.
    """
    scale = search.scale
    if kernel is not None and len(kernel.theta) > 2:
        branches = stretched(kernel, search, best, 0.0)
    else:
        branches = isotropic(kernel, scale, 0.0)
        if per_axis is not None and per_axis.value > best.value - limits.WORTH_STRETCHING:
            odds = limits.STRETCHED_PRIOR
            branches = [*isotropic(kernel, scale, np.log(1 - odds)), *stretched(kernel, search, per_axis, np.log(odds))]
    found = integrate(obs, scale, search.noise_variance, branches, (best.kernel, best.noise_variance), each)
    n_sets = int(np.count_nonzero(found.average.mass))
    text = (
        f"averaged over {n_sets} sets of hyperparameters: {len(obs)} rows (fewer than {limits.MAX_AVERAGING_ROWS}) do "
        f"not pin them down{_told(kernel, found)}"
    )
    return found.average, Choice("intervals", n_sets, text=text)


def _told(kernel: Kernel | None, found: Integral) -> str:
    if kernel is not None:
        return ""
    shares = {nu: found.mass_of(lambda b, nu=nu: b.kernel.nu == nu) for nu in limits.SMOOTHNESS_PRIOR}  # type: ignore[misc]
    told = "; smoothness " + ", ".join(f"{nu:g} ({share:.0%})" for nu, share in shares.items())
    apart = found.mass_of(lambda b: b.stretched)
    return told + (f"; a length scale per axis ({apart:.0%})" if apart else "")


def smoothnesses(kernel: Kernel | None) -> list[tuple[Kernel, float]]:
    """Kernels to average over with the logs of their prior probabilities: the one given, or Matern ones."""
    if kernel is not None:
        return [(kernel, 0.0)]
    return [(Matern(nu=nu), float(np.log(p))) for nu, p in limits.SMOOTHNESS_PRIOR.items()]


def isotropic(kernel: Kernel | None, scale: Scale, log_prior: float) -> list[Branch]:
    """One range for all axes."""
    unit = np.log([float(scale.extent.max())])
    return [Branch(each, unit, log_p + log_prior) for each, log_p in smoothnesses(kernel)]


def in_extents(scale: Scale, log_prior: float) -> list[Branch]:
    """One range in the extents of the axes, which may be in units of their own."""
    units = np.log(scale.extent)
    found = [(each.replace(length_scale=(1.0,) * len(units)), log_p) for each, log_p in smoothnesses(None)]
    return [Branch(each, units, log_p + log_prior) for each, log_p in found]


def is_in_extents(kernel: Kernel, extent: FloatArray) -> bool:
    """Whether the length scales of a kernel are in the ratio of the extents."""
    lengths = np.atleast_1d(getattr(kernel, "length_scale", np.nan))
    return len(lengths) == len(extent) and bool(np.ptp(np.log(lengths / extent)) < limits.SAME_RANGE)


def stretched(kernel: Kernel | None, search: Search, found: Tuned, log_prior: float) -> list[Branch]:
    """Ranges of their own along the axes: nodes of a Gauss-Hermite rule about their best ratios.

    The logs of the ratios are normal a priori, about equality or, where the axes are unlike, about the ratios of the
    extents. A star of nodes at sqrt(3) standard deviations integrates cubics of them exactly.
    """
    extent = search.scale.extent
    dim = len(extent)
    contrast = _contrasts(dim)
    apart = unlike(extent)
    level = np.log(extent).mean() if apart else np.log(extent.max())
    centre = contrast.T @ np.log(extent) if apart else np.zeros(dim - 1)
    mode = contrast.T @ found.kernel.theta[:dim]
    covariance = _ratio_covariance(search, found, contrast)
    root = np.linalg.cholesky(covariance)
    branches = []
    for z, weight in _star(dim - 1):
        ratios = mode + root @ z
        log_density = -0.5 * np.sum(((ratios - centre) / limits.RATIO_SD) ** 2) - (dim - 1) * np.log(limits.RATIO_SD)
        # the rule is one for the normal density; what is integrated is everything else
        log_node = np.log(weight) + 0.5 * z @ z + np.sum(np.log(np.diag(root))) + log_density
        for each, log_p in smoothnesses(kernel):
            per_axis = each.replace(length_scale=(1.0,) * dim)
            ring = 2 if z.any() else 1
            branches.append(
                Branch(per_axis, level + contrast @ ratios, float(log_p + log_prior + log_node), ring, weight)
            )
    return branches


def _contrasts(dim: int) -> FloatArray:
    """Orthonormal contrasts of the axes, (dim, dim - 1)."""
    return np.asarray(np.linalg.qr(np.column_stack([np.ones(dim), np.eye(dim)[:, : dim - 1]]))[0][:, 1:])


def _ratio_covariance(search: Search, found: Tuned, contrast: FloatArray) -> FloatArray:
    """Posterior covariance of the log ratios, the Gaussian prior included."""
    dim = len(contrast)
    if is_informed(search):
        covariance = _as_it_falls(search, found, contrast)
    else:
        covariance = contrast.T @ _inverse(curvature_at_mode(search, found))[:dim, :dim] @ contrast
    return np.asarray(np.linalg.inv(np.linalg.inv(covariance) + np.eye(dim - 1) / limits.RATIO_SD**2))


def _inverse(curvature: FloatArray) -> FloatArray:
    """Covariance, no wider than is known in advance."""
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray((vectors / np.maximum(values, 1 / limits.WIDEST**2)) @ vectors.T)


def _as_it_falls(search: Search, found: Tuned, contrast: FloatArray) -> FloatArray:
    """Covariance of the log ratios along the axes that the information foretells, as wide as the evidence there.

    Of many rows slopes are dear, and the information alone is wrong where the field is no such field.
    """
    n_free = len(found.kernel.theta) + (search.noise_variance is None)
    whole = _inverse(search.information_at(found.kernel, found.noise_variance)[:n_free, :n_free])[:, : len(contrast)]
    values, axes = np.linalg.eigh(contrast.T @ whole[: len(contrast)] @ contrast)
    point = np.r_[found.kernel.theta, np.log(max(found.noise_variance, 1e-300))]
    scales = []
    for value, axis in zip(values, axes.T, strict=True):
        step = np.zeros(len(point))
        step[:n_free] = whole @ contrast @ axis / np.sqrt(value)  # of one sd, the others at their best
        ends = [point + sign * step for sign in (-1, 1)]
        falls = [found.value - search.value(found.kernel.with_theta(e[:-1]), float(np.exp(e[-1]))) for e in ends]
        scales.append(value / np.clip(np.mean(falls) * 2, 1 / limits.FALL_RATIO, limits.FALL_RATIO))
    return np.asarray((axes * np.array(scales)) @ axes.T)


def _star(k: int) -> Iterator[tuple[FloatArray, float]]:
    """Points and weights for a standard normal law in k <= 2 dimensions."""
    yield np.zeros(k), 1 - k / 3
    for axis in np.eye(k):
        for sign in (-1.0, 1.0):
            yield sign * np.sqrt(3) * axis, 1 / 6
