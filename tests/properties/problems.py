"""Small spatial problems of every family, and the ways in which a problem may be told without being another one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from bochner import SpatialRegressor
from bochner.families import (
    Bernoulli,
    Binomial,
    Family,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Poisson,
    Student,
)
from bochner.kernels import Matern

LAWS: dict[str, Family] = {
    "gaussian": Gaussian(dispersion=0.05),
    "student": Student(dispersion=0.05, dof=4.0),
    "bernoulli": Bernoulli(),
    "binomial": Binomial(),
    "poisson": Poisson(),
    "negative-binomial": NegativeBinomial(dispersion=0.3),
    "gamma": Gamma(dispersion=0.3),
}
FAMILIES = tuple(LAWS)
SCHEMES = ("exact", "lattice", "nystroem", "orthogonal", "quasi")
SAME_EACH_TIME = settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # a fit is too slow for hundreds of smaller examples
    suppress_health_check=list(HealthCheck),
)

families = st.sampled_from(FAMILIES)
schemes = st.sampled_from(SCHEMES)
seeds = st.integers(0, 2**16)


@dataclass(frozen=True)
class Problem:
    """Rows (two coordinates and a covariate), responses, what they are out of, and new places; all values are held.

    Attributes
    ----------
    unit, length : of the response, and of the coordinates
    """

    family: Family
    X: np.ndarray
    y: np.ndarray
    size: np.ndarray
    at: np.ndarray
    features: str = "exact"
    unit: float = 1.0
    length: float = 1.0

    def model(self, **parts: Any) -> SpatialRegressor:
        variance = self.unit**2 if self.family.additive else 1.0
        family = Gaussian() if self.family.observes_eta else self.family.divided(1 / self.unit)
        known = {
            "kernel": Matern(0.4 * self.length, 0.8 * variance, nu=1.5),
            "family": family,
            "noise_variance": 0.05 * variance if family.observes_eta or family.size_name else 0.0,
            "n_frequencies": "auto" if self.features in ("exact", "lattice") else 30,
            "tune": None,
            "coords": [0, 1],
            "covariates": [2],
            "n_jobs": 1,
        }
        return SpatialRegressor(**{**known, "features": self.features, **parts})

    def fit(self, weight: Any = None, **parts: Any) -> SpatialRegressor:
        return self.model(**parts).fit(self.X, self.y, sample_weight=weight, **self.sizes)

    @property
    def sizes(self) -> dict[str, Any]:
        return {} if self.family.size_name is None else {self.family.size_name: self.size}

    def answers(self, weight: Any = None, **parts: Any) -> np.ndarray:
        """Mean and sd of the linear predictor at the new places, in the unit of the response; (2, n)."""
        return np.stack(self.fit(weight, **parts).predict_latent(self.at)) / self.unit

    def with_coords(self, move: Any) -> Problem:
        """The same rows at places that `move` makes of (n, 2)."""
        X, at = (np.column_stack([move(x[:, :2]), x[:, 2]]) for x in (self.X, self.at))
        return replace(self, X=X, at=at)

    def taken(self, rows: Any) -> Problem:
        return replace(self, X=self.X[rows], y=self.y[rows], size=self.size[rows])


def problem(family: str, seed: int, features: str = "exact", n: int = 40) -> Problem:
    """A smooth surface over the unit square with responses of a family."""
    rng, law = np.random.default_rng(seed), LAWS[family]
    X, at = (np.column_stack([rng.uniform(size=(m, 2)), rng.normal(size=m)]) for m in (n, 12))
    eta = 0.3 + np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.3 * X[:, 2]
    size = rng.integers(3, 20, n).astype(float) if law.size_name else np.ones(n)
    return Problem(law, X, law.draw(eta, size, rng), size, at, features)
