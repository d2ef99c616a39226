"""Ranked probability scores of responses, one per observation.

The score is the sum over all counts j of (P(Y <= j) - 1{y <= j})^2, or the integral over amounts. Up to `_EXACT` counts
that can occur are summed one by one. Of more, three counts at a time carry a parabola: between the ends of the law, its
median and y, in steps that grow with the distance. The relative error is below 1e-3.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bochner.arrays import FloatArray
from bochner.families import Gaussian
from bochner.posterior.quadrature import REACH, is_bounded, normal_nodes
from bochner.validation.scores import crps_mixture_rows

if TYPE_CHECKING:
    from bochner.posterior.response import Response

_TAIL = 1e-6
_EXACT = 64
_MOST_NODES = 512
_CHUNK = 2**15
_PANELS = 12


def ranked_probability_score(response: Response, y: FloatArray) -> FloatArray:
    """Continuous ranked probability score of every observation, in the unit of y."""
    eta = response.eta
    if isinstance(response.family, Gaussian):
        return crps_mixture_rows(y, eta.means, np.sqrt(eta.variances), eta.mass)
    low, high = response.quantile(_TAIL), response.quantile(1 - _TAIL)
    if not response.family.discrete:
        return _amounts(response, y, low, high)
    out = np.empty(len(y))
    few = high - low <= _EXACT
    for rows, rule in ((few, _few_counts), (~few, _many_counts)):
        if rows.any():
            out[rows] = rule(response.at(rows), y[rows], low[rows], high[rows])
    return out


def _few_counts(response: Response, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Every count that can occur, in turn."""
    if is_bounded(response.family):
        return _sum_of_steps(response, y, low, high, None)
    n_nodes = _nodes_needed(response, low, high)
    out = np.empty(len(y))
    order = np.argsort(n_nodes, kind="stable")
    start = 0
    while start < len(order):
        # in order of need, as many rows at a time as fit, with the nodes of the one that needs most
        stop = start + max(1, _CHUNK // int(n_nodes[order[start]]))
        rows = order[start:stop]
        needed = int(n_nodes[rows[-1]])
        nodes = normal_nodes(2 * REACH / needed) if needed <= _MOST_NODES else None
        out[rows] = _sum_of_steps(response.at(rows), y[rows], low[rows], high[rows], nodes)
        start = stop
    return out


def _sum_of_steps(
    response: Response, y: FloatArray, low: FloatArray, high: FloatArray, nodes: tuple[FloatArray, FloatArray] | None
) -> FloatArray:
    """Sum over counts, whose probabilities come from nodes of eta, or one by one where these would be too many."""
    inside = np.clip(y, low, high)
    out, below = np.abs(y - inside), np.zeros(len(y))
    mass = None if nodes is None else _mass_at_nodes(response, *nodes)
    for step in range(int(np.max(high - low)) + 1):
        count = np.minimum(low + step, high)
        below = response.cdf(count) if mass is None else below + mass(count)
        out += np.where(low + step <= high, (below - (count >= inside)) ** 2, 0.0)
    return out


def _mass_at_nodes(response: Response, z: FloatArray, weight: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Probability of a count, from the same nodes of eta for every count."""
    sd = np.sqrt(response.eta.variances)
    eta = (response.eta.means + sd * z[:, None, None]).reshape(-1, response.n_rows)
    each = np.outer(weight, response.eta.mass).ravel()

    def mass(count: FloatArray) -> FloatArray:
        return np.asarray(each @ np.exp(response.family.log_density(count, eta, response.sizes)))

    return mass


def _nodes_needed(response: Response, low: FloatArray, high: FloatArray) -> FloatArray:
    """Nodes across the widest component that resolve the narrowest likelihood of a count."""
    size, sd = response.sizes, np.sqrt(response.eta.variances.max(axis=0))
    width = np.full(len(low), np.inf)
    for count in (low, high, np.clip(np.floor(size / 2), low, high)):
        at = response.family.start(count, size)
        curvature = response.family.derivatives(count, at, size).curvature
        width = np.minimum(width, 1 / np.sqrt(np.maximum(curvature, 1e-300)))
    step = np.minimum(0.7, 0.5 * width / np.maximum(sd, 1e-300))
    return np.ceil(2 * REACH / step)


def _many_counts(response: Response, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Sums of parabolas through three counts each."""
    inside, median = np.clip(y, low, high), response.quantile(0.5)
    first, last = np.minimum(inside, median), np.maximum(inside, median)
    scale = np.maximum(median - low, 1.0) / 5
    out = np.abs(y - inside)
    for ends in (first - _growing(first - low, scale)[::-1], _even(first, last), last + _growing(high - last, scale)):
        right = response.cdf(ends[0])
        for start, stop in pairwise(ends):
            middle, left = np.floor(0.5 * (start + stop)), right
            right = response.cdf(stop)
            reached = start >= inside  # no panel has y inside
            heights = (np.stack([left, response.cdf(middle), right]) - reached) ** 2
            out += _parabola_sum(np.stack([start, middle, stop]), heights)
    return out


def _parabola_sum(x: FloatArray, f: FloatArray) -> FloatArray:
    """Sum over the whole numbers from x[0] to x[2] - 1 of the parabola through three points, by Euler and Maclaurin."""
    h, g = x[1] - x[0], x[2] - x[1]
    wide = h > 0  # two neighbours have nothing in between, and a line will do
    h, g = np.where(wide, h, 1.0), np.where(wide, g, 1.0)
    rise, fall = (f[1] - f[0]) / h, (f[2] - f[1]) / g
    bend = (fall - rise) / (h + g)
    integral = f[0] * (h + g) + rise * (h + g) ** 2 / 2 + bend * ((h + g) ** 3 / 3 - h * (h + g) ** 2 / 2)
    total = integral + 0.5 * (f[0] - f[2]) + bend * (h + g) / 6
    return np.where(wide, total, (x[2] - x[0]) * f[0])


def _growing(length: FloatArray, scale: FloatArray) -> FloatArray:
    """Whole numbers from 0 to a length, in steps that grow from a scale on."""
    t = np.linspace(0, 1, _PANELS + 1)[:, None] * np.arcsinh(length / scale)
    return np.minimum(np.rint(scale * np.sinh(t)), length)


def _even(first: FloatArray, last: FloatArray) -> FloatArray:
    """Whole numbers between two, in even steps."""
    return np.rint(first + np.linspace(0, 1, _PANELS + 1)[:, None] * (last - first))


def _amounts(response: Response, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Gauss-Legendre in the log of the amount, on either side of y and of the median."""
    inside, median = np.clip(y, low, high), response.quantile(0.5)
    low = np.maximum(low, 1e-8 * np.minimum(inside, median))
    ends = np.log([low, np.minimum(inside, median), np.maximum(inside, median), high])
    x, weight = np.polynomial.legendre.leggauss(32)
    out = np.abs(y - inside)
    for start, stop in pairwise(ends):
        for node, mass in zip(x, weight, strict=True):
            value = np.exp(0.5 * (start + stop) + 0.5 * (stop - start) * node)
            out += 0.5 * (stop - start) * mass * value * (response.cdf(value) - (value >= inside)) ** 2
    return out
