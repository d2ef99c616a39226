"""What a fit may be given: noise, offset, exposure, errors, groups, places to predict, polygons, tables, a formula."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.kernels import Matern

from .data import FIXED, alike, answers, places, responses, rows, table
from .registry import check, raises


@check("noise 0 interpolates")
def _() -> None:
    X, y = rows(60)
    model = SpatialRegressor("matern32", noise_variance=0.0).fit(X, y)
    assert model.noise_variance_ == 0 and np.allclose(model.predict(X), y, atol=1e-5)


@check("noise is kept while the rest is learned")
def _() -> None:
    model = SpatialRegressor("matern32", noise_variance=0.3).fit(*rows(80))
    assert model.noise_variance_ == 0.3 and model.kernel_.length_scale != 1.0


@check("least squares: noise 0 on waves without learning")
def _() -> None:
    X, y = rows(200)
    model = SpatialRegressor(Matern(0.4), features="quasi", n_frequencies=20, noise_variance=0, tune=None).fit(X, y)
    assert 0.01 < model.noise_variance_ < 0.2, model.noise_variance_


@check("offset is known", over=("gaussian", "poisson"))
def _(family: str) -> None:
    X, y = rows(100)
    y, of = responses("poisson", X) if family == "poisson" else (y, {})
    shift = np.linspace(0, 1, 100)
    model = SpatialRegressor(**FIXED, family=family)
    if family == "poisson":  # the offset is the logarithm of an exposure
        one, two = model.fit(X, y, offset=np.log(of["exposure"])).predict(X, offset=2.0), model.fit(X, y, **of)
        assert np.allclose(one, np.exp(2) * two.predict(X), rtol=1e-5)
    else:
        one = model.fit(X, y + shift, offset=shift).predict(X)
        assert np.allclose(one, SpatialRegressor(**FIXED).fit(X, y).predict(X), atol=1e-8)


@check("exposure and trials scale predictions", over=("poisson", "binomial"))
def _(family: str) -> None:
    X, _ = rows(100)
    y, of = responses(family, X)
    model = SpatialRegressor(**FIXED, family=family).fit(X, y, **of)
    name = next(iter(of))
    rate, counts = model.predict(places()), model.predict(places(), **{name: 50})
    assert np.allclose(counts, 50 * rate, rtol=1e-9)
    raises(InputError, lambda: SpatialRegressor(family=family).fit(X, y, **{name: -of[name]}), name)


@check("measurement variance: rows that err more count less")
def _() -> None:
    X, y = rows(150)
    y[::3] += 3 * np.random.default_rng(1).normal(size=50)
    error = np.where(np.arange(150) % 3 == 0, 9.0, 0.0)
    plain, told = (SpatialRegressor("matern32").fit(X, y, **more) for more in ({}, {"measurement_variance": error}))
    assert told.noise_variance_ < 0.2 * plain.noise_variance_
    assert answers(told, places())[1].mean() < answers(plain, places())[1].mean()


def stations() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Twenty days at sixty sites, each with an error of its own."""
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(60), 20)
    at = rng.uniform(size=(60, 2))[site]
    frame = pd.DataFrame({"x": at[:, 0], "y": at[:, 1], "day": np.tile(np.arange(20), 60)})
    level = np.sin(6 * at[:, 0]) + 0.5 * rng.normal(size=60)[site]
    return frame, level + np.sin(frame.day.to_numpy() / 3) + 0.2 * rng.normal(size=1_200), site


@check("groups are held out together")
def _() -> None:
    X, y = rows(120)
    group = np.arange(120) // 6
    model = SpatialRegressor(**FIXED).fit(X, y, groups=group)
    held = model.cross_validate()
    assert len(np.unique(held.fold)) == 20
    assert all(len(np.unique(held.fold[group[held.index] == g])) == 1 for g in range(20))
    assert held["rmse"] > 0


@check("groups: implied by sites with many rows, as if given")
def _() -> None:
    frame, y, site = stations()
    implied, given, single = (
        SpatialRegressor().fit(frame, y, **more) for more in ({}, {"groups": site}, {"groups": np.arange(len(y))})
    )
    noises = implied.noise_variance_, given.noise_variance_
    assert np.isclose(*noises, rtol=0.02), f"noise {noises[0]:.4g} implied, {noises[1]:.4g} given"
    assert str(single.choices_["judge"]) != str(given.choices_["judge"]), "groups of single rows make no difference"


