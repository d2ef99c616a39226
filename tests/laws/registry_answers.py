"""Small models of every kind, whose answers are written down: a new one is a line here and a run of `write_answers`.

Tables are small, so limits are set where few rows are to be treated as many are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg

from bochner import SpatialRegressor
from bochner.families import Bernoulli, Binomial, Gamma, NegativeBinomial, Student
from bochner.inference.adaptive import limits as adaptive
from bochner.inference.schemes import limits as schemes
from bochner.inference.tuning import limits as tuning
from bochner.kernels import (
    Cauchy,
    Gneiting,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    OnAxes,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Separable,
    SpectralMixture,
    SquaredExponential,
)
from bochner.sources import ArraySource
from bochner.sources import limits as sources

Made = tuple[Any, Any]  # a fitted model, and places to ask it about


@dataclass(frozen=True)
class Case:
    """How a model is made, and limits by room and name that hold meanwhile."""

    make: Callable[[], Made]
    limits: Mapping[Any, Mapping[str, Any]] = field(default_factory=dict)


def places(n: int, dim: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, n, dim]).uniform(size=(n, dim))


def surface(X: np.ndarray, kernel: Kernel, seed: int = 1) -> np.ndarray:
    """A field drawn from a kernel."""
    covariance = kernel(X) + 1e-9 * np.eye(len(X))
    return linalg.cholesky(covariance, lower=True) @ np.random.default_rng(seed).standard_normal(len(X))


def noise(n: int, sd: float = 0.2) -> np.ndarray:
    return sd * np.random.default_rng(2).standard_normal(n)


def measured(n: int, kernel: Kernel, dim: int = 2, seed: int = 1, sd: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Places and noisy measurements of a field there."""
    X = places(n, dim)
    return X, 3 + surface(X, kernel, seed) + noise(n, sd)


def regression(n: int, kernel: Kernel | None = None, dim: int = 2, true: Kernel | None = None, **settings: Any) -> Case:
    """Measurements of a Matern field, or another one, with settings of a model."""
    ours = {key: settings.pop(key) for key in ("limits",) if key in settings}

    def make() -> Made:
        X, y = measured(n, true or Matern(0.3, nu=1.5), dim)
        return SpatialRegressor(kernel, **settings).fit(X, y), places(6, dim, 9)

    return Case(make, **ours)


def counted(family: Any, n: int = 60, dim: int = 2, kernel: Kernel | None = None, **settings: Any) -> Case:
    """Responses of a family whose linear predictor is a field."""
    ours = {key: settings.pop(key) for key in ("limits", "true") if key in settings}
    true = ours.pop("true", Matern(0.4, 2.0, nu=1.5))

    def make() -> Made:
        X, rng = places(n, dim), np.random.default_rng(3)
        eta, given = 0.5 + surface(X, true), {}
        name = family if isinstance(family, str) else family.name
        chance = 1 / (1 + np.exp(-eta))
        if name == "bernoulli":
            y = rng.uniform(size=n) < chance
        elif name == "binomial":
            given = {"trials": rng.integers(3, 15, n)}
            y = rng.binomial(given["trials"], chance)
        elif name == "poisson":
            given = {"exposure": rng.uniform(1, 4, n)}
            y = rng.poisson(np.exp(eta) * given["exposure"])
        elif name == "negative-binomial":
            y = rng.poisson(np.exp(eta) * rng.gamma(2, 0.5, n))
        elif name == "gamma":
            y = np.exp(eta) * rng.gamma(3, 1 / 3, n)
        else:
            y = eta + 0.2 * rng.standard_t(3, n)
        return SpatialRegressor(kernel, family=family, **settings).fit(X, y.astype(float), **given), places(6, dim, 9)

    return Case(make, **ours)


