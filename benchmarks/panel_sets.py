"""The data sets of `panel.py`: simulated fields, each drawn anew for every seed, and real tables.

Nothing here imports the library that is measured. Smoothness, range, mean and variance of a field
are drawn by the seed. Up to 3,500 places a field is exact, by Cholesky; beyond, it is a sum of
4,000 random waves with Gaussian amplitudes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg, special
from scipy.spatial.distance import pdist, squareform

EXACT, N_WAVES, N_TEST = 3_500, 4_000, 200
SMOOTHNESS = (0.5, 1.0, 1.5, 2.5, np.inf)
COLUMNS = {"sphere": ["lon", "lat"], "times": ["x", "y", "time"], "stations": ["x", "y", "time"]}


@dataclass(frozen=True)
class DataSet:
    """One line of the panel; `n` is about the number of rows of the fit."""

    name: str
    kind: str
    n: int
    family: str = "gaussian"
    dim: int = 2
    strong: bool = False  # noise: as large as the field, else about a tenth of it
    layout: str = "uniform"
    stretch: bool = False  # 3 to 6 times in a random direction
    nu: float | None = None  # None: drawn
    n_scales: int = 1
    covariates: tuple[int, int] = (0, 0)  # with an effect, and useless ones
    effect: float = 0.0  # sd of an effect of each group; then no surface is scored
    task: str | None = None  # a real table: name of a TOML file of zoo.py

    def draw(self, seed: int, folder: Path | None = None) -> Drawn:
        """Rows and truth of one seed; the same on every call."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        if self.task is not None:
            assert folder is not None
            return real(self, folder, rng)
        return simulated(self, rng)


@dataclass(frozen=True)
class Drawn:
    """What a model is given, and what it is judged by."""

    X: Any
    y: np.ndarray
    new_X: Any
    new_y: np.ndarray
    eta: np.ndarray | None = None  # true linear predictor at the new places
    parameters: dict[str, Any] = field(default_factory=dict)  # of the estimator
    known: dict[str, Any] = field(default_factory=dict)  # of fit
    new_known: dict[str, Any] = field(default_factory=dict)  # of predict


@dataclass(frozen=True)
class Places:
    """Coordinates as the model sees them and as the field does, and which rows are for the fit."""

    X: np.ndarray
    at: np.ndarray
    train: np.ndarray
    groups: np.ndarray | None = None


# ------------------------------------------------------------------------------------- places


def uniform(s: DataSet, rng: np.random.Generator) -> Places:
    """Rows anywhere in the unit cube."""
    return _first(rng.uniform(size=(s.n + N_TEST, s.dim)), s.n)


def sphere(s: DataSet, rng: np.random.Generator) -> Places:
    """Longitudes and latitudes anywhere on the Earth; the field knows chords."""
    at = rng.standard_normal((s.n + N_TEST, 3))
    at /= np.linalg.norm(at, axis=1)[:, None]
    lonlat = np.degrees([np.arctan2(at[:, 1], at[:, 0]), np.arcsin(at[:, 2])]).T
    return replace(_first(at, s.n), X=lonlat)


def times(s: DataSet, rng: np.random.Generator) -> Places:
    """Places in a square of 100 km, each seen once, within 30 days."""
    at = rng.uniform(size=(s.n + N_TEST, 3))
    return replace(_first(at, s.n), X=at * (100, 100, 30))


def stations(s: DataSet, rng: np.random.Generator) -> Places:
    """Stations that report daily for 20 or 40 days; whole stations are new."""
    days = 20 if s.n <= 1_000 else 40
    n_train, n_new = s.n // days, N_TEST // days
    where = np.repeat(np.arange(n_train + n_new), days)
    day = np.tile(np.arange(days) / 30, n_train + n_new)
    at = np.column_stack([rng.uniform(size=(n_train + n_new, 2))[where], day])
    return Places(at * (100, 100, 30), at, where < n_train, where)


