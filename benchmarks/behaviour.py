"""Behaviour kept: what some hundred fits answer, recorded before a change and compared after it.

    python benchmarks/behaviour.py --record before.npz
    python benchmarks/behaviour.py --compare before.npz [--only NAME ...] [--tolerance 1e-9]

Schemes x families x sizes x kernels, on the plane, the sphere and areas, with formulas and the classifier, through the
public interface alone: predictions, sd, intervals, exceedance, held-out scores, evidence, hyperparameters, what
`check()` says and what `choices_` tells. Numbers that differ by more than the tolerance, relative to the spread of
their kind, are printed and make the script fail; reworded choices are printed and do not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Case = tuple[str, Callable[[], dict[str, Any]]]
FAMILIES = ("gaussian", "bernoulli", "binomial", "poisson", "negative-binomial", "gamma")
SCHEMES = (
    *("exact", "nystroem", "lattice", "monte-carlo", "quasi", "orthogonal", "structured"),
    *("leverage", "learned", "nonstationary"),
)


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record")
    parser.add_argument("--compare")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names hold one of these words")
    parser.add_argument("--tolerance", type=float, default=1e-9)
    args = parser.parse_args()
    before = _read(args.compare) if args.compare else {}
    answers, failed = {}, []
    for name, answer in cases():
        if args.only and not any(word in name for word in args.only):
            continue
        begin = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers[name] = answer()
        answers[name]["warnings"] = sorted({type(w.message).__name__ for w in caught if _own(w.message)})
        line = f"{name:<44} {time.perf_counter() - begin:6.1f} s"
        if args.compare:
            wrong, reworded = difference(before.get(name), answers[name], args.tolerance)
            failed += [name] if wrong else []
            line += "   " + ("; ".join(wrong) if wrong else "the same")
            line += "".join(f"\n    reworded {text}" for text in reworded)
        print(line, flush=True)
    if args.record:
        np.savez_compressed(args.record, answers=json.dumps(answers, default=_plain))
    print(f"{len(answers)} cases" + (f", {len(failed)} differ: {', '.join(failed)}" if args.compare else ""))
    sys.exit(bool(failed))


def difference(before: dict[str, Any] | None, now: dict[str, Any], tolerance: float) -> tuple[list[str], list[str]]:
    """What differs in numbers, and what in words."""
    if before is None:
        return ["not recorded"], []
    now = json.loads(json.dumps(now, default=_plain))
    wrong, reworded = [], []
    for key in sorted(before.keys() | now.keys()):
        a, b = before.get(key), now.get(key)
        if key == "choices":
            names = (a or {}).keys() | (b or {}).keys()
            reworded += [f"{k}: {(a or {}).get(k)!r} -> {(b or {}).get(k)!r}" for k in names if a.get(k) != b.get(k)]
        elif key in ("check", "warnings"):
            wrong += [] if a == b else [f"{key}: {a} -> {b}"]
        else:
            off = _distance(np.array(a, dtype=float), np.array(b, dtype=float))
            wrong += [f"{key} off by {off:.1e}"] if not off <= tolerance else []
    return wrong, reworded


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape:
        return float("inf")
    same = (np.isnan(a) & np.isnan(b)) | (a == b)
    size = float(np.max(np.abs(a[~np.isnan(a)]), initial=1e-300))
    return float(np.max(np.abs(a - b)[~same], initial=0.0)) / size


# ------------------------------------------------------------------------------------ cases


def cases() -> Iterator[Case]:
    """Name of each case, and what gives its answers."""
    yield from _schemes()
    yield from _families()
    yield from _kernels()
    yield from _dimensions()
    yield from _tuning()
    yield from _sizes()
    yield from _tables()


def _schemes() -> Iterator[Case]:
    from bochner.kernels import Matern

    for scheme in SCHEMES:
        yield f"scheme {scheme}", lambda s=scheme: fitted(300, features=s, kernel=Matern(0.3, nu=1.5))
        if scheme not in ("learned", "nonstationary"):
            yield f"scheme {scheme} without a kernel", lambda s=scheme: fitted(250, features=s, seed=1)
    for scheme in ("nystroem", "monte-carlo", "quasi", "orthogonal", "lattice", "leverage"):
        yield (
            f"scheme {scheme} of 40 waves",
            lambda s=scheme: fitted(400, features=s, n_frequencies=40, kernel=Matern(0.3)),
        )
        yield (
            f"scheme {scheme} with values kept",
            lambda s=scheme: fitted(400, features=s, n_frequencies=30, kernel=Matern(0.3), tune=None),
        )
    yield (
        "least squares",
        lambda: fitted(300, features="quasi", n_frequencies=20, kernel=Matern(0.5), tune=None, noise_variance=0),
    )
    yield "float32", lambda: fitted(600, features="orthogonal", n_frequencies=50, kernel=Matern(0.3), dtype="float32")


def _families() -> Iterator[Case]:
    from bochner.kernels import Matern

    for family in FAMILIES:
        yield f"family {family}", lambda f=family: fitted(200, family=f)
        for scheme in ("lattice", "orthogonal", "nystroem"):
            yield (
                f"family {family} {scheme}",
                lambda f=family, s=scheme: fitted(250, family=f, features=s, n_frequencies=40, kernel=Matern(0.4)),
            )
    for family in ("binomial", "poisson", "negative-binomial"):
        yield f"family {family} by likelihood", lambda f=family: fitted(120, family=f, tune="likelihood")
        yield f"family {family} with covariates", lambda f=family: fitted(150, family=f, n_covariates=2)
    yield "family poisson 1,200 rows", lambda: fitted(1_200, family="poisson", kernel=Matern(0.3))
    yield "family binomial learned", lambda: fitted(200, family="binomial", features="learned", kernel=Matern(0.4))


def _kernels() -> Iterator[Case]:
    from bochner import kernels as k

    plane = {
        "squared exponential": k.SquaredExponential(0.3),
        "matern of free nu": k.Matern(0.3, learn_nu=True),
        "laplacian": k.Laplacian(0.3),
        "cauchy": k.Cauchy(0.3),
        "rational quadratic": k.RationalQuadratic(0.3),
        "polynomial": k.Polynomial(),
        "linear": k.Linear(),
        "sum": k.Matern(0.2, nu=0.5) + k.SquaredExponential(0.8),
        "product": k.Matern(0.4) * k.SquaredExponential(0.8),
        "rotated": k.Matern((0.3, 0.5), rotation=0.3),
        "per axis": k.Matern((0.3, 0.5), nu=0.5),
        "spectral mixture": k.SpectralMixture(means=((3.0, 1.0), (0.5, 6.0)), scales=2.0),
    }
    for name, kernel in plane.items():
        yield f"kernel {name}", lambda q=kernel: fitted(150, kernel=q)
    yield "kernel periodic", lambda: fitted(150, dim=1, kernel=k.Periodic(period=0.5) + k.Matern(0.3))
    space_time = k.Separable(k.Matern(0.4, nu=0.5), k.Matern(0.5))
    yield "kernel separable", lambda: fitted(200, dim=3, kernel=space_time)
    yield "kernel gneiting", lambda: fitted(150, dim=3, kernel=k.Gneiting())
    yield "kernel on axes", lambda: fitted(150, kernel=k.OnAxes(k.Matern(0.3), (0,)) + k.OnAxes(k.Matern(0.3), (1,)))


def _dimensions() -> Iterator[Case]:
    from bochner.kernels import Matern

    for dim in (1, 3, 5):
        yield f"dimension {dim}", lambda d=dim: fitted(200, dim=d)
        yield f"dimension {dim} orthogonal", lambda d=dim: fitted(300, dim=d, features="orthogonal", n_frequencies=60)
    yield "dimension 1 lattice", lambda: fitted(500, dim=1, features="lattice", kernel=Matern(0.2))
    yield "dimension 3 lattice", lambda: fitted(400, dim=3, features="lattice", kernel=Matern(0.6, nu=2.5))


def _tuning() -> Iterator[Case]:
    from sklearn.model_selection import KFold

    from bochner.kernels import Matern

    yield "tune likelihood", lambda: fitted(200, tune="likelihood")
    yield "tune spatial-cv", lambda: fitted(200, tune="spatial-cv", kernel=Matern(0.3))
    yield "tune spatial-cv nystroem", lambda: fitted(300, tune="spatial-cv", kernel=Matern(0.3), features="nystroem")
    yield "tune splitter", lambda: fitted(150, tune=KFold(4), kernel=Matern(0.3))
    yield "tune none", lambda: fitted(200, tune=None)
    yield "noise given", lambda: fitted(200, noise_variance=0.05, kernel=Matern(0.3))
    yield "no noise", lambda: fitted(120, noise_variance=0.0, kernel=Matern(0.3, nu=0.5))
    yield "constant response", lambda: fitted(60, constant=True)
    yield "copies and weights", lambda: fitted(200, copies=True)
    yield "known errors", lambda: fitted(200, errors=True)
    yield "covariates, collinear", lambda: fitted(150, n_covariates=2, collinear=True)
    yield "no intercept", lambda: fitted(150, fit_intercept=False)


def _sizes() -> Iterator[Case]:
    from bochner.kernels import Matern, SquaredExponential

    yield "1,300 rows", lambda: fitted(1_300)
    yield "1,300 rows with a kernel", lambda: fitted(1_300, kernel=Matern(0.3))
    yield "3,300 rows, waves", lambda: fitted(3_300, kernel=SquaredExponential(0.3))
    yield "3,300 rows, conjugate gradients", lambda: fitted(3_300, kernel=Matern(0.3, nu=0.5))
    yield "3,300 rows, values kept", lambda: fitted(3_300, kernel=Matern(0.3, 1.0, nu=0.5), tune=None)
    yield "3,300 rows by default", lambda: fitted(3_300, predict_at=True)
    yield "6,500 rows, conjugate gradients", lambda: fitted(6_500, kernel=Matern(0.3, 1.0), tune=None, blocks=True)
    yield "image of 65 x 65 with a gap", image
    yield "4,000 counts on a lattice", lambda: fitted(4_000, family="poisson", kernel=Matern(0.5, 0.5), tune=None)
    yield "5,200 rows in 4 dimensions", lambda: fitted(5_200, dim=4, kernel=Matern(1.0, 1.0), tune=None)


def _tables() -> Iterator[Case]:
    yield "sphere", lambda: earth(200, whole=True)
    yield "longitude and latitude", lambda: earth(150, whole=False)
    yield "areas", areas
    yield "formula", formula
    yield "two classes", lambda: classes(2)
    yield "three classes", lambda: classes(3)


# ------------------------------------------------------------------------------- one fit each


def fitted(
    n: int,
    *,
    dim: int = 2,
    family: str = "gaussian",
    seed: int = 0,
    n_covariates: int = 0,
    constant: bool = False,
    collinear: bool = False,
    copies: bool = False,
    errors: bool = False,
    predict_at: bool = False,
    blocks: bool = False,
    **parameters: Any,
) -> dict[str, Any]:
    """A fit of simulated rows, and what it answers."""
    from bochner import SpatialRegressor

    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n, dim))
    field = surface(coords)
    covariates = rng.normal(size=(n, n_covariates))
    if collinear:
        covariates = np.column_stack([covariates, covariates.sum(axis=1)])
    eta = field + 0.5 * covariates.sum(axis=1)
    y, known = observe(family, eta, rng)
    if constant:
        y = np.full(n, 2.0)
    if copies:
        coords[: n // 4] = coords[n // 4 : 2 * (n // 4)]
        known["sample_weight"] = rng.integers(0, 4, n).astype(float)
    if errors:
        known["measurement_variance"] = rng.uniform(0.01, 0.3, n)
    if predict_at:
        known["predict_at"] = rng.uniform(0.2, 0.8, size=(500, dim))
    names = list(range(dim, dim + covariates.shape[1])) or None
    model = SpatialRegressor(family=family, covariates=names, random_state=0, **parameters)
    X = np.column_stack([coords, covariates])
    model.fit(X, y, **known)
    new = np.column_stack([rng.uniform(-0.05, 1.05, size=(30, dim)), rng.normal(size=(30, covariates.shape[1]))])
    cv: tuple[Any, ...] = (None, 4) if n <= 500 or blocks else ()
    return answers_of(model, new, cv)


def surface(coords: np.ndarray) -> np.ndarray:
    """A smooth field with a rough part."""
    waves = np.random.default_rng(7).normal(0, 4, size=(40, coords.shape[1]))
    phase = np.random.default_rng(8).uniform(0, 2 * np.pi, 40)
    return np.asarray(np.cos(coords @ waves.T + phase).sum(axis=1) / np.sqrt(20))


def observe(family: str, eta: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    """Responses of a family, with what `fit` is to know beside them."""
    n = len(eta)
    match family:
        case "gaussian":
            return eta + 0.2 * rng.standard_normal(n), {}
        case "bernoulli":
            return (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float), {}
        case "binomial":
            trials = rng.integers(5, 40, n).astype(float)
            p = 1 / (1 + np.exp(-(eta + 0.2 * rng.standard_normal(n))))
            return rng.binomial(trials.astype(int), p).astype(float), {"trials": trials}
        case "poisson":
            exposure = rng.uniform(1, 5, n)
            return rng.poisson(exposure * np.exp(eta + 0.1 * rng.standard_normal(n))).astype(float), {
                "exposure": exposure
            }
        case "negative-binomial":
            return rng.poisson(3 * np.exp(eta) * rng.gamma(2.0, 0.5, n)).astype(float), {"offset": np.full(n, 0.3)}
    return np.exp(eta) * rng.gamma(4.0, 0.25, n), {}


def image() -> dict[str, Any]:
    """A regular grid with a hole, by conjugate gradients."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.arange(65.0), np.arange(65.0)), axis=-1).reshape(-1, 2)
    hole = np.linalg.norm(grid - [40, 25], axis=1) < 9
    y = surface(grid / 30) + 0.05 * rng.standard_normal(len(grid))
    model = SpatialRegressor(Matern(20.0, 1.0, nu=0.5), tune=None, noise_variance=0.01).fit(grid[~hole], y[~hole])
    return answers_of(model, grid[hole][::6], ())


