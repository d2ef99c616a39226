"""The data sets of `panel.py`: simulated fields, each drawn anew for every seed, and real tables.

Nothing here imports the library that is measured. Smoothness, range, mean and variance of a field
are drawn by the seed. Up to 3,500 places a field is exact, by Cholesky; beyond, it is a sum of
4,000 random waves with Gaussian amplitudes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import linalg, special
from scipy.spatial.distance import pdist, squareform

EXACT, N_WAVES, N_TEST = 3_500, 4_000, 200
SMOOTHNESS = (0.5, 1.0, 1.5, 2.5, np.inf)
Parts = tuple[np.ndarray, np.ndarray, dict[str, Any]]
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
        return real(self, folder, rng) if self.task else simulated(self, rng)


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


class Places(NamedTuple):
    """Coordinates as the model and as the field sees them; the first `n` rows are for the fit."""

    X: np.ndarray
    at: np.ndarray
    n: int
    groups: np.ndarray | None = None


def uniform(s: DataSet, rng: np.random.Generator) -> Places:
    """Rows anywhere in the unit cube."""
    at = rng.uniform(size=(s.n + N_TEST, s.dim))
    return Places(at, at, s.n)


def sphere(s: DataSet, rng: np.random.Generator) -> Places:
    """Longitudes and latitudes anywhere on the Earth; the field knows chords."""
    at = rng.standard_normal((s.n + N_TEST, 3))
    at /= np.linalg.norm(at, axis=1)[:, None]
    lonlat = np.degrees([np.arctan2(at[:, 1], at[:, 0]), np.arcsin(at[:, 2])]).T
    return Places(lonlat, at, s.n)


def times(s: DataSet, rng: np.random.Generator) -> Places:
    """Places in a square of 100 km, each seen once, within 30 days."""
    at = rng.uniform(size=(s.n + N_TEST, 3))
    return Places(at * (100, 100, 30), at, s.n)


def stations(s: DataSet, rng: np.random.Generator) -> Places:
    """Stations that report daily for 20 or 40 days; whole stations are new."""
    days = 20 if s.n <= 1_000 else 40
    station, day = np.divmod(np.arange(s.n + N_TEST), days)
    at = np.column_stack([rng.uniform(size=(len(day), 2))[station], day / 30])
    return Places(at * (100, 100, 30), at, s.n, station)


def villages(s: DataSet, rng: np.random.Generator) -> Places:
    """Groups of eight rows close together; whole groups are new."""
    group = np.arange(s.n + N_TEST) // 8
    at = rng.uniform(size=(len(group), 2))[group] + 0.01 * rng.standard_normal((len(group), 2))
    return Places(at, at, s.n, group)


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
    return Places(X, X / side, int(seen.sum()))


def lines(s: DataSet, rng: np.random.Generator) -> Places:
    """Rows along eight straight lines; new places anywhere between."""
    ends = rng.uniform(size=(2, 8, 2))
    line, along = rng.integers(8, size=s.n), rng.uniform(size=(s.n, 1))
    rows = ends[0, line] * along + ends[1, line] * (1 - along)
    return _beside(rows, rng)


def track(s: DataSet, rng: np.random.Generator) -> Places:
    """Rows along one winding path that the sides of the square reflect; new places anywhere."""
    heading = rng.uniform(0, 7) + np.cumsum(0.15 * rng.standard_normal(s.n))
    path = np.cumsum(0.02 * np.column_stack([np.cos(heading), np.sin(heading)]), axis=0)
    rows = np.abs((rng.uniform(size=2) + path) % 2 - 1)
    return _beside(rows, rng)


def _beside(rows: np.ndarray, rng: np.random.Generator) -> Places:
    at = np.concatenate([rows, rng.uniform(size=(N_TEST, 2))])
    return Places(at, at, len(rows))


LAYOUTS: dict[str, Callable[[DataSet, np.random.Generator], Places]] = {
    f.__name__: f for f in (uniform, sphere, times, stations, villages, image, lines, track)
}


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
    if nu in (0.5, 1.5, 2.5):
        return (1, 1 + t, 1 + t + t**2 / 3)[int(nu)] * np.exp(-t)
    return 2 ** (1 - nu) / special.gamma(nu) * t**nu * special.kv(nu, t)


def frequencies(dim: int, nu: float, rng: np.random.Generator) -> np.ndarray:
    """Waves of a Matern field of length 1: a Student t vector with 2 nu degrees of freedom."""
    precision = 1.0 if nu == np.inf else rng.chisquare(2 * nu, (N_WAVES, 1)) / (2 * nu)
    return rng.standard_normal((N_WAVES, dim)) / np.sqrt(precision)


def simulated(s: DataSet, rng: np.random.Generator) -> Drawn:
    """Rows and responses of a simulated data set."""
    X, at, n, groups = LAYOUTS[s.layout](s, rng)
    if s.family == "classes":
        fields = np.array([surface(s, at, rng) for _ in range(3)])
        y = np.argmax(fields + 0.3 * rng.standard_normal(fields.shape), axis=0)
        return Drawn(X[:n], y[:n], X[n:], y[n:])
    eta = surface(s, at, rng)
    if s.effect:
        eta = eta + s.effect * rng.standard_normal(len(at))[groups]
    X, eta, parameters = with_covariates(s, X, eta, rng)
    eta, y, sizes = responses(s, eta, rng)
    known = {key: value[:n] for key, value in sizes.items()}
    new_known = {key: value[n:] for key, value in sizes.items()}
    if groups is not None:
        known["groups"] = groups[:n]
    if s.layout in COLUMNS:
        X = pd.DataFrame(X, columns=COLUMNS[s.layout])
    truth = None if s.effect else eta[n:]
    return Drawn(X[:n], y[:n], X[n:], y[n:], truth, parameters, known, new_known)


def with_covariates(s: DataSet, X: np.ndarray, eta: np.ndarray, rng: np.random.Generator) -> Parts:
    """Covariates beside the coordinates, every second one smooth in space, and their effects."""
    useful, count, first = s.covariates[0], sum(s.covariates), X.shape[1]
    if count == 0:
        return X, eta, {}
    columns = rng.standard_normal((len(X), count))
    smooth = np.sin(X @ rng.normal(0, 4, (first, count)))
    columns[:, ::2] = (smooth + 0.2 * columns)[:, ::2]
    chosen = rng.permutation(count)[:useful]
    eta = eta + columns[:, chosen] @ rng.standard_normal(useful) / np.sqrt(max(useful, 1))
    return np.hstack([X, columns]), eta, {"covariates": list(range(first, first + count))}


def responses(s: DataSet, eta: np.ndarray, rng: np.random.Generator) -> Parts:
    """Linear predictor with its mean and scale, observations, and trials or exposure."""
    n, noise = len(eta), rng.uniform(0.7, 1.3) if s.strong else rng.uniform(0.05, 0.2)
    match s.family:
        case "gaussian" | "student":
            scale = _between(0.2, 5.0, rng)
            eta = scale * (eta + 3 * rng.standard_normal())
            student = s.family == "student"
            error = rng.standard_t(rng.uniform(2.5, 6), n) if student else rng.standard_normal(n)
            return eta, eta + scale * noise * error, {}
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
        case _:  # gamma and negative binomial
            eta, shape = eta + 1, 1.5 if s.strong else 10.0
            mean = np.exp(eta) * rng.gamma(shape, 1 / shape, n)
            return eta, mean if s.family == "gamma" else rng.poisson(mean).astype(float), {}


def _between(low: float, high: float, rng: np.random.Generator, size: Any = None) -> Any:
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def real(s: DataSet, folder: Any, rng: np.random.Generator) -> Drawn:
    """A table of `folder`, read as zoo.py reads it: a sixth of its rows, or groups, is new."""
    from zoo import read

    task = tomllib.loads((folder / "zoo" / f"{s.task}.toml").read_text(encoding="utf-8"))
    frame = read(task, folder / "zoo").sample(frac=1, random_state=int(rng.integers(2**31)))
    unit = frame[task["groups"]] if "groups" in task else frame.index
    names = rng.permutation(np.unique(unit))
    chosen = np.isin(unit, names[: len(names) // 6])
    old, new, y = frame[~chosen][: s.n], frame[chosen][: 2 * N_TEST], task["target"]
    sizes = [key for key in ("trials", "exposure") if key in task]
    known = [key for key in (*sizes, "groups") if key in task]
    coords = [*task["coords"], *([task["time"]] if "time" in task else [])]
    return Drawn(
        *(old, old[y].to_numpy(float), new, new[y].to_numpy(float)),
        parameters={"coords": coords, "covariates": task.get("covariates")},
        known={key: old[task[key]] for key in known},
        new_known={key: new[task[key]] for key in sizes},
    )


NUMBERS = (30, 60, 150, 400, 900, 1_500, 3_000, 10_000, 30_000)
SIZES = {2: "few rows", 3: "hundreds", 4: "thousands", 5: "ten thousands"}  # by digits
FAMILIES = ("bernoulli", "binomial", "poisson", "negative-binomial", "gamma", "student")
DIMENSIONS = ((4, 400), (8, 1_500), (12, 300), (18, 900))
EFFECTS = ((1, 0, 60), (3, 2, 150), (0, 10, 150), (10, 10, 400), (5, 45, 400))
REAL = {
    "gaussian": "meuse_covariate sic97 heaton_small soil_b204_clay california_housing pm10_germany",
    "binomial": "loaloa liberia_oncho tanzania_malaria",
    "poisson": "rongelap nc_sids79 bei",
}
LARGE = {"heaton_small": 3_000, "california_housing": 2_000, "pm10_germany": 1_500}
NOISES, SHAPES = {"weak": False, "strong": True}, {"isotropic": False, "stretched": True}

SETS = (
    *(
        DataSet(f"{shape} {n} {noise}", f"{shape}, {SIZES[len(str(n))]}", n, stretch=a, strong=b)
        for n in NUMBERS
        for shape, a in SHAPES.items()
        for noise, b in NOISES.items()
    ),
    *(
        DataSet(f"{family} {n}", family, n, family, strong=n == 150, stretch=n == 400)
        for family in FAMILIES
        for n in (60, 150, 400)
    ),
    DataSet("student 2000", "student", 2_000, "student"),
    DataSet("poisson 4000", "thousands of counts", 4_000, "poisson"),
    DataSet("binomial 1500", "thousands of counts", 1_500, "binomial", strong=True),
    DataSet("classes 300", "classes", 300, "classes"),
    *(
        DataSet(f"{kind} {n} {noise}", kind, n, nu=nu, n_scales=scales, strong=strong)
        for kind, n, nu, scales in (("rough", 40, 0.5, 1), ("two scales", 300, None, 2))
        for noise, strong in NOISES.items()
    ),
    DataSet("two scales 3000", "two scales", 3_000, n_scales=2),
    *(DataSet(f"sphere {n}", "sphere", n, layout="sphere") for n in (150, 900, 3_000)),
    *(DataSet(f"times {n}", "space-time", n, layout="times") for n in (300, 1_500)),
    *(DataSet(f"stations {n}", "stations", n, layout="stations") for n in (300, 2_400)),
    DataSet("villages 240", "groups", 240, layout="villages", strong=True),
    DataSet("villages 240 effects", "groups", 240, layout="villages", effect=0.7),
    DataSet("villages 240 binomial", "groups", 240, "binomial", layout="villages", strong=True),
    *(DataSet(f"image {n}", "images", n, layout="image") for n in (600, 2_500, 10_000)),
    *(DataSet(f"lines {n}", "lines and tracks", n, layout="lines") for n in (150, 600)),
    *(DataSet(f"track {n}", "lines and tracks", n, layout="track") for n in (400, 3_000)),
    *(DataSet(f"six dimensions {n}", "six dimensions", n, dim=6) for n in (600, 6_000)),
    *(DataSet(f"{dim} dimensions {n}", "4 to 18 dimensions", n, dim=dim) for dim, n in DIMENSIONS),
    *(DataSet(f"{a}+{b} covariates {n}", "covariates", n, covariates=(a, b)) for a, b, n in EFFECTS),
    DataSet("3+2 covariates poisson", "covariates", 200, "poisson", covariates=(3, 2)),
    *(
        DataSet(f"real {task}", f"real, {family}", LARGE.get(task, 900), family, task=task)
        for family, tasks in REAL.items()
        for task in tasks.split()
    ),
)
