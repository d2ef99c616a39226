"""Doors of Python: estimators with odd parameters, odd tables and odd questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from bochner import FourierFeatures, SpatialClassifier, SpatialRegressor
from bochner.kernels import (
    Cauchy,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    SquaredExponential,
    kernel_named,
)
from tests.fuzz.odd import NUMBERS, TEXTS, number, rarely, some

FEATURES = ("auto", "exact", "lattice", "quasi", "monte-carlo", "orthogonal", "structured", "nystroem", "leverage")
FAMILIES = ("gaussian", "gaussian", "gaussian", "binomial", "bernoulli", "poisson", "negative-binomial", "gamma")
KERNELS = (Matern, SquaredExponential, Cauchy, Laplacian, RationalQuadratic, Periodic, Polynomial, Linear)


def regressor(rng: Generator, folder: Path) -> None:
    """Fit and ask a regressor; what it answers is made of numbers, with sd that are none below zero."""
    X, y = table(rng), None
    n = len(X) if hasattr(X, "__len__") else 3
    family = some(rng, FAMILIES)
    y = response(rng, n, family)
    model = SpatialRegressor(**parameters(rng, family))
    model.fit(X, y, **beside(rng, n, family))
    ask(rng, model, X)


def classifier(rng: Generator, folder: Path) -> None:
    """The same for labels of any kind."""
    X = table(rng)
    labels = some(
        rng, (["a", "b"], [0, 1], [1.5, 2.5, 3.5], [True, False], ["a", 1], [None, "a"], ["only"], [0, np.nan])
    )
    y = np.array(
        [some(rng, labels) for _ in range(len(X) if hasattr(X, "__len__") else 3)],
        dtype=object if rarely(rng, 0.5) else None,
    )
    model = SpatialClassifier(kernel(rng), tune=None, n_frequencies=some(rng, ("auto", 10)))
    chance = model.fit(X, y).predict_proba(X[:3])
    assert np.all((chance >= 0) & (chance <= 1)) and np.allclose(chance.sum(axis=1), 1), "no probabilities"


def waves(rng: Generator, folder: Path) -> None:
    """Features alone."""
    X = table(rng)
    options = {"n_frequencies": some(rng, (1, 5, 50, 50, 0, "auto")), "features": some(rng, (*FEATURES, "x"))}
    phi = FourierFeatures(kernel(rng), **options).fit(X).transform(X)
    assert np.isfinite(phi).all(), "features that are no numbers"


def kernels(rng: Generator, folder: Path) -> None:
    """Kernels by name and by value, at places of any size."""
    made = kernel_named(kernel_text(rng) if rarely(rng, 0.5) else kernel(rng, odd=0.3))
    places = rng.normal(size=(int(rng.integers(1, 6)), int(rng.integers(1, 4)))) * 10.0 ** rng.integers(-6, 7)
    covariance = made(places)
    assert np.isfinite(covariance).all() and np.allclose(covariance, covariance.T), "no covariance"


def table(rng: Generator) -> Any:
    """Places, now and then odd: of any size, equal, on a line, with gaps, of another type."""
    n, dim = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    X = rng.uniform(size=(n, dim))
    if rarely(rng, 0.3):
        X = X * 10.0 ** rng.integers(-12, 13) + 10.0 ** rng.integers(-3, 9)
    if rarely(rng, 0.2):
        X = X[rng.integers(0, max(1, n // 3), n)]
    if rarely(rng, 0.1):
        X[:, 0] = X[0, 0]
    if rarely(rng, 0.1):
        X = np.round(X, 1)
    if rarely(rng, 0.08):
        X = X.copy()
        X[int(rng.integers(n)), int(rng.integers(dim))] = some(rng, (np.nan, np.inf, 1e308, -1e308, 1e-320))
    if rarely(rng, 0.05):
        return X.astype(some(rng, (np.float32, np.float16, object, complex, str, np.int8)))
    if rarely(rng, 0.05):
        return some(rng, (X.ravel(), X[None], X[:0], X[:, :0], X.tolist(), None, "table", 3.0))
    return named(rng, X) if rarely(rng, 0.3) else X


def named(rng: Generator, X: Any) -> Any:
    """A data frame, with odd names now and then."""
    import pandas as pd

    usual = ["lon", "lat", "z"] if rarely(rng, 0.6) else ["x", "y", "t"]
    names = usual[: X.shape[1]]
    if rarely(rng, 0.2):
        names = [some(rng, (*TEXTS, 3, None, "lon")) for _ in names]
    return pd.DataFrame(X, columns=names)


def response(rng: Generator, n: int, family: str) -> Any:
    """Responses of a family, or not."""
    y = rng.normal(size=n)
    if family in ("binomial", "bernoulli"):
        y = rng.integers(0, 2, n).astype(float)
    elif family in ("poisson", "negative-binomial"):
        y = rng.poisson(3, n).astype(float)
    elif family == "gamma":
        y = np.exp(y)
    if rarely(rng, 0.15):
        y = y * 10.0 ** rng.integers(-150, 151)
    if rarely(rng, 0.08):
        y = np.full(n, some(rng, (0.0, 1.0, -3.0, 1e9)))
    if rarely(rng, 0.05) and n:
        y[int(rng.integers(n))] = some(rng, (np.nan, np.inf, -1.0, 0.5, 1e300))
    if rarely(rng, 0.03):
        return some(rng, (y[:-1], y[:, None], np.column_stack([y, y]), y.astype(str), None, y.tolist(), 3.0, y > 0))
    return y


def kernel(rng: Generator, odd: float = 0.1) -> Any:
    """A kernel of any kind, its values now and then odd."""
    if rarely(rng, 0.2):
        return None
    if rarely(rng, odd / 3):
        return some(rng, NUMBERS)
    kind = some(rng, KERNELS)
    made = kind() if kind in (Polynomial, Linear) else kind(_length(rng, odd))
    if rarely(rng, 0.2):
        made = made + some(rng, (Matern(0.3, nu=2.5), Linear(), SquaredExponential(2.0)))
    return made * SquaredExponential(3.0) if rarely(rng, 0.1) else made


def _length(rng: Generator, odd: float) -> Any:
    if rarely(rng, odd):
        return some(rng, (*NUMBERS, 1e-30, 1e30, (1.0, 2.0)))
    return float(10.0 ** rng.uniform(-2, 2))


def kernel_text(rng: Generator) -> str:
    """A kernel as people write it, and as they do not."""
    names = (
        "matern32",
        "se",
        "matern",
        "periodic",
        "linear",
        "cauchy",
        "mattern",
        "",
        "matern32()",
        "__import__('os')",
    )
    parts = [str(some(rng, names)) for _ in range(int(rng.integers(1, 4)))]
    if rarely(rng, 0.4):
        parts[0] += f"(length_scale={some(rng, NUMBERS)!r}, variance={some(rng, NUMBERS)!r})"
    text = str(some(rng, ("+", "*", " + ", "-", ""))).join(parts)
    return text if not rarely(rng, 0.1) else text + str(some(rng, TEXTS))


def parameters(rng: Generator, family: str) -> dict[str, Any]:
    """Parameters of a regressor, most of them good."""
    given: dict[str, Any] = {"family": family, "kernel": kernel(rng), "tune": None if rarely(rng, 0.75) else "evidence"}
    if rarely(rng, 0.6):
        given["features"] = some(rng, FEATURES)
    if rarely(rng, 0.5):
        given["n_frequencies"] = some(rng, (1, 3, 10, 30))
    if rarely(rng, 0.4):
        given["noise_variance"] = some(rng, (0.0, 1e-12, 0.1, 1.0, 1e6))
    if rarely(rng, 0.15):
        names = ("n_frequencies", "noise_variance", "features", "tune", "dtype", "n_jobs", "memory_limit",
                 "random_state", "fit_intercept", "tolerance", "crs", "coords", "covariates", "device")  # fmt: skip
        given[some(rng, names)] = some(rng, (*NUMBERS, *TEXTS))
    return given


def beside(rng: Generator, n: int, family: str) -> dict[str, Any]:
    """What comes with the rows."""
    given: dict[str, Any] = {}
    if family == "binomial" and not rarely(rng, 0.05):
        given["trials"] = rng.integers(1, 20, n)
    if rarely(rng, 0.1):
        given["sample_weight"] = some(
            rng, (np.ones(n), rng.integers(0, 3, n), np.zeros(n), -np.ones(n), rng.uniform(size=n))
        )
    if rarely(rng, 0.1):
        given["measurement_variance"] = some(rng, (0.1, rng.uniform(size=n), np.zeros(n), -1.0, np.nan))
    if rarely(rng, 0.05):
        given[some(rng, ("offset", "trials", "exposure", "groups", "predict_at"))] = some(
            rng, (*NUMBERS, np.ones(n), np.ones((3, 2)), ["a"] * n)
        )
    return given


def ask(rng: Generator, model: SpatialRegressor, X: Any) -> None:
    """Questions to a fitted model."""
    sizes = {"trials": 5} if model.family_.bounded_by_size and rarely(rng, 0.5) else {}
    places = X[:4]
    mean, sd = model.predict(places, return_std=True)
    assert np.isfinite(mean).all() and not np.isnan(sd).any() and (sd >= 0).all(), f"mean {mean}, sd {sd}"
    if rarely(rng, 0.3):
        low, high = model.predict_interval(places, some(rng, (0.95, 0.5, 0.999999, 0, 1, 95, "x"))).T
        assert (low <= high).all(), "an interval that is turned round"
    if rarely(rng, 0.3):
        chance = model.predict_exceedance(places, some(rng, (0.0, 1.0, number(rng), np.nan, "x")))
        assert ((chance >= 0) & (chance <= 1)).all(), "no probability"
    if rarely(rng, 0.2):
        assert not np.isnan(model.sample_y(places, 2, random_state=0)).any(), "draws that are no numbers"
    if rarely(rng, 0.2):
        model.predict_distribution(places, include_noise=True, **sizes).mean  # noqa: B018  (computed when asked)
    if rarely(rng, 0.1):
        model.summary()
        model.check()
    if rarely(rng, 0.1):
        model.predict(table(rng))
