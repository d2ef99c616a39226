"""Speed, in one run: our parts against the limit and against peers, as one Markdown table and a picture.

    make bench ARGS=--quick                    every case on small sizes: under five minutes on two cores
    make bench                                 as the documentation shows it
    python benchmarks/speed.py --only vecchia  cases whose name holds a word
    python benchmarks/speed.py --threads 1     in seconds of the processor, on a machine busy with other things
    python benchmarks/speed.py --data DIR      the satellite file of benchmarks/competition.py against GPBoost, too
    python benchmarks/speed.py --only large_field --rows 10000    fields of other sizes against GPBoost

Peers are the extra `peers`; one that is not installed is left out and told of. Both sides of a row run one after the
other in this process, each as often as `--repeats` says, and the fastest counts. Written to out/bench: speed.md,
speed.json, scaling.png.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

NOISE = 0.1
now = time.perf_counter  # seconds of the processor where there is one thread: other programs do not count


@dataclass(frozen=True)
class Row:
    """One comparison: seconds of ours and of another, and the RMSE of both on held-out rows, where they predict."""

    case: str
    size: str
    ours: float
    other: str
    theirs: float
    score: float | None = None
    their_score: float | None = None
    chance: float | None = None  # standard error of the difference of the two, over the same rows

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


class Timed(NamedTuple):
    """Seconds of a fit with prediction, and its errors at held-out rows."""

    seconds: float
    errors: np.ndarray


@dataclass(frozen=True)
class Plan:
    """Sizes of a run."""

    quick: bool
    repeats: int
    threads: int | None
    data: Path | None = None
    rows: tuple[int, ...] = ()

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def seconds(self, work: Callable[[], Any]) -> float:
        """Seconds of the fastest of some repeats, after one that warms up."""
        work()
        return min(self.once(work) for _ in range(self.repeats))

    @staticmethod
    def once(work: Callable[[], Any]) -> float:
        start = now()
        work()
        return now() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="*", default=[], help="words of the cases to run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, help="of every computation (default: one per core)")
    parser.add_argument("--data", type=Path, help="folder with heaton_satellite_train.parquet and its test places")
    parser.add_argument("--rows", type=int, nargs="+", default=(), help="of large fields, instead of its own")
    parser.add_argument("--output", type=Path, default=Path("out/bench"))
    args = parser.parse_args()
    names = [*(case.__name__ for case in CASES), "scaling"]
    unknown = [word for word in args.only if not any(word in name for name in names)]
    if unknown:
        parser.error(f"no case has {', '.join(map(repr, unknown))} in its name; they are {', '.join(names)}")
    if args.threads:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[name] = str(args.threads)
    plan = Plan(args.quick, args.repeats, args.threads, args.data, tuple(args.rows))
    global now
    now = time.process_time if args.threads == 1 else time.perf_counter
    rows, curves = [], {}
    for case in CASES:
        if not args.only or any(word in case.__name__ for word in args.only):
            print(f"{case.__name__} ...", file=sys.stderr, flush=True)
            for row in case(plan):
                print(f"    {row.size}: {row.ours:.3g} s, {row.other} {row.theirs:.3g} s", file=sys.stderr, flush=True)
                rows.append(row)
    if not args.only or "scaling" in args.only:
        print("scaling ...", file=sys.stderr, flush=True)
        curves = scaling(plan)
    publish(args.output, plan, rows, curves)


# ------------------------------------------------------------------------------------- parts against NumPy


def vecchia_likelihood(plan: Plan) -> Iterator[Row]:
    """Vecchia's likelihood with gradient, compiled and in NumPy."""
    from bochner.kernels import Matern
    from bochner.neighbours import Vecchia

    n = plan.size(6_000, 3_000)
    coords, y = places(n), np.random.default_rng(1).normal(size=n)
    vecchia = Vecchia.plan(coords, y, np.ones((n, 1)), n_neighbours=20)
    kernels = {
        "exponential": lambda i: Matern(0.1 + 1e-3 * i, nu=0.5),
        "anisotropic Matern, free nu": lambda i: Matern((0.2, 0.1), nu=1.1 + 1e-3 * i, learn_nu=True),
        "rotated Matern, free nu": lambda i: Matern((0.2, 0.1), rotation=0.5, nu=1.1 + 1e-3 * i, learn_nu=True),
    }
    for name, kernel in kernels.items():
        number = iter(range(1_000))  # another kernel every time, as in a search
        yield against_numpy(
            plan,
            f"Vecchia likelihood and gradient, {name}",
            f"{n:,} x 20",
            lambda kernel=kernel, number=number: vecchia.evaluate(kernel(next(number)), NOISE),
        )


