"""Findings of `check()`: for each one, data that cause it.

Missing are two on presence that only many rows cause: a rougher field that is likelier to the next order, and rough
fields that were not judged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from bochner import SpatialRegressor
from bochner.exceptions import CollinearityWarning
from bochner.kernels import Matern, Separable, SquaredExponential

from .data import drawn, rows
from .registry import check

Fit = Callable[[Generator], SpatialRegressor]


def fixed(kernel: Any, noise: float = 0.04, **more: Any) -> SpatialRegressor:
    return SpatialRegressor(kernel, noise_variance=noise, tune=None, **more)


def places(r: Generator, n: int) -> np.ndarray:
    return r.uniform(size=(n, 2))


def share(eta: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-eta))


def of_stations(change: Callable[[pd.DataFrame], Any]) -> Fit:
    """A fit of stations in degrees, after a change of their table."""

    def fit(r: Generator) -> SpatialRegressor:
        frame = pd.DataFrame({"lon": r.uniform(10, 12, 60), "lat": r.uniform(45, 47, 60)})
        frame["temp"] = np.sin(frame.lon) + 0.1 * r.normal(size=60)
        changed = change(frame)
        frame = frame if changed is None else changed
        return fixed(Matern(50.0)).fit(frame[["lon", "lat"]], frame.temp)

    return fit


def of_days(*coords: str) -> Fit:
    """A fit of rows with a time among their coordinates."""

    def fit(r: Generator) -> SpatialRegressor:
        frame = pd.DataFrame(100 * places(r, 60), columns=["x", "y"])
        frame = frame.assign(day=np.arange(60) % 9, date=pd.Timestamp("2024-05-01"))
        kernel = Separable(Matern(30.0), Matern(20.0)) if coords[2] == "date" else Matern(30.0)
        return fixed(kernel, coords=list(coords)).fit(frame[list(coords)], np.sin(frame.x / 20))

    return fit


def swap(frame: pd.DataFrame) -> None:
    frame.loc[7, ["lon", "lat"]] = frame.loc[7, ["lat", "lon"]].to_numpy().copy()


def far(frame: pd.DataFrame) -> None:
    frame.loc[3, "lon"] = 60.0


def of_stepping_sites(r: Generator) -> SpatialRegressor:
    site = np.repeat(np.arange(40), 10)
    X = places(r, 40)[site] + 1e-3 * r.normal(size=(400, 2))
    return fixed(Matern(), 0.01).fit(X, r.normal(size=40)[site] + 0.1 * r.normal(size=400), groups=site)


def of_few_counts(r: Generator) -> SpatialRegressor:
    X = places(r, 40)
    model = SpatialRegressor(Matern(), family="binomial", noise_variance=0.0)
    return model.fit(X, r.binomial(8, share(2 * np.sin(6 * X[:, 0]))), trials=np.full(40, 8))


def of_rare_presence(r: Generator) -> SpatialRegressor:
    X = places(r, 560)
    return SpatialRegressor(family="bernoulli").fit(X, r.binomial(1, 0.015 * np.exp(np.sin(5 * X[:, 0]))))


def of_many_zeros(r: Generator) -> SpatialRegressor:
    (X, f), r = drawn(150, 0.2), np.random.default_rng(1)
    return SpatialRegressor(Matern(), family="poisson").fit(
        X, r.poisson(4 * np.exp(0.7 * f)) * (r.uniform(size=150) > 0.3)
    )


def of_blunders(r: Generator) -> SpatialRegressor:
    X, y = rows(300, noise=0.1)
    y[[7, 123]] += 5
    return SpatialRegressor(Matern(0.5), noise_variance=0.01).fit(X, y)


def of_repeats(r: Generator) -> SpatialRegressor:
    X, y = rows(300, noise=0.1)
    return SpatialRegressor(Matern(0.5)).fit(np.r_[X, X[:30] + 1e-6], np.r_[y, y[:30] + 4 * r.normal(size=30)])


def of_missing_codes(r: Generator) -> SpatialRegressor:
    frame = pd.DataFrame(r.uniform(size=(80, 3)), columns=["x", "y", "height"])
    frame.loc[:4, "height"] = -9999
    return SpatialRegressor(coords=["x", "y"], covariates=["height"]).fit(frame, r.uniform(size=80))


def of_a_level_without_cases(r: Generator) -> SpatialRegressor:
    y, level = r.binomial(1, 0.3, 700).astype(float), np.repeat([1.0, 0.0], [40, 660])
    model = SpatialRegressor(Matern(0.25), family="bernoulli", covariates=[2], tune=None)
    return model.fit(np.column_stack([places(r, 700), level]), y * (1 - level))


SLOPE = SpatialRegressor(SquaredExponential(), tune="likelihood", fit_intercept=False)
FINDINGS: dict[str, Fit] = {
    "the map is flat": lambda r: fixed(Matern(0.2, 0.001), 1.0).fit(places(r, 50), r.normal(size=50)),
    "stopped at a bound": lambda r: SLOPE.fit(X := r.uniform(size=(80, 1)), 1e3 * X[:, 0] + r.normal(size=80)),
    "hardly changes along this axis": lambda r: SpatialRegressor(SquaredExponential([0.2, 0.2])).fit(
        X := places(r, 180), np.sin(9 * X[:, 0]) + 0.1 * r.normal(size=180)
    ),
    "too few waves": lambda r: fixed(Matern(0.05, nu=0.5), 0.05, features="monte-carlo").fit(*rows(100)),
    "standard deviations are too small": lambda r: fixed(
        Matern(0.3, nu=0.5), 0.1, features="quasi", n_frequencies=100
    ).fit(*rows(3_000, noise=0.3)),
    "leave out a rough part of the field": lambda r: fixed(
        Matern(0.03, nu=0.5), 0.05, features="lattice", memory_limit="45MB"
    ).fit(*rows(8_000)),
    "rows held out in": lambda r: fixed(Matern(2.0, nu=2.5)).fit(*drawn(400, 0.2, 0.5)),
    "held out in 40 groups": of_stepping_sites,
    "larger than the rows scatter": lambda r: SpatialRegressor(Matern(0.2, nu=0.5), tune=None).fit(
        *drawn(200, 0.2, 0.5), measurement_variance=np.full(200, 20.0)
    ),
    "responses say little of the range": of_few_counts,
    "rows say little of the range and the variance": of_rare_presence,
    "hardly predict each other": lambda r: SpatialRegressor(Matern(), family="student").fit(
        places(r, 120), r.standard_t(5, size=120)
    ),
    "held out are zero": of_many_zeros,
    "in proportion to the response": lambda r: SpatialRegressor().fit(
        drawn(300, 0.2, 0.5, 4)[0], np.exp(drawn(300, 0.2, 0.5, 4)[1])
    ),
    "chance cannot be the reason: row 7, row 123 (counted from 0)": of_blunders,
    "times as much as the learned noise": of_repeats,
    "Swapped?": of_stations(swap),
    "Check its coordinates": of_stations(far),
    "4 of 64 rows are exact copies": of_stations(lambda frame: pd.concat([frame, frame[:4]])),
    "height is -9999 in 5 of 80 rows": of_missing_codes,
    "if it was meant in metres": lambda r: fixed(Matern(3e4), crs="EPSG:32633").fit(
        5e5 + 1e5 * places(r, 60), r.normal(size=60)
    ),
    "is 2024-05-01 in every row": of_days("x", "y", "date"),
    "last of the coordinates it is a time": of_days("day", "x", "y"),
    "to do without the prior": of_a_level_without_cases,
    "Did you mean measurement_variance?": lambda r: fixed(Matern(0.3)).fit(
        *rows(80), sample_weight=np.linspace(50.5, 300, 80)
    ),
    "no noise was learned": lambda r: SpatialRegressor(Matern()).fit(
        *rows(80, noise=0.3), sample_weight=np.full(80, 2)
    ),
}


@check("check() finds", over=FINDINGS)
def _(words: str) -> None:
    found = FINDINGS[words](np.random.default_rng(0)).check()
    assert any(words in one for one in found), f"found instead: {[one[:60] for one in found]}"


@check("check() finds nothing in a good fit", over=("exact", "lattice", "poisson", "binomial"))
def _(kind: str) -> None:
    X, y = drawn(400, 0.3)
    rng = np.random.default_rng(0)
    if kind == "poisson":
        model = SpatialRegressor("matern32", family="poisson").fit(X, rng.poisson(np.exp(1 + y)))
    elif kind == "binomial":
        model = SpatialRegressor("matern32", family="binomial")
        model.fit(X, rng.binomial(30, share(y)), trials=np.full(400, 30))
    else:
        model = SpatialRegressor("matern32", features=kind).fit(X, y)
    assert model.check() == [], model.check()[0]


@check("collinear and constant covariates are named")
def _() -> None:
    X, y = rows(60)
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "height": np.cos(9 * y), "feet": 3.28 * np.cos(9 * y)})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = fixed(Matern(0.4), coords=["x", "y"], covariates=["height", "feet", "year"])
        model.fit(frame.assign(year=2020.0), y)
    said = " ".join(str(one.message) for one in told if issubclass(one.category, CollinearityWarning))
    assert "height" in said and "feet" in said and "year" in said, said
