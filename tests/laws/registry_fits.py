"""What the laws of Gaussian fits, posteriors and schemes are tested on: a new engine or scheme is one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bochner.features import FeatureMap, FourierMap, NystroemMap, Rows
from bochner.frequencies import RULES, QuasiMonteCarlo, lattice_frequencies
from bochner.inference import Observations
from bochner.inference.fits.base import Engine
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.iterative import IterativeEngine, NearestEngine
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.schemes.choose import SCHEMES
from bochner.kernels import Kernel, Matern, SquaredExponential

NOISE = 0.05


@dataclass(frozen=True)
class Case:
    """An engine, and the field that it stands for.

    Attributes
    ----------
    carried : covariance (n, m) between places, as the engine knows it
    missing : covariance (n, n) of what it leaves out; of training rows its diagonal counts
    """

    engine: Engine
    carried: Callable[[np.ndarray, np.ndarray], np.ndarray]
    missing: Callable[[np.ndarray], np.ndarray]

    def of_rows(self, x: np.ndarray) -> np.ndarray:
        """Covariance of training rows, (n, n)."""
        return self.carried(x, x) + np.diag(np.diag(self.missing(x)))

    def of_places(self, x: np.ndarray) -> np.ndarray:
        """Prior covariance of the field, (n, n)."""
        return self.carried(x, x) + self.missing(x)


def _kernel(dim: int) -> Kernel:
    return Matern(0.6, 1.5, nu=1.5)


def _of_kernel(engine: type[Engine]) -> Callable[[int], Case]:
    def case(dim: int) -> Case:
        kernel = _kernel(dim)
        return Case(engine(kernel, NOISE), kernel, lambda x: np.zeros((len(x), len(x))))  # type: ignore[call-arg]

    return case


def _of_features(make: Callable[[int], FeatureMap]) -> Callable[[int], Case]:
    def case(dim: int) -> Case:
        features = make(dim)

        def carried(x: np.ndarray, z: np.ndarray) -> np.ndarray:
            return np.asarray(features.block(x), dtype=float) @ np.asarray(features.block(z), dtype=float).T

        return Case(LinearEngine(features, NOISE), carried, features.missing_covariance)

    return case


def _waves(n: int) -> Callable[[int], FourierMap]:
    return lambda dim: FourierMap(QuasiMonteCarlo().draw(_kernel(dim), n, dim, np.random.default_rng(0)))


def _lattice(dim: int) -> FourierMap:
    waves = lattice_frequencies(SquaredExponential(0.8, 1.5), np.full(dim, 3.0), n_frequencies=12)
    missing = max(1.5 - float(waves.mass.sum()), 0.0)
    return FourierMap(waves, np.float64, missing, (np.full(dim, -1.5), np.full(dim, 1.5)))


def _nystroem(dim: int) -> NystroemMap:
    return NystroemMap.at(_kernel(dim), np.random.default_rng(1).uniform(-1, 1, size=(8, dim)))


# 20 rows, each given up to 20 predecessors: Vecchia's determinant, and kriging from neighbours, are then exact.
ENGINES: dict[str, Callable[[int], Case]] = {
    "exact": _of_kernel(ExactEngine),
    "iterative": _of_kernel(IterativeEngine),
    "nearest": _of_kernel(NearestEngine),
    "few waves": _of_features(_waves(6)),
    "more waves than rows": _of_features(_waves(40)),
    "lattice": _of_features(_lattice),
    "nystroem": _of_features(_nystroem),
}

SCHEME_NAMES: tuple[str, ...] = (*SCHEMES, *RULES)


def observations(dim: int, n: int = 20, *, copies: bool = False) -> Observations:
    """Rows with a trend, known errors and weights."""
    rng = np.random.default_rng(dim)
    coords = rng.uniform(-1, 1, size=(n, dim))
    trend = np.column_stack([np.ones(n), coords[:, 0]])
    y = 1.0 + np.sin(3 * coords[:, 0]) + 0.2 * rng.standard_normal(n)
    weight = rng.integers(1, 4, n).astype(float) if copies else np.ones(n)
    error = rng.uniform(0, 0.05, n) if copies else np.zeros(n)
    scatter = rng.uniform(0, 0.1, n) * (weight > 1)
    return Observations(Rows(coords, trend), y, weight, error, scatter)
