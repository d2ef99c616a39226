"""Baselines for the zoo: what a careful analyst would try first, each with a predictive law.

Nearest-neighbour kriging by maximum likelihood (Gaussian responses), a generalised linear model with splines of the
coordinates, and gradient-boosted trees. Scatter of a model that has none of its own comes from its errors in five folds
of the training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

N_KNOTS = 10  # of the splines along each axis, in up to two dimensions; fewer beyond
N_FOLDS = 5
NEIGHBOURS, POINTS = 20, 4_000  # predecessors, and points of the likelihood
KRIGED_FROM = 40
EARTH = 6371.0


@dataclass(frozen=True)
class Table:
    """Rows as every baseline takes them.

    Attributes
    ----------
    coords : (n, dim)
        Coordinates as given; `lonlat` says whether the first two are degrees, `time` whether the last is a time.
    covariates : (n, q)
        Numbers, categories as indicators.
    y, size : (n,)
        Response, and trials or exposure (ones without).
    groups : (n,), optional
        Rows that belong together.
    """

    coords: np.ndarray
    covariates: np.ndarray
    y: np.ndarray
    size: np.ndarray
    error: np.ndarray
    lonlat: bool = False
    time: bool = False
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: np.ndarray) -> Table:
        parts = (self.coords, self.covariates, self.y, self.size, self.error)
        groups = None if self.groups is None else self.groups[rows]
        return Table(*(part[rows] for part in parts), self.lonlat, self.time, groups)

    @property
    def places(self) -> np.ndarray:
        """Coordinates in which distances mean something: chords of the sphere in km for degrees."""
        if not self.lonlat:
            return self.coords
        lon, lat = np.radians(self.coords[:, 0]), np.radians(self.coords[:, 1])
        x = EARTH * np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
        return np.column_stack([x, self.coords[:, 2:]])

    def folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Folds of the rows; groups stay together."""
        rng = np.random.default_rng(1)
        label = np.arange(len(self)) if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
        fold = rng.integers(N_FOLDS, size=int(label.max()) + 1)[label]
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(N_FOLDS) if (fold == k).any()]


@dataclass(frozen=True)
class Law:
    """Predictive law of new rows: a normal, a probability, or a negative binomial count."""

    mean: np.ndarray
    sd: np.ndarray | None = None
    dispersion: float = field(default=0.0)


def baselines(family: str, train: Table, test: Table) -> dict[str, Law]:
    """Every baseline of a family, by name."""
    laws = {"splines": splines(family, train, test), "trees": trees(family, train, test)}
    if family == "gaussian":
        laws["kriging"] = kriging(train, test)
    return laws


# ------------------------------------------------------------------------------------ kriging


def kriging(train: Table, test: Table) -> Law:
    """Matern 1/2 or 3/2, whichever is likelier by Vecchia's likelihood, then kriging from the nearest rows."""
    from scipy import optimize

    from bochner.kernels import Matern, OnAxes
    from bochner.neighbours import Vecchia, local_kriging

    x, z = train.places, test.places
    spread = np.maximum(x.std(axis=0), 1e-300)
    if train.lonlat:
        spread[:3] = spread[:3].max()
    x, z = x / spread, z / spread
    X, Z = (np.column_stack([np.ones(len(t)), t.covariates]) for t in (train, test))
    centre, scale = X[:, 1:].mean(axis=0), np.maximum(X[:, 1:].std(axis=0), 1e-300)
    X[:, 1:], Z[:, 1:] = (X[:, 1:] - centre) / scale, (Z[:, 1:] - centre) / scale
    variance = float(np.var(train.y))
    plan = Vecchia.plan(x, train.y, X, None, train.error**2, n_neighbours=NEIGHBOURS, n_points=POINTS)
    dim, best = x.shape[1], None
    for nu in (0.5, 1.5):
        kernel: Any = Matern(0.3, 0.8 * variance, nu=nu)
        if train.time:
            kernel = OnAxes(kernel, tuple(range(dim - 1))) * OnAxes(Matern(0.3, nu=0.5), dim - 1)
        elif dim > 3:
            kernel = Matern((1.0 * np.sqrt(dim),) * dim, 0.8 * variance, nu=nu)

        def negative(theta: np.ndarray, k: Any = kernel) -> tuple[float, np.ndarray]:
            value, slope = plan.evaluate(k.with_theta(theta[:-1]), float(np.exp(theta[-1])))
            good = np.isfinite(value) and np.all(np.isfinite(slope))
            return (-value, -slope) if good else (1e25, np.zeros(len(theta)))

        start = np.r_[kernel.theta, np.log(0.2 * variance)]
        bounds = [(t - 7, t + 7) for t in start[:-1]] + [(np.log(1e-8 * variance), np.log(2 * variance))]
        found = optimize.minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
        if best is None or found.fun < best[0]:
            best = (float(found.fun), kernel.with_theta(found.x[:-1]), float(np.exp(found.x[-1])))
    assert best is not None
    _, kernel, noise = best
    beta = np.linalg.lstsq(X, train.y, rcond=None)[0]
    rows_noise = noise + train.error**2
    mean, var = local_kriging(kernel, rows_noise, x, train.y - X @ beta, z, min(KRIGED_FROM, len(x)), n_far=10)
    return Law(mean + Z @ beta, np.sqrt(var + noise + test.error**2))


# ------------------------------------------------------------------------------------ splines