def earth(n: int, *, whole: bool) -> dict[str, Any]:
    """Longitude and latitude, of the globe or of a region."""
    import pandas as pd

    from bochner import SpatialRegressor

    rng = np.random.default_rng(3)
    lon = rng.uniform(-180, 180, n + 30) if whole else rng.uniform(30, 36, n + 30)
    lat = np.degrees(np.arcsin(rng.uniform(-1, 1, n + 30))) if whole else rng.uniform(-5, 0, n + 30)
    table = pd.DataFrame({"lon": lon, "lat": lat})
    unit = np.column_stack([np.cos(np.radians(lat)) * np.cos(np.radians(lon)), np.sin(np.radians(lat))])
    y = surface(unit if whole else np.column_stack([lon, lat]) / 3) + 0.1 * rng.standard_normal(n + 30)
    model = SpatialRegressor(coords=["lon", "lat"]).fit(table[:n], y[:n])
    return answers_of(model, table[n:], (None, 4))


def areas() -> dict[str, Any]:
    """Squares and points in one model."""
    import geopandas as gpd
    import shapely

    from bochner import SpatialRegressor

    rng = np.random.default_rng(4)
    corners = np.stack(np.meshgrid(np.arange(5) * 2e4, np.arange(5) * 2e4), axis=-1).reshape(-1, 2)
    squares = [shapely.box(x, y, x + 2e4, y + 2e4) for x, y in corners]
    points = [shapely.Point(*p) for p in rng.uniform(0, 1e5, size=(60, 2))]
    frame = gpd.GeoDataFrame(geometry=[*squares, *points], crs="EPSG:32736")
    middle = np.column_stack([frame.geometry.centroid.x, frame.geometry.centroid.y]) / 4e4
    y = surface(middle) + 0.1 * rng.standard_normal(len(frame))
    model = SpatialRegressor().fit(frame, y)
    new = gpd.GeoDataFrame(geometry=[shapely.Point(*p) for p in rng.uniform(0, 1e5, size=(20, 2))], crs=frame.crs)
    return {
        "mean": np.asarray(model.predict(new)["mean"]),
        "sd": np.asarray(model.predict(new, return_std=True)["sd"]),
        "areas": np.asarray(model.predict(frame[:10], return_std=True)["sd"]),
        **learned(model),
    }


