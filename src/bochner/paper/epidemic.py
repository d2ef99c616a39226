"""The simulated epidemic of figure 1: cases that grow like a quadratic of time."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray

N_DAYS = 30.0
N_SAMPLES, N_TRAIN = 100, 20
NOISE_VARIANCE = 150.0


def expected_cases(days: FloatArray) -> FloatArray:
    """f(x) = 1 + x + 0.2 x²."""
    return 1 + days + 0.2 * days**2


def simulate(rng: Generator) -> tuple[FloatArray, FloatArray]:
    """Days and cases of 100 reports in random order; cases below zero are cut off at zero."""
    days = rng.uniform(0, N_DAYS, size=N_SAMPLES)
    noise = rng.normal(0, np.sqrt(NOISE_VARIANCE), size=N_SAMPLES)
    return days, np.maximum(expected_cases(days) + noise, 0.0)


def powers(days: FloatArray, degree: int) -> FloatArray:
    """Columns 1, x, ..., x^degree, as Legendre polynomials: the same models, well conditioned."""
    return np.asarray(np.polynomial.legendre.legvander(2 * days / N_DAYS - 1, degree), dtype=np.float64)
