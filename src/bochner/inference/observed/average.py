"""Hyperparameters as they were learned: one set, or several with their masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import Kernel


@dataclass(frozen=True)
class Average:
    """Hyperparameters with masses that sum to 1; the best ones come first."""

    kernels: tuple[Kernel, ...]
    noise_variances: FloatArray
    mass: FloatArray
    trend_precision: FloatArray | None = None  # learned prior precision of the fixed effects, (q, q)
    starts: tuple[FloatArray | None, ...] = ()  # linear predictors of the rows at the modes, as far as they are known

    @classmethod
    def single(cls, kernel: Kernel, noise_variance: float) -> Average:
        """One set of hyperparameters."""
        return cls((kernel,), np.array([noise_variance]), np.ones(1))

    @property
    def pairs(self) -> list[tuple[Kernel, float]]:
        """Kernel and noise variance of every set."""
        return [(k, float(s2)) for k, s2 in zip(self.kernels, self.noise_variances, strict=True)]
