"""Quadrature: a family averaged over a linear predictor that is known up to a Gaussian.

Every function takes one Gaussian per row, eta ~ N(mean, variance), and works through the rows in chunks. The
integrands are analytic and fall off fast, for which the trapezoidal rule converges exponentially; what matters is that
its nodes lie where the integrand changes: about the Gaussian where that is the narrower part, about the observation
where that is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bochner.arrays import FloatArray
from bochner.families import Family
from bochner.families.averages import REACH, in_chunks

_NODES = 60
_STEP = 0.36
_PANEL_NODES = 240
# Nodes beyond which the components of a mixture have too little in common to share them.
_MOST_SHARED = 150


def log_evidence(family: Family, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
    r"""Log density of an observation, :math:`\log \int p(y \mid \eta)\, N(\eta; m, v)\, d\eta`."""
    rows = [y, mean, family.link_function.floored(variance, mean), size]
    if not family.link_function.smooth:
        return in_chunks(family.log_average, _PANEL_NODES, *rows)
    out = in_chunks(lambda *chunk: _log_evidence(family, *chunk), _NODES, *rows)
    # A flat likelihood that ends in a step has no scale of its own, unless only its end matters.
    edge = (out > -5) & ((y == 0) | (y == size) & family.bounded_by_size) & family.discrete
    if edge.any():
        out[edge] = _edge_log_evidence(family, *(values[edge] for values in rows))
    return out


def cdf(family: Family, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
    r"""Probability of an observation not above y, :math:`\int P(Y \le y \mid \eta)\, N(\eta; m, v)\, d\eta`."""
    return mixture_cdf(family, y, mean[None], variance[None], np.ones(1), size)


def mixture_cdf(
    family: Family, y: FloatArray, means: FloatArray, variances: FloatArray, mass: FloatArray, size: FloatArray
) -> FloatArray:
    """The same for an eta that is a mixture: means and variances (components, n), masses (components,).

    The components share their nodes, so that what the family costs is paid once.
    """
    variances = family.link_function.floored(variances, means)
    if family.discrete:
        y = np.floor(y)
    below = y <= 0 if family.positive_only else y < 0
    inside = ~below & ((y < size) | (not family.bounded_by_size))
    out = np.where(below, 0.0, 1.0)
    rows = [values[..., inside] for values in (y, means, variances, size)]
    if len(rows[0]):
        rule, n_nodes = (_cdf, _NODES) if family.link_function.smooth else (_each_cdf, _PANEL_NODES)
        out[inside] = in_chunks(lambda *chunk: rule(family, mass, *chunk), n_nodes, *rows)
    return np.clip(out, 0.0, 1.0)


def _log_evidence(
    family: Family, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray
) -> FloatArray:
    """Nodes about the mode of the integrand, close at its own scale and reaching as far as it does."""
    mode, scale = _mode(family, y, mean, variance, size)

    def log_integrand(t: FloatArray) -> FloatArray:
        step = scale * np.sinh(t)
        log_prior = -0.5 * (mode - mean + step) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
        return np.asarray(family.log_density(y, mode + step, size) + log_prior)

    tried = np.linspace(0, 1, 13)[1:, None] * np.arcsinh(REACH * np.sqrt(variance) / scale)
    peak = log_integrand(np.zeros_like(mean))
    low, high = (sign * _first(tried, log_integrand(sign * tried) < peak - 40) for sign in (-1.0, 1.0))
    t = low + (high - low) * np.linspace(0, 1, _NODES)[:, None]
    total = special.logsumexp(log_integrand(t) + np.log(np.cosh(t)), axis=0)
    return np.asarray(total + np.log((high - low) / (_NODES - 1) * scale))


def _first(tried: FloatArray, holds: NDArray[np.bool_]) -> FloatArray:
    """First value of each column at which something holds, else its last."""
    return np.asarray(np.min(np.where(holds, tried, tried[-1]), axis=0))


def _edge_log_evidence(
    family: Family, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray
) -> FloatArray:
    """Log probability of none, or of all trials: a step in eta, which the distribution function resolves."""
    none = y == 0
    below = cdf(family, np.where(none, 0.0, size - 1), mean, variance, size)
    with np.errstate(divide="ignore"):
        return np.log(np.where(none, below, 1 - below))


def _mode(
    family: Family, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mode of p(y | eta) N(eta; mean, variance) and its scale, by Newton's method in a bracket.

    The log is concave, and its slope falls; so each point tried tells on which side of it the mode lies.
    """
    start = family.start(y, size)
    low, high = np.full_like(mean, -np.inf), np.full_like(mean, np.inf)
    eta = mean
    for tried in (mean, start):
        d = family.derivatives(y, tried, size)
        up = d.score >= (tried - mean) / variance
        low, high = np.where(up, np.maximum(low, tried), low), np.where(up, high, np.minimum(high, tried))
        # the mode is mean + variance * score(mode), and the score falls
        bound = mean + variance * d.score
        low, high = np.where(up, low, np.maximum(low, bound)), np.where(up, np.minimum(high, bound), high)
        eta = (eta / variance + d.curvature * tried) / (1 / variance + d.curvature)
    for _ in range(40):
        eta = np.where((eta >= low) & (eta <= high), eta, 0.5 * (low + high))
        d = family.derivatives(y, eta, size)
        slope, curvature = d.score - (eta - mean) / variance, d.curvature + 1 / variance
        low, high = np.where(slope >= 0, eta, low), np.where(slope >= 0, high, eta)
        step = slope / curvature
        if np.all(np.abs(step) * np.sqrt(curvature) < 1e-4):
            break
        eta = eta + step
    return eta, 1 / np.sqrt(curvature)