def villages(s: DataSet, rng: np.random.Generator) -> Places:
    """Groups of eight rows close together; whole groups are new."""
    n_train, n_new = s.n // 8, N_TEST // 8
    group = np.repeat(np.arange(n_train + n_new), 8)
    at = rng.uniform(size=(n_train + n_new, 2))[group] + 0.01 * rng.standard_normal((len(group), 2))
    return Places(at, at, group < n_train, group)


def image(s: DataSet, rng: np.random.Generator) -> Places:
    """Pixels with round gaps and single ones missing; new places are pixels of the gaps."""
    side = round(np.sqrt(s.n / 0.72))
    pixel = np.argwhere(np.ones((side, side))).astype(float)
    seen = rng.uniform(size=len(pixel)) > 0.05
    while seen.mean() > 0.72:
        radius = side * rng.uniform(0.03, 0.15)
        seen &= np.linalg.norm(pixel - rng.uniform(0, side, 2), axis=1) > radius
    new = rng.choice(np.flatnonzero(~seen), N_TEST, replace=False)
    X = np.concatenate([pixel[seen], pixel[new]])
    return replace(_first(X / side, int(seen.sum())), X=X)


def lines(s: DataSet, rng: np.random.Generator) -> Places:
    """Rows along eight straight lines; new places anywhere between."""
    ends = rng.uniform(size=(2, 8, 2))
    line, along = rng.integers(8, size=s.n), rng.uniform(size=(s.n, 1))
    at = ends[0, line] * along + ends[1, line] * (1 - along)
    return _first(np.concatenate([at, rng.uniform(size=(N_TEST, 2))]), s.n)


def track(s: DataSet, rng: np.random.Generator) -> Places:
    """Rows along one winding path that the sides of the square reflect; new places anywhere."""
    heading = rng.uniform(0, 7) + np.cumsum(0.15 * rng.standard_normal(s.n))
    path = np.cumsum(0.02 * np.column_stack([np.cos(heading), np.sin(heading)]), axis=0)
    at = np.abs((rng.uniform(size=2) + path) % 2 - 1)
    return _first(np.concatenate([at, rng.uniform(size=(N_TEST, 2))]), s.n)


def _first(at: np.ndarray, n: int) -> Places:
    return Places(at, at, np.arange(len(at)) < n)


LAYOUTS: dict[str, Callable[[DataSet, np.random.Generator], Places]] = {
    f.__name__: f for f in (uniform, sphere, times, stations, villages, image, lines, track)
}


# ------------------------------------------------------------------------------------- fields