def small_systems(plan: Plan) -> Iterator[Row]:
    """The sparse inverse root and kriging from nearest rows, compiled and in NumPy."""
    from bochner.kernels import Matern
    from bochner.neighbours import CellKriging, inverse_root, local_kriging

    n = plan.size(100_000, 12_000)
    coords, kernel, noise = places(n), Matern(0.1, nu=0.5), np.full(n, NOISE)
    y, targets = np.random.default_rng(1).normal(size=n), np.random.default_rng(2).uniform(size=(12_000, 2))
    yield against_numpy(
        plan, "sparse inverse root", f"{n:,} x 20", lambda: inverse_root(kernel, noise, coords, 20), repeats=1
    )
    yield against_numpy(
        plan,
        "kriging, each place from its nearest",
        "12,000 x 60",
        lambda: local_kriging(kernel, noise, coords, y, targets, 60),
        repeats=1,
    )
    yield against_numpy(
        plan,
        "kriging by cells: sd of many places",
        f"{n:,} rows, 12,000 places",
        lambda: CellKriging(kernel, noise, coords, 60, 20).at(targets),
        repeats=1,
    )


def many_places(plan: Plan) -> Iterator[Row]:
    """A map from rows: sd by cells, and with it the mean from all rows; wanted: 100,000 places a second."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern
    from bochner.neighbours import CellKriging

    n, side = plan.size(100_000, 20_000), plan.size(1_000, 450)
    axis = (np.arange(side) + 0.5) / side
    coords, targets = places(n), np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    y = np.sin(9 * coords[:, 0]) + np.random.default_rng(1).normal(size=n) * np.sqrt(NOISE)
    kernel, size, wanted = Matern(0.1, nu=0.5), f"{n:,} rows, {side**2:,} places", "100,000 places a second"
    with resources(plan):
        cells = CellKriging(kernel, np.full(n, NOISE), coords, 40, 20)
        seconds = Plan(plan.quick, 1, plan.threads).seconds(lambda: cells.at(targets))
    yield Row("sd of a map, from rows", size, seconds, wanted, len(targets) / 1e5)
    model = SpatialRegressor(kernel, tune=None, noise_variance=NOISE, n_jobs=plan.threads).fit(coords, y)
    model.predict(targets[:1_000], return_std=True)
    seconds = plan.once(lambda: model.predict(targets, return_std=True))
    yield Row("the same with the mean, from all rows", size, seconds, wanted, len(targets) / 1e5)


def against_numpy(plan: Plan, case: str, size: str, work: Callable[[], Any], repeats: int | None = None) -> Row:
    """The same work compiled and by NumPy."""
    plan = Plan(plan.quick, repeats or plan.repeats, plan.threads)
    with resources(plan):
        os.environ["BOCHNER_COMPILED"] = "0"
        numpy = plan.seconds(work)
        os.environ["BOCHNER_COMPILED"] = "1"
        compiled = plan.seconds(work)
    return Row(case, size, compiled, "NumPy", numpy)


# ------------------------------------------------------------------------------------- models against peers


def dense_features(plan: Plan) -> Iterator[Row]:
    """Ridge regression on random features, kernel given."""
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    n, m, dim = plan.size(100_000, 10_000), plan.size(1_000, 400), 8
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2_000, dim))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + NOISE * rng.normal(size=len(X))
    model = SpatialRegressor(
        SquaredExponential(2.0),
        features="monte-carlo",
        n_frequencies=m,
        tune=None,
        noise_variance=NOISE**2,
        n_jobs=plan.threads,
    )
    ours = fitted(plan, model, X[:n], y[:n], X[n:], y[n:])
    peers = {
        "scikit-learn RBFSampler + Ridge": RBFSampler(gamma=1 / 8, n_components=2 * m, random_state=0),
        "scikit-learn Nystroem + Ridge": Nystroem(gamma=1 / 8, n_components=min(2 * m, 1_000), random_state=0),
    }
    for name, features in peers.items():
        theirs = fitted(plan, make_pipeline(features, Ridge(NOISE**2)), X[:n], y[:n], X[n:], y[n:])
        yield Row(
            "ridge on features, kernel given",
            f"{n:,} x {dim}, {2 * m:,} columns",
            ours.seconds,
            name,
            *swapped(ours, theirs),
        )


def exact_process(plan: Plan) -> Iterator[Row]:
    """A Gaussian process that learns its hyperparameters."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    from bochner import SpatialRegressor

    n = plan.size(1_500, 600)
    X, y = field(n + 500)
    kernel = ConstantKernel() * Matern(0.2, nu=1.5) + WhiteKernel(NOISE)
    theirs = fitted(plan, GaussianProcessRegressor(kernel, normalize_y=True), X[:n], y[:n], X[n:], y[n:])
    ours = fitted(plan, SpatialRegressor(n_jobs=plan.threads), X[:n], y[:n], X[n:], y[n:])
    given = fitted(plan, SpatialRegressor("matern32", n_jobs=plan.threads), X[:n], y[:n], X[n:], y[n:])
    name = "scikit-learn GaussianProcessRegressor"
    yield Row("learned process, kernel chosen too", f"{n:,} rows", ours.seconds, name, *swapped(ours, theirs))
    yield Row("learned process, Matern 3/2 given", f"{n:,} rows", given.seconds, name, *swapped(given, theirs))
    if installed("gpytorch"):
        theirs = gpytorch(X[:n], y[:n], X[n:], y[n:])
        yield Row(
            "learned process, Matern 3/2 given", f"{n:,} rows", given.seconds, "GPyTorch", *swapped(given, theirs)
        )


