"""Interpolation on [0, 1] from Chebyshev's nodes, both ends among them, so that no place lies beyond the outermost."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from bochner.arrays import FloatArray


@lru_cache
def nodes(n: int) -> FloatArray:
    """The n nodes; one is the middle."""
    return np.asarray((1 - np.cos(np.pi * np.arange(n) / (n - 1))) / 2) if n > 1 else np.array([0.5])


@lru_cache
def middles(n: int) -> FloatArray:
    """Places between the n nodes, where interpolation is checked; of one node, its own."""
    return np.asarray((1 - np.cos(np.pi * (np.arange(n - 1) + 0.5) / (n - 1))) / 2) if n > 1 else np.array([0.5])


def interpolation(x: FloatArray, n: int) -> FloatArray:
    """Barycentric interpolation from the n nodes to places of [0, 1], (places, n)."""
    if n == 1:
        return np.ones((len(x), 1))
    mass = (-1.0) ** np.arange(n)
    mass[[0, -1]] /= 2
    gap = x[:, None] - nodes(n)
    exact = np.abs(gap) < 1e-14
    terms = np.where(exact.any(axis=1, keepdims=True), exact, mass / np.where(exact, 1.0, gap))
    return np.asarray(terms / terms.sum(axis=1, keepdims=True))
