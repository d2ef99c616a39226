"""What the laws of feature maps, factors and fits are tested on: a new one is one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner.features import FeatureMap, FourierMap, LocalSpectrumMap, NystroemMap, PairedMap, Rows, local_spectrum
from bochner.frequencies import (
    Frequencies,
    MonteCarlo,
    Orthogonal,
    QuasiMonteCarlo,
    StructuredOrthogonal,
    draw_pairs,
    lattice_frequencies,
)
from bochner.inference import Observations
from bochner.kernels import Kernel, Matern, Polynomial, SquaredExponential
from bochner.solvers import Factor, cholesky_factor, least_squares, woodbury_factor


def waves(rule: Any, kernel: Kernel, n: int, dim: int, dtype: Any = np.float64) -> FourierMap:
    """Fourier map of a rule, always from the same seed."""
    return FourierMap(rule.draw(kernel, n, dim, np.random.default_rng(0)), dtype)


def landmarks(n: int, dim: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, size=(n, dim))


def varying(kernel: Kernel, dim: int) -> LocalSpectrumMap:
    """Local spectrum over [-1.5, 1.5]^dim with a length scale and a variance that vary."""
    lattice = lattice_frequencies(kernel, np.full(dim, 3.0), n_frequencies=15)
    surface = NystroemMap.at(SquaredExponential(1.0), landmarks(4, dim))
    features = local_spectrum(kernel, lattice, surface, (np.full(dim, -1.5), np.full(dim, 1.5)))
    return replace(features, stretch=np.linspace(-0.3, 0.4, 5), swell=np.linspace(0.2, -0.3, 5))


# A feature map as a function of the dimension, with the kernel that it stands for.
FEATURE_MAPS: dict[str, Callable[[int], FeatureMap]] = {
    "monte-carlo": lambda dim: waves(MonteCarlo(), Matern(0.7, 2.0), 12, dim),
    "quasi-sum": lambda dim: waves(QuasiMonteCarlo(), Matern(0.7) + SquaredExponential(2.0, 0.3), 15, dim),
    "orthogonal": lambda dim: waves(Orthogonal(), Matern(0.7, nu=0.5), 12, dim),
    "structured": lambda dim: waves(StructuredOrthogonal(), SquaredExponential(0.5), 12, dim),
    "one-wave": lambda dim: waves(MonteCarlo(), Matern(), 1, dim),
    "paired": lambda dim: PairedMap(draw_pairs(Matern(0.7, 2.0), 12, dim, np.random.default_rng(0), 0.7), missing=0.1),
    "local-spectrum": lambda dim: varying(Matern(0.7, 2.0), dim),
    "nystroem": lambda dim: NystroemMap.at(Matern(0.7, 2.0), landmarks(20, dim)),
    "nystroem-smooth": lambda dim: NystroemMap.at(SquaredExponential(3.0), landmarks(20, dim)),
    "nystroem-polynomial": lambda dim: NystroemMap.at(Polynomial(degree=2, offset=0.5), landmarks(10, dim)),
}
NYSTROEM = {name: make for name, make in FEATURE_MAPS.items() if name.startswith("nystroem")}


@dataclass(frozen=True)
class System:
    """A linear model in full: features, trend, responses and the precision of each row."""

    phi: np.ndarray
    trend: np.ndarray
    y: np.ndarray
    precision: np.ndarray

    @property
    def columns(self) -> np.ndarray:
        return np.column_stack([self.phi, self.trend])

    @property
    def matrix(self) -> np.ndarray:
        """Precision of the coefficients: the prior is I on the features and 0 on the trend."""
        prior = np.r_[np.ones(self.phi.shape[1]), np.zeros(self.trend.shape[1])]
        return self.columns.T @ (self.precision[:, None] * self.columns) + np.diag(prior)


def system(dim: int, n: int = 30, n_waves: int = 8, n_trend: int = 2) -> System:
    rng = np.random.default_rng(dim)
    # waves spread out and short beside the extent: columns far from collinear, least squares well determined
    phi = waves(QuasiMonteCarlo(), Matern(0.2), n_waves, dim).block(20 * rng.normal(size=(n, dim)))
    trend = np.column_stack([np.ones(n), 100 * rng.normal(size=(n, 1))])[:, :n_trend]
    return System(phi, trend, rng.normal(size=n), rng.uniform(0.5, 5.0, size=n))


SYSTEMS: dict[str, Callable[[int], System]] = {
    "more-rows": lambda dim: system(dim),
    "more-columns": lambda dim: system(dim, n=12, n_waves=10),
    "no-trend": lambda dim: system(dim, n_trend=0),
}

# Factors of the precision above, and least squares, whose covariance is its own.
FACTORS: dict[str, Callable[[System], Factor]] = {
    "cholesky": lambda s: cholesky_factor(s.matrix, s.trend.shape[1]),
    "woodbury": lambda s: woodbury_factor(s.phi, s.trend, s.precision),
}
LEAST_SQUARES: dict[str, Callable[[System], Factor]] = {
    "least-squares": lambda s: least_squares(s.columns, s.y),
    "truncated": lambda s: least_squares(s.columns, s.y, cutoff=0.05),
}


@dataclass(frozen=True)
class WaveKernel(Kernel):
    """Kernel that some waves make: the dual view of a Fourier map."""

    frequencies: Frequencies

    def covariance(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        phase = (x[..., :, None, :] - z[..., None, :, :]) @ self.frequencies.omega.T
        return np.asarray(np.cos(phase) @ self.frequencies.mass)


def observe(
    dim: int, n: int = 40, *, trend: int = 2, weights: bool = False, errors: bool = False, copies: bool = False
) -> Observations:
    """Observations of a smooth surface with noise; `copies` stand for several scattered responses each."""
    rng = np.random.default_rng(10 + dim)
    coords = rng.uniform(-1, 1, size=(n, dim))
    columns = np.column_stack([np.ones(n), rng.normal(size=n)])[:, :trend]
    y = np.sin(3 * coords.sum(axis=1)) + columns.sum(axis=1) + 0.3 * rng.normal(size=n)
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if weights else np.ones(n)
    error = rng.uniform(0, 0.2, size=n) if errors else np.zeros(n)
    scatter = rng.uniform(0, 0.5, size=n) if copies else np.zeros(n)
    return Observations(Rows(coords, columns), y, weight + 2.0 * copies, error, scatter)


OBSERVATIONS: dict[str, Callable[[int], Observations]] = {
    "plain": lambda dim: observe(dim, trend=0),
    "trend": lambda dim: observe(dim),
    "weights": lambda dim: observe(dim, weights=True),
    "errors": lambda dim: observe(dim, errors=True),
    "everything": lambda dim: observe(dim, weights=True, errors=True, copies=True),
}