def small_fits(plan: Plan) -> Iterator[Row]:
    """A default fit of few rows, hyperparameters averaged over: what a survey costs."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    from bochner import SpatialRegressor

    kernel = ConstantKernel() * Matern(0.2, nu=1.5) + WhiteKernel(NOISE)
    for n in (100, 200, 400, 499, 500):  # of 500 and more the best hyperparameters are mostly taken
        X, y = field(n + 500)
        theirs = fitted(plan, GaussianProcessRegressor(kernel, normalize_y=True), X[:n], y[:n], X[n:], y[n:])
        ours = fitted(plan, SpatialRegressor(n_jobs=plan.threads), X[:n], y[:n], X[n:], y[n:])
        name = "scikit-learn GaussianProcessRegressor"
        yield Row("few rows, kernel and averaging by default", f"{n} rows", ours.seconds, name, *swapped(ours, theirs))


def small_stretched(plan: Plan) -> Iterator[Row]:
    """The same of fields that reach farther along some directions, turned in the plane and along axes in space."""
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
            seconds = Plan(plan.quick, 1, plan.threads).seconds(lambda: model.fit(X, y))  # noqa: B023
            yield Row(f"few rows of a stretched field, {name}", f"{n} rows", seconds, "a second", 1.0)


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
        seconds = Plan(plan.quick, 1, plan.threads).seconds(lambda: model.fit(X, y))  # noqa: B023
        yield Row(f"few rows of a weak field, {name}", f"{n} rows", seconds, "a second", 1.0)


def small_counts(plan: Plan) -> Iterator[Row]:
    """Default fits of few binomial rows, hyperparameters averaged over; wanted: a second."""
    from bochner import SpatialRegressor

    for n in (100, 200, 400, 499):
        X, y = field(n)
        trials = np.random.default_rng(1).integers(5, 30, n)
        cases = np.random.default_rng(2).binomial(trials, 1 / (1 + np.exp(1 - y)))
        model = SpatialRegressor(family="binomial", n_jobs=plan.threads)
        seconds = Plan(plan.quick, 1, plan.threads).seconds(lambda: model.fit(X, cases, trials=trials))  # noqa: B023
        yield Row("few binomial rows by default", f"{n} rows", seconds, "a second", 1.0)


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
            seconds = Plan(plan.quick, 1, plan.threads).seconds(lambda: model.fit(X, y.astype(float)))  # noqa: B023
            yield Row(f"few {family} rows by default", f"{n} rows", seconds, "a second", 1.0)
        sd = NOISE**0.5 * rng.uniform(0.5, 1.5, n)
        measured, model = eta + sd * rng.normal(size=n), SpatialRegressor(n_jobs=plan.threads)
        seconds = Plan(plan.quick, 1, plan.threads).seconds(
            lambda: model.fit(X, measured, measurement_variance=sd**2)  # noqa: B023
        )
        yield Row("few rows with known errors by default", f"{n} rows", seconds, "a second", 1.0)


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
            seconds = Plan(plan.quick, 1, plan.threads).seconds(lambda: model.fit(X, y.astype(float)))  # noqa: B023
            yield Row(f"many {family} rows by default", f"{n:,} rows", seconds, "20 s", 20.0)


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
    with TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, X=X, y=y)

        def seconds(n: int) -> float:
            command = [sys.executable, "-c", SIDE_BY_SIDE, str(rows)]
            running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(n)]
            return max(float(each.communicate()[0]) for each in running)

        alone = seconds(1)
        yield Row("two fits side by side, by default", "930 Bernoulli rows", seconds(2), "one alone", alone)


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
        seconds[n] = Plan(plan.quick, 1, plan.threads).seconds(lambda: model.fit(X, y))  # noqa: B023
    yield Row("default fit above 3,000 rows, 1-D", "3,100 rows", seconds[3_100], "2,900 rows", seconds[2_900])


def around_a_thousand(plan: Plan) -> Iterator[Row]:
    """Default fits on both sides of 1,000 rows, where evidence of the exact kernel gives way to Vecchia's."""
    from bochner import SpatialRegressor

    seconds = {}
    for n in (990, 1_010):
        X, y = field(n)
        seconds[n] = plan.once(lambda: SpatialRegressor(n_jobs=plan.threads).fit(X, y))  # noqa: B023
    yield Row("default fit below 1,000 rows", "990 rows", seconds[990], "1,010 rows", seconds[1_010])


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
        once, size = Plan(plan.quick, 1, plan.threads), f"{n:,} {family} rows"
        seconds = once.seconds(lambda: aggregate(model, areas))  # noqa: B023
        yield Row("means over districts", f"{size}, 20 districts", seconds, "2 seconds", 2.0)
        seconds = once.seconds(lambda: model.plot_map())  # noqa: B023
        yield Row("figure of mean and sd", size, seconds, "a second", 1.0)