def formula() -> dict[str, Any]:
    """A table, a factor and a transform."""
    import pandas as pd

    from bochner import SpatialRegressor

    rng = np.random.default_rng(5)
    n = 180
    table = pd.DataFrame({"lon": rng.uniform(30, 33, n), "lat": rng.uniform(-3, 0, n), "kind": list("abc") * (n // 3)})
    table["height"], table["examined"] = rng.uniform(1, 9, n), rng.integers(10, 50, n)
    eta = surface(np.column_stack([table.lon, table.lat])) + 0.4 * np.log(table.height) - 1.0
    table["positive"] = rng.binomial(table.examined, 1 / (1 + np.exp(-np.asarray(eta))))
    model = SpatialRegressor.from_formula(
        "positive ~ kind + log(height) + gp(lon, lat)", family="binomial", trials="examined"
    ).fit(table)
    return answers_of(model, table[:20], (None, 4))


def classes(number: int) -> dict[str, Any]:
    """Labels on a map."""
    from bochner import SpatialClassifier

    rng = np.random.default_rng(6)
    X = rng.uniform(size=(180, 2))
    labels = np.array(list("abc"))[np.digitize(surface(X) + 0.3 * rng.standard_normal(180), [0.0, 0.7][: number - 1])]
    model = SpatialClassifier().fit(X, labels)
    new = rng.uniform(size=(20, 2))
    return {"probability": model.predict_proba(new), "score": model.decision_function(new), "check": _check(model)}


# ----------------------------------------------------------------------------- what is asked


def answers_of(model: Any, new: Any, cv: tuple[Any, ...]) -> dict[str, Any]:
    """Everything that a fitted regressor says of some new rows and of itself."""
    mean, sd = (np.asarray(part) for part in model.predict(new, return_std=True))
    threshold = float(np.median(mean))
    answers = {
        "mean": mean,
        "sd": sd,
        "sd of observations": model.predict(new, return_std=True, include_noise=True)[1],
        "interval": model.predict_interval(new),
        "interval of observations": model.predict_interval(new, include_noise=True),
        "exceedance": model.predict_exceedance(new, threshold),
        "latent": np.concatenate(model.predict_latent(new)),
        "draws": model.sample_y(new, 3, random_state=1),
        "covariance": model.predict(new[:5], return_cov=True)[1],
        **learned(model),
    }
    for splitter in cv:
        held = model.cross_validate(splitter)
        answers[f"held out {splitter}"] = [*held.values(), *held.prediction.mean, *held.prediction.sd]
    return answers


def learned(model: Any) -> dict[str, Any]:
    """Hyperparameters, evidence and choices."""
    return {
        "theta": model.kernel_.theta,
        "noise": model.noise_variance_,
        "dispersion": np.nan if model.family_.dispersion is None else model.family_.dispersion,
        "evidence": [model.log_evidence_, model.log_likelihood_],
        "coef": model.coef_,
        "waves": -1 if model.n_frequencies_ is None else model.n_frequencies_,
        "choices": {name: str(text) for name, text in model.choices_.items()},
        "check": _check(model),
    }


def _check(model: Any) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(model.check())


def _own(warning: Any) -> bool:
    from bochner.exceptions import BochnerWarning

    return isinstance(warning, BochnerWarning)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _read(path: str) -> dict[str, Any]:
    return dict(json.loads(str(np.load(path)["answers"])))


if __name__ == "__main__":
    main()
