"""What a back end promises to the adapter, and what the adapter promises to it.

The adapter checks and prepares everything once, so that a back end is only a translation:

- coordinates are float64, (n, dim), n >= 1, and for types 1 and 2 wrapped to [-pi, pi];
- values are contiguous, of the precision of the transform, with one leading axis of at least one vector; they are
  complex, or possibly real in `type1` and `type3` of a back end that says `takes_real`;
- eps is within reach of the precision, sign is -1 or +1, n_jobs is a number of threads >= 1;
- results are complex, of the same precision, with the same leading axis.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray

Array = NDArray[Any]
RealType = np.dtype[np.float32] | np.dtype[np.float64]


class ModesPlan(Protocol):
    """Transforms between one set of coordinates and one box of modes."""

    def type1(self, strengths: Array, sign: int) -> Array:
        """Modes (n_vectors, *shape) of strengths (n_vectors, n)."""
        ...

    def type2(self, modes: Array, sign: int) -> Array:
        """Values (n_vectors, n) of modes (n_vectors, *shape)."""
        ...


class Backend(Protocol):
    """Module that holds one back end."""

    takes_real: bool
    # Whether threads of `type1` add in the order in which they end: runs of places then get one thread each.
    adds_in_any_order: bool
    # Relative error per radian of the largest phase |j.x|, from rounding coordinates to float32 (measured, eps 1e-6).
    float32_phase_error: float

    def plan(self, coords: FloatArray, shape: tuple[int, ...], eps: float, dtype: RealType, n_jobs: int) -> ModesPlan:
        """Plan for types 1 and 2."""
        ...

    def type3(
        self, coords: FloatArray, strengths: Array, targets: FloatArray, eps: float, sign: int, n_jobs: int
    ) -> Array:
        """Values (n_vectors, m) at the targets (m, dim) of strengths (n_vectors, n)."""
        ...


def complex_type(dtype: RealType) -> np.dtype[Any]:
    """Complex type of the same precision as a real type."""
    return np.dtype(np.complex64 if dtype == np.float32 else np.complex128)