def few_rows_of_all_kinds() -> Made:
    """Repeats, weights, known errors and an effect beside the field."""
    X = np.r_[places(45), places(45)[:10]]
    n, rng = len(X), np.random.default_rng(4)
    height, error = rng.uniform(size=n), rng.uniform(0.01, 0.1, n)
    y = surface(X[:45], Matern(0.3))[np.r_[0:45, 0:10]] + 2 * height + noise(n)
    model = SpatialRegressor(covariates=[2])
    model.fit(np.c_[X, height], y, sample_weight=rng.integers(0, 3, n), measurement_variance=error)
    return model, np.c_[places(6, 2, 9), np.linspace(0, 1, 6)]


def hardly_stretched() -> Made:
    """A length scale per axis gains less than it costs, and is averaged over all the same."""
    X = places(45)
    return SpatialRegressor().fit(X, surface(X, Matern((0.25, 0.4)), 2) + noise(45)), places(6, 2, 9)


def turned() -> Made:
    """A field that reaches four times as far along one diagonal."""
    X = places(90)
    along = np.c_[X.sum(1) / 4, X[:, 0] - X[:, 1]]
    return SpatialRegressor().fit(X, surface(along, Matern(0.25)) + noise(90)), places(6, 2, 9)


def by_held_out_blocks() -> Made:
    X, y = measured(60, Matern(0.3))
    return SpatialRegressor(Matern(nu=1.5), tune="spatial-cv").fit(X, y, predict_at=places(20, 2, 5)), places(6, 2, 9)


def on_the_earth() -> Made:
    X = places(60) * [20, 10] + [5, 45]
    y = surface(X / 10, Matern(0.4)) + noise(60)
    return SpatialRegressor(crs="EPSG:4326").fit(X, y), places(6, 2, 9) * [20, 10] + [5, 45]


def large_numbers() -> Made:
    X, y = measured(40, Matern(0.3))
    return SpatialRegressor(Matern(nu=0.5)).fit(X, 1e120 * y), places(6, 2, 9)


def with_a_gap() -> Made:
    """Places near those of a grid, not on it: there rounding would say which of equally near rows comes first."""
    grid = np.argwhere(np.ones((13, 13), dtype=bool)).astype(float)
    X = grid + 0.25 * (2 * places(169) - 1)
    y = surface(X, Matern(1.0, nu=0.5) + Matern(9.0, 3.0, nu=0.5), 2) + noise(169, 0.1)
    gap = (grid[:, 0] < 5) & (grid[:, 1] < 6)
    return SpatialRegressor().fit(X[~gap], y[~gap], predict_at=X[gap]), X[gap][::5]


def of_stations() -> Made:
    """Rows of eleven stations, each held out as a whole."""
    at = np.repeat(np.arange(11), 6)
    X = np.c_[places(11)[at], np.tile(np.linspace(0, 1, 6), 11)]
    y = surface(X, Separable(Matern(0.4), Matern(0.3, nu=0.5))) + noise(len(X))
    return SpatialRegressor().fit(X, y, groups=at), np.c_[places(6, 2, 9), np.linspace(0, 1, 6)]


def rare() -> Made:
    X, rng = places(140), np.random.default_rng(1)
    chance = 0.5 * np.exp(-np.sum((X - 0.5) ** 2, axis=1) / 0.02)
    return SpatialRegressor(family="bernoulli").fit(X, (rng.uniform(size=140) < chance) * 1.0), places(6, 2, 9)


def louder_in_the_east() -> Made:
    X = places(260)
    y = np.exp(1.5 * (X[:, 0] - 0.5)) ** 2 * surface(X, Matern(0.15, nu=0.5)) + noise(260, 0.1)
    return SpatialRegressor().fit(X, y), places(6, 2, 9)


def six_axes(longest: float = 1.0) -> Made:
    X, unit = places(160, 6), np.r_[longest, np.ones(5)]
    y = np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1]) + noise(160, 0.1)
    return SpatialRegressor().fit(X * unit, y), places(6, 6, 9) * unit