def large_field(plan: Plan) -> Iterator[Row]:
    """Fit and prediction with sd against GPBoost's Vecchia approximation: by default, and with its kernel given."""
    from bochner import SpatialRegressor

    beside = installed("gpboost")
    few = field(3_500)
    fitted(plan, SpatialRegressor(n_jobs=plan.threads), *few, *few)  # what is imported once is the clock's of neither
    for n in plan.rows or ((5_000,) if plan.quick else (10_000, 100_000, 300_000)):
        X, y = field(n + 2_000)
        default, given = (
            fastest(plan, lambda: SpatialRegressor(kernel, n_jobs=plan.threads), X[:n], y[:n], X[n:], y[n:])  # noqa: B023
            for kernel in (None, "exponential")
        )
        name, size, peer = "default fit, prediction with sd", f"{n:,} rows", "GPBoost, Vecchia"
        if not beside:  # what the choice of a kernel costs is told without it
            yield Row(name, size, default.seconds, "exponential kernel given", *swapped(default, given))
            continue
        theirs = min((gpboost(X[:n], y[:n], X[n:], y[n:]) for _ in range(plan.repeats)), key=lambda t: t.seconds)
        yield Row(name, size, default.seconds, peer, *swapped(default, theirs))
        yield Row("the same, exponential kernel given", size, given.seconds, peer, *swapped(given, theirs))


def satellite(plan: Plan) -> Iterator[Row]:
    """The same of the satellite file, scored in gaps like its own."""
    from bochner import SpatialRegressor

    if plan.data is None or not installed("gpboost"):
        return
    from competition import cases

    _, (X, y), (new, truth) = next(iter(cases(plan.data, "satellite")))
    ours = fastest(plan, lambda: SpatialRegressor(n_jobs=plan.threads), X, y, new, truth)
    theirs = min((gpboost(X, y, new, truth) for _ in range(plan.repeats)), key=lambda t: t.seconds)
    yield Row(
        "satellite file, prediction with sd",
        f"{len(X):,} rows",
        ours.seconds,
        "GPBoost, Vecchia",
        *swapped(ours, theirs),
    )


