"""Simulated surveys of every family that the tests of the estimators share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner import SpatialRegressor
from bochner.families import Bernoulli, Binomial, Family, Gamma, NegativeBinomial, Poisson
from bochner.kernels import Matern
from tests.estimators.fields import draw

FAMILIES: dict[str, Family] = {
    "bernoulli": Bernoulli(),
    "binomial": Binomial(),
    "binomial-probit": Binomial("probit"),
    "poisson": Poisson(),
    "poisson-identity": Poisson("identity"),
    "negative-binomial": NegativeBinomial(dispersion=0.5),
    "gamma": Gamma(dispersion=0.3),
}
KERNEL = Matern(0.3, 0.8)
IID = 0.1


@dataclass(frozen=True)
class Survey:
    """Places with a covariate, responses, what fit takes beside them, and the true linear predictor."""

    family: Family
    X: np.ndarray
    y: np.ndarray
    size: np.ndarray
    eta: np.ndarray

    @property
    def known(self) -> dict[str, Any]:
        return {} if self.family.size_name is None else {self.family.size_name: self.size}

    def __getitem__(self, rows: Any) -> Survey:
        return Survey(self.family, self.X[rows], self.y[rows], self.size[rows], self.eta[rows])


def survey(family: Family, n: int = 80, seed: int = 0, iid: float = 0.0) -> Survey:
    """A field drawn from the exact kernel, a covariate that matters, responses of the family."""
    rng = np.random.default_rng(seed)
    places, covariate = rng.uniform(size=(n, 2)), rng.normal(size=n)
    level = 6.0 if family.link == "identity" else 0.3
    eta = level + 0.5 * covariate + draw(KERNEL, places, rng)[0]
    size = rng.integers(5, 25, size=n).astype(float) if family.size_name else np.ones(n)
    y = family.draw(eta + np.sqrt(iid) * rng.normal(size=n), size, rng)
    return Survey(family, np.column_stack([places, covariate]), y, size, eta)


def model_of(family: Family, **parts: Any) -> SpatialRegressor:
    """Model with the true kernel, held."""
    settings = {"kernel": KERNEL, "noise_variance": 0.0, "tune": None, "coords": [0, 1], "covariates": [2]}
    return SpatialRegressor(**{**settings, "family": family, **parts})
