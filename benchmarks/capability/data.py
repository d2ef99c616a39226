"""Rows for the checks, and comparisons of answers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import bochner
from bochner import SpatialRegressor
from bochner.kernels import Matern

FIXED: dict[str, Any] = {"kernel": Matern(0.3, nu=1.5), "noise_variance": 0.05, "tune": None}
WAVES: dict[str, Any] = {**FIXED, "features": "lattice", "n_frequencies": 60}
FAMILIES = ("gaussian", "bernoulli", "binomial", "poisson", "negative-binomial", "gamma", "student")
Rows = tuple[np.ndarray, np.ndarray]


def surface(X: np.ndarray) -> np.ndarray:
    """A smooth surface over the unit square."""
    return np.sin(6 * X[:, 0]) * np.cos(5 * X[:, 1])


def rows(n: int, seed: int = 0, noise: float = 0.2, dim: int = 2) -> Rows:
    """Places and noisy measurements of the surface."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, dim))
    return X, surface(X) + noise * rng.normal(size=n)


@cache
def drawn(n: int, length: float = 0.25, nu: float = 1.5, seed: int = 0) -> Rows:
    """Places and noisy measurements of a field drawn from the exact kernel."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    root = np.linalg.cholesky(Matern(length, nu=nu)(X) + 1e-9 * np.eye(n))
    return X, root @ rng.normal(size=n) + 0.2 * rng.normal(size=n)


def responses(family: str, X: np.ndarray, seed: int = 0) -> tuple[np.ndarray, dict[str, Any]]:
    """Responses of a family about the surface, and what they are out of."""
    rng, eta = np.random.default_rng(seed), surface(X)
    size = rng.integers(10, 40, len(X)).astype(float)
    chance = 1 / (1 + np.exp(-2 * eta))
    if family == "binomial":
        return rng.binomial(size.astype(int), chance).astype(float), {"trials": size}
    if family in ("poisson", "negative-binomial"):
        effect = rng.gamma(4, 0.25, len(X)) if family == "negative-binomial" else 1.0
        return rng.poisson(size * effect * np.exp(eta)).astype(float), {"exposure": size}
    if family == "bernoulli":
        return (rng.uniform(size=len(X)) < chance).astype(float), {}
    if family == "gamma":
        return np.exp(eta) * rng.gamma(10, 0.1, len(X)), {}
    scatter = rng.standard_t(4, len(X)) if family == "student" else rng.normal(size=len(X))
    return eta + 0.2 * scatter, {}


def table(n: int, seed: int = 0) -> pd.DataFrame:
    """A table with coordinates, a covariate and responses."""
    X, z = rows(n, seed)
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "height": np.random.default_rng(seed + 1).normal(size=n)})
    counts, more = responses("poisson", X, seed)
    positive, of = responses("binomial", X, seed)
    return frame.assign(
        z=z + 0.5 * frame.height, count=counts, people=more["exposure"], positive=positive, examined=of["trials"]
    )


def places(n: int = 50, seed: int = 99) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(n, 2))


def answers(model: Any, at: Any) -> np.ndarray:
    """Mean and sd at some places, (2, n)."""
    found = model.predict(at, return_std=True)
    pair = found if isinstance(found, tuple) else (found["mean"], found["sd"])
    return np.stack([np.ravel(np.asarray(one)) for one in pair])


def same(a: np.ndarray, b: np.ndarray, what: str = "they") -> None:
    """Require the same bits."""
    assert np.array_equal(a, b), f"{what} differ by up to {np.max(np.abs(np.asarray(a) - b)):.3g}"


def alike(a: np.ndarray, b: np.ndarray, within: float = 1e-3) -> None:
    """Require means and sds that agree within a part of an sd."""
    mean, sd = (np.max(np.abs(one - other) / b[1]) for one, other in zip(a, b, strict=True))
    assert max(mean, sd) <= within, f"means differ by up to {mean:.3g} sd, sds by {sd:.3g}"


def fitted(model: SpatialRegressor, *data: Any, run: dict[str, Any] | None = None, **given: Any) -> SpatialRegressor:
    """A fit with options of its run (store, checkpoint, resume, dask), as this version takes them."""
    if run and hasattr(bochner, "Run"):
        return model.fit(*data, **given, run=bochner.Run(**run))
    return model.fit(*data, **given, **(run or {}))
