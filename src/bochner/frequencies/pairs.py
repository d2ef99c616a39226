"""Pairs of frequencies: the spectrum of a field that is not stationary (Yaglom).

A stationary field is a sum of independent waves. Without stationarity waves of different frequency belong together: by
Yaglom's theorem k(x, z) is the integral of cos(omega1'x - omega2'z) over a joint measure of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import special

from bochner.arrays import FloatArray, as_coords, as_rows
from bochner.exceptions import InputError
from bochner.frequencies.base import Frequencies, frequencies_of_product, inside_unit, n_uniforms_of, shares_of
from bochner.kernels import Kernel, spectral_terms


@dataclass(frozen=True, eq=False)
class PairedFrequencies:
    """Pairs of waves that share their coefficients.

    Parameters
    ----------
    first, second : arrays of shape (m, dim)
        The two angular frequencies of each pair; equal ones make the stationary wave.
    mass : array of shape (m,)
        Variance that each pair carries where its two waves are in phase.
    """

    first: FloatArray
    second: FloatArray
    mass: FloatArray

    def __post_init__(self) -> None:
        first, second = as_coords(self.first, name="first"), as_coords(self.second, name="second")
        mass = as_rows(self.mass, len(first), "mass")
        if first.shape != second.shape or mass is None or (mass < 0).any():
            raise InputError(
                f"first has shape {first.shape}, second {second.shape}; needed are two frequencies and a mass >= 0 for "
                f"each pair."
            )
        for name, value in (("first", first), ("second", second), ("mass", mass)):
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.mass)

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Covariance (n, k) between places x (n, dim) and z (k, dim).

        Of a pair with mass a: a / 4 times the sum of cos(omega_i'x - omega_j'z) over both i and j.
        """
        total = np.zeros((len(x), len(z)))
        for one in (self.first, self.second):
            for other in (self.first, self.second):
                a, b = x @ one.T, z @ other.T
                total += (np.cos(a) * self.mass) @ np.cos(b).T + (np.sin(a) * self.mass) @ np.sin(b).T
        return total / 4


def tied(frequencies: Frequencies) -> PairedFrequencies:
    """Pairs of equal frequencies: the stationary field that these waves make."""
    return PairedFrequencies(frequencies.omega, frequencies.omega, frequencies.mass)


def draw_pairs(kernel: Kernel, n_pairs: int, dim: int, rng: Generator, correlation: float = 0.9) -> PairedFrequencies:
    """Pairs whose two frequencies both follow the kernel's spectral measure, and each other.

    The uniform numbers that a kernel turns into a frequency are joined by a Gaussian copula. `correlation` 1 gives the
    stationary kernel; 0 gives independent frequencies, that is the half of it and a bump at the origin. In
    between, the field varies most around the origin: centre the coordinates.
    """
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation={correlation!r}; needed is a number between 0 and 1.")
    terms = spectral_terms(kernel)
    kernel.check_dim(dim)
    first, second, mass = [], [], []
    for factors, n in zip(terms, shares_of(kernel, n_pairs), strict=True):
        u = inside_unit(rng.random((n, n_uniforms_of(factors, dim))))
        own = rng.standard_normal(u.shape)
        v = special.ndtr(correlation * special.ndtri(u) + np.sqrt(1 - correlation**2) * own)
        first.append(frequencies_of_product(factors, u, dim))
        second.append(first[-1] if correlation == 1 else frequencies_of_product(factors, inside_unit(v), dim))
        mass.append(np.full(n, float(np.prod([k.variance for k in factors])) / n))
    return PairedFrequencies(np.concatenate(first), np.concatenate(second), np.concatenate(mass))
