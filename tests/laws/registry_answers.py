"""Small models of every kind, whose answers are written down: a new one is a line here and a run of `write_answers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely
from scipy import linalg

from bochner import SpatialRegressor
from bochner.kernels import Kernel, Matern, Separable

Made = tuple[Any, Any]  # a fitted model, and places to ask it about


def places(n: int, dim: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, n, dim]).uniform(size=(n, dim))


def surface(X: np.ndarray, kernel: Kernel, seed: int = 1) -> np.ndarray:
    """A field drawn from a kernel."""
    covariance = kernel(X) + 1e-9 * np.eye(len(X))
    return linalg.cholesky(covariance, lower=True) @ np.random.default_rng(seed).standard_normal(len(X))


def noise(n: int, sd: float = 0.2) -> np.ndarray:
    return sd * np.random.default_rng(2).standard_normal(n)


def regression(n: int, kernel: Kernel | None = None, **settings: Any) -> Made:
    """Measurements of a Matern field, with settings of a model."""
    X = places(n)
    y = 3 + surface(X, Matern(0.3, nu=1.5)) + noise(n)
    return SpatialRegressor(kernel, **settings).fit(X, y), places(6, 2, 9)


def counted(family: str, n: int = 60) -> Made:
    """Responses of a family whose linear predictor is a field."""
    X, rng = places(n), np.random.default_rng(3)
    eta, given = 0.5 + surface(X, Matern(0.4, 2.0, nu=1.5)), {}
    chance = 1 / (1 + np.exp(-eta))
    if family == "bernoulli":
        y = rng.uniform(size=n) < chance
    elif family == "binomial":
        given = {"trials": rng.integers(3, 15, n)}
        y = rng.binomial(given["trials"], chance)
    elif family == "poisson":
        given = {"exposure": rng.uniform(1, 4, n)}
        y = rng.poisson(np.exp(eta) * given["exposure"])
    elif family == "negative-binomial":
        y = rng.poisson(np.exp(eta) * rng.gamma(2, 0.5, n))
    elif family == "gamma":
        y = np.exp(eta) * rng.gamma(3, 1 / 3, n)
    else:
        y = eta + 0.2 * rng.standard_t(3, n)
    return SpatialRegressor(family=family).fit(X, y.astype(float), **given), places(6, 2, 9)


def on_the_earth() -> Made:
    X = places(60) * [20, 10] + [5, 45]
    y = surface(X / 10, Matern(0.4)) + noise(60)
    return SpatialRegressor(crs="EPSG:4326").fit(X, y), places(6, 2, 9) * [20, 10] + [5, 45]


def of_areas() -> Made:
    """Means over squares, and measurements at points beside them."""
    corners = np.argwhere(np.ones((5, 5), dtype=bool)) * 20_000.0 + [4e5, 5e6]
    squares = [shapely.box(*corner, *(corner + 20_000)) for corner in corners]
    points = [shapely.Point(*at) for at in places(20) * 1e5 + [4e5, 5e6]]
    X = np.r_[corners + 10_000, [point.coords[0] for point in points]] / 1e5
    y = surface(X, Matern(0.4)) + noise(len(X))
    frame = gpd.GeoDataFrame({"z": y}, geometry=[*squares, *points], crs="EPSG:32632")
    new = gpd.GeoDataFrame(geometry=gpd.points_from_xy(*(places(6, 2, 9) * 1e5 + [4e5, 5e6]).T), crs="EPSG:32632")
    return SpatialRegressor(Matern()).fit(frame[["geometry"]], frame.z), new


def of_space_and_time() -> Made:
    """A dozen stations on eight days."""
    at = np.repeat(np.arange(12), 8)
    X = np.c_[places(12)[at], np.tile(np.arange(8) / 8, 12)]
    y = surface(X, Separable(Matern(0.4), Matern(0.3, nu=0.5))) + noise(len(X))

    def table(X: np.ndarray) -> pd.DataFrame:
        day = pd.Timestamp("2024-01-01") + pd.to_timedelta(80 * X[:, 2], unit="D")
        return pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "date": day})

    model = SpatialRegressor(coords=["x", "y", "date"]).fit(table(X), y)
    return model, table(np.c_[places(6, 2, 9), np.linspace(0, 1, 6)])


CASES: dict[str, Callable[[], Made]] = {
    "plane": lambda: regression(40),
    "waves of a lattice": lambda: regression(120, Matern(nu=2.5), features="lattice"),
    "nystroem": lambda: regression(100, Matern(), features="nystroem", n_frequencies=40),
    "presence": lambda: counted("bernoulli"),
    "positives": lambda: counted("binomial", 45),
    "counts": lambda: counted("poisson"),
    "scattered counts": lambda: counted("negative-binomial"),
    "amounts": lambda: counted("gamma"),
    "heavy tails": lambda: counted("student"),
    "the earth": on_the_earth,
    "areas": of_areas,
    "space and time": of_space_and_time,
}