def bent() -> Made:
    """An effect that bends, and one that does not."""
    X, rng = places(90), np.random.default_rng(6)
    z, rain = rng.normal(size=90), rng.normal(size=90)
    y = surface(X, Matern(0.4)) + 0.5 * z + 0.8 * (z**2 - 1) + 0.3 * rain + noise(90)
    model = SpatialRegressor(Matern(nu=1.5), covariates=[2, 3]).fit(np.c_[X, z, rain], y)
    return model, np.c_[places(6, 2, 9), np.linspace(-3, 3, 6), np.zeros(6)]


def with_outliers_and_pairs() -> Made:
    """Two rows far off, and rows so close that they tell of the noise alone."""
    X, y = measured(80, Matern(0.4, nu=1.5))
    X[70:] = X[60:70] + 1e-4
    y[70:] = y[60:70] + noise(10, 0.5)
    y[[3, 30]] += 4
    return SpatialRegressor(Matern(nu=1.5)).fit(X, y), places(6, 2, 9)


def of_parts(family: str = "gaussian", **settings: Any) -> Made:
    """Rows that are read in parts; a sample follows from their values, to the last bit, so these are short."""
    X = np.round(places(600), 4)
    eta, rng = np.sin(6 * X[:, 0]) * np.cos(5 * X[:, 1]), np.random.default_rng(5)
    y = 3 + eta + noise(600) if family == "gaussian" else rng.poisson(np.exp(eta)).astype(float)
    height = np.round(rng.normal(size=600), 3)
    source = ArraySource({"x": X[:, 0], "y": X[:, 1], "height": height, "z": np.round(y, 3)}, part_rows=170)
    model = SpatialRegressor("matern32", family=family, coords=["x", "y"], covariates=["height"], **settings)
    new = pd.DataFrame(np.c_[places(6, 2, 9), np.linspace(-1, 1, 6)], columns=["x", "y", "height"])
    return model.fit(source, target="z"), new


SUMS = {"SUM_COARSE_POINTS": 120, "SUM_MATCHED_POINTS": 120, "SUM_ITERATIONS": 6}
MANY = {tuning: {"MAX_EXACT_TUNING_ROWS": 60, "MAX_AVERAGING_ROWS": 50, **SUMS}}
PARTS = {
    tuning: {
        "MAX_EXACT_TUNING_ROWS": 60,
        "MAX_EXACT_ENDING_ROWS": 50,
        "MAX_AVERAGING_ROWS": 50,
        "COARSE_PARTS": (2, 25, 40),
        "FINE_PARTS": (2, 30, 40),
    }
}
FEW_NODES = {"INTEGRATION_NODES": (9, 12), "MAX_AVERAGING_ROWS": 5_000}
SAMPLED = {
    "MAX_EXACT_TUNING_ROWS": 60,
    "ARD_COARSE_ROWS": 60,
    "ARD_FINE_ROWS": 80,
    "ARD_COARSE_ITERATIONS": 15,
    "TREES_DIMENSIONS": 9,
}
WORTH_MORE = {"WORTH_LIKELIHOOD": -5.0, "WORTH_CRPS": -1.0}  # whatever more there is
ON_GRADIENTS = {schemes: {"MAX_EXACT_ROWS": 60, "MAX_EXACT_ROWS_BEYOND": 60, "MAX_LATTICE_WAVES": 20}}
ROUGH = Matern(0.2, nu=0.5)


def near_and_far(worth: float, noise: float | None = 0.01) -> Case:
    """Counts of a short and a long field, of which the second must be worth something."""
    limits = {**PARTS[tuning], "FINE_PARTS": (2, 50, 60), "MIN_SUM_ROWS": 60, "WORTH_SUM": worth}
    true = Matern(0.05, 1.5, nu=0.5) + Matern(0.9, 4.0, nu=0.5)
    return counted("poisson", 110, true=true, noise_variance=noise, limits={tuning: limits})


