"""Averages over a Gaussian, one per row: nodes, panels, and rows in chunks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from bochner.arrays import FloatArray

# Beyond nine standard deviations a Gaussian holds 1e-19.
REACH = 9.0
# Numbers held at once: a chunk of rows times its nodes stays in cache.
_NODES_AT_ONCE = 2**16


@cache
def normal_nodes(step: float, reach: float = REACH) -> tuple[FloatArray, FloatArray]:
    """Trapezoidal nodes and weights of a standard normal."""
    z = step * np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1)
    weight = np.exp(-0.5 * z**2)
    return z, weight / weight.sum()


def positive_panels(breaks: FloatArray, mean: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes between breaks, cut at zero, and the logs of their weights times the Gaussian's density."""
    ends = np.sort(np.maximum(breaks, 0.0), axis=0)
    x, weight = np.polynomial.legendre.leggauss(24)
    half, middle = np.diff(ends, axis=0) / 2, (ends[1:] + ends[:-1]) / 2
    eta = (middle + half * x[:, None, None]).reshape(-1, len(mean))
    with np.errstate(divide="ignore"):
        log_weight = np.log(half * weight[:, None, None]).reshape(-1, len(mean))
    return eta, log_weight - 0.5 * ((eta - mean) / sd) ** 2 - 0.5 * np.log(2 * np.pi) - np.log(sd)


def in_chunks(function: Callable[..., FloatArray], n_nodes: int, *rows: FloatArray) -> FloatArray:
    """Function of rows (along the last axis), as many at a time as keep their nodes in cache."""
    step = max(1, _NODES_AT_ONCE // n_nodes)
    parts = [function(*(values[..., i : i + step] for values in rows)) for i in range(0, len(rows[0]), step)]
    return np.concatenate(parts, axis=-1) if parts else np.empty(0)
