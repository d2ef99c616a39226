"""The contract of waves: what a spectral measure asks of each kernel that it is made of.

Structural, so that the mathematics of measures (`measure`) stands below the kernels and needs none of their classes;
`SpectralKernel` is the class that keeps it.
"""

from __future__ import annotations

from typing import Any, Protocol

from bochner.arrays import FloatArray

Atoms = tuple[FloatArray, FloatArray]  # omega (m, dim), one of each pair +-omega, and mass (m,)


class Waves(Protocol):
    """Simple shift-invariant kernel, known by its spectral measure; `SpectralKernel` says what each part means."""

    @property
    def variance(self) -> float: ...

    def lag_covariance(self, tau: FloatArray) -> FloatArray: ...

    def n_uniforms(self, dim: int) -> int: ...

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray: ...

    def has_density(self, dim: int) -> bool: ...

    def density(self, omega: FloatArray) -> FloatArray: ...

    def atoms(self, dim: int) -> Atoms | None: ...

    def seen(self, dim: int) -> tuple[tuple[int, ...], Waves]: ...


class SumOfProducts(Protocol):
    """Kernel that can be taken apart and multiplied out."""

    def leaves(self) -> tuple[Any, ...]: ...

    def terms(self) -> tuple[tuple[Any, ...], ...]: ...
