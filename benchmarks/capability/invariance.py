"""Invariance: threads, order, coordinates and units do not change an answer; copies of rows are weights."""

from __future__ import annotations

from functools import cache

import numpy as np

from bochner import SpatialRegressor

from .data import FIXED, Rows, alike, answers, drawn, places, responses, rows, same, table
from .registry import check

SIZES = (40, 155, 800)
TURN = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
MOVES = {
    "turned by 34 degrees": lambda X: X @ TURN,
    "shifted": lambda X: X + np.array([-517.0, 4_000.0]),
    "in thousandths": lambda X: 1e3 * X,
}


@check("n_jobs 1, 2 and again: same bits", over=("gaussian 800", "poisson 300", "lattice 12,000"))
def _(case: str) -> None:
    kind, _, n = case.partition(" ")
    X, y = rows(int(n.replace(",", "")))
    family = "poisson" if kind == "poisson" else "gaussian"
    y, of = responses("poisson", X) if kind == "poisson" else (y, {})
    more = {"kernel": "matern32", "features": "lattice"} if kind == "lattice" else {}
    found = [
        answers(SpatialRegressor(family=family, **more, n_jobs=n_jobs).fit(X, y, **of), places())
        for n_jobs in (1, 2, 2)
    ]
    same(found[1], found[2], "two runs of two threads")
    same(found[0], found[1], "one and two threads")


@check("order of rows", over=("gaussian 155", "gaussian 800", "binomial 155", "lattice 4000"))
def _(case: str) -> None:
    kind, n = case.split()
    X, y = rows(int(n))
    y, of = responses("binomial", X) if kind == "binomial" else (y, {})
    order = np.random.default_rng(1).permutation(len(y))
    given = {"family": "binomial" if of else "gaussian", "features": "lattice" if kind == "lattice" else "auto"}
    model = SpatialRegressor(**given).fit(X, y, **of)
    other = SpatialRegressor(**given).fit(X[order], y[order], **{name: v[order] for name, v in of.items()})
    alike(answers(other, places()), answers(model, places()))


def survey(family: str, n: int) -> tuple[Rows, dict[str, np.ndarray]]:
    X, y = drawn(n)
    if family == "gaussian":
        return (X, y), {}
    rng = np.random.default_rng(2)
    trials = rng.integers(10, 40, n)
    return (X, rng.binomial(trials, 1 / (1 + np.exp(-y)))), {"trials": trials}


@cache
def unmoved(family: str, n: int) -> np.ndarray:
    (X, y), of = survey(family, n)
    return answers(SpatialRegressor(family=family).fit(X, y, **of), places())


@check("coordinates", over=[(move, f, n) for f in ("gaussian", "binomial") for n in SIZES for move in MOVES])
def _(case: tuple[str, str, int]) -> None:
    move, family, n = MOVES[case[0]], *case[1:]
    (X, y), of = survey(family, n)
    model = SpatialRegressor(family=family).fit(move(X), y, **of)
    alike(answers(model, move(places())), unmoved(family, n))


@check("response a y + b", over=(40, 155, 800, 3_000))
def _(n: int) -> None:
    X, y = rows(n)
    model, other = (SpatialRegressor().fit(X, v) for v in (y, 250 * y - 3_000))
    mean, sd = answers(other, places())
    alike(np.stack([(mean + 3_000) / 250, sd / 250]), answers(model, places()))


@check("columns are known by their names")
def _() -> None:
    frame = table(80)
    model = SpatialRegressor(**FIXED, coords=["x", "y"], covariates=["height"]).fit(frame, frame.z)
    at = table(20, 3)[["height", "y", "x"]]
    alike(answers(model, at), answers(model, at[["x", "y", "height"]]), 1e-9)


