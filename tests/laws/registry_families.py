"""What the laws of families are tested on: a new one is one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from bochner.families import Bernoulli, Binomial, Family, Gamma, Gaussian, NegativeBinomial, Poisson, Student

FAMILIES: dict[str, Family] = {
    "gaussian": Gaussian(dispersion=1.7),
    "bernoulli-logit": Bernoulli(),
    "bernoulli-probit": Bernoulli("probit"),
    "binomial-logit": Binomial(),
    "binomial-probit": Binomial("probit"),
    "poisson-log": Poisson(),
    "poisson-identity": Poisson("identity"),
    "negative-binomial": NegativeBinomial(dispersion=0.5),
    "negative-binomial-wide": NegativeBinomial(dispersion=30.0),
    "negative-binomial-poisson": NegativeBinomial(dispersion=1e-9),
    "gamma": Gamma(dispersion=0.3),
    "gamma-wide": Gamma(dispersion=5.0),
    "gamma-narrow": Gamma(dispersion=1e-7),
    "student": Student(dispersion=1.7, dof=5.0),
    "student-nearly-gaussian": Student(dispersion=0.4, dof=60.0),
}

# The same laws in scipy, of eta and size.
LAWS: dict[str, Callable[[Family, np.ndarray, np.ndarray], Any]] = {
    "gaussian": lambda family, eta, size: stats.norm(eta, np.sqrt(family.dispersion)),
    "bernoulli": lambda family, eta, size: stats.binom(1, _probability(family, eta)),
    "binomial": lambda family, eta, size: stats.binom(size.astype(int), _probability(family, eta)),
    "poisson": lambda family, eta, size: stats.poisson(size * (np.exp(eta) if family.link == "log" else eta)),
    "negative-binomial": lambda family, eta, size: stats.nbinom(
        1 / family.dispersion, 1 / (1 + family.dispersion * size * np.exp(eta))
    ),
    "student": lambda family, eta, size: stats.t(family.dof, eta, np.sqrt(family.dispersion)),
    "gamma": lambda family, eta, size: stats.gamma(1 / family.dispersion, scale=family.dispersion * np.exp(eta)),
}


def _probability(family: Family, eta: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-eta)) if family.link == "logit" else stats.norm.cdf(eta)