def surface(s: DataSet, at: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Field of the data set at its places, of variance 1."""
    nu = float(rng.choice(SMOOTHNESS)) if s.nu is None else s.nu
    dim = at.shape[1]
    if s.n_scales == 2:
        reach = [rng.uniform(0.4, 0.8), rng.uniform(0.04, 0.1)]
        return sum(gaussian_field([(at / r, nu)], rng) for r in reach) / np.sqrt(2)
    if dim > 3:  # every axis has a length of its own
        return gaussian_field([(at / _between(0.7, 7.0, rng, dim), nu)], rng)
    reach = _between(0.1, 0.6, rng)
    if s.layout in ("times", "stations"):  # a product of space and time, or one field of both
        lasts = _between(0.1, 0.5, rng)
        if rng.uniform() < 0.5:
            time_nu = float(rng.choice(SMOOTHNESS[:3]))
            return gaussian_field([(at[:, :2] / reach, nu), (at[:, 2:] / lasts, time_nu)], rng)
        return gaussian_field([(at / (reach, reach, lasts), nu)], rng)
    if s.stretch:
        turn, ratio = linalg.qr(rng.standard_normal((dim, dim)))[0], rng.uniform(3, 6)
        at = at @ turn * np.r_[np.sqrt(ratio), np.full(dim - 1, 1 / np.sqrt(ratio))]
    return gaussian_field([(at / reach, nu)], rng)


def gaussian_field(parts: list[tuple[np.ndarray, float]], rng: np.random.Generator) -> np.ndarray:
    """Draw of a product of Matern kernels of length 1, each on coordinates of its own."""
    n = len(parts[0][0])
    if n <= EXACT:
        covariance = np.prod([squareform(matern(pdist(z), nu)) for z, nu in parts], axis=0)
        covariance[np.diag_indices(n)] = 1 + 1e-9
        return linalg.cholesky(covariance, lower=True) @ rng.standard_normal(n)
    z = np.hstack([z for z, _ in parts])
    omega = np.hstack([frequencies(z.shape[1], nu, rng) for z, nu in parts])
    a, b = rng.standard_normal((2, N_WAVES)) / np.sqrt(N_WAVES)
    phases = (z[i : i + 1_000] @ omega.T for i in range(0, n, 1_000))
    return np.concatenate([np.cos(phase) @ a + np.sin(phase) @ b for phase in phases])


def matern(r: np.ndarray, nu: float) -> np.ndarray:
    """Correlation of a Matern field of length 1 at distances r > 0."""
    if nu == np.inf:
        return np.exp(-(r**2) / 2)
    t = np.sqrt(2 * nu) * np.maximum(r, 1e-12)
    match nu:
        case 0.5:
            return np.exp(-t)
        case 1.5:
            return (1 + t) * np.exp(-t)
        case 2.5:
            return (1 + t + t**2 / 3) * np.exp(-t)
    return 2 ** (1 - nu) / special.gamma(nu) * t**nu * special.kv(nu, t)


def frequencies(dim: int, nu: float, rng: np.random.Generator) -> np.ndarray:
    """Waves of a Matern field of length 1: a Student t vector with 2 nu degrees of freedom."""
    omega = rng.standard_normal((N_WAVES, dim))
    if nu == np.inf:
        return omega
    return omega / np.sqrt(rng.chisquare(2 * nu, (N_WAVES, 1)) / (2 * nu))


# ---------------------------------------------------------------------------------- responses


def simulated(s: DataSet, rng: np.random.Generator) -> Drawn:
    """Rows and responses of a simulated data set."""
    places = LAYOUTS[s.layout](s, rng)
    n, X = len(places.X), places.X
    if s.family == "classes":
        fields = np.array([surface(s, places.at, rng) for _ in range(3)])
        y = np.argmax(fields + 0.3 * rng.standard_normal(fields.shape), axis=0)
        return Drawn(X[places.train], y[places.train], X[~places.train], y[~places.train])
    eta = surface(s, places.at, rng)
    if s.effect:
        eta = eta + s.effect * rng.standard_normal(n)[places.groups]
    X, eta, parameters = with_covariates(s, X, eta, rng)
    eta, y, known = responses(s, eta, rng)
    new_known = {key: value[~places.train] for key, value in known.items()}
    if places.groups is not None:
        known["groups"] = places.groups
    if s.layout in COLUMNS:
        import pandas as pd

        X = pd.DataFrame(X, columns=COLUMNS[s.layout])
    return Drawn(
        *(X[places.train], y[places.train], X[~places.train], y[~places.train]),
        None if s.effect else eta[~places.train],
        parameters,
        {key: value[places.train] for key, value in known.items()},
        new_known,
    )


def with_covariates(
    s: DataSet, X: np.ndarray, eta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Covariates beside the coordinates, every second one smooth in space, and their effects."""
    useful, count = s.covariates[0], sum(s.covariates)
    if count == 0:
        return X, eta, {}
    columns = rng.standard_normal((len(X), count))
    columns[:, ::2] = np.sin(X @ rng.normal(0, 4, (X.shape[1], len(columns[0, ::2]))))
    columns[:, ::2] += 0.2 * rng.standard_normal(columns[:, ::2].shape)
    chosen = rng.permutation(count)[:useful]
    eta = eta + columns[:, chosen] @ rng.standard_normal(useful) / np.sqrt(max(useful, 1))
    where = list(range(X.shape[1], X.shape[1] + count))
    return np.hstack([X, columns]), eta, {"covariates": where}


def responses(
    s: DataSet, eta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Linear predictor with its mean and scale, observations, and trials or exposure."""
    n, noise = len(eta), rng.uniform(0.7, 1.3) if s.strong else rng.uniform(0.05, 0.2)
    match s.family:
        case "gaussian" | "student":
            scale = _between(0.2, 5.0, rng)
            eta = scale * (eta + 3 * rng.standard_normal())
            t = rng.standard_t(rng.uniform(2.5, 6), n) if s.family == "student" else None
            return eta, eta + scale * noise * (rng.standard_normal(n) if t is None else t), {}
        case "bernoulli":
            eta = 2 * eta + 0.5 * rng.standard_normal()
            return eta, (rng.uniform(size=n) < special.expit(eta)).astype(float), {}
        case "binomial":
            eta = eta - 1 + 0.5 * rng.standard_normal()
            trials = rng.integers(2, 8, n) if s.strong else rng.integers(20, 80, n)
            y = rng.binomial(trials, special.expit(eta)).astype(float)
            return eta, y, {"trials": trials.astype(float)}
        case "poisson":
            eta = eta + (-0.5 if s.strong else 1.5)
            exposure = _between(0.3, 3.0, rng, n)
            return eta, rng.poisson(exposure * np.exp(eta)).astype(float), {"exposure": exposure}
        case "negative-binomial":
            eta, shape = eta + 1, 1.0 if s.strong else 5.0
            return eta, rng.poisson(np.exp(eta) * rng.gamma(shape, 1 / shape, n)).astype(float), {}
        case "gamma":
            shape = 1.5 if s.strong else 20.0
            return eta, np.exp(eta) * rng.gamma(shape, 1 / shape, n), {}
    raise ValueError(s.family)


def _between(low: float, high: float, rng: np.random.Generator, size: Any = None) -> Any:
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def real(s: DataSet, folder: Path, rng: np.random.Generator) -> Drawn:
    """A table of `folder`, read as zoo.py reads it: a sixth of its rows, or groups, is new."""
    from zoo import read

    task = tomllib.loads((folder / "zoo" / f"{s.task}.toml").read_text(encoding="utf-8"))
    frame = read(task, folder / "zoo")
    unit = frame.index if "groups" not in task else frame[task["groups"]]
    names = rng.permutation(np.unique(unit))
    new = np.flatnonzero(np.isin(unit, names[: len(names) // 6]))
    old = np.setdiff1d(np.arange(len(frame)), new)
    old, new = rng.permutation(old)[: s.n], rng.permutation(new)[: 2 * N_TEST]
    sizes = {key: frame[task[key]].to_numpy(float) for key in ("trials", "exposure") if key in task}
    known = {key: value[old] for key, value in sizes.items()}
    if "groups" in task:
        known["groups"] = frame[task["groups"]].to_numpy()[old]
    coords = [*task["coords"], *([task["time"]] if "time" in task else [])]
    y = frame[task["target"]].to_numpy(float)
    return Drawn(
        *(frame.iloc[old], y[old], frame.iloc[new], y[new]),
        parameters={"coords": coords, "covariates": task.get("covariates")},
        known=known,
        new_known={key: value[new] for key, value in sizes.items()},
    )


# --------------------------------------------------------------------------------- the panel


def _fields() -> list[DataSet]:
    sizes = {"few rows": (30, 60), "hundreds": (150, 400, 900), "thousands": (1_500, 3_000)}
    sizes["ten thousands"] = (10_000, 30_000)
    return [
        DataSet(
            f"{shape} {n} {noise}",
            f"{shape}, {size}",
            n,
            strong=noise == "strong",
            stretch=shape == "stretched",
        )
        for size, numbers in sizes.items()
        for n in numbers
        for shape in ("isotropic", "stretched")
        for noise in ("weak", "strong")
    ]


def _families() -> list[DataSet]:
    return [
        DataSet(f"{family} {n}", family, n, family, strong=n == 150, stretch=n == 400)
        for family in ("bernoulli", "binomial", "poisson", "negative-binomial", "gamma")
        for n in (60, 150, 400)
    ]


def _real() -> list[DataSet]:
    rows = {"meuse_covariate": 155, "sic97": 467, "heaton_small": 3_000, "soil_b204_clay": 204}
    rows |= {"california_housing": 2_000, "pm10_germany": 1_500, "elevators": 1_000}
    families = {
        "binomial": {"loaloa": 197, "liberia_oncho": 90, "tanzania_malaria": 387},
        "poisson": {"rongelap": 157, "nc_sids79": 100, "bei": 900},
    }
    return [
        DataSet(f"real {task}", f"real, {family}", n, family, task=task)
        for family, tasks in {"gaussian": rows, **families}.items()
        for task, n in tasks.items()
    ]


SETS = (
    *_fields(),
    *_families(),
    DataSet("poisson 4000", "thousands of counts", 4_000, "poisson"),
    DataSet("binomial 1500", "thousands of counts", 1_500, "binomial", strong=True),
    DataSet("classes 300", "classes", 300, "classes"),
    *(DataSet(f"student {n}", "student", n, "student", strong=n == 150) for n in (60, 150, 400)),
    DataSet("student 2000", "student", 2_000, "student"),
    DataSet("rough 40 weak", "rough, 40 rows", 40, nu=0.5),
    DataSet("rough 40 strong", "rough, 40 rows", 40, nu=0.5, strong=True),
    DataSet("two scales 300 weak", "two scales", 300, n_scales=2),
    DataSet("two scales 300 strong", "two scales", 300, n_scales=2, strong=True),
    DataSet("two scales 3000", "two scales", 3_000, n_scales=2),
    *(DataSet(f"sphere {n}", "sphere", n, layout="sphere") for n in (150, 900, 3_000)),
    *(DataSet(f"times {n}", "space-time", n, layout="times") for n in (300, 1_500)),
    *(DataSet(f"stations {n}", "stations", n, layout="stations") for n in (300, 2_400)),
    DataSet("villages 240", "groups", 240, layout="villages", strong=True),
    DataSet("villages 240 effects", "groups", 240, layout="villages", effect=0.7),
    DataSet("villages 240 binomial", "groups", 240, "binomial", layout="villages", strong=True),
    *(DataSet(f"image {n}", "images", n, layout="image") for n in (600, 2_500, 10_000)),
    DataSet("lines 150", "lines and tracks", 150, layout="lines"),
    DataSet("lines 600", "lines and tracks", 600, layout="lines", stretch=True),
    DataSet("track 400", "lines and tracks", 400, layout="track", strong=True),
    DataSet("track 3000", "lines and tracks", 3_000, layout="track"),
    DataSet("six dimensions 600", "six dimensions", 600, dim=6),
    DataSet("six dimensions 6000", "six dimensions", 6_000, dim=6),
    DataSet("4 dimensions 400", "4 to 18 dimensions", 400, dim=4, strong=True),
    DataSet("8 dimensions 1500", "4 to 18 dimensions", 1_500, dim=8),
    DataSet("12 dimensions 300", "4 to 18 dimensions", 300, dim=12),
    DataSet("18 dimensions 900", "4 to 18 dimensions", 900, dim=18),
    DataSet("1 covariate 60", "covariates", 60, covariates=(1, 0)),
    DataSet("5 covariates 150", "covariates", 150, covariates=(3, 2)),
    DataSet("10 useless covariates 150", "covariates", 150, covariates=(0, 10)),
    DataSet("20 covariates 400", "covariates", 400, covariates=(10, 10), strong=True),
    DataSet("50 covariates 400", "covariates", 400, covariates=(5, 45)),
    DataSet("5 covariates poisson 200", "covariates", 200, "poisson", covariates=(3, 2)),
    *_real(),
)
