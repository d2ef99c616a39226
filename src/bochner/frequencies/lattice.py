"""The lattice: equispaced frequencies, the best waves in one to three dimensions.

Put the frequencies on the lattice 2 pi h j, j in Z^dim. Each carries the spectral mass of its cell, so the kernel's
error falls as fast as its spectral density does, and the waves are periodic with period 1 / h: the period
must cover the places and a margin over which the kernel dies out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.frequencies.base import Frequencies
from bochner.kernels import Kernel, spectral_density, spectral_terms, total_variance
from bochner.random import generator

LARGEST_BOX = 2**22  # lattice points looked at when the heaviest are sought
MARGINS = tuple(10.0**-e for e in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10))  # kernel values that end a margin


@dataclass(frozen=True)
class Lattice:
    """Where the frequencies lie: spacing h per axis (ordinary frequency) and integer positions (m, dim)."""

    spacing: FloatArray
    index: IntArray

    @property
    def half_width(self) -> tuple[int, ...]:
        """Largest position on each axis."""
        return tuple(int(v) for v in np.abs(self.index).max(axis=0))

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
    seed: int = 0,
) -> Frequencies:
    """The heaviest waves of a lattice that covers a box.

    Parameters
    ----------
    kernel : Kernel
        Any shift-invariant kernel with a spectral density, sums included.
    extent : (dim,)
        Sides of the box that holds the data and the places to be predicted.
    n_frequencies : int, optional
        How many waves, each with its negative counted once. The margin is then the one of least measured error.
    missing : float, optional
        Instead: share of the variance that the waves may leave out; the fewest waves are taken, `maximum` at most.
    """
    spectral_terms(kernel)
    extent = np.asarray(extent, dtype=float)
    if not 1 <= len(extent) <= 3:
        raise InputError(
            f"a lattice was asked for in {len(extent)} dimensions; it has 1 to 3. Use features='orthogonal'."
        )
    if n_frequencies is not None:
        drafts = (_draft(kernel, extent, level, n_frequencies, 0.0) for level in MARGINS)
        return min(drafts, key=lambda f: _rms_error(f, kernel, extent, seed))
    share = 1e-3 if missing is None else missing
    return _draft(kernel, extent, min(1e-2, max(share, 1e-9)) * 0.1, maximum, share)


def margin_of(kernel: Kernel, extent: FloatArray, level: float) -> FloatArray:
    """Extent along each axis of the lags at which the kernel exceeds `level` of its variance, in any direction."""
    variance, dim = total_variance(kernel), len(extent)
    reach = extent.max() * np.logspace(-3, 3, 241)
    margin = np.full(dim, reach[0])
    for direction in _directions(dim):
        large = np.abs(kernel.at(reach[:, None] * direction)) > level * variance
        last = int(np.flatnonzero(large)[-1]) if large.any() else 0
        margin = np.maximum(margin, reach[min(last + 1, len(reach) - 1)] * np.abs(direction))
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
    spacing = 1 / (extent + margin_of(kernel, extent, level))
    index, mass = _heaviest(kernel, spacing, n, missing)
    return Frequencies(2 * np.pi * spacing * index, mass, Lattice(spacing, index))


def _heaviest(kernel: Kernel, spacing: FloatArray, n: int, missing: float) -> tuple[IntArray, FloatArray]:
    """Lattice points of the half space in order of their mass, until n or all but a share of the variance is there."""
    variance = total_variance(kernel)
    half = np.full(len(spacing), 4)
    while True:
        index = _half_space(half)
        mass = np.prod(2 * np.pi * spacing) * spectral_density(kernel, 2 * np.pi * spacing * index)
        mass *= np.where(np.any(index != 0, axis=1), 2.0, 1.0)  # a wave stands for its negative
        order = np.argsort(-mass, kind="stable")
        left = 1 - np.cumsum(mass[order]) / variance
        count = min(n, int(np.searchsorted(-left, -missing)) + 1)
        kept = order[:count]
        # grow the box along axes where the kept waves touch its side, or where more are wanted
        touching = np.abs(index[kept]).max(axis=0) >= half
        enough = count < len(order) and not touching.any()
        if enough or np.prod(2 * half + 1.0) * 1.5 > LARGEST_BOX:
            return index[kept], mass[kept]
        half = np.where(touching | (count >= len(order)), np.ceil(half * 1.5).astype(int), half)


def _half_space(half: IntArray) -> IntArray:
    """Lattice points, one of each pair +-j, zero included: (m, dim)."""
    axes = [np.arange(-h, h + 1) for h in half]
    index = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(half))
    return index[len(index) // 2 :]  # in this order the second half is the negative of the first


def _rms_error(frequencies: Frequencies, kernel: Kernel, extent: FloatArray, seed: int) -> float:
    start, end = generator(seed, "lattice lags").random((2, 500, len(extent)))
    return float(np.sqrt(np.mean(frequencies.error(kernel, (end - start) * extent) ** 2)))