@check("weight 2 is a row twice", over=("gaussian", "poisson", "lattice"))
def _(kind: str) -> None:
    X, y = rows(80)
    y, of = responses("poisson", X) if kind == "poisson" else (y, {})
    given = {**FIXED, "family": "poisson" if of else "gaussian"}
    given |= {"features": "lattice", "n_frequencies": 200} if kind == "lattice" else {}
    twice = np.repeat(np.arange(80), 1 + np.arange(80) % 2)
    weighted = SpatialRegressor(**given).fit(X, y, sample_weight=1 + np.arange(80) % 2, **of)
    copied = SpatialRegressor(**given).fit(X[twice], y[twice], **{name: v[twice] for name, v in of.items()})
    alike(answers(weighted, places()), answers(copied, places()), 1e-5)


@check("the same model without compiled loops and with the built-in NUFFT", fresh=True)
def _() -> None:
    import os
    import subprocess
    import sys

    program = (
        "import numpy as np, json; from bochner import SpatialRegressor\n"
        "rng = np.random.default_rng(0); X = rng.uniform(size=(3500, 2))\n"
        "y = np.sin(6 * X[:, 0]) + 0.2 * rng.normal(size=3500)\n"
        "m = SpatialRegressor('matern12', noise_variance=0.04, tune=None).fit(X, y)\n"
        "print(json.dumps(np.stack(m.predict(X[:30] + 0.001, return_std=True)).tolist()))"
    )
    found = []
    for more in ({}, {"BOCHNER_COMPILED": "0", "BOCHNER_NUFFT": "built-in"}):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], env={**os.environ, **more}, capture_output=True, text=True
        )
        assert not done.returncode, done.stderr[-300:]
        found.append(np.array(__import__("json").loads(done.stdout)))
    alike(found[1], found[0], 0.02)


def globe(n: int, seed: int) -> np.ndarray:
    """Longitudes and latitudes, uniform on the sphere."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))])


def upright(lonlat: np.ndarray) -> np.ndarray:
    """The same places on an Earth that is turned by 90 degrees about the axis through longitude 0 on the equator."""
    lon, lat = np.radians(lonlat).T
    x, y, z = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)
    return np.degrees(np.column_stack([np.arctan2(-z, x), np.arcsin(np.clip(y, -1, 1))]))


SPHERE = {
    "by 180 degrees": lambda at: np.column_stack([(at[:, 0] + 360) % 360 - 180, at[:, 1]]),
    "poles to the equator": upright,
}


@check("the sphere turned", over=[(turn, how) for turn in SPHERE for how in ("given", "learned")])
def _(case: tuple[str, str]) -> None:
    turn, how = case
    at, new = globe(300, 0), globe(60, 1)
    lon, lat = np.radians(at).T
    y = np.cos(lat) * np.sin(2 * lon) + np.sin(3 * lat) + 0.1 * np.random.default_rng(2).normal(size=300)
    given = {"crs": "EPSG:4326"}
    given |= {"kernel": "matern32(length_scale=3000)", "noise_variance": 0.01, "tune": None} if how == "given" else {}
    moved = SPHERE[turn]
    first = SpatialRegressor(**given).fit(at, y)
    assert first.choices_["places"].value == "sphere"
    second = SpatialRegressor(**given).fit(moved(at), y)
    # the ellipsoid is no sphere: places that are turned to other latitudes lie up to 0.3 % farther apart
    alike(answers(second, moved(new)), answers(first, new), 1e-3 if turn == "by 180 degrees" else 0.1)


@check("rows across the antimeridian and at a pole", over=("Fiji", "pole"))
def _(where: str) -> None:
    rng = np.random.default_rng(0)
    lonlat = np.column_stack([rng.uniform(177, 183, 120), rng.uniform(-19, -16, 120)])
    if where == "pole":
        lonlat = np.column_stack([rng.uniform(-180, 180, 120), rng.uniform(80, 90, 120)])
    east, north = np.radians(lonlat).T
    y = np.sin(40 * east) if where == "Fiji" else np.cos(north) * np.cos(east) * 8
    lonlat[:, 0] = (lonlat[:, 0] + 180) % 360 - 180
    model = SpatialRegressor(crs="EPSG:4326").fit(lonlat[:100], y[:100])
    assert np.corrcoef(model.predict(lonlat[100:]), y[100:])[0, 1] > 0.9
