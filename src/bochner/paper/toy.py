"""The toy data of the paper: 500 places, a quadratic surface, noise of variance 1.

The paper does not print the range of the coordinates. A square of half-width 1.65 gives its linear model the errors
that it printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import FourierMap
from bochner.frequencies import MonteCarlo
from bochner.kernels import Kernel, SquaredExponential
from bochner.random import generator

HALF_WIDTH = 1.65
N_SAMPLES, N_TRAIN = 500, 100
KERNEL = SquaredExponential(length_scale=1.0)


@dataclass(frozen=True)
class Toy:
    """Places (500, 2) and responses (500,), in random order: the first 100 are for training."""

    coords: FloatArray
    y: FloatArray

    @property
    def y_train(self) -> FloatArray:
        return self.y[:N_TRAIN]

    @property
    def y_test(self) -> FloatArray:
        return self.y[N_TRAIN:]


def surface(coords: FloatArray) -> FloatArray:
    """The latent function x1² + x2² of figures 2 and 4."""
    return np.asarray(np.sum(coords**2, axis=-1))


def simulate(seed: int) -> Toy:
    """One data set."""
    rng = generator(seed, "toy data")
    coords = rng.uniform(-HALF_WIDTH, HALF_WIDTH, size=(N_SAMPLES, 2))
    return Toy(coords, surface(coords) + rng.normal(0, 1, size=N_SAMPLES))


def waves(n_frequencies: int, seed: int, kernel: Kernel = KERNEL) -> FourierMap:
    """Random Fourier features: the first `n_frequencies` of one stream of frequencies per seed."""
    return FourierMap(MonteCarlo().draw(kernel, n_frequencies, 2, generator(seed, "toy frequencies")))
