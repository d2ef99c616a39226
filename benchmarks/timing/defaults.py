"""Defaults: fits that a user waits for, beside the seconds that are wanted of them or beside other fits of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .plan import NOISE, Plan, field, installed
from .rows import OURSELVES, Row, wanted


def small_stretched(plan: Plan) -> Iterator[Row]:
    """Default fits of few rows of fields that reach farther along some directions, turned or along axes."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    kernels = {
        "turned, 2-D": Matern((0.4, 0.1), nu=1.5, rotation=0.5),
        "along axes, 3-D": Matern((0.2, 0.4, 0.8), nu=1.5),
    }
    for name, kernel in kernels.items():
        for n in (250, 499):
            rng = np.random.default_rng(0)
            X = rng.uniform(size=(n, 2 if kernel.rotation else 3))
            root = np.linalg.cholesky(kernel(X, X) + 1e-9 * np.eye(n))
            y = root @ rng.normal(size=n) + 0.3 * rng.normal(size=n)
            model = SpatialRegressor(n_jobs=plan.threads)
            seconds = plan.repeated(1).seconds(lambda: model.fit(X, y))  # noqa: B023
            yield wanted(f"few rows of a stretched field, {name}", f"{n} rows", seconds, 1.0)


def small_weak(plan: Plan) -> Iterator[Row]:
    """The same of fields under much noise, whose range and share are left open."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    fields = {"rough": (Matern(0.1, nu=0.5), 3.0), "smooth": (Matern(0.3, nu=2.5), 5.0)}
    for name, (kernel, noise) in fields.items():
        rng, n = np.random.default_rng(0), 499
        X = rng.uniform(size=(n, 2))
        root = np.linalg.cholesky(kernel(X, X) + 1e-9 * np.eye(n))
        y = root @ rng.normal(size=n) + noise**0.5 * rng.normal(size=n)
        model = SpatialRegressor(n_jobs=plan.threads)
        seconds = plan.repeated(1).seconds(lambda: model.fit(X, y))  # noqa: B023
        yield wanted(f"few rows of a weak field, {name}", f"{n} rows", seconds, 1.0)


def small_counts(plan: Plan) -> Iterator[Row]:
    """Default fits of few binomial rows, hyperparameters averaged over; wanted: a second."""
    from bochner import SpatialRegressor

    for n in (100, 200, 400, 499):
        X, y = field(n)
        trials = np.random.default_rng(1).integers(5, 30, n)
        cases = np.random.default_rng(2).binomial(trials, 1 / (1 + np.exp(1 - y)))
        model = SpatialRegressor(family="binomial", n_jobs=plan.threads)
        seconds = plan.repeated(1).seconds(lambda: model.fit(X, cases, trials=trials))  # noqa: B023
        yield wanted("few binomial rows by default", f"{n} rows", seconds, 1.0)


def small_families(plan: Plan) -> Iterator[Row]:
    """The same of other families, and of measurements whose errors are known; wanted: a second."""
    from bochner import SpatialRegressor

    for n in (100, 400, 499):
        X, eta = field(n)
        rng = np.random.default_rng(2)
        responses = {
            "bernoulli": rng.uniform(size=n) < 1 / (1 + np.exp(-eta)),
            "poisson": rng.poisson(np.exp(eta)),
            "negative-binomial": rng.negative_binomial(3, 3 / (3 + np.exp(eta))),
            "gamma": rng.gamma(3, np.exp(eta) / 3),
        }
        for family, y in responses.items():
            model = SpatialRegressor(family=family, n_jobs=plan.threads)
            seconds = plan.repeated(1).seconds(lambda: model.fit(X, y.astype(float)))  # noqa: B023
            yield wanted(f"few {family} rows by default", f"{n} rows", seconds, 1.0)
        sd = NOISE**0.5 * rng.uniform(0.5, 1.5, n)
        measured, model = eta + sd * rng.normal(size=n), SpatialRegressor(n_jobs=plan.threads)
        seconds = plan.repeated(1).seconds(
            lambda: model.fit(X, measured, measurement_variance=sd**2)  # noqa: B023
        )
        yield wanted("few rows with known errors by default", f"{n} rows", seconds, 1.0)


def thousands_of_counts(plan: Plan) -> Iterator[Row]:
    """Thousands of classes or counts, by default; wanted: 20 s of the processor for 5,000 presences."""
    from bochner import SpatialRegressor

    for n in plan.rows or ((1_200,) if plan.quick else (1_200, 2_400, 5_000)):
        X, eta = field(n)
        rng = np.random.default_rng(2)
        responses = {
            "bernoulli": rng.uniform(size=n) < 1 / (1 + np.exp(-eta)),
            "negative-binomial": rng.negative_binomial(3, 3 / (3 + np.exp(eta))),
        }
        for family, y in responses.items():
            model = SpatialRegressor(family=family, n_jobs=plan.threads)
            seconds = plan.repeated(1).seconds(lambda: model.fit(X, y.astype(float)))  # noqa: B023
            yield wanted(f"many {family} rows by default", f"{n:,} rows", seconds, 20.0)


SIDE_BY_SIDE = """
import sys
import time
import numpy as np
from bochner import SpatialRegressor
X, y = np.load(sys.argv[1]).values()
begun = time.perf_counter()
SpatialRegressor(family="bernoulli").fit(X, y)
print(time.perf_counter() - begun)
"""


def fits_side_by_side(plan: Plan) -> Iterator[Row]:
    """Two programs that fit at the same time, each by default, and one alone; on the clock, in either case."""
    import subprocess
    from tempfile import TemporaryDirectory

    X, eta = field(930)
    y = (np.random.default_rng(2).uniform(size=930) < 1 / (1 + np.exp(-eta))).astype(float)
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}  # by default
    with TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, X=X, y=y)

        def seconds(n: int) -> float:
            command = [sys.executable, "-c", SIDE_BY_SIDE, str(rows)]
            running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) for _ in range(n)]
            return max(float(each.communicate()[0]) for each in running)

        case, alone = "two fits side by side, by default", seconds(1)
        yield Row(case, "930 Bernoulli rows", seconds(2), "one alone", alone, OURSELVES, clock="clock")


def around_three_thousand(plan: Plan) -> Iterator[Row]:
    """Default fits of a short smooth field in one dimension on both sides of 3,000 rows, where waves may take over."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    seconds = {}
    for n in (2_900, 3_100):
        rng = np.random.default_rng(1)
        X = rng.uniform(size=(n, 1))
        root = np.linalg.cholesky(Matern(0.002, nu=2.5).covariance(X, X) + 1e-7 * np.eye(n))
        y = root @ rng.normal(size=n) + 0.3 * rng.normal(size=n)
        model = SpatialRegressor(n_jobs=plan.threads)
        seconds[n] = plan.repeated(1).seconds(lambda: model.fit(X, y))  # noqa: B023
    case = "default fit above 3,000 rows, 1-D"
    yield Row(case, "3,100 rows", seconds[3_100], "the same of 2,900 rows", seconds[2_900], OURSELVES)


