"""Amplitude of a field that varies slowly over space: how large the field is at a place, relative to its kernel's sd.

A field ``a(x) f(x)`` with stationary f is kriged as f is, from responses divided by a. So the amplitude is a function
of places and no more: between some nodes its logarithm is a weighted mean of theirs, beyond them it stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import limits
from bochner.features.rows import ArealRows, Rows


@dataclass(frozen=True)
class Amplitude:
    """Smooth positive function of places.

    Attributes
    ----------
    nodes : (m, dim)
    log_values : (m,)
        Logarithm of the amplitude around each node.
    unit : (dim,)
        Distance along each axis that counts as one.
    """

    nodes: FloatArray
    log_values: FloatArray
    unit: FloatArray

    def at(self, coords: FloatArray) -> FloatArray:
        """Amplitude at places, (n,)."""
        size = max(1, limits.AMPLITUDE_PAIRS // len(self.nodes))
        parts = [self._block(coords[i : i + size]) for i in range(0, len(coords), size)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _block(self, coords: FloatArray) -> FloatArray:
        return np.asarray(np.exp(nearness(coords, self.nodes, self.unit) @ self.log_values))

    def steadied(self, rows: Rows) -> tuple[Rows, FloatArray | float]:
        """Rows of the field without its amplitude, and the factor (n,) that takes values there to values here.

        Of a mean over an area each point has its own amplitude: it goes into the shares, and no factor is left.
        """
        if isinstance(rows, ArealRows):
            return replace(rows, share=rows.share * self.at(rows.points)), 1.0
        here = self.at(rows.coords)
        return Rows(rows.coords, rows.trend / here[:, None]), here


def nearness(places: FloatArray, nodes: FloatArray, unit: FloatArray) -> FloatArray:
    """Share of each node in what is said of each place, (n, m); rows sum to 1."""
    here, there = places / unit, nodes / unit
    lag = np.sum(here**2, axis=1)[:, None] + np.sum(there**2, axis=1) - 2 * here @ there.T
    share = np.exp(-0.5 * (lag - lag.min(axis=1, keepdims=True)))
    return np.asarray(share / share.sum(axis=1, keepdims=True))
