"""Simulated data that the tests of the estimators share."""

from __future__ import annotations

import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Kernel, Matern


def field(n: int = 60, dim: int = 2, seed: int = 0, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Places in the unit cube and a smooth surface observed with noise of this sd."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, dim))
    return X, np.sin(5 * X[:, 0]) + X.sum(axis=1) + noise * rng.normal(size=n)


def draw(kernel: Kernel, coords: np.ndarray, rng: np.random.Generator, n_fields: int = 1) -> np.ndarray:
    """Fields drawn from the exact kernel, (n_fields, n)."""
    root = np.linalg.cholesky(kernel(coords) + 1e-9 * np.eye(len(coords)))
    return rng.normal(size=(n_fields, len(coords))) @ root.T


def new_places(n: int = 20, dim: int = 2, seed: int = 99) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.1, 1.1, size=(n, dim))


# One of each kind of fitted model, hyperparameters kept or learned.
KINDS = {
    "exact": lambda **more: SpatialRegressor(Matern(0.4), features="exact", noise_variance=0.05, tune=None, **more),
    "primal": lambda **more: SpatialRegressor(
        Matern(0.4), features="quasi", n_frequencies=12, noise_variance=0.05, tune=None, **more
    ),
    "woodbury": lambda **more: SpatialRegressor(
        Matern(0.4), features="orthogonal", n_frequencies=80, noise_variance=0.05, tune=None, **more
    ),
    "nystroem": lambda **more: SpatialRegressor(
        Matern(0.4), features="nystroem", n_frequencies=20, noise_variance=0.05, tune=None, **more
    ),
    "least-squares": lambda **more: SpatialRegressor(
        Matern(0.4), features="monte-carlo", n_frequencies=5, noise_variance=0, tune=None, **more
    ),
    "averaged": lambda **more: SpatialRegressor(Matern(0.4) + Matern(2.0, nu=0.5), **more),
    "averaged-features": lambda **more: SpatialRegressor(
        Matern((0.4, 0.5)), features="structured", n_frequencies=15, **more
    ),
}