def splines(family: str, train: Table, test: Table) -> Law:
    """Penalised regression on splines of the coordinates (a tensor product of two) and the covariates."""
    from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

    columns, wanted = _spline_columns(train, test)
    alphas = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    if family == "gaussian":
        y = train.y

        def smoothed(alpha: float) -> Any:
            return lambda a, rows: Ridge(alpha).fit(a, train.y[rows]).predict

        scores = [_cv(train, columns, smoothed(alpha)) for alpha in alphas]
        best = int(np.argmin([np.mean((y - p) ** 2) for p in scores]))
        model = Ridge(alphas[best]).fit(columns, y)
        sd = np.sqrt(np.mean((y - scores[best]) ** 2) + test.error**2)
        return Law(model.predict(wanted), np.broadcast_to(sd, (len(test),)))
    if family in ("bernoulli", "binomial"):

        def classed(alpha: float, a: np.ndarray, rows: np.ndarray) -> Any:
            both = np.concatenate([a, a])
            label = np.r_[np.ones(len(rows)), np.zeros(len(rows))]
            weight = np.r_[train.y[rows], train.size[rows] - train.y[rows]]
            kept = weight > 0
            model = LogisticRegression(C=1 / alpha, max_iter=100, solver="newton-cholesky").fit(
                both[kept], label[kept], weight[kept]
            )
            return lambda c: model.predict_proba(c)[:, 1]

        scores = [_cv(train, columns, partial(classed, alpha)) for alpha in alphas]
        best = int(np.argmin([_log_loss(train, p) for p in scores]))
        return Law(classed(alphas[best], columns, np.arange(len(train)))(wanted))
    rate = train.y / train.size

    def counted(alpha: float, a: np.ndarray, rows: np.ndarray) -> Any:
        return (
            PoissonRegressor(alpha=alpha / len(rows), max_iter=100, solver="newton-cholesky")
            .fit(a, rate[rows], train.size[rows])
            .predict
        )

    scores = [_cv(train, columns, partial(counted, alpha)) for alpha in alphas]
    best = int(np.argmin([_deviance(train.y, train.size * p) for p in scores]))
    mean = counted(alphas[best], columns, np.arange(len(train)))(wanted)
    return Law(mean * test.size, dispersion=_dispersion(train.y, train.size * scores[best]))


def _spline_columns(train: Table, test: Table) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.preprocessing import SplineTransformer, StandardScaler

    dim = train.coords.shape[1]
    knots = N_KNOTS if dim <= 3 else 5
    parts = [], []
    for axis in range(dim):
        made = SplineTransformer(knots, knots="quantile", extrapolation="linear").fit(train.coords[:, [axis]])
        for part, table in zip(parts, (train, test), strict=True):
            part.append(made.transform(table.coords[:, [axis]]))
    columns = []
    scaler = StandardScaler().fit(train.covariates) if train.covariates.shape[1] else None
    for part, table in zip(parts, (train, test), strict=True):
        tensor = [(part[0][:, :, None] * part[1][:, None, :]).reshape(len(table), -1)] if 2 <= dim <= 3 else part[:1]
        rest = part[2:] if 2 <= dim <= 3 else part[1:]
        linear = [] if scaler is None else [scaler.transform(table.covariates)]
        columns.append(np.column_stack([*tensor, *rest, *linear]))
    return columns[0], columns[1]


# -------------------------------------------------------------------------------------- trees


def trees(family: str, train: Table, test: Table) -> Law:
    """Gradient-boosted trees with their defaults, on coordinates and covariates."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    columns, wanted = (np.column_stack([t.coords, t.covariates]) for t in (train, test))
    if family == "gaussian":

        def fit(a: np.ndarray, rows: np.ndarray) -> Any:
            return HistGradientBoostingRegressor(random_state=0).fit(a, train.y[rows]).predict

        held = _cv(train, columns, fit)
        sd = np.sqrt(np.mean((train.y - held) ** 2) + test.error**2)
        return Law(fit(columns, np.arange(len(train)))(wanted), np.broadcast_to(sd, (len(test),)))
    if family in ("bernoulli", "binomial"):
        both = np.concatenate([columns, columns])
        label = np.r_[np.ones(len(train)), np.zeros(len(train))]
        weight = np.r_[train.y, train.size - train.y]
        kept = weight > 0
        model = HistGradientBoostingClassifier(random_state=0).fit(both[kept], label[kept], weight[kept])
        return Law(np.clip(model.predict_proba(wanted)[:, 1], 1e-6, 1 - 1e-6))

    def fit_counts(a: np.ndarray, rows: np.ndarray) -> Any:
        model = HistGradientBoostingRegressor(loss="poisson", random_state=0)
        return model.fit(a, train.y[rows] / train.size[rows], train.size[rows]).predict

    held = _cv(train, columns, fit_counts)
    mean = fit_counts(columns, np.arange(len(train)))(wanted)
    return Law(mean * test.size, dispersion=_dispersion(train.y, train.size * held))


# ------------------------------------------------------------------------------------- shared


def _cv(train: Table, columns: np.ndarray, fit: Any) -> np.ndarray:
    """Predictions of every training row by a model that has not seen it."""
    out = np.empty(len(train))
    for known, held in train.folds():
        out[held] = fit(columns[known], known)(columns[held])
    return out


def _log_loss(table: Table, p: np.ndarray) -> float:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -float(np.sum(table.y * np.log(p) + (table.size - table.y) * np.log1p(-p)) / table.size.sum())


def _deviance(y: np.ndarray, mean: np.ndarray) -> float:
    mean = np.maximum(mean, 1e-12)
    return float(np.mean(mean - y * np.log(mean)))


def _dispersion(y: np.ndarray, mean: np.ndarray) -> float:
    """Dispersion of a negative binomial by moments: Var Y = mean + dispersion mean^2."""
    mean = np.maximum(mean, 1e-12)
    return float(max(np.sum((y - mean) ** 2 - mean) / np.sum(mean**2), 0.0))
