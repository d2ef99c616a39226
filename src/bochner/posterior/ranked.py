"""Ranked probability scores of responses, one per observation.

The score is the sum over all counts j of (P(Y <= j) - 1{y <= j})^2, or the integral over amounts. Up to `_EXACT` counts
that can occur are summed one by one. Of more, three counts at a time carry a parabola: between the ends of the law, its
median and y, in steps that grow with the distance. More than `_SMOOTH` large ones are taken for amounts. The relative
error of a row is about 1e-3 at most.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from bochner.arrays import FloatArray
from bochner.posterior.predictive import Predictive
from bochner.posterior.quadrature import mixture_nodes, n_nodes_of
from bochner.posterior.quantiles import observed_quantile

_LEAST_TAIL = 1e-6
_EXACT = 64
_SMOOTH = 4_000
_MOST_NODES = 512
_ENTRIES_AT_ONCE = 2**15
_PANELS = 12
_PANEL_ORDER = 12


def ranked_probability_score(law: Predictive, y: FloatArray) -> FloatArray:
    """Continuous ranked probability score of every observation, in the unit of y."""
    low, high = observed_quantile(law, _LEAST_TAIL), observed_quantile(law, 1 - _LEAST_TAIL)
    if not law.family.discrete:
        return _amounts(law, y, low, high)
    out = np.empty(len(y))
    few, smooth = high - low <= _EXACT, (high - low > _SMOOTH) & (low > _EXACT)  # a few counts are lumps
    for rows, rule in ((few, _few_counts), (~few & ~smooth, _many_counts), (smooth, _amounts)):
        if rows.any():
            out[rows] = rule(law.at(rows), y[rows], low[rows], high[rows])
    return out


def _few_counts(law: Predictive, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Every count that can occur, in turn."""
    if not law.family.link_function.smooth:
        return _sum_of_steps(law, y, low, high, None)
    step = _steps_needed(law, low, high)
    n_nodes = n_nodes_of(law.eta.means, np.sqrt(law.eta.variances), step)
    out = np.empty(len(y))
    order = np.argsort(n_nodes, kind="stable")
    start = 0
    while start < len(order):
        # in order of need, as many rows at a time as fit, with the nodes of the one that needs most
        stop = start + max(1, _ENTRIES_AT_ONCE // int(n_nodes[order[start]]))
        rows = order[start:stop]
        needed = int(n_nodes[rows[-1]])
        part = law.at(rows)
        nodes = None
        if needed <= _MOST_NODES:
            nodes = mixture_nodes(part.eta.means, np.sqrt(part.eta.variances), part.eta.mass, step[rows])
        out[rows] = _sum_of_steps(part, y[rows], low[rows], high[rows], nodes)
        start = stop
    return out


def _sum_of_steps(
    law: Predictive, y: FloatArray, low: FloatArray, high: FloatArray, nodes: tuple[FloatArray, FloatArray] | None
) -> FloatArray:
    """Sum over counts, whose probabilities come from nodes of eta, or one by one where these would be too many."""
    inside = np.clip(y, low, high)
    out, below = np.abs(y - inside), np.zeros(len(y))
    mass = None if nodes is None else _mass_at_nodes(law, *nodes)
    for step in range(int(np.max(high - low)) + 1):
        count = np.minimum(low + step, high)
        below = law.cdf(count) if mass is None else below + mass(count)
        out += np.where(low + step <= high, (below - (count >= inside)) ** 2, 0.0)
    return out


def _mass_at_nodes(law: Predictive, eta: FloatArray, weight: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Probability of a count, from the same nodes of eta for every count."""

    def mass(count: FloatArray) -> FloatArray:
        return np.asarray((weight * np.exp(law.family.log_density(count, eta, law.size))).sum(axis=0))

    return mass


def _steps_needed(law: Predictive, low: FloatArray, high: FloatArray) -> FloatArray:
    """Steps in eta that resolve the narrowest component and the narrowest likelihood of a count."""
    size, sd = law.size, np.sqrt(np.maximum(law.eta.variances.min(axis=0), 1e-300))
    width = np.full(len(low), np.inf)
    for count in (low, high, np.clip(np.floor(size / 2), low, high)):
        at = law.family.start(count, size)
        curvature = law.family.derivatives(count, at, size).curvature
        width = np.minimum(width, 1 / np.sqrt(np.maximum(curvature, 1e-300)))
    return np.minimum(0.7 * sd, 0.5 * width)


def _many_counts(law: Predictive, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Sums of parabolas through three counts each."""
    inside, median = np.clip(y, low, high), np.clip(np.rint(_middle(law)), low, high)
    first, last = np.minimum(inside, median), np.maximum(inside, median)
    scale = np.maximum(median - low, 1.0) / 5
    out = np.abs(y - inside)
    for ends in (first - _growing(first - low, scale)[::-1], _even(first, last), last + _growing(high - last, scale)):
        right = law.cdf(ends[0])
        for start, stop in pairwise(ends):
            middle, left = np.floor(0.5 * (start + stop)), right
            right = law.cdf(stop)
            reached = start >= inside  # no panel has y inside
            heights = (np.stack([left, law.cdf(middle), right]) - reached) ** 2
            out += _parabola_sum(np.stack([start, middle, stop]), heights)
    return out


def _middle(law: Predictive) -> FloatArray:
    """About the median of each row; where exactly panels meet does not matter."""
    return np.asarray(law.size * law.family.mean(law.eta.quantile(0.5)))


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


def _amounts(law: Predictive, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Gauss-Legendre in the log of the amount, on either side of y and of the median."""
    inside, median = np.clip(y, low, high), np.clip(_middle(law), low, high)
    one = 1.0 if law.family.discrete else 0.0  # counts may be zero
    low = np.maximum(low, 1e-8 * np.minimum(inside, median))
    ends = np.log(np.add([low, np.minimum(inside, median), np.maximum(inside, median), high], one))
    x, weight = np.polynomial.legendre.leggauss(_PANEL_ORDER)
    out = np.abs(y - inside)
    for start, stop in pairwise(ends):
        for node, mass in zip(x, weight, strict=True):
            grown = np.exp(0.5 * (start + stop) + 0.5 * (stop - start) * node)
            value = grown - one
            out += 0.5 * (stop - start) * mass * grown * (law.cdf(value) - (value >= inside)) ** 2
    return out
