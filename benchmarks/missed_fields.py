"""Fields that defaults once missed, against what is true: stretched, weak, in unlike units, along lines, beside a
covariate that goes with them, in space and time; rare counts and presence.

    python benchmarks/missed_fields.py                    all of them
    python benchmarks/missed_fields.py --seeds 6
    python benchmarks/missed_fields.py --only weak rare   those whose name holds a word

Fields: RMSE of a default fit over that of kriging by the true kernel, coverage of the surface by 95 % intervals, and
seconds of the processor.
A folded surface without noise: its RMSE, and coverage.
Counts and presence in space and time: CRPS of what is expected over its sd, coverage of it by 95 % intervals, seconds.
Rare counts and presence: coverage of what is expected by 95 % intervals, with the number of cases in all.
Thousands of counts and presences in metres and weeks: CRPS and log loss, and the same in one unit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import norm

from bochner import SpatialRegressor
from bochner.kernels import Kernel, Matern, OnAxes, Separable

NOISE, N_NEW = 0.1, 300
METRES_KM_DAYS = (1e5, 2.0, 365.0)
METRES_WEEKS = (1e6, 50.0)
KM_DAYS = (100.0, 100.0, 365.0)
LASTING, COMMON = OnAxes(Matern(25.0, nu=1.5), without=-1), OnAxes(Matern(60.0, 0.6, nu=1.5), -1)
PASSING = Separable(Matern(40.0, nu=1.5), Matern(70.0, nu=0.5))

Lie = Callable[[int, int, np.random.Generator], np.ndarray]  # rows and axes -> places in a unit box


def all_over(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Places in the unit box."""
    return rng.uniform(size=(n, dim))


