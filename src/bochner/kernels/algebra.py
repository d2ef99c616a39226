"""Sums and products of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import KernelError
from bochner.kernels.base import Hyperparameter, Kernel
from bochner.kernels.measure import term_density
from bochner.kernels.spectral import SpectralKernel


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels joined."""

    k1: Kernel
    k2: Kernel

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        return self.k1.stationary and self.k2.stationary

    @property
    def variance(self) -> float:
        """Variance of the field, for shift-invariant parts."""
        return total_variance(self)

    def leaves(self) -> tuple[Kernel, ...]:
        return self.k1.leaves() + self.k2.leaves()

    def check_dim(self, dim: int) -> None:
        self.k1.check_dim(dim)
        self.k2.check_dim(dim)

    def _names(self) -> tuple[Hyperparameter, ...]:
        return tuple(
            Hyperparameter(f"{part}__{h.name}", h.role, h.axis)
            for part, kernel in (("k1", self.k1), ("k2", self.k2))
            for h in kernel.hyperparameters
        )


@dataclass(frozen=True, repr=False)
class Sum(_Pair):
    """Sum of two independent fields."""

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.k1.covariance(x, z) + self.k2.covariance(x, z)

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        k1, g1 = self.k1.covariance_and_gradient(x, z)
        k2, g2 = self.k2.covariance_and_gradient(x, z)
        return k1 + k2, g1 + g2

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return self._names()

    @property
    def theta(self) -> FloatArray:
        return np.r_[self.k1.theta, self.k2.theta]

    def with_theta(self, theta: FloatArray) -> Self:
        n1 = len(self.k1.theta)
        return self.replace(k1=self.k1.with_theta(theta[:n1]), k2=self.k2.with_theta(theta[n1:]))

    def scaled(self, factor: float) -> Kernel:
        return Sum(self.k1.scaled(factor), self.k2.scaled(factor))

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        return self.k1.terms() + self.k2.terms()

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        """Sum of the spectral densities, shape (m, dim) -> (m,)."""
        return spectral_density(self.k1, omega) + spectral_density(self.k2, omega)


@dataclass(frozen=True, repr=False)
class Product(_Pair):
    """Product of two kernels; while tuning, the variances of the second are held."""

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.k1.covariance(x, z) * self.k2.covariance(x, z)

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        k1, g1 = self.k1.covariance_and_gradient(x, z)
        k2, g2 = self.k2.covariance_and_gradient(x, z)
        kept = [g for g, free in zip(g2, self._free, strict=True) if free]
        return k1 * k2, [g * k2 for g in g1] + [k1 * g for g in kept]

    @property
    def _free(self) -> list[bool]:
        # Only the product of the variances matters, so one of them is enough. Inside a sum the variances
        # are shares, and all but the first are free.
        held = False
        free = []
        for h in self.k2.hyperparameters:
            first = h.role == "variance" and not held
            held = held or first
            free.append(not first)
        return free

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        keep = [True] * len(self.k1.theta) + self._free
        return tuple(h for h, free in zip(self._names(), keep, strict=True) if free)

    @property
    def theta(self) -> FloatArray:
        return np.r_[self.k1.theta, self.k2.theta[self._free]]

    def with_theta(self, theta: FloatArray) -> Self:
        n1 = len(self.k1.theta)
        second = self.k2.theta
        second[self._free] = theta[n1:]
        return self.replace(k1=self.k1.with_theta(theta[:n1]), k2=self.k2.with_theta(second))

    def scaled(self, factor: float) -> Kernel:
        return Product(self.k1.scaled(factor), self.k2)

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        return tuple(a + b for a in self.k1.terms() for b in self.k2.terms())

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        """Convolution of the spectral densities: exact on separate axes and with lines, else quasi Monte Carlo."""
        return spectral_density(self, omega)


def spectral_density(kernel: Kernel, omega: ArrayLike) -> FloatArray:
    """Spectral density of any shift-invariant kernel, sums and products included; (m, dim) -> (m,)."""
    w = as_coords(omega, name="omega")
    return np.sum([term_density(factors, w) for factors in spectral_terms(kernel)], axis=0)


def spectral_terms(kernel: Kernel) -> tuple[tuple[SpectralKernel, ...], ...]:
    """`kernel.terms()`, refused if one of them has no spectral density."""
    for leaf in kernel.leaves():
        if not leaf.has_waves:
            raise KernelError(
                f"{type(leaf).__name__} is not shift-invariant, so Bochner's theorem gives it no spectral density "
                f"and it has no Fourier features; use features='exact' or features='nystroem'."
            )
    return kernel.terms()  # type: ignore[return-value]


def total_variance(kernel: Kernel) -> float:
    """Variance of a shift-invariant kernel: its value at lag zero."""
    return float(sum(np.prod([k.variance for k in factors]) for factors in spectral_terms(kernel)))