def ordinary_kriging(plan: Plan) -> Iterator[Row]:
    """Prediction with variance of all from all, kernel given."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    n, m = plan.size(2_000, 800), plan.size(20_000, 4_000)
    X, y = field(n + m)
    model = SpatialRegressor(Matern(0.2, nu=0.5), tune=None, noise_variance=NOISE, n_jobs=plan.threads)
    ours = fitted(plan, model, X[:n], y[:n], X[n:], y[n:])
    for name, peer in (("pykrige", pykrige), ("gstools", gstools)):
        if installed(name):
            theirs = peer(X[:n], y[:n], X[n:], y[n:])
            yield Row(
                "kriging of all from all, kernel given",
                f"{n:,} rows, {m:,} places",
                ours.seconds,
                name,
                *swapped(ours, theirs),
            )


def gpboost(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> Timed:
    import gpboost

    start = now()
    model = gpboost.GPModel(gp_coords=X, cov_function="exponential", gp_approx="vecchia", likelihood="gaussian")
    model.fit(y=y, X=np.ones((len(y), 1)))
    found = model.predict(gp_coords_pred=new, X_pred=np.ones((len(new), 1)), predict_var=True)
    return Timed(now() - start, found["mu"] - truth)


def gpytorch(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> Timed:
    """Its exact process as its first tutorial trains it: fifty steps of Adam."""
    import gpytorch
    import torch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x: Any, z: Any, likelihood: Any) -> None:
            super().__init__(x, z, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5))

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    start = now()
    x, z, at = (torch.from_numpy(np.ascontiguousarray(a)) for a in (X, y, new))
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Process(x, z, likelihood).double()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(50):
        optimiser.zero_grad()
        loss = -objective(model(x), z)
        loss.backward()
        optimiser.step()
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(at))
        mean = found.mean.numpy()
        found.variance.numpy()
    return Timed(now() - start, mean - truth)


def pykrige(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> Timed:
    from pykrige.ok import OrdinaryKriging

    start = now()
    variogram = {"psill": 1.0, "range": 0.6, "nugget": NOISE}  # its range is three length scales
    model = OrdinaryKriging(X[:, 0], X[:, 1], y, variogram_model="exponential", variogram_parameters=variogram)
    mean, _ = model.execute("points", new[:, 0], new[:, 1])
    return Timed(now() - start, np.asarray(mean) - truth)


def gstools(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> Timed:
    import gstools

    start = now()
    model = gstools.Exponential(dim=2, var=1.0, len_scale=0.2, nugget=NOISE)
    mean, _ = gstools.krige.Ordinary(model, X.T, y, exact=False)(new.T)
    return Timed(now() - start, np.asarray(mean) - truth)


CASES = (
    vecchia_likelihood,
    small_systems,
    many_places,
    dense_features,
    small_fits,
    small_stretched,
    small_weak,
    small_counts,
    small_families,
    thousands_of_counts,
    fits_side_by_side,
    around_a_thousand,
    around_three_thousand,
    exact_process,
    maps_and_districts,
    large_field,
    satellite,
    ordinary_kriging,
)

# ------------------------------------------------------------------------------------- cost against size


def scaling(plan: Plan) -> dict[str, dict[str, list[float]]]:
    """Seconds against rows, waves and coordinates of a fit on features, kernel given."""
    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    def seconds(n: int, m: int, dim: int) -> float:
        X = np.random.default_rng(0).normal(size=(n, dim))
        y = np.sin(X[:, 0])
        model = SpatialRegressor(
            SquaredExponential(2.0),
            features="monte-carlo",
            n_frequencies=m,
            tune=None,
            noise_variance=NOISE,
            n_jobs=plan.threads,
        )
        return min(plan.once(lambda: model.fit(X, y)) for _ in range(2))

    seconds(1_000, 50, 4)  # imports
    base = plan.size(40_000, 10_000)
    sweeps = {
        "rows": [(base * k, 200, 4) for k in (1, 2, 4, 8)],
        "waves": [(base, m, 4) for m in (100, 200, 400, 800)],
        "coordinates": [(base, 200, dim) for dim in (4, 8, 16, 32)],
    }
    place = {"rows": 0, "waves": 1, "coordinates": 2}
    return {
        name: {"at": [case[place[name]] for case in cases], "seconds": [seconds(*case) for case in cases]}
        for name, cases in sweeps.items()
    }


# ------------------------------------------------------------------------------------- what is shared


def places(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(n, 2))


def field(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and a rough field with noise, by waves drawn at random."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(n, 2))
    omega = rng.standard_t(1, size=(2_000, 1)) * rng.normal(size=(2_000, 2)) / 0.2
    omega *= np.minimum(1, 2_000 / np.linalg.norm(omega, axis=1))[:, None]
    phase, y = rng.uniform(0, 2 * np.pi, 2_000), np.empty(n)
    for i in range(0, n, 5_000):
        y[i : i + 5_000] = np.sqrt(2 / 2_000) * np.cos(coords[i : i + 5_000] @ omega.T + phase).sum(axis=1)
    return coords, y + np.sqrt(NOISE) * rng.normal(size=n)


def fitted(plan: Plan, model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> Timed:
    """Seconds of a fit with prediction (and its sd, where the model has one), and the RMSE on held-out rows."""
    mean: Any = None
    with_std = hasattr(model, "sample_y")

    def work() -> None:
        nonlocal mean
        model.fit(X, y)
        mean = model.predict(new, return_std=True)[0] if with_std else model.predict(new)

    with resources(plan):
        return Timed(plan.once(work), mean - truth)


def fastest(
    plan: Plan, model: Callable[[], Any], X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray
) -> Timed:
    """The fastest of as many new models as peers have."""
    return min((fitted(plan, model(), X, y, new, truth) for _ in range(plan.repeats)), key=lambda t: t.seconds)


def rmse(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def swapped(ours: Timed, theirs: Timed) -> tuple[float, float, float, float]:
    """Their seconds, the RMSE of both, and what the difference of these may be by the choice of held-out rows."""
    mine, other = rmse(ours.errors), rmse(theirs.errors)
    gap = np.std(ours.errors**2 - theirs.errors**2) / np.sqrt(len(ours.errors))
    return theirs.seconds, mine, other, float(gap / (mine + other))


def resources(plan: Plan) -> Any:
    from bochner.resources import Resources

    return Resources(n_jobs=plan.threads).in_use()


def installed(peer: str, extra: str = "peers") -> bool:
    if find_spec(peer) is None:
        print(f"{peer} is not installed: its row is left out; pip install 'bochner[{extra}]'", file=sys.stderr)
        return False
    return True


def machine(plan: Plan) -> str:
    """The processor, its cores, and what ran on it."""
    from bochner import __version__
    from bochner.resources import n_cores

    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        name = names[0] if names else name
    threads = plan.threads or n_cores()
    seconds = "seconds of the processor" if plan.threads == 1 else "seconds on the clock"
    versions = f"Python {platform.python_version()}, bochner {__version__}"
    return f"{name}, {n_cores()} cores, {threads} thread(s), {seconds}; {versions}"


def publish(folder: Path, plan: Plan, rows: list[Row], curves: dict[str, dict[str, list[float]]]) -> None:
    """The table on the terminal and in a file, numbers as JSON, and a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    table = as_markdown(plan, rows, curves)
    print(table)
    (folder / "speed.md").write_text(table, encoding="utf-8")
    numbers = {
        "machine": machine(plan),
        "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
        "scaling": curves,
    }
    (folder / "speed.json").write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    if curves and find_spec("matplotlib"):
        draw(folder / "scaling.png", curves)