def along_a_line(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Places next to a line that bends a little."""
    along = rng.uniform(size=n)
    return np.column_stack([along, 0.5 + 0.1 * np.sin(4 * along) + 0.002 * rng.standard_normal(n)])


def along_tracks(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Places on six lines that bend, as of ships."""
    along, track = rng.uniform(size=n), rng.integers(0, 6, n)
    return np.column_stack([along, (track + 0.5) / 6 + 0.15 * np.sin(3 * along + track)])


def on_some_nodes(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Nodes of a grid in an irregular region, which has a sixth of them."""
    side = int(np.sqrt(6 * n))
    nodes = np.stack(np.meshgrid(*2 * [np.arange(side)], indexing="ij"), axis=-1).reshape(-1, 2) / (side - 1)
    off = np.abs(nodes[:, 1] - 0.5 - 0.3 * np.sin(5 * nodes[:, 0]))
    return rng.permutation(nodes[np.argsort(off)[:n]])


@dataclass(frozen=True)
class Case:
    """A field in a box, and the rows and noise that it is seen with."""

    name: str
    n: int
    kernel: Kernel
    noise: float = NOISE
    box: tuple[float, ...] = (1.0, 1.0)
    slope: float = 0.0  # along the first axis; half of it down the second
    bowl: float = 0.0  # times the squared distance from the middle
    places: Lie = all_over
    height: float = 0.0  # effect of a covariate that rises where the surface falls, by four times as much
    timed: bool = False  # whether the last axis is a time, by its name


def in_space_and_time(name: str, n: int, kernel: Kernel) -> Case:
    """A field at places in km and on days."""
    return Case(f"in space and time, {name}", n, kernel, box=KM_DAYS, timed=True)


FIELDS = (
    Case("stretched four to one", 499, Matern((0.4, 0.1), nu=1.5, rotation=0.5)),
    Case("stretched four to one", 990, Matern((0.4, 0.1), nu=1.5, rotation=0.5)),
    Case("stretched", 501, Matern((0.05, 0.6), nu=0.5)),
    Case("stretched", 1_200, Matern((0.05, 0.5), nu=1.5)),
    Case("stretched", 1_200, Matern((0.04, 0.6), nu=1.5)),
    Case("stretched and turned", 1_200, Matern((0.04, 0.6), nu=1.5, rotation=0.6)),
    Case("stretched", 1_200, Matern((0.05, 0.6), nu=0.5)),
    Case("weak", 1_200, Matern(0.3, 0.1, nu=1.5), noise=1.0),
    Case("weak", 2_500, Matern(0.3, 0.1, nu=1.5), noise=1.0),
    Case("weak and rough", 600, Matern(0.3, 0.3, nu=0.5), noise=1.0),
    Case("weak and rough", 1_200, Matern(0.3, 0.3, nu=0.5), noise=1.0),
    Case("weak, rough and short", 2_000, Matern(0.03, 0.3, nu=0.5), noise=1.0),
    Case("beside a slope", 80, Matern(0.1, 0.3, nu=0.5), noise=0.05, slope=20.0),
    Case("beside a slope", 300, Matern(0.1, 0.3, nu=0.5), noise=0.05, slope=20.0),
    Case("beside a slope", 900, Matern(0.1, 0.3, nu=0.5), noise=0.05, slope=20.0),
    Case("in a bowl", 300, Matern(0.06, nu=1.5), noise=0.04, bowl=32.0),
    Case("weak, in metres and years", 1_300, Matern((1.2e5, 1.2), 0.1, nu=1.5), noise=1.0, box=(1e6, 10.0)),
    Case("weak, in metres and years", 4_000, Matern((1.2e5, 1.2), 0.1, nu=1.5), noise=1.0, box=(1e6, 10.0)),
    Case("weak, along a strip", 1_300, Matern(0.3, nu=1.5), noise=1.0, box=(40.0, 1.0)),
    Case("metres, km and days", 2_000, Matern((3e4, 0.5, 40.0), nu=1.5), box=METRES_KM_DAYS),
    Case("along a line", 2_500, Matern(0.1, nu=1.5), places=along_a_line),
    Case("along tracks", 2_500, Matern(0.1, nu=1.5), places=along_tracks),
    Case("on some nodes of a grid", 1_600, Matern(0.1, nu=1.5), places=on_some_nodes),
    Case("beside a covariate", 1_500, Matern(0.2, nu=1.5), noise=0.01, height=1.0),
    *(in_space_and_time("lasting and common", n, LASTING + COMMON) for n in (200, 400, 800)),
    *(in_space_and_time("a product", n, PASSING) for n in (400, 800)),
    in_space_and_time("all of these", 400, LASTING + COMMON + PASSING),
    in_space_and_time("one field", 400, Matern((30.0, 30.0, 70.0), nu=1.5)),
)


def simulated(
    kernel: Kernel, n: int, seed: int, box: tuple[float, ...] = (1.0, 1.0), places: Lie = all_over
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, a field there, and its covariance."""
    rng = np.random.default_rng(seed)
    X = places(n, len(box), rng) * box
    K = kernel.covariance(X, X)
    return X, np.linalg.cholesky(K + 1e-9 * np.eye(n)) @ rng.standard_normal(n), K


def missed(case: Case, seed: int) -> str:
    n = case.n
    X, truth, K = simulated(case.kernel, n + N_NEW, seed, case.box, case.places)
    rng = np.random.default_rng(seed + 1_000)
    y = truth[:n] + np.sqrt(case.noise) * rng.standard_normal(n)
    drift = case.slope * (X[:, 0] - X[:, 1] / 2) + case.bowl * np.sum((X - np.array(case.box) / 2) ** 2, axis=1)
    beside: list[int] = []
    if case.height:
        rise = 3 * np.sum(X / case.box, axis=1)
        beside = [X.shape[1]]
        X = np.column_stack([X, rise + rng.standard_normal(len(X))])
        drift += case.height * (X[:, -1] - 4 * rise)
    table = in_km_and_days(X) if case.timed else X
    start = time.process_time()
    model = SpatialRegressor(covariates=beside or None, n_jobs=1).fit(table[:n], y + drift[:n])
    seconds = time.process_time() - start
    mean, sd = model.predict(table[n:], return_std=True)
    mean = mean - drift[n:]
    best = K[n:, :n] @ np.linalg.solve(K[:n, :n] + case.noise * np.eye(n), y)
    ours, oracle = (np.sqrt(np.mean((m - truth[n:]) ** 2)) for m in (mean, best))
    inside = np.mean(np.abs(mean - truth[n:]) <= 1.96 * sd)
    return f"{ours / oracle:.3f}, {inside:.2f} inside, {seconds:.1f} s"


def in_km_and_days(X: np.ndarray) -> pd.DataFrame:
    """Places and times by name."""
    return pd.DataFrame(X, columns=["x", "y", "day"])


def of_lasting_and_common(family: str, n: int, seed: int) -> str:
    """Counts, or presence, where a field that lasts and a level common to all places add up."""
    X, eta, _ = simulated(LASTING + COMMON, n + N_NEW, seed, KM_DAYS)
    rng, table = np.random.default_rng(seed + 1_000), in_km_and_days(X)
    expected = np.exp(0.7 + 0.8 * eta) if family == "poisson" else 1 / (1 + np.exp(-1.5 * eta))
    y = rng.poisson(expected) if family == "poisson" else rng.binomial(1, expected)
    start = time.process_time()
    model = SpatialRegressor(family=family, n_jobs=1).fit(table[:n], y[:n])
    seconds = time.process_time() - start
    mean, sd = model.predict(table[n:], return_std=True)
    low, high = model.predict_interval(table[n:], level=0.95).T
    z = (expected[n:] - mean) / sd
    crps = np.mean(sd * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))) / np.std(expected[n:])
    return f"{crps:.3f}, {np.mean((low <= expected[n:]) & (expected[n:] <= high)):.2f} inside, {seconds:.1f} s"