@check("predict_at changes the folds", over=("many rows", "spatial-cv"))
def _(how: str) -> None:
    X, y = rows(1_600 if how == "many rows" else 150, noise=0.4)
    hole = np.all(np.abs(X - 0.5) < 0.2, axis=1)
    given = {"kernel": "matern32", "tune": "spatial-cv"} if how == "spatial-cv" else {}
    plain = SpatialRegressor(**given).fit(X[~hole], y[~hole])
    asked = SpatialRegressor(**given).fit(X[~hole], y[~hole], predict_at=X[hole])
    differ = str(plain.choices_["kernel"]) != str(asked.choices_["kernel"]) or plain.kernel_ != asked.kernel_
    assert differ, "the same kernel, for the same reason"


@check("predict_at widens the box of the waves")
def _() -> None:
    X, y = rows(3_500)
    model = SpatialRegressor("se", noise_variance=0.04, features="lattice").fit(X, y, predict_at=np.array([[3.0, 3.0]]))
    assert np.isfinite(answers(model, np.array([[3.0, 3.0], [2.5, 1.0]]))).all()


@check("polygons in fit and predict")
def _() -> None:
    import geopandas
    import shapely

    X, _ = rows(40)
    corners = [(i, j) for i in range(0, 100, 20) for j in range(0, 100, 20)]
    cells = [shapely.box(1e3 * i, 1e3 * j, 1e3 * (i + 20), 1e3 * (j + 20)) for i, j in corners]
    points = list(geopandas.points_from_xy(*(1e5 * X).T))
    frame = geopandas.GeoDataFrame(geometry=[*points, *cells], crs="EPSG:32633")
    centres = np.array([[c.centroid.x, c.centroid.y] for c in frame.geometry])
    y = np.sin(centres[:, 0] / 2e4) + np.cos(centres[:, 1] / 2e4)
    model = SpatialRegressor(Matern(30.0, nu=2.5), noise_variance=0.001, tune=None).fit(frame, y)
    found = model.predict(frame, return_std=True)
    assert np.abs(found["mean"].to_numpy() - y)[40:].mean() < 0.1 and found.crs == frame.crs
    inner = model.predict(geopandas.GeoDataFrame(geometry=[cells[12], cells[12].centroid], crs=frame.crs), True)
    assert inner["sd"][0] < inner["sd"][1], "an area is no surer than its middle"
    assert np.isfinite(SpatialRegressor("matern32").fit(frame, y).noise_variance_)


@check("tables: pandas, polars, GeoDataFrame, dates, lon and lat")
def _() -> None:
    import geopandas
    import polars

    frame = table(80)
    used = frame[["x", "y", "height"]]
    parts = {**FIXED, "coords": ["x", "y"], "covariates": ["height"]}
    model = SpatialRegressor(**parts).fit(used, frame.z)
    alike(answers(SpatialRegressor(**parts).fit(polars.from_pandas(used), frame.z), used), answers(model, used), 1e-9)
    told = model.set_output(predict="same").predict(used.set_index(np.arange(80) + 7), return_std=True)
    assert list(told.columns) == ["mean", "sd"] and told.index[0] == 7
    lonlat = pd.DataFrame({"lon": 10 + frame.x, "lat": 45 + frame.y})
    given = {**FIXED, "kernel": Matern(30.0)}
    first = SpatialRegressor(**given).fit(lonlat, frame.z)
    shapes = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(lonlat.lon, lonlat.lat), crs="EPSG:4326")
    second = SpatialRegressor(**given).fit(shapes, frame.z)
    assert first.crs_ == second.crs_ == "EPSG:4326"
    alike(answers(second, shapes.to_crs(32632)), answers(first, lonlat), 1e-5)
    array = SpatialRegressor(**given, crs="EPSG:4326").fit(lonlat.to_numpy(), frame.z)
    alike(answers(array, lonlat.to_numpy()), answers(first, lonlat), 1e-9)
    days = pd.date_range("2024-01-01", periods=80)
    dated = SpatialRegressor(**{**FIXED, "kernel": Matern(30.0)}, coords=["x", "y", "date"])
    assert dated.fit(used.assign(date=days), frame.z).choices_["time"].value == "2024-01-01"


