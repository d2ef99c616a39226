"""Random fields as sums of waves: a kernel is a distribution of waves, so drawing waves draws a field."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.frequencies import MonteCarlo
from bochner.kernels import Kernel

N_WAVES = 500

Field = Callable[[FloatArray], FloatArray]
"""Values (n,) at places (n, 2)."""


def random_field(kernel: Kernel, rng: Generator) -> Field:
    """A field of mean zero with the covariance of a kernel, known at every place of the plane."""
    waves = MonteCarlo().draw(kernel, N_WAVES, 2, rng)
    phase = rng.uniform(0, 2 * np.pi, waves.n)
    height = np.sqrt(2 * waves.mass).astype(np.float32)

    def at(places: FloatArray) -> FloatArray:
        out = np.empty(len(places))
        for start in range(0, len(places), 4096):
            part = slice(start, start + 4096)
            angle = (places[part] @ waves.omega.T + phase).astype(np.float32)  # cosines of float32 are far quicker
            out[part] = np.cos(angle) @ height
        return out

    return at
