"""The contract of a frequency rule: a quadrature of the kernel's spectral measure.

By Bochner's theorem k(tau) = integral of S(omega) cos(omega'tau). A rule replaces the
integral by a sum over a few frequencies, each carrying a share of the variance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords, as_rows
from bochner.exceptions import InputError
from bochner.frequencies import limits
from bochner.kernels import Kernel, Waves, spectral_terms

Term = tuple[Waves, ...]  # factors of one term of a sum


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Waves that stand for a kernel.

    Parameters
    ----------
    omega : array of shape (m, dim)
        Angular frequencies, in radians per unit of the coordinates.
    mass : array of shape (m,)
        Variance that each frequency carries; together the variance of the kernel.
    lattice : object, optional
        The equispaced lattice that the frequencies came from, for the rule that has one.
    """

    omega: FloatArray
    mass: FloatArray
    lattice: Any = None

    def __post_init__(self) -> None:
        omega = as_coords(self.omega, name="omega")
        mass = as_rows(self.mass, len(omega), "mass")
        if mass is None or (mass < 0).any():
            raise InputError("mass is missing or negative; needed is a share of the variance >= 0 per frequency.")
        if self.lattice is not None and not self.lattice.holds(omega):
            raise InputError("omega does not lie on the lattice; needed is 2 pi spacing times index for each wave.")
        object.__setattr__(self, "omega", _read_only(omega))
        object.__setattr__(self, "mass", _read_only(mass))

    @property
    def n(self) -> int:
        """Number of frequencies."""
        return len(self.omega)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self.omega.shape[1])

    def covariance(self, lag: ArrayLike) -> FloatArray:
        """Covariance that the waves make at lags of shape (n, dim): sum_j mass_j cos(omega_j'lag).

        Costs n m cosines; memory is bounded, whatever n.
        """
        return self.lag_covariance(as_coords(lag, self.dim, name="lag"))

    def error(self, kernel: Kernel, lag: ArrayLike) -> FloatArray:
        """Covariance of the waves less that of the kernel, at lags of shape (n, dim)."""
        tau = as_coords(lag, self.dim, name="lag")
        kernel.check_stationary()
        return self.lag_covariance(tau) - kernel.lag_covariance(tau)

    def lag_covariance(self, tau: FloatArray) -> FloatArray:
        """`covariance` at lags (n, dim). Trusts its input."""
        rows = max(1, limits.WAVE_COSINES // max(1, self.n))
        blocks = [np.cos(tau[i : i + rows] @ self.omega.T) @ self.mass for i in range(0, len(tau), rows)]
        return np.concatenate(blocks) if blocks else np.zeros(0)

    def __add__(self, other: Frequencies) -> Frequencies:
        """Union: the waves of the sum of two independent fields."""
        if not isinstance(other, Frequencies):
            return NotImplemented
        if other.dim != self.dim:
            raise InputError(
                f"frequencies in {self.dim} and in {other.dim} dimensions cannot be joined; draw both in the same."
            )
        return Frequencies(np.concatenate([self.omega, other.omega]), np.concatenate([self.mass, other.mass]))


class Rule(ABC):
    """Way to draw frequencies from a kernel.

    Sums and products are handled here, the same for every rule; a rule implements
    `draw_term`. For one state of the generator the frequencies are a smooth function
    of the kernel's `theta`, so that tuning can follow them.
    """

    name: ClassVar[str]

    def draw(
        self, kernel: Kernel, n_frequencies: int, dim: int, rng: Generator, *, shares: Sequence[int] | None = None
    ) -> Frequencies:
        """Frequencies whose covariance approximates the kernel.

        Parameters
        ----------
        kernel : Kernel
            Any shift-invariant kernel; a sum gives the union of the frequencies of its terms.
        n_frequencies : int
            Number of frequencies, at least one for each term of a sum.
        dim : int
            Number of coordinates.
        rng : Generator
            Source of randomness.
        shares : sequence of int, optional
            Number of frequencies of each term of a sum, by default `shares_of` the kernel.
            The default jumps when the variances change: hold it while tuning.
        """
        terms = spectral_terms(kernel)
        kernel.check_dim(dim)
        counts = shares_of(kernel, n_frequencies) if shares is None else _checked(shares, n_frequencies, len(terms))
        # One seed per term, so that the frequencies of a term do not depend on the share of another.
        seeds = rng.integers(2**63, size=len(terms))
        omega = [
            self.draw_term(term, n, dim, np.random.default_rng(seed))
            for term, n, seed in zip(terms, counts, seeds, strict=True)
        ]
        mass = [np.full(n, _variance(term) / n) for term, n in zip(terms, counts, strict=True)]
        return Frequencies(np.concatenate(omega), np.concatenate(mass))

    @abstractmethod
    def draw_term(self, factors: Term, n: int, dim: int, rng: Generator) -> FloatArray:
        """Frequencies (n, dim) of a product of simple kernels: a sum of independent ones of each factor.

        The amount of randomness drawn must not depend on the hyperparameters.
        """

    @abstractmethod
    def explain(self, dim: int) -> str:
        """What the rule does in `dim` dimensions, in words."""


def shares_of(kernel: Kernel, n_frequencies: int) -> tuple[int, ...]:
    """Number of frequencies of each term of a sum: in proportion to its variance, at least one.

    By largest remainder; ties go to the first term.
    """
    variances = np.array([_variance(term) for term in spectral_terms(kernel)])
    if int(n_frequencies) != n_frequencies or n_frequencies < len(variances):
        raise InputError(
            f"n_frequencies is {n_frequencies!r}; needed is a whole number, at least {len(variances)}: "
            f"one for each term of the kernel."
        )
    quota = n_frequencies * variances / variances.sum()
    counts = np.maximum(1, np.floor(quota)).astype(int)
    while (total := counts.sum()) != n_frequencies:
        if total < n_frequencies:
            counts[np.argmax(quota - counts)] += 1
        else:
            counts[np.argmax(np.where(counts > 1, counts - quota, -np.inf))] -= 1
    return tuple(int(n) for n in counts)


def frequencies_of_product(factors: Term, uniforms: FloatArray, dim: int) -> FloatArray:
    """Frequencies (n, dim) of a product of simple kernels from uniform numbers (n, `n_uniforms_of`)."""
    first, *others = factors
    columns = np.cumsum([k.n_uniforms(dim) for k in factors])[:-1]
    u, *us = np.split(inside_unit(uniforms), columns, axis=1)
    omega = first.frequencies(u, dim)
    for kernel, v in zip(others, us, strict=True):
        # A kernel may cover only half the space; the sign of the rest comes from the first uniform number,
        # doubled: in two dimensions this is an angle around the full circle.
        sign = np.where(v[:, :1] < 0.5, 1.0, -1.0)
        doubled = inside_unit(2 * v[:, :1] % 1)
        omega = omega + sign * kernel.frequencies(np.hstack([doubled, v[:, 1:]]), dim)
    return omega


def n_uniforms_of(factors: Term, dim: int) -> int:
    """Uniform numbers that one frequency of a product takes."""
    return sum(k.n_uniforms(dim) for k in factors)


def inside_unit(u: FloatArray) -> FloatArray:
    """Uniform numbers, moved off 0 and 1, where quantiles are infinite."""
    return np.clip(u, 2.0**-54, 1 - 2.0**-53)


def _variance(factors: Term) -> float:
    return float(np.prod([k.variance for k in factors]))


def _checked(shares: Sequence[int], n_frequencies: int, n_terms: int) -> tuple[int, ...]:
    if len(shares) != n_terms or sum(shares) != n_frequencies or min(shares) < 1:
        raise InputError(
            f"shares is {tuple(shares)!r}; needed are {n_terms} whole numbers >= 1, one per term of the kernel, "
            f"that sum to n_frequencies = {n_frequencies}."
        )
    return tuple(int(n) for n in shares)


def _read_only(array: FloatArray) -> FloatArray:
    view = array.view()
    view.flags.writeable = False
    return view
