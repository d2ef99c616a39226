"""Paired features: waves of two frequencies with common coefficients, for fields that are not stationary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.features.base import FeatureMap
from bochner.features.wave_columns import wave_columns
from bochner.frequencies import PairedFrequencies


@dataclass(frozen=True)
class PairedMap(FeatureMap):
    """phi(x) = sqrt(mass) / 2 [cos w1'x + cos w2'x, sin w1'x + sin w2'x], pair by pair; 2 m columns.

    The variance of a pair is mass cos^2((w1 - w2)'x / 2): all of it where the two waves are in phase.
    """

    pairs: PairedFrequencies
    dtype: Any = np.float64
    missing: float = 0.0  # variance that the waves leave out, carried as independent

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        return 2 * self.pairs.n

    def block(self, coords: FloatArray) -> FloatArray:
        amplitude = 0.5 * np.sqrt(self.pairs.mass)
        phi = wave_columns(coords, self.pairs.first, amplitude, self.dtype)
        phi += wave_columns(coords, self.pairs.second, amplitude, self.dtype)
        return phi

    def missing_variance(self, coords: FloatArray) -> FloatArray:
        return np.full(len(coords), self.missing)

    def prior_variance(self, coords: FloatArray) -> FloatArray:
        variance = np.full(len(coords), self.missing)
        for i in self.slices(len(coords)):
            variance[i] += np.cos(0.5 * coords[i] @ (self.pairs.first - self.pairs.second).T) ** 2 @ self.pairs.mass
        return variance
