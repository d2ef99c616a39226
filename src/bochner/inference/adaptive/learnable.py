"""Parameterised feature maps: a flat parameter vector, and the gradient of the evidence in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.features import FeatureMap, FourierMap, LocalSpectrumMap, PairedMap
from bochner.frequencies import Frequencies, PairedFrequencies
from bochner.inference.evidence.feature_evidence import frequency_gradient, pulled
from bochner.inference.fits.linear import LinearFit
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, spectral_density

LogDensity = Callable[[FloatArray], tuple[float, FloatArray]]


class Learnable(Protocol):
    """Feature maps as a function of a vector x, with a prior on it."""

    @property
    def start(self) -> FloatArray:
        """Vector to start from."""

    def at(self, x: FloatArray) -> FeatureMap:
        """Feature map of a vector."""

    def gradient(
        self, fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None
    ) -> tuple[FloatArray, float]:
        """Gradient of the log evidence of a fit in x, and in its log noise variance."""

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Log prior density of a vector, up to a constant, and its gradient."""


@dataclass(frozen=True)
class LearnableWaves:
    """Frequencies, or pairs of them, and masses: x = [omega / unit, log mass relative to the start]."""

    origin: Frequencies | PairedFrequencies
    unit: FloatArray  # size of a step in omega, per axis
    density: LogDensity  # of omega (m, dim)

    @property
    def start(self) -> FloatArray:
        return np.r_[(omegas_of(self.origin) / self.unit).ravel(), np.zeros(self.origin.n)]

    def at(self, x: FloatArray) -> FourierMap | PairedMap:
        omegas, log_mass = self._split(x)
        mass = self.origin.mass * np.exp(log_mass)
        if len(omegas) == 1:
            return FourierMap(Frequencies(omegas[0], mass))
        return PairedMap(PairedFrequencies(omegas[0], omegas[1], mass))

    def gradient(
        self, fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None
    ) -> tuple[FloatArray, float]:
        features = fit.posterior.features
        if isinstance(features, FourierMap):
            by_omega, by_log_mass, by_noise = frequency_gradient(fit, obs, reml=reml, implicit=implicit)
            return np.r_[(by_omega * self.unit).ravel(), by_log_mass], by_noise
        assert isinstance(features, PairedMap)
        pairs, m = features.pairs, self.origin.n

        def pull(i: slice, phi: FloatArray, g: FloatArray, by_variance: FloatArray) -> FloatArray:
            coords, by_omega = obs.rows.coords[i], []
            for omega in (pairs.first, pairs.second):
                phase = coords @ omega.T
                by_phase = (g[:, m:] * np.cos(phase) - g[:, :m] * np.sin(phase)) * (0.5 * np.sqrt(pairs.mass))
                by_omega.append((by_phase.T @ coords * self.unit).ravel())
            by_log_mass = 0.5 * np.sum(g[:, :m] * phi[:, :m] + g[:, m:] * phi[:, m:], axis=0)
            return np.r_[(*by_omega, by_log_mass)]

        return pulled(pull, fit, obs, reml=reml, implicit=implicit)

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        omegas, log_mass = self._split(x)
        precision = 1 / 2.0**2  # of a log mass about its start
        values, slopes = zip(*(self.density(omega) for omega in omegas), strict=True)
        value = sum(values) - 0.5 * precision * float(np.sum(log_mass**2))
        return value, np.r_[(np.stack(slopes) * self.unit).ravel(), -precision * log_mass]

    def _split(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = len(x) - self.origin.n
        return x[:n].reshape(omegas_of(self.origin).shape) * self.unit, x[n:]


def omegas_of(waves: Frequencies | PairedFrequencies) -> FloatArray:
    """The frequencies (1, m, dim), or both of each pair (2, m, dim)."""
    return np.stack([waves.omega] if isinstance(waves, Frequencies) else [waves.first, waves.second])


@dataclass(frozen=True)
class LearnableSpectrum:
    """Length scale and variance as surfaces: x = [coefficients of the one, of the other], standard normal a priori.

    The constants of both, the values of a stationary kernel, are left free.
    """

    origin: LocalSpectrumMap

    @property
    def start(self) -> FloatArray:
        return np.r_[self.origin.stretch, self.origin.swell]

    def at(self, x: FloatArray) -> LocalSpectrumMap:
        k = len(self.origin.stretch)
        return replace(self.origin, stretch=x[:k], swell=x[k:])

    def gradient(
        self, fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None
    ) -> tuple[FloatArray, float]:
        features = fit.posterior.features
        assert isinstance(features, LocalSpectrumMap)
        m = len(features.omega)

        def pull(i: slice, phi: FloatArray, g: FloatArray, by_variance: FloatArray) -> FloatArray:
            coords = obs.rows.coords[i]
            local, (cosines, sines) = features.at(coords), features.waves(coords)
            amplitude = local.amplitude
            by_amplitude = g[:, :m] * cosines + g[:, m:] * sines
            # what the waves do not carry is noise to the rows, so louder waves make for less of it
            missing = np.where(local.nominal > np.sum(amplitude**2, axis=1), by_variance, 0.0)
            by_amplitude -= 2 * missing[:, None] * amplitude
            by_length = np.sum(by_amplitude * local.slope, axis=1)
            by_swell = 0.5 * np.sum(by_amplitude * amplitude, axis=1) + missing * local.nominal
            return np.r_[local.basis.T @ by_length, local.basis.T @ by_swell]

        return pulled(pull, fit, obs, reml=reml, implicit=implicit)

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        k = len(self.origin.stretch)
        precision = np.repeat([1 / 1.0**2, 1 / 0.7**2], k)  # of log length scale and of log variance
        precision[[0, k]] = 0.0
        return -0.5 * float(np.sum(precision * x**2)), -precision * x


def density_of(kernel: Kernel, start: FloatArray, unit: FloatArray) -> LogDensity:
    """Prior of frequencies: the kernel's spectral density, or a wide one about the start where it has none."""
    try:
        spectral_density(kernel, start[:1])
    except KernelError:
        return lambda omega: (
            -0.5 * float(np.sum(((omega - start) / unit) ** 2)),
            -(omega - start) / unit**2,
        )

    def log_density(omega: FloatArray) -> FloatArray:
        return np.log(np.maximum(spectral_density(kernel, omega), 1e-300))

    def density(omega: FloatArray) -> tuple[float, FloatArray]:
        slope = np.empty_like(omega)
        for j in range(omega.shape[1]):
            step = np.zeros(omega.shape[1])
            step[j] = 1e-4 * unit[j]
            slope[:, j] = (log_density(omega + step) - log_density(omega - step)) / (2 * step[j])
        return float(np.sum(log_density(omega))), slope

    return density