def folded(n: int, seed: int) -> str:
    """A surface with a fold, measured without noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n + N_NEW, 2))
    truth = np.abs(X[:, 0] - 0.5) + 0.3 * np.sin(8 * X[:, 1])
    mean, sd = SpatialRegressor(n_jobs=1).fit(X[:n], truth[:n]).predict(X[n:], return_std=True)
    off = np.abs(mean - truth[n:])
    return f"RMSE {np.sqrt(np.mean(off**2)):.1e}, {np.mean(off <= 1.96 * sd):.2f} inside"


def many(family: str, n: int, seed: int) -> str:
    """Counts, or presence, whose second axis is in a unit of its own."""
    X, eta, _ = simulated(Matern(0.25, nu=0.5), n + 500, seed)
    rng = np.random.default_rng(seed + 1_000)
    if family == "poisson":
        expected = np.exp(1.2 * eta)
        y = rng.poisson(expected)
    else:
        expected = 1 / (1 + np.exp(-2 * eta))
        y = rng.binomial(1, expected)

    def scored(box: tuple[float, ...]) -> float:
        model = SpatialRegressor(family=family, n_jobs=1).fit((X * box)[:n], y[:n])
        law = model.predict_distribution((X * box)[n:], include_noise=True)
        if family == "poisson":
            return float(np.mean(law.crps(y[n:])))
        return float(-np.mean(np.log(np.where(y[n:] == 1, law.mean, 1 - law.mean))))

    return f"{scored(METRES_WEEKS):.3f} ({scored((1.0, 1.0)):.3f} in one unit)"


def rare_counts(n: int, seed: int) -> str:
    X, eta, _ = simulated(Matern(0.3, nu=1.5), n + N_NEW, seed)
    expected = np.exp(eta - 4)
    y = np.random.default_rng(seed + 1_000).poisson(expected[:n])
    if not y.any():
        return "no counts"
    low, high = SpatialRegressor(family="poisson", n_jobs=1).fit(X[:n], y).predict_interval(X[n:], level=0.95).T
    return f"{np.mean((low <= expected[n:]) & (expected[n:] <= high)):.2f} inside ({y.sum()} counts)"


def rare_presence(n: int, seed: int) -> str:
    X, eta, _ = simulated(Matern(0.2, 1.5, nu=1.5), n + N_NEW, seed)
    expected = 1 / (1 + np.exp(4.6 - eta))
    y = np.random.default_rng(seed + 1_000).binomial(1, expected[:n])
    if not y.any():
        return "no cases"
    low, high = SpatialRegressor(family="bernoulli", n_jobs=1).fit(X[:n], y).predict_interval(X[n:], level=0.95).T
    return f"{np.mean((low <= expected[n:]) & (expected[n:] <= high)):.2f} inside ({y.sum()} cases)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="words of the cases to run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    work: list[tuple[str, Callable[[int], str]]] = [
        (f"{case.name}, {case.n:,} rows, {case.kernel}", partial(missed, case)) for case in FIELDS
    ]
    work += [(f"folded, without noise, {n:,} rows", partial(folded, n)) for n in (600, 3_200, 6_000)]
    work += [
        (f"{what} in space and time, {n} rows", partial(of_lasting_and_common, family, n))
        for what, family, n in (("counts", "poisson", 300), ("presence", "bernoulli", 400))
    ]
    work += [("counts in metres and weeks, 2,600 rows", partial(many, "poisson", 2_600))]
    work += [("presence in metres and weeks, 2,600 rows", partial(many, "bernoulli", 2_600))]
    work += [(f"rare counts, {n} rows", partial(rare_counts, n)) for n in (200, 300, 499)]
    work += [(f"rare presence, {n:,} rows", partial(rare_presence, n)) for n in (480, 600, 1_500)]
    for name, run in work:
        if not args.only or any(word in name for word in args.only):
            print(name, "|", "; ".join(run(seed) for seed in range(args.seeds)), flush=True)


if __name__ == "__main__":
    main()
