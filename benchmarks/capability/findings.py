"""Findings of `check()`: for each one, data that cause it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.kernels import Matern, Separable, SquaredExponential

from .data import drawn, rows
from .registry import check

FINDINGS: dict[str, Callable[[], SpatialRegressor]] = {}


def finding(words: str) -> Callable[[Any], Any]:
    """Register a fit whose `check()` says these words."""

    def register(fit: Callable[[], SpatialRegressor]) -> Callable[[], SpatialRegressor]:
        FINDINGS[words] = fit
        return fit

    return register


def fixed(kernel: Any, noise: float = 0.04, **more: Any) -> SpatialRegressor:
    return SpatialRegressor(kernel, noise_variance=noise, tune=None, **more)


def stations() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lon": rng.uniform(10, 12, 60), "lat": rng.uniform(45, 47, 60)})
    return frame.assign(temp=np.sin(frame.lon) + 0.1 * rng.normal(size=60))


@finding("the map is flat")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(1)
    return fixed(Matern(0.2, 0.001), 1.0).fit(rng.uniform(size=(50, 2)), rng.normal(size=50))


@finding("stopped at a bound")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(80, 1))
    model = SpatialRegressor(SquaredExponential(), tune="likelihood", fit_intercept=False)
    return model.fit(X, 1e3 * X[:, 0] + rng.normal(size=80))


@finding("hardly changes along this axis")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(180, 2))
    return SpatialRegressor(SquaredExponential([0.2, 0.2])).fit(X, np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=180))


@finding("too few waves")
def _() -> SpatialRegressor:
    return fixed(Matern(0.05, nu=0.5), 0.05, features="monte-carlo").fit(*rows(100))


@finding("standard deviations are too small")
def _() -> SpatialRegressor:
    return fixed(Matern(0.3, nu=0.5), 0.1, features="quasi", n_frequencies=100).fit(*rows(3_000, noise=0.3))


@finding("leave out a rough part of the field")
def _() -> SpatialRegressor:
    X, y = rows(8_000)
    rough = Matern(0.03, nu=0.5)
    return fixed(rough, 0.05, features="lattice", memory_limit="45MB").fit(X, y)


@finding("rows held out in")
def _() -> SpatialRegressor:
    return fixed(Matern(2.0, nu=2.5)).fit(*drawn(400, 0.2, 0.5))


@finding("held out in 40 groups")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(0)
    station = np.repeat(np.arange(40), 10)
    X = rng.uniform(size=(40, 2))[station] + 1e-3 * rng.normal(size=(400, 2))
    y = rng.normal(size=40)[station] + 0.1 * rng.normal(size=400)
    return fixed(Matern(), 0.01).fit(X, y, groups=station)


@finding("larger than the rows scatter")
def _() -> SpatialRegressor:
    X, y = drawn(200, 0.2, 0.5)
    return SpatialRegressor(Matern(0.2, nu=0.5), tune=None).fit(X, y, measurement_variance=np.full(200, 20.0))


@finding("responses say little of the range")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    y = rng.binomial(8, 1 / (1 + np.exp(-2 * np.sin(6 * X[:, 0]))))
    return SpatialRegressor(Matern(), family="binomial", noise_variance=0.0).fit(X, y, trials=np.full(40, 8))


@finding("cases among 560 rows say little")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(560, 2))
    return SpatialRegressor(family="bernoulli").fit(X, rng.binomial(1, 0.015 * np.exp(np.sin(5 * X[:, 0]))))


@finding("hardly predict each other")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(5)
    return SpatialRegressor(Matern(), family="student").fit(rng.uniform(size=(120, 2)), rng.standard_t(5, size=120))


@finding("to the next order")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(800, 2))
    eta = np.linalg.cholesky(Matern(0.1, 20.0, nu=0.5)(X) + 1e-9 * np.eye(800)) @ rng.standard_normal(800)
    model = SpatialRegressor(Matern(0.2, nu=2.5), family="bernoulli")
    return model.fit(X, (rng.uniform(size=800) < 1 / (1 + np.exp(-eta))).astype(float))


@finding("held out are zero")
def _() -> SpatialRegressor:
    X, f = drawn(150, 0.2)
    rng = np.random.default_rng(1)
    y = rng.poisson(4 * np.exp(0.7 * f)) * (rng.uniform(size=150) > 0.3)
    return SpatialRegressor(Matern(), family="poisson").fit(X, y)


@finding("in proportion to the response")
def _() -> SpatialRegressor:
    X, f = drawn(300, 0.2, 0.5, 4)
    return SpatialRegressor().fit(X, np.exp(f))


@finding("2 rows lie so far")
def _() -> SpatialRegressor:
    X, y = rows(300, noise=0.1)
    y[[7, 123]] += 5
    return SpatialRegressor(Matern(0.5), noise_variance=0.01).fit(X, y)


@finding("row 7, row 123 (counted from 0)")
def _() -> SpatialRegressor:
    return FINDINGS["2 rows lie so far"]()


@finding("times as much as the learned noise")
def _() -> SpatialRegressor:
    X, y = rows(300, noise=0.1)
    again = y + np.random.default_rng(1).normal(size=300)
    return fixed(Matern(0.5), 0.01).fit(np.r_[X, X + 1e-6], np.r_[y, again])


@finding("Swapped?")
def _() -> SpatialRegressor:
    frame = stations()
    frame.loc[7, ["lon", "lat"]] = frame.loc[7, ["lat", "lon"]].to_numpy().copy()
    return fixed(Matern(50.0)).fit(frame[["lon", "lat"]], frame.temp)


@finding("Check its coordinates")
def _() -> SpatialRegressor:
    frame = stations()
    frame.loc[3, "lon"] = 60.0
    return fixed(Matern(50.0)).fit(frame[["lon", "lat"]], frame.temp)


@finding("4 of 64 rows are exact copies")
def _() -> SpatialRegressor:
    frame = pd.concat([stations(), stations()[:4]])
    return fixed(Matern(50.0)).fit(frame[["lon", "lat"]], frame.temp)


@finding("height is -9999 in 5 of 80 rows")
def _() -> SpatialRegressor:
    frame = pd.DataFrame(np.random.default_rng(1).uniform(size=(80, 4)), columns=["x", "y", "height", "rain"])
    frame.loc[:4, "height"] = -9999
    model = SpatialRegressor(coords=["x", "y"], covariates=["height"])
    return model.fit(frame[["x", "y", "height"]], frame["rain"])


@finding("if it was meant in metres")
def _() -> SpatialRegressor:
    X, y = rows(60)
    return fixed(Matern(30_000.0), crs="EPSG:32633").fit(5e5 + 1e5 * X, y)


def dated(n: int = 60) -> pd.DataFrame:
    X, y = rows(n)
    return pd.DataFrame({"x": 100 * X[:, 0], "y": 100 * X[:, 1], "day": np.arange(n) % 9, "z": y})


@finding("is 2024-05-01 in every row")
def _() -> SpatialRegressor:
    frame = dated().assign(date=pd.Timestamp("2024-05-01"))
    model = fixed(Separable(Matern(30.0), Matern(20.0)), coords=["x", "y", "date"])
    return model.fit(frame[["x", "y", "date"]], frame.z)


@finding("last of the coordinates it is a time")
def _() -> SpatialRegressor:
    frame = dated()
    return fixed(Matern(30.0), coords=["day", "x", "y"]).fit(frame[["day", "x", "y"]], frame.z)


@finding("to do without the prior")
def _() -> SpatialRegressor:
    X, _ = rows(700)
    rng = np.random.default_rng(0)
    y, level = rng.binomial(1, 0.3, 700).astype(float), np.zeros(700)
    level[:40], y[:40] = 1.0, 0.0
    model = SpatialRegressor(Matern(0.25), family="bernoulli", covariates=[2], tune=None)
    return model.fit(np.column_stack([X, level]), y)


@finding("looks like precisions or survey (sampling) weights")
def _() -> SpatialRegressor:
    X, y = rows(80)
    return fixed(Matern(0.3)).fit(X, y, sample_weight=np.linspace(50.5, 300, 80))


@finding("no noise was learned")
def _() -> SpatialRegressor:
    X, y = rows(80, noise=0.3)
    return SpatialRegressor(Matern()).fit(X, y, sample_weight=np.full(80, 2))


@finding("trees would serve better")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1_200, 6))
    steps = np.sign(X[:, 0] - 0.5) * np.sign(X[:, 1] - 0.5) * np.sign(X[:, 2] - 0.5)
    return SpatialRegressor().fit(X, steps + 0.1 * rng.normal(size=1_200))


@finding("rough fields were not judged")
def _() -> SpatialRegressor:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4_000, 2))
    eta = 2 * np.sin(40 * X[:, 0]) * np.sin(40 * X[:, 1])
    return SpatialRegressor(family="bernoulli").fit(X, (rng.uniform(size=4_000) < 1 / (1 + np.exp(-eta))).astype(float))


@check("check() finds", over=FINDINGS)
def _(words: str) -> None:
    found = FINDINGS[words]().check()
    assert any(words in one for one in found), f"found instead: {[one[:60] for one in found]}"


@check("check() finds nothing in a good fit", over=("exact", "lattice", "poisson", "binomial"))
def _(kind: str) -> None:
    X, y = drawn(400, 0.3)
    if kind == "poisson":
        y = np.random.default_rng(0).poisson(np.exp(1 + y))
        model = SpatialRegressor("matern32", family="poisson").fit(X, y)
    elif kind == "binomial":
        y = np.random.default_rng(0).binomial(30, 1 / (1 + np.exp(-y)))
        model = SpatialRegressor("matern32", family="binomial").fit(X, y, trials=np.full(400, 30))
    else:
        model = SpatialRegressor("matern32" if kind == "exact" else "se", features=kind).fit(X, y)
    assert model.check() == [], model.check()[0]


@check("collinear and constant covariates are named")
def _() -> None:
    import warnings

    from bochner.exceptions import CollinearityWarning

    X, y = rows(60)
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "height": np.cos(9 * y)}).assign(year=2020.0)
    frame["feet"] = 3.28 * frame["height"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fixed(Matern(0.4), coords=["x", "y"], covariates=["height", "feet", "year"]).fit(frame, y)
    said = " ".join(str(one.message) for one in told if issubclass(one.category, CollinearityWarning))
    assert "height" in said and "feet" in said and "year" in said, said
