"""Orthogonal: frequencies in blocks of perpendicular directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special

from bochner.arrays import FloatArray
from bochner.frequencies.base import Rule, Term, inside_unit
from bochner.kernels import IsotropicKernel, OnAxes, SpectralKernel, SquaredExponential, Waves


@dataclass(frozen=True)
class Orthogonal(Rule):
    """Blocks of perpendicular frequencies (Yu et al., 2016).

    A block is S Q: Q a Haar-distributed orthogonal matrix, S the norms, drawn from the
    kernel's radial law. Other kernels start from the Gaussian S Q, whose coordinates go
    through the normal distribution function and then the kernel's quantiles. Both are unbiased.
    The gain over Monte Carlo grows with the dimension; in one there is none.
    """

    name: ClassVar[str] = "orthogonal"

    def draw_term(self, factors: Term, n: int, dim: int, rng: Generator) -> FloatArray:
        omega = np.zeros((n, dim))
        for kernel in factors:
            # A kernel may cover only half the space. The sign of a row leaves its block orthogonal.
            sign = rng.choice([-1.0, 1.0], size=(n, 1))
            omega += sign * self._draw_factor(kernel, n, dim, rng)
        return omega

    def explain(self, dim: int) -> str:
        return f"orthogonal blocks of {dim}"

    def directions(self, n: int, dim: int, rng: Generator) -> FloatArray:
        """Unit vectors, orthogonal in blocks, in `dim` dimensions or more; shape (n, >= dim)."""
        return haar_directions(n, dim, rng)

    def _draw_factor(self, kernel: Waves, n: int, dim: int, rng: Generator) -> FloatArray:
        if isinstance(kernel, IsotropicKernel):
            return kernel.from_unit(self._vectors(kernel, n, dim, rng))
        if isinstance(kernel, OnAxes) and isinstance(kernel.kernel, SpectralKernel):
            return kernel.embed(self._draw_factor(kernel.kernel, n, len(kernel.seen_axes(dim)), rng), dim)
        gaussian = self._vectors(SquaredExponential(), n, kernel.n_uniforms(dim), rng)
        return kernel.frequencies(inside_unit(special.ndtr(gaussian)), dim)

    def _vectors(self, law: IsotropicKernel, n: int, dim: int, rng: Generator) -> FloatArray:
        unit = self.directions(n, dim, rng)
        u = inside_unit(rng.random((n, 1)))
        # The norm is that of the full vector: the law of its first coordinates is then the same in fewer dimensions.
        return law.radial_quantile(u, unit.shape[1]) * unit[:, :dim]


def haar_directions(n: int, dim: int, rng: Generator) -> FloatArray:
    """Rows of independent Haar-distributed orthogonal matrices, cut to n; shape (n, dim)."""
    n_blocks = -(-n // dim)
    q, r = np.linalg.qr(rng.standard_normal((n_blocks, dim, dim)))
    # Without this the law of Q depends on the sign convention of the factorisation (Mezzadri, 2007).
    sign = np.where(np.diagonal(r, axis1=1, axis2=2) < 0, -1.0, 1.0)
    return np.asarray((q * sign[:, None, :]).reshape(-1, dim)[:n])