def as_markdown(plan: Plan, rows: list[Row], curves: dict[str, dict[str, list[float]]]) -> str:
    lines = [f"{machine(plan)}{', quick sizes' if plan.quick else ''}", ""]
    lines += [
        "| case | size | bochner (s) | against | (s) | times faster | RMSE | its RMSE | ± of their difference |",
        "|---|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        scores = [f"{s:.4f}" if s is not None else "" for s in (row.score, row.their_score, row.chance)]
        cells = [row.case, row.size, f"{row.ours:.3g}", row.other, f"{row.theirs:.3g}", f"{row.ratio:.1f}", *scores]
        lines.append(f"| {' | '.join(cells)} |")
    for name, curve in curves.items():
        slope = np.polyfit(np.log(curve["at"]), np.log(curve["seconds"]), 1)[0]
        pairs = ", ".join(f"{at:,}: {s:.2g} s" for at, s in zip(curve["at"], curve["seconds"], strict=True))
        lines += ["", f"Cost against {name}: {pairs} (slope {slope:.2f})."]
    return "\n".join(lines) + "\n"


def draw(path: Path, curves: dict[str, dict[str, list[float]]]) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(10, 3.2), layout="constrained")
    for axis, (name, curve) in zip(axes, curves.items(), strict=True):
        axis.loglog(curve["at"], curve["seconds"], "o-", color="#0072B2")
        axis.set(xlabel=name, ylabel="seconds of a fit")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