CASES: dict[str, Case] = {
    # few rows: averaged over what they leave open
    "plane": regression(40),
    "line": regression(50, dim=1),
    "space": regression(60, dim=3),
    "rough": regression(60, true=ROUGH),
    "smooth": regression(45, true=SquaredExponential(0.4)),
    "stretched": regression(70, true=Matern((0.15, 0.8))),
    "hardly stretched": Case(hardly_stretched),
    "turned": Case(turned),
    "all kinds of rows": Case(few_rows_of_all_kinds),
    "likelihood": regression(50, tune="likelihood"),
    "noise given": regression(50, noise_variance=0.05),
    "held-out blocks": Case(by_held_out_blocks),
    "the earth": Case(on_the_earth),
    "large numbers": Case(large_numbers),
    "bent": Case(bent),
    "outliers and pairs": Case(with_outliers_and_pairs),
    "parts": Case(lambda: of_parts(n_frequencies=40), {sources: {"HELD_ROWS": 150}}),
    "parts of counts, in passes": Case(
        lambda: of_parts("poisson", n_frequencies=40, noise_variance=0.05), {sources: {"HELD_ROWS": 150}}
    ),
    # kernels
    "matern": regression(40, Matern(nu=1.2)),
    "matern per axis": regression(40, Matern((0.3, 0.5), nu=2.5)),
    "cauchy": regression(40, Cauchy(0.5)),
    "laplacian": regression(40, Laplacian((0.5, 0.5))),
    "rational quadratic": regression(40, RationalQuadratic(0.5)),
    "periodic": regression(40, Periodic() + Matern(), 1),
    "quasi-periodic": regression(40, Periodic(period=0.3) * SquaredExponential(0.8), 1),
    "mixture": regression(40, SpectralMixture([3.0, 20.0]), 1),
    "sum": regression(50, Matern(0.1, 0.3, nu=0.5) + SquaredExponential(0.5)),
    "linear": regression(40, Linear() + Matern(0.3, nu=0.5)),
    "polynomial": regression(40, Polynomial(degree=2) + Matern(0.2, 0.5)),
    "gneiting": regression(50, Gneiting(), 3),
    "separable": regression(50, Separable(Matern(0.4), Matern(0.5, nu=0.5)), 3),
    "on axes": regression(50, OnAxes(Matern(0.3), 0) + OnAxes(Matern(0.5), 1)),
    # features
    "waves of a lattice": regression(120, Matern(nu=2.5), features="lattice"),
    "forty waves of a lattice": regression(70, Matern(), features="lattice", n_frequencies=30),
    "monte carlo": regression(100, Matern(), features="monte-carlo", n_frequencies=40),
    "quasi": regression(100, Matern(), features="quasi", n_frequencies=40),
    "orthogonal": regression(100, Matern(), features="orthogonal", n_frequencies=40),
    "structured": regression(100, Matern(), features="structured", n_frequencies=40),
    "nystroem": regression(100, Matern(), features="nystroem", n_frequencies=40),
    "enough waves": regression(80, SquaredExponential(0.5), features="quasi", tolerance=0.05),
    "learned": regression(100, features="learned", limits={adaptive: {"ASCENT_ITERATIONS": 20}}),
    "nonstationary": regression(
        90, features="nonstationary", limits={adaptive: {"VARYING_ITERATIONS": 6, "VARYING_LAST_ITERATIONS": 4}}
    ),
    "least squares": regression(90, Matern(), features="quasi", n_frequencies=15, tune=None, noise_variance=0.0),
    "gradients": regression(150, Matern(0.1, nu=0.5), tune=None, noise_variance=0.05, limits=ON_GRADIENTS),
    "gradients, learned": regression(130, true=ROUGH, limits={**MANY, **ON_GRADIENTS}),
    # families
    "presence": counted("bernoulli"),
    "presence by probit": counted(Bernoulli(link="probit"), kernel=Matern()),
    "positives": counted("binomial", 45),
    "positives by probit": counted(Binomial(link="probit"), 40, kernel=Matern()),
    "counts": counted("poisson"),
    "counts by likelihood": counted("poisson", kernel=Matern(), tune="likelihood"),
    "scattered counts": counted("negative-binomial"),
    "scattered counts by likelihood": counted("negative-binomial", kernel=Matern(), tune="likelihood"),
    "scatter given": counted(NegativeBinomial(dispersion=0.5), kernel=Matern(nu=0.5)),
    "amounts": counted("gamma"),
    "amounts, shape given": counted(Gamma(dispersion=0.4), kernel=Matern(), dim=1),
    "heavy tails": counted("student"),
    "heavy tails given": counted(Student(dof=4.0), kernel=Matern()),
    "counts on waves": counted("poisson", 60, features="lattice", kernel=Matern(nu=2.5), limits={tuning: FEW_NODES}),
    "counts on nystroem": counted(
        "poisson", 50, features="nystroem", kernel=Matern(), n_frequencies=20, limits={tuning: FEW_NODES}
    ),
    # many rows, as few
    "many rows": regression(130, limits=MANY),
    "many rough rows": regression(130, true=ROUGH + Matern(0.6, 0.5), limits=MANY),
    "many rows of one kernel": regression(120, Matern(nu=1.5), limits=MANY),
    "a gap": Case(with_a_gap, {tuning: {"MAX_EXACT_TUNING_ROWS": 100, **SUMS}}),
    "stations": Case(of_stations, MANY),
    "an amplitude": Case(louder_in_the_east, {tuning: {**MANY[tuning], "LEAST_MODULATED_ROWS": 100}}),
    "six axes": Case(six_axes, {tuning: SAMPLED}),
    "six unlike axes": Case(lambda: six_axes(10.0), {tuning: SAMPLED}),
    "a sum": regression(
        160, true=Matern(0.08, nu=0.5) + Matern(0.8, 2.0), limits={tuning: {**MANY[tuning], **WORTH_MORE}}
    ),
    "all rows of one kernel on waves": regression(
        220, Matern(nu=2.5), dim=1, true=Matern(0.5, nu=2.5), limits={tuning: {"MAX_EXACT_TUNING_ROWS": 100, **SUMS}}
    ),
    "guided": regression(130, limits={tuning: {"MIN_GUIDED_ROWS": 50, "MAX_AVERAGING_ROWS": 50}}),
    "rare cases": Case(rare, {tuning: {**FEW_NODES, "MAX_EXACT_TUNING_ROWS": 90, "MAX_LAPLACE_GRID_ROWS": 70}}),
    "parts of counts": counted("poisson", 80, 1, true=Matern(0.3, 0.7, nu=2.5), limits=PARTS),
    "parts of rough counts": counted(
        "poisson", 70, kernel=Matern(nu=0.5), true=ROUGH, limits={tuning: {**PARTS[tuning], "LATTICE_WAVES": 4}}
    ),
    "counts of all rows on waves": counted(
        "poisson",
        *(120, 1),
        true=Matern(0.4, 1.0, nu=2.5),
        limits={tuning: {**PARTS[tuning], "MAX_DENSE_ENDING_ROWS": 50}},
    ),
    "near and far": near_and_far(0.0),
    "near and hardly far": near_and_far(20.0),
    "near and not far": near_and_far(-100.0, None),  # rows have effects of their own, which leave nothing to gain
}

# landmarks by scikit-learn's k-means are those of one version
DELICATE = ("nystroem", "counts on nystroem", "nonstationary")
# a second or more each: left to `make test-all`
SLOW = (
    *("stations", "a sum", "gradients, learned", "a gap", "rare cases", "an amplitude", "nonstationary"),
    *(
        "forty waves of a lattice",
        "counts on nystroem",
        "positives by probit",
        "near and hardly far",
        "presence by probit",
    ),
)