def around_a_thousand(plan: Plan) -> Iterator[Row]:
    """Default fits on both sides of 1,000 rows, where evidence of the exact kernel gives way to Vecchia's."""
    from bochner import SpatialRegressor

    seconds = {}
    for n in (990, 1_010):
        X, y = field(n)
        seconds[n] = plan.once(lambda: SpatialRegressor(n_jobs=plan.threads).fit(X, y))  # noqa: B023
    case = "default fit below 1,000 rows"
    yield Row(case, "990 rows", seconds[990], "the same of 1,010 rows", seconds[1_010], OURSELVES)


def maps_and_districts(plan: Plan) -> Iterator[Row]:
    """What comes after a fit: 20 districts (wanted: 2 s), and a figure of the map (wanted: 1 s)."""
    if not installed("geopandas", "geo"):
        return
    import geopandas
    import matplotlib
    from shapely.geometry import box

    matplotlib.use("agg")
    from bochner import SpatialRegressor
    from bochner.maps import aggregate

    districts = [box(25e3 * i, 20e3 * j, 25e3 * (i + 1), 20e3 * (j + 1)) for i in range(4) for j in range(5)]
    areas = geopandas.GeoDataFrame(geometry=districts, crs=32632)
    surveys = (("gaussian", 100), ("gaussian", 400), ("gaussian", 3_000), ("binomial", 100), ("bernoulli", 100))
    for family, n in surveys:  # few rows are averaged over forty sets of hyperparameters
        X, y = field(n)
        rng, chance = np.random.default_rng(1), 1 / (1 + np.exp(-y))
        trials = rng.integers(5, 30, n)
        y = {"gaussian": y, "binomial": rng.binomial(trials, chance), "bernoulli": rng.binomial(1, chance)}[family]
        counted = {"trials": trials} if family == "binomial" else {}
        model = SpatialRegressor(family=family, crs=32632, n_jobs=plan.threads).fit(1e5 * X, y, **counted)
        size = f"{n:,} {family} rows"
        seconds = plan.repeated(1).seconds(lambda: aggregate(model, areas))  # noqa: B023
        yield wanted("means over districts", f"{size}, 20 districts", seconds, 2.0)
        seconds = plan.repeated(1).seconds(lambda: model.plot_map())  # noqa: B023
        yield wanted("figure of mean and sd", size, seconds, 1.0)
