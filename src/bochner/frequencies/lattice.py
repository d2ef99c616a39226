"""The lattice: equispaced frequencies, the best waves in one to three dimensions.

Put the frequencies on the lattice 2 pi h j, j in Z^dim. Each carries the spectral mass of its cell, so the kernel's
error falls as fast as its spectral density does, and the waves are periodic with period 1 / h: the period
must cover the places and a margin over which the kernel dies out. A kernel on some of the axes has its waves on the
same lattice, at zero along the others. Lines in the spectrum are taken as they are: then no lattice is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError, KernelError
from bochner.frequencies import limits
from bochner.frequencies.base import Frequencies
from bochner.kernels import Kernel, Piece, pieces_of, spectral_terms, total_variance
from bochner.random import generator

Atoms = tuple[FloatArray, FloatArray]  # omega (m, dim) and mass (m,)
MARGINS = tuple(10.0**-e for e in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10))  # kernel values that end a margin


@dataclass(frozen=True)
class Lattice:
    """Where the frequencies lie: spacing h per axis (ordinary frequency) and integer positions (m, dim)."""

    spacing: FloatArray
    index: IntArray

    def __post_init__(self) -> None:
        spacing, index = np.asarray(self.spacing), np.asarray(self.index)
        if spacing.ndim != 1 or not np.all((spacing > 0) & np.isfinite(spacing)):
            raise InputError(f"the spacing of a lattice is {spacing.tolist()}; needed is a number > 0 for each axis.")
        if index.dtype.kind not in "iu" or index.ndim != 2 or index.shape[1] != len(spacing):
            raise InputError(
                f"the positions of a lattice are {index.dtype} of shape {index.shape}; needed are integers, "
                f"({len(index) if index.ndim else 0}, {len(spacing)})."
            )
        if index.size and not (index.min() >= -limits.LARGEST_BOX and index.max() <= limits.LARGEST_BOX):
            raise InputError(f"a lattice reaches beyond {limits.LARGEST_BOX:,} of its steps; take fewer waves.")

    @property
    def half_width(self) -> tuple[int, ...]:
        """Largest position on each axis."""
        return tuple(int(v) for v in np.abs(self.index).max(axis=0, initial=0))

    def holds(self, omega: FloatArray) -> bool:
        """Whether some frequencies (m, dim) are those at its positions."""
        own = 2 * np.pi * self.spacing * self.index
        return own.shape == omega.shape and bool(np.allclose(own, omega, rtol=1e-9, atol=0.0))

    @property
    def period(self) -> FloatArray:
        """Distance, per axis, after which the waves repeat."""
        return 1 / self.spacing


def lattice_frequencies(
    kernel: Kernel,
    extent: FloatArray,
    *,
    n_frequencies: int | None = None,
    missing: float | None = None,
    maximum: int = 16_384,
    margin: float | None = None,
    seed: int = 0,
) -> Frequencies:
    """The heaviest waves of a lattice that covers a box.

    Parameters
    ----------
    kernel : Kernel
        Any shift-invariant kernel with a spectral density or lines on every axis that it sees, sums included.
    extent : (dim,)
        Sides of the box that holds the data and the places to be predicted.
    n_frequencies : int, optional
        How many waves, each with its negative counted once. The margin is then the one of least measured error.
    missing : float, optional
        Instead: share of the variance that the waves may leave out; the fewest waves are taken, `maximum` at most.
    margin : float, optional
        With `missing`: value of the kernel, of its variance, at which the margin around the box ends; by default a
        tenth of what may be missing.
    """
    spectral_terms(kernel)
    extent = np.asarray(extent, dtype=float)
    kernel.check_dim(len(extent))
    if not 1 <= len(extent) <= 3:
        raise InputError(
            f"a lattice was asked for in {len(extent)} dimensions; it has 1 to 3. Use features='orthogonal'."
        )
    if n_frequencies is not None:
        drafts = (_draft(kernel, extent, level, n_frequencies, 0.0) for level in MARGINS)
        return min(drafts, key=lambda f: _rms_error(f, kernel, extent, seed))
    share = 1e-3 if missing is None else missing
    level = min(1e-2, max(share, 1e-9)) * 0.1 if margin is None else margin
    return _draft(kernel, extent, level, maximum, share)


def lattice_mass(kernel: Kernel, lattice: Lattice) -> FloatArray:
    """Spectral mass of each wave of a lattice, its negative included."""
    dim = lattice.index.shape[1]
    mass = np.zeros(len(lattice.index))
    for field in _fields(kernel, dim):
        if field.lines is not None:
            raise KernelError(f"{kernel} has lines in its spectrum, which lie on no lattice.")
        across = [a for a in range(dim) if a not in field.axes]
        on = np.all(lattice.index[:, across] == 0, axis=1)
        mass[on] += field.mass(lattice.spacing, lattice.index[on][:, list(field.axes)])
    return mass * np.where(np.any(lattice.index != 0, axis=1), 2.0, 1.0)


@dataclass(frozen=True)
class _Field:
    """Terms of a kernel whose frequencies spread over the same axes; what lies across them are lines, if any."""

    axes: tuple[int, ...]
    terms: tuple[tuple[Piece, ...], ...]
    lines: Atoms | None = None  # omega (m, dim), zero along `axes`, and mass

    def at(self, lag: FloatArray) -> FloatArray:
        """Covariance at lags (n, dim) along its axes, the others zero."""
        return np.sum([np.prod([p.at(lag[:, list(p.axes)]) for p in pieces], axis=0) for pieces in self.terms], axis=0)

    @property
    def variance(self) -> float:
        return float(sum(np.prod([p.variance for p in pieces]) for pieces in self.terms))

    def mass(self, spacing: FloatArray, index: IntArray) -> FloatArray:
        """Spectral mass of the cells of lattice points (m, len(axes)).

        Of a kernel that has no integral the density at zero is infinite: its cell holds what lies all over it.
        """
        step = 2 * np.pi * spacing[list(self.axes)]
        mass = self._density(step * index) * np.prod(step)
        zero = np.all(index == 0, axis=1)
        if np.any(mass[zero] > self.variance):
            parts = (np.arange(limits.PARTS_OF_CELL) + 0.5) / limits.PARTS_OF_CELL - 0.5
            inside = np.stack(np.meshgrid(*[parts] * len(step), indexing="ij"), axis=-1).reshape(-1, len(step))
            mass[zero] = np.mean(self._density(step * inside)) * np.prod(step)
        return mass

    def _density(self, omega: FloatArray) -> FloatArray:
        """Spectral density at frequencies (m, len(axes)) along its axes."""
        total = np.zeros(len(omega))
        for pieces in self.terms:
            total += np.prod([p.density(omega[:, [self.axes.index(a) for a in p.axes]]) for p in pieces], axis=0)
        return total


def _fields(kernel: Kernel, dim: int) -> list[_Field]:
    """The kernel as fields: one for each set of axes with a density, one for each term with lines."""
    spread: dict[tuple[int, ...], list[tuple[Piece, ...]]] = {}
    fields = []
    for term in spectral_terms(kernel):
        pieces = pieces_of(term, dim)
        dense = tuple(p for p in pieces if p.has_density)
        axes = tuple(sorted(a for p in dense for a in p.axes))
        if len(dense) == len(pieces):
            spread.setdefault(axes, []).append(dense)
        else:
            fields.append(_Field(axes, (dense,), _lines([p for p in pieces if not p.has_density], dim)))
    return [*(_Field(axes, tuple(terms)) for axes, terms in spread.items()), *fields]


def _lines(pieces: list[Piece], dim: int) -> Atoms:
    omega, mass = np.zeros((1, dim)), np.ones(1)
    for piece in pieces:
        atoms = piece.atoms()
        if atoms is None:
            raise KernelError(
                f"{piece} has neither a spectral density nor lines, so no lattice holds it; use features='exact', or "
                f"waves drawn by a rule, e.g. features='quasi'."
            )
        along = np.zeros((len(atoms[0]), dim))
        along[:, list(piece.axes)] = atoms[0]
        omega, mass = _stacked(omega, mass, along, atoms[1])
    return omega, mass


def _stacked(omega: FloatArray, mass: FloatArray, other: FloatArray, other_mass: FloatArray) -> Atoms:
    """Waves of two independent parts on separate axes: both signs of the second, where neither part is zero."""
    i, j = (k.ravel() for k in np.indices((len(omega), len(other))))
    joint = mass[i] * other_mass[j]
    two = np.any(omega != 0, axis=1)[i] & np.any(other != 0, axis=1)[j]
    plus, minus = omega[i] + other[j], (omega[i] - other[j])[two]
    return np.concatenate([plus, minus]), np.concatenate([np.where(two, joint / 2, joint), joint[two] / 2])


def _margins(fields: list[_Field], extent: FloatArray, level: float) -> FloatArray:
    """Extent along each axis of the lags at which a field exceeds `level` of the variance, in any direction."""
    dim = len(extent)
    variance = sum(field.variance * (1.0 if field.lines is None else field.lines[1].sum()) for field in fields)
    # in extents, since axes may be in units of their own; one range may be that of the longest axis
    unit = np.where(extent > 0, extent, extent.max())
    further = np.log10(unit.max() / unit.min())
    reach = np.logspace(-3, 3 + further, 241 + int(np.ceil(40 * further)))
    margin = reach[0] * unit
    for field in fields:
        axes = list(field.axes)
        weight = 1.0 if field.lines is None else float(field.lines[1].sum())
        for along in _directions(len(axes)) if axes else ():
            direction = np.zeros(dim)
            direction[axes] = along
            large = weight * np.abs(field.at(reach[:, None] * direction * unit)) > level * variance
            last = int(np.flatnonzero(large)[-1]) if large.any() else 0
            margin = np.maximum(margin, reach[min(last + 1, len(reach) - 1)] * np.abs(direction) * unit)
    return margin


def _directions(dim: int) -> FloatArray:
    """Directions to look in, the axes among them."""
    if dim == 1:
        return np.ones((1, 1))
    if dim == 2:
        angle = np.pi * np.arange(24) / 24
        return np.column_stack([np.cos(angle), np.sin(angle)])
    steps = np.array([j for j in np.ndindex(3, 3, 3) if j != (1, 1, 1)]) - 1.0
    return steps / np.linalg.norm(steps, axis=1, keepdims=True)


def _draft(kernel: Kernel, extent: FloatArray, level: float, n: int, missing: float) -> Frequencies:
    fields = _fields(kernel, len(extent))
    spacing = 1 / (extent + _margins(fields, extent, level))
    found = [(field, *_heaviest(field, spacing, n, missing)) for field in fields]
    index, mass = _merged([(f.axes, i, m) for f, i, m in found if f.lines is None], len(extent))
    kept = _cut(mass, n, missing, total_variance(kernel))
    if len(found) == sum(f.lines is None for f in fields):
        return Frequencies(2 * np.pi * spacing * index[kept], mass[kept], Lattice(spacing, index[kept]))
    waves = [(2 * np.pi * spacing * index, mass)]
    for field, i, m in found:
        if field.lines is not None:
            omega = np.zeros((len(i), len(extent)))
            omega[:, list(field.axes)] = 2 * np.pi * spacing[list(field.axes)] * i
            few = max(1, limits.LARGEST_BOX // (2 * len(field.lines[1])))
            waves.append(_stacked(omega[:few], m[:few], *field.lines))
    omega, mass = (np.concatenate(parts) for parts in zip(*waves, strict=True))
    kept = _cut(mass, n, missing, total_variance(kernel))
    return Frequencies(omega[kept], mass[kept])  # lines lie where they lie: no lattice


def _heaviest(field: _Field, spacing: FloatArray, n: int, missing: float) -> tuple[IntArray, FloatArray]:
    """Lattice points of the half space in order of their mass, until n or all but a share of the variance is there."""
    if not field.axes:  # nothing but lines
        return np.zeros((1, 0), dtype=np.intp), field.mass(spacing, np.zeros((1, 0), dtype=np.intp))
    half = np.full(len(field.axes), 4)
    while True:
        index = _half_space(half)
        mass = field.mass(spacing, index)
        mass *= np.where(np.any(index != 0, axis=1), 2.0, 1.0)  # a wave stands for its negative
        kept = _cut(mass, n, missing, field.variance)
        # grow the box along axes where the kept waves touch its side, or where more are wanted
        touching = np.abs(index[kept]).max(axis=0) >= half
        enough = len(kept) < len(mass) and not touching.any()
        if enough or np.prod(2 * half + 1.0) * 1.5 > limits.LARGEST_BOX:
            return index[kept], mass[kept]
        half = np.where(touching | (len(kept) >= len(mass)), np.ceil(half * 1.5).astype(int), half)


def _cut(mass: FloatArray, n: int, missing: float, variance: float) -> IntArray:
    """The heaviest waves in order, until n or all but a share of the variance is there."""
    order = np.argsort(-mass, kind="stable")
    left = 1 - np.cumsum(mass[order]) / variance
    return order[: min(n, int(np.searchsorted(-left, -missing)) + 1)]


def _merged(parts: list[tuple[tuple[int, ...], IntArray, FloatArray]], dim: int) -> tuple[IntArray, FloatArray]:
    """Lattice points of several fields on all axes, each point once."""
    if len(parts) == 1 and len(parts[0][0]) == dim:
        return parts[0][1], parts[0][2]
    whole = [np.zeros((0, dim), dtype=np.intp)]
    for axes, index, _ in parts:
        whole.append(np.zeros((len(index), dim), dtype=np.intp))
        whole[-1][:, list(axes)] = index
    unique, which = np.unique(np.concatenate(whole), axis=0, return_inverse=True)
    total = np.zeros(len(unique))
    np.add.at(total, which.ravel(), np.concatenate([np.zeros(0), *(m for _, _, m in parts)]))
    return unique, total


def _half_space(half: IntArray) -> IntArray:
    """Lattice points, one of each pair +-j, zero included: (m, dim)."""
    axes = [np.arange(-h, h + 1) for h in half]
    index = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(half))
    return index[len(index) // 2 :]  # in this order the second half is the negative of the first


def _rms_error(frequencies: Frequencies, kernel: Kernel, extent: FloatArray, seed: int) -> float:
    start, end = generator(seed, "lattice lags").random((2, 500, len(extent)))
    with np.errstate(over="ignore"):  # an infinite error is one, too
        return float(np.sqrt(np.mean(frequencies.error(kernel, (end - start) * extent) ** 2)))