def _cdf(
    family: Family, mass: FloatArray, y: FloatArray, means: FloatArray, variances: FloatArray, size: FloatArray
) -> FloatArray:
    """By parts, unless P(Y <= y | eta) hardly changes in eta where a Gaussian lies."""
    centre = family.start(y, size)
    width = 1 / np.sqrt(np.maximum(family.derivatives(y, centre, size).curvature, 1e-300))
    sds = np.sqrt(variances)
    out, steep = np.empty_like(y), width < 2 * sds.min(axis=0)
    alike = n_nodes_of(means, sds, 2 * _STEP * sds.min(axis=0)) <= _MOST_SHARED
    flat, apart = ~steep & alike, ~steep & ~alike
    if flat.any():
        out[flat] = _mean_of_cdf(family, mass, *(values[..., flat] for values in (y, means, sds, size)))
    if apart.any():
        pairs = zip(means[:, None, apart], variances[:, None, apart], strict=True)
        out[apart] = mass @ np.stack([_cdf(family, np.ones(1), y[apart], *pair, size[apart]) for pair in pairs])
    if steep.any():
        rows = (values[..., steep] for values in (y, means, sds, size, centre, width))
        out[steep] = _cdf_by_parts(family, mass, *rows)
    return out


def _each_cdf(
    family: Family, mass: FloatArray, y: FloatArray, means: FloatArray, variances: FloatArray, size: FloatArray
) -> FloatArray:
    """By the family itself, one component after the other."""
    pairs = zip(means, variances, strict=True)
    return np.asarray(mass @ np.stack([family.average_cdf(y, *pair, size) for pair in pairs]))


def _mean_of_cdf(
    family: Family, mass: FloatArray, y: FloatArray, means: FloatArray, sds: FloatArray, size: FloatArray
) -> FloatArray:
    eta, weight = mixture_nodes(means, sds, mass, 2 * _STEP * sds.min(axis=0))
    return np.asarray((weight * family.cdf(y, eta, size)).sum(axis=0))


def mixture_nodes(
    means: FloatArray, sds: FloatArray, mass: FloatArray, step: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Trapezoidal nodes and weights (nodes, n) of a mixture of Gaussians, no farther apart than a step (n,)."""
    low, high = np.min(means - REACH * sds, axis=0), np.max(means + REACH * sds, axis=0)
    eta = low + (high - low) * np.linspace(0, 1, int(np.max(n_nodes_of(means, sds, step))))[:, None]
    weight = np.zeros_like(eta)
    for share, mean, sd in zip(mass, means, sds, strict=True):
        weight += share / sd * np.exp(-0.5 * ((eta - mean) / sd) ** 2)
    return eta, weight / weight.sum(axis=0)


def n_nodes_of(means: FloatArray, sds: FloatArray, step: FloatArray) -> FloatArray:
    """Nodes that each row's mixture needs, (n,)."""
    return np.asarray(
        np.ceil((np.max(means + REACH * sds, axis=0) - np.min(means - REACH * sds, axis=0)) / step - 1e-9) + 1
    )


def _cdf_by_parts(
    family: Family,
    mass: FloatArray,
    y: FloatArray,
    means: FloatArray,
    sds: FloatArray,
    size: FloatArray,
    centre: FloatArray,
    width: FloatArray,
) -> FloatArray:
    """P(Y <= y) = int f(eta) Phi((eta - mean) / sd), with f minus the slope of P(Y <= y | eta), a density in eta.

    The tails of f fall like exp(-|eta - centre|) or faster, of a dispersed family like its power 1 / dispersion.
    """
    tail = np.minimum(30 * width**2, 25 * max(1.0, family.dispersion or 1.0))
    t = np.linspace(-1, 1, _NODES)[:, None] * np.arcsinh(np.maximum(20 * width, tail) / width)
    eta = centre + width * np.sinh(t)
    weight = family.cdf_slope(y, eta, size) * np.cosh(t)
    below = np.zeros_like(eta)
    for share, mean, sd in zip(mass, means, sds, strict=True):
        below += share * special.ndtr((eta - mean) / sd)
    return np.asarray((weight * below).sum(axis=0) / weight.sum(axis=0))