@check("formula with trials, categories and a smooth")
def _() -> None:
    frame = table(120).assign(kind=np.array(["a", "b"])[np.arange(120) % 2])
    model = SpatialRegressor.from_formula(
        "positive ~ height + kind + gp(x, y)", family="binomial", trials="examined"
    ).fit(frame)
    assert "height" in model.summary() and "kind" in model.summary()
    p = model.predict(frame)
    assert np.all((p > 0) & (p < 1))


@check("no intercept, dtype, device, verbose, seed, tolerance")
def _() -> None:
    X, y = rows(200)
    bare = SpatialRegressor(**FIXED, fit_intercept=False).fit(X, y)
    assert bare.intercept_ == 0 and len(bare.coef_) == 0
    given = {**FIXED, "features": "quasi", "n_frequencies": 100}
    double, single = (SpatialRegressor(**given, dtype=d).fit(X, y) for d in ("float64", "float32"))
    alike(answers(single, places()), answers(double, places()), 0.05)
    alike(
        answers(SpatialRegressor(**given, device="cpu", dtype="float64").fit(X, y), places()), answers(double, places())
    )
    drawn = [SpatialRegressor(**{**given, "features": "monte-carlo"}, random_state=s).fit(X, y) for s in (0, 1)]
    assert not np.array_equal(drawn[0].predict(places()), drawn[1].predict(places()))
    fewer, more = (
        SpatialRegressor(**{**FIXED, "features": "quasi"}, tolerance=t).fit(X, y).n_frequencies_ for t in (0.1, 0.02)
    )
    assert fewer < more


@check("missing and impossible values are refused by row and column")
def _() -> None:
    frame = table(60)
    y = frame.z.to_numpy().copy()
    y[7] = np.nan
    raises(InputError, lambda: SpatialRegressor().fit(frame[["x", "y"]], y), "NaN", "row 7")
    X = frame[["x", "y"]].assign(x=frame.x.where(frame.index != 3))
    raises(ValueError, lambda: SpatialRegressor().fit(X, frame.z), "NaN")
    raises(InputError, lambda: SpatialRegressor(kernel="mattern32").fit(frame[["x", "y"]], frame.z), "matern32")
    raises(InputError, lambda: SpatialRegressor(family="poison").fit(frame[["x", "y"]], frame.z), "poisson")
    raises(InputError, lambda: SpatialRegressor(features="latice").fit(frame[["x", "y"]], frame.z), "lattice")


@check("memory_limit: 2,900 rows under 150 MB with prediction", fresh=True)
def _() -> dict[str, float]:
    import ctypes
    from pathlib import Path

    def resident(key: str) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024e-6 * float(next(line for line in lines if line.startswith(key)).split()[1])

    X, y = rows(2_900)
    at = places(20_000)
    SpatialRegressor().fit(X[:1_100], y[:1_100]).predict(X, return_std=True)  # imports and compiled loops
    ctypes.CDLL(None).malloc_trim(0)  # what was held and is free goes back
    peaks = {}
    model = SpatialRegressor(memory_limit="150MB")
    for name, ask in (("fit MB", lambda: model.fit(X, y)), ("predict MB", lambda: model.predict(at, return_std=True))):
        Path("/proc/self/clear_refs").write_text("5")
        before = resident("VmRSS")
        ask()
        peaks[name] = resident("VmHWM") - before
    assert max(peaks.values()) <= 150, ", ".join(f"{name} {value:.0f}" for name, value in peaks.items())
    return {"peak MB": max(peaks.values())}


@check("memory_limit: rows beyond it are refused before the work")
def _() -> None:
    from bochner.exceptions import MemoryLimitError

    X, y = rows(2_500)
    raises(MemoryLimitError, lambda: SpatialRegressor(features="exact", memory_limit="10MB").fit(X, y), "memory_limit")
