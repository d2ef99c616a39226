"""Structured orthogonal: perpendicular directions by fast Walsh-Hadamard transforms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy.linalg import hadamard

from bochner.arrays import FloatArray
from bochner.frequencies import limits
from bochner.frequencies.orthogonal import Orthogonal, haar_directions

RADIX = 32


@dataclass(frozen=True)
class StructuredOrthogonal(Orthogonal):
    """Blocks S H D1 H D2 H D3 in place of Haar matrices (Yu et al., 2016; Choromanski et al., 2017).

    H is the normalised Walsh-Hadamard matrix of the next power of two, D are random signs:
    a block of d rows costs d^2 log d instead of d^3. Below 16 dimensions Haar blocks are used.
    """

    name: ClassVar[str] = "structured"

    def explain(self, dim: int) -> str:
        if dim < limits.STRUCTURED_FROM:
            return (
                f"orthogonal blocks of {dim} by Haar matrices: below {limits.STRUCTURED_FROM} dimensions "
                f"structured blocks have too few directions and would bias the kernel"
            )
        return f"structured orthogonal blocks of {_next_power_of_two(dim)} by Walsh-Hadamard transforms"

    def directions(self, n: int, dim: int, rng: Generator) -> FloatArray:
        if dim < limits.STRUCTURED_FROM:
            return haar_directions(n, dim, rng)
        return structured_directions(n, _next_power_of_two(dim), rng)


def structured_directions(n: int, dim: int, rng: Generator) -> FloatArray:
    """Rows of independent matrices H D1 H D2 H D3, cut to n, for `dim` a power of two; shape (n, dim)."""
    n_blocks = -(-n // dim)
    d1, d2, d3 = rng.choice([-1.0, 1.0], size=(3, n_blocks, 1, dim))
    rows = walsh_hadamard(np.eye(dim)) * d1
    rows = walsh_hadamard(rows) * d2
    rows = walsh_hadamard(rows) * d3
    return np.asarray(rows.reshape(-1, dim)[:n])


def walsh_hadamard(x: FloatArray) -> FloatArray:
    """Normalised Walsh-Hadamard transform of the last axis, of length a power of two d, in d log d."""
    d, half = x.shape[-1], 1
    out = x
    while half < d:
        # Steps of up to 32 instead of 2: products with small matrices, where the processor is at its fastest.
        step = hadamard(min(RADIX, d // half), dtype=np.float64)
        out = out.reshape(-1, len(step)) @ step if half == 1 else step @ out.reshape(-1, len(step), half)
        half *= len(step)
    return np.asarray((out / np.sqrt(d)).reshape(x.shape))


def _next_power_of_two(dim: int) -> int:
    return 1 << (dim - 1).bit_length()
