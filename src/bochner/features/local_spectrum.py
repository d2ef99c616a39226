"""Local spectrum: waves whose amplitudes change from place to place, for fields that are not stationary.

A stationary field gives a wave the same amplitude everywhere. Let the spectrum be that of a kernel whose length scale
and variance vary slowly (Priestley's evolutionary spectrum): where the length scale is short, high frequencies are
loud. Then k(x, z) is the integral of sqrt(S_x(omega) S_z(omega)) cos(omega'(x - z)), a valid covariance whatever
varies; for the Gaussian kernel it is the one of Gibbs (1997).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import PartError
from bochner.features.base import BoolArray, FeatureMap
from bochner.features.nystroem import NystroemMap
from bochner.features.wave_columns import wave_columns
from bochner.frequencies import Frequencies
from bochner.kernels import Kernel, spectral_density, total_variance

LEVELS = np.linspace(-2.5, 2.5, 81)  # log of the length scale, relative to the kernel's, that are tabulated


@dataclass(frozen=True)
class LocalSpectrumMap(FeatureMap):
    """phi(x) = a(x) [cos omega'x, sin omega'x] with amplitudes of a kernel of length scale l(x) and variance v(x).

    Attributes
    ----------
    omega : (m, dim)
        Frequencies of a lattice fine and wide enough for all length scales.
    table : (levels, m)
        Amplitude of each wave when the kernel is stretched by exp(`LEVELS`).
    variance : float
        Variance of the kernel.
    surface : NystroemMap
        Smooth basis functions (k of them) of log l(x) and log v(x).
    stretch, swell : (k + 1,)
        Their coefficients, a constant first: of the log length scale and the log variance, relative to the kernel.
    box : pair of (dim,)
        Where the waves stand for the field; beyond it the prior holds.
    """

    omega: FloatArray
    table: FloatArray
    variance: float
    surface: NystroemMap
    stretch: FloatArray
    swell: FloatArray
    box: tuple[FloatArray, FloatArray]

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        return 2 * len(self.omega)

    def block(self, coords: FloatArray) -> FloatArray:
        amplitude = self.at(coords).amplitude
        amplitude[self.outside(coords)] = 0.0
        cosines, sines = self.waves(coords)
        return np.hstack([amplitude * cosines, amplitude * sines])

    def waves(self, coords: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cosines and sines (n, m) of unit amplitude."""
        both = wave_columns(coords, self.omega, np.ones(len(self.omega)))
        return both[:, : len(self.omega)], both[:, len(self.omega) :]

    def at(self, coords: FloatArray) -> LocalSpectra:
        """Spectra at some places."""
        basis = self.basis(coords)
        log_length, log_swell = basis @ self.stretch, basis @ self.swell
        step = LEVELS[1] - LEVELS[0]
        position = (np.clip(log_length, LEVELS[0], LEVELS[-1]) - LEVELS[0]) / step
        cell = np.minimum(position.astype(np.intp), len(LEVELS) - 2)
        return LocalSpectra(self.table, cell, position - cell, log_length, log_swell, self.variance, basis)

    def basis(self, coords: FloatArray) -> FloatArray:
        """A constant and the smooth basis functions, (n, k + 1)."""
        return np.column_stack([np.ones(len(coords)), self.surface.block(coords)])

    def outside(self, coords: FloatArray) -> BoolArray:
        """Places beyond the box, where periodic waves would show ghosts of the data: the prior holds there."""
        return np.asarray(np.any((coords < self.box[0]) | (coords > self.box[1]), axis=1))

    def missing_variance(self, coords: FloatArray) -> FloatArray:
        missing = np.empty(len(coords))
        for i in self.slices(len(coords)):
            local = self.at(coords[i])
            missing[i] = np.where(self.outside(coords[i]), local.prior, local.prior - local.carried)
        return missing

    def prior_variance(self, coords: FloatArray) -> FloatArray:
        return np.concatenate([np.zeros(0), *(self.at(coords[i]).prior for i in self.slices(len(coords)))])


@dataclass(frozen=True)
class LocalSpectra:
    """Spectra at n places: amplitudes between two rows of the table, by how far the kernel is stretched there."""

    table: FloatArray
    cell: IntArray
    share: FloatArray
    log_length: FloatArray
    log_swell: FloatArray
    variance: float
    basis: FloatArray

    @property
    def amplitude(self) -> FloatArray:
        """Amplitude of each wave, (n, m)."""
        share = self.share[:, None]
        between = (1 - share) * self.table[self.cell] + share * self.table[self.cell + 1]
        return between * np.exp(self.log_swell / 2)[:, None]

    @property
    def slope(self) -> FloatArray:
        """Derivative of the amplitudes in the log length scale, (n, m); zero beyond the table."""
        inside = (self.log_length > LEVELS[0]) & (self.log_length < LEVELS[-1])
        rise = (self.table[self.cell + 1] - self.table[self.cell]) / (LEVELS[1] - LEVELS[0])
        return rise * np.where(inside, np.exp(self.log_swell / 2), 0.0)[:, None]

    @property
    def carried(self) -> FloatArray:
        """Variance in the waves, (n,)."""
        return np.sum(self.amplitude**2, axis=1)

    @property
    def nominal(self) -> FloatArray:
        """Variance of the kernel there, (n,)."""
        return self.variance * np.exp(self.log_swell)

    @property
    def prior(self) -> FloatArray:
        """Variance of the field, (n,): the kernel's, or what the waves carry, should that be a trifle more."""
        return np.maximum(self.nominal, self.carried)


def local_spectrum(
    kernel: Kernel, frequencies: Frequencies, surface: NystroemMap, box: tuple[FloatArray, FloatArray]
) -> LocalSpectrumMap:
    """Map that is stationary as yet, from the waves of a lattice and basis functions for what is to vary."""
    lattice = frequencies.lattice
    if lattice is None:
        raise PartError(
            f"a local spectrum of {kernel!r} was asked for, whose spectrum has lines; it needs a spectral density. "
            f"Take another kernel, e.g. Matern()."
        )
    cell = np.prod(2 * np.pi * lattice.spacing) * np.where(np.any(lattice.index != 0, axis=1), 2.0, 1.0)
    dim = frequencies.dim
    # stretched by e^t, a kernel has the spectral density e^(t dim) S(e^t omega)
    table = np.stack(
        [np.sqrt(cell * np.exp(t * dim) * spectral_density(kernel, np.exp(t) * frequencies.omega)) for t in LEVELS]
    )
    nothing = np.zeros(surface.n_columns + 1)
    return LocalSpectrumMap(frequencies.omega, table, total_variance(kernel), surface, nothing, nothing, box)
