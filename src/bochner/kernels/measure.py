"""Spectral measure of sums and products of kernels, taken apart into pieces on separate axes.

The measure of a sum is the sum of the measures. The frequency of a product is a sum of independent frequencies, one of
each factor. Factors that share no axis make independent pieces of it. A piece has a density, or consists of
lines, or is neither (a line across a density).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import KernelError
from bochner.kernels import limits
from bochner.kernels.waves import Atoms, SumOfProducts, Waves

Factor = tuple[tuple[int, ...], Waves]  # axes, counted among those of the piece, and the kernel on them


@dataclass(frozen=True)
class Piece:
    """Factors of a product that share axes, directly or through another."""

    axes: tuple[int, ...]  # of the coordinates
    factors: tuple[Factor, ...]

    @property
    def dim(self) -> int:
        return len(self.axes)

    @property
    def variance(self) -> float:
        return float(np.prod([k.variance for _, k in self.factors]))

    def at(self, lag: FloatArray) -> FloatArray:
        """Covariance at lags (n, dim) along the axes of the piece."""
        return np.asarray(np.prod([k.lag_covariance(lag[:, list(axes)]) for axes, k in self.factors], axis=0))

    @property
    def has_density(self) -> bool:
        """Whether one factor spreads the frequencies over all axes of the piece."""
        return self._carrier is not None

    def density(self, omega: FloatArray) -> FloatArray:
        """Spectral density at frequencies (m, dim) along the axes of the piece.

        A convolution: exact with lines, by quasi Monte Carlo with other densities.
        """
        carrier = self._carrier
        if carrier is None:
            raise KernelError(f"{self} has no spectral density: {self._why()}.")
        axes, kernel = self.factors[carrier]
        others = [f for i, f in enumerate(self.factors) if i != carrier]
        if not others:
            return kernel.density(omega[:, list(axes)])
        shift, mass = self._shifts(others)
        out, size = np.empty(len(omega)), max(1, limits.DENSITY_ROWS // len(shift))
        for i in range(0, len(omega), size):
            moved = (omega[i : i + size, None, :] - shift).reshape(-1, self.dim)
            out[i : i + size] = kernel.density(moved[:, list(axes)]).reshape(-1, len(shift)) @ mass
        return out

    def atoms(self) -> Atoms | None:
        """Lines of the piece, one of each pair, the heaviest first; None if it does not consist of lines."""
        return _atoms_of(self)

    def lines(self) -> Atoms | None:
        """The same with both of each pair, in any order."""
        return self._lines(self.factors)

    def __str__(self) -> str:
        return " * ".join(f"{type(k).__name__} on axes {tuple(self.axes[j] for j in axes)}" for axes, k in self.factors)

    @property
    def _carrier(self) -> int | None:
        for i, (axes, kernel) in enumerate(self.factors):
            if len(axes) == self.dim and kernel.has_density(self.dim):
                return i
        return None

    def _why(self) -> str:
        if self.atoms() is not None:
            return "its spectrum consists of lines"
        return "no factor of it has one on all of these axes"

    def _shifts(self, others: Sequence[Factor]) -> Atoms:
        """Frequencies by which the other factors move those of the carrier, with masses."""
        lines = self._lines(others)
        if lines is not None:
            order = np.argsort(-lines[1])
            kept = order[: int(np.sum(np.cumsum(lines[1][order]) < (1 - limits.LEAST_SHIFTS) * lines[1].sum())) + 1]
            return lines[0][kept], lines[1][kept] * (lines[1].sum() / lines[1][kept].sum())
        counts = [k.n_uniforms(len(axes)) + 1 for axes, k in others]
        uniforms = qmc.Sobol(sum(counts), seed=0).random(limits.N_SHIFTS)
        shift = np.zeros((limits.N_SHIFTS, self.dim))
        for (axes, kernel), u in zip(others, np.split(uniforms, np.cumsum(counts)[:-1], axis=1), strict=True):
            sign = np.where(u[:, :1] < 0.5, -1.0, 1.0)
            shift += self._spread(axes, sign * kernel.frequencies(u[:, 1:], len(axes)))
        variance = float(np.prod([k.variance for _, k in others]))
        return shift, np.full(limits.N_SHIFTS, variance / limits.N_SHIFTS)

    def _lines(self, factors: Sequence[Factor]) -> Atoms | None:
        """All lines of a product of lines, both of each pair."""
        omega, mass = np.zeros((1, self.dim)), np.ones(1)
        for axes, kernel in factors:
            found = kernel.atoms(len(axes))
            if found is None:
                return None
            omega, mass = _sums(omega, mass, *_both_signs(self._spread(axes, found[0]), found[1]))
        return omega, mass

    def _spread(self, axes: tuple[int, ...], omega: FloatArray) -> FloatArray:
        full = np.zeros((len(omega), self.dim))
        full[:, list(axes)] = omega
        return full


def spectral_density(kernel: SumOfProducts, omega: ArrayLike) -> FloatArray:
    """Spectral density of any shift-invariant kernel, sums and products included; (m, dim) -> (m,)."""
    w = as_coords(omega, name="omega")
    return np.sum([term_density(factors, w) for factors in spectral_terms(kernel)], axis=0)


def spectral_terms(kernel: SumOfProducts) -> tuple[tuple[Waves, ...], ...]:
    """`kernel.terms()`, refused if one of them has no spectral density."""
    for leaf in kernel.leaves():
        if not leaf.has_waves:
            raise KernelError(
                f"{type(leaf).__name__} is not shift-invariant, so Bochner's theorem gives it no spectral density "
                f"and it has no Fourier features; use features='exact' or features='nystroem'."
            )
    return kernel.terms()


def total_variance(kernel: SumOfProducts) -> float:
    """Variance of a shift-invariant kernel: its value at lag zero."""
    return float(sum(np.prod([k.variance for k in factors]) for factors in spectral_terms(kernel)))


def pieces_of(factors: Sequence[Waves], dim: int) -> tuple[Piece, ...]:
    """Independent pieces of a product, in the order of their first axis; axes that no factor sees are in none."""
    seen = [k.seen(dim) for k in factors]
    groups: list[set[int]] = []
    for axes, _ in seen:
        touched = [g for g in groups if g & set(axes)]
        groups = [g for g in groups if g not in touched] + [set(axes).union(*touched)]
    pieces = []
    for group in sorted(groups, key=min):
        order = tuple(sorted(group))
        inside = tuple((tuple(order.index(a) for a in axes), k) for axes, k in seen if set(axes) <= group)
        pieces.append(Piece(order, inside))
    return tuple(pieces)


def term_density(factors: Sequence[Waves], omega: FloatArray) -> FloatArray:
    """Spectral density of a product at frequencies (m, dim); refused where it has none."""
    dim = omega.shape[1]
    pieces = pieces_of(factors, dim)
    blind = sorted(set(range(dim)) - {a for p in pieces for a in p.axes})
    if blind:
        raise KernelError(
            f"{' * '.join(str(p) for p in pieces)} is constant along axis {blind[0]}: its frequencies there are zero, "
            f"and it has no spectral density. Draw frequencies by a rule or a lattice, or add a factor on that axis."
        )
    return np.asarray(np.prod([p.density(omega[:, list(p.axes)]) for p in pieces], axis=0))


def _both_signs(omega: FloatArray, mass: FloatArray) -> Atoms:
    zero = ~omega.any(axis=1)
    return np.concatenate([omega, -omega[~zero]]), np.concatenate([np.where(zero, mass, mass / 2), mass[~zero] / 2])


def _sums(omega: FloatArray, mass: FloatArray, other: FloatArray, other_mass: FloatArray) -> Atoms:
    """Frequencies of a sum of two independent ones, without those of almost no mass."""
    joint = (mass[:, None] * other_mass).ravel()
    order = np.argsort(-joint, kind="stable")
    enough = int(np.searchsorted(np.cumsum(joint[order]), (1 - limits.LEAST_LINES) * joint.sum())) + 1
    kept = order[:enough]
    return (omega[:, None, :] + other).reshape(-1, omega.shape[1])[kept], joint[kept]


@lru_cache(maxsize=8)  # a search for a lattice asks for the same ones again and again
def _atoms_of(piece: Piece) -> Atoms | None:
    lines = piece.lines()
    if lines is None:
        return None
    found = _one_of_each_pair(*lines)
    for part in found:
        part.setflags(write=False)
    return found


def _one_of_each_pair(omega: FloatArray, mass: FloatArray) -> Atoms:
    """Merge every line with its negative and with its copies."""
    size = float(np.abs(omega).max())
    rounded = np.rint(omega / (1e-12 * size)) if size > 0 else omega
    first = np.argmax(rounded != 0, axis=1)
    sign = np.where(np.take_along_axis(rounded, first[:, None], axis=1) < 0, -1.0, 1.0)
    _, where, which = np.unique(sign * rounded + 0.0, axis=0, return_index=True, return_inverse=True)
    total = np.zeros(len(where))
    np.add.at(total, which.ravel(), mass)
    order = np.argsort(-total, kind="stable")
    return (sign * omega)[where][order], total[order]
