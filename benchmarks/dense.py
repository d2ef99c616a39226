"""Dense Fourier features against scikit-learn's: time, peak memory, and how close the Gram comes to raw BLAS.

    python benchmarks/dense.py                    200,000 rows, 1,000 frequencies: about a minute on two cores
    python benchmarks/dense.py --quick            20,000 rows, each once
    python benchmarks/dense.py --threads 1        on a machine that is busy with other things

The same ridge regression on the same number of waves, kernel fixed: `SpatialRegressor(features="quasi")`, whichever way
it sums its Gram, and our dense blocks alone, against `RBFSampler` + `Ridge`. Every measurement runs in an interpreter
of its own; the memory counted is the peak of the fit beyond imports and data. The posterior, its evidence and the
check of its sd come with the estimator's fit, and with no other. `benchmarks/speed.py` takes its rows from here, of
other sizes and numbers of coordinates, too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

# The interpreters that measure import NumPy. This one must not: a child's peak memory starts at its parent's.

NOISE = 0.1
FULL_ROWS = 200_000
GOALS = {  # so many times fewer than scikit-learn's
    "estimator": {"seconds": 10, "megabytes": 5},
    "blocks": {"seconds": 2, "megabytes": 5},
}
LABELS = {"estimator": "SpatialRegressor", "blocks": "dense blocks alone", "theirs": "RBFSampler + Ridge"}


@dataclass(frozen=True)
class Size:
    """Of one measurement; with one thread its seconds are those of the processor."""

    rows: int
    frequencies: int
    dim: int = 2
    threads: int | None = None

    @property
    def length_scale(self) -> float:
        return 1.0 if self.dim == 2 else 2.0

    @property
    def now(self) -> Callable[[], float]:
        return time.process_time if self.threads == 1 else time.perf_counter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=FULL_ROWS)
    parser.add_argument("--frequencies", type=int, default=1_000)
    parser.add_argument("--dim", type=int, default=2, help="coordinates")
    parser.add_argument("--repeats", type=int, default=2, help="each is measured so often, in turn; the best counts")
    parser.add_argument("--threads", type=int, help="of the linear algebra (default: as many as it likes)")
    parser.add_argument("--quick", action="store_true", help="20,000 rows, each measured once")
    parser.add_argument("--measure", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(MEASUREMENTS[args.measure](Size(args.rows, args.frequencies, args.dim, args.threads))))
        return
    if args.quick:
        args.rows, args.repeats = min(args.rows, 20_000), 1
    size = Size(args.rows, args.frequencies, args.dim, args.threads)
    runs = [{name: measured_apart(name, size) for name in (*LABELS, "blas")} for _ in range(args.repeats)]
    report(args, runs)


def report(args: argparse.Namespace, runs: list[dict[str, dict[str, float]]]) -> None:
    """Print the comparison; of the repeats, the fastest of each counts."""
    best = {name: min((run[name] for run in runs), key=lambda r: r["seconds"]) for name in LABELS}
    columns = f"{args.frequencies:,} frequencies ({2 * args.frequencies:,} columns)"
    print(f"{args.rows:,} rows x {args.dim} coordinates, {columns}\n")
    print(f"{'':<24}{'fit (s)':>10}{'peak memory (MB)':>20}{'RMSE of the map':>18}")
    for name, label in LABELS.items():
        result = best[name]
        print(f"{label:<24}{result['seconds']:>10.2f}{result['megabytes']:>20,.0f}{result['rmse']:>18.4f}")
    print()
    for name in ("estimator", "blocks"):
        for unit, goal in GOALS[name].items():
            ratio = best["theirs"][unit] / best[name][unit]
            verdict = ("met" if ratio >= goal else "MISSED") if args.rows >= FULL_ROWS else f"for {FULL_ROWS:,} rows"
            print(f"{LABELS[name]:<24}{ratio:>10.1f} times fewer {unit:<12}goal: at least {goal}, {verdict}")
    blas = max((run["blas"] for run in runs), key=lambda r: r["share_of_syrk"])
    print("\nfloat32 speed in GFLOP/s, a Gram counted as n p^2 operations (half those of a general product)")
    print(
        f"raw SYRK {blas['syrk']:.0f}, raw GEMM {blas['gemm']:.0f}, dense blocks with their waves {blas['blocks']:.0f}:"
    )
    print(f"{blas['share_of_syrk']:.0%} of SYRK, {blas['share_of_gemm']:.0%} of GEMM")


def measured_apart(name: str, size: Size) -> dict[str, float]:
    """Result of one measurement, made in a fresh interpreter."""
    command = [sys.executable, __file__, "--measure", name, "--rows", str(size.rows), "--dim", str(size.dim)]
    command += ["--frequencies", str(size.frequencies)]
    env = dict(os.environ)
    if size.threads:
        command += ["--threads", str(size.threads)]
        env |= {f"{library}_NUM_THREADS": str(size.threads) for library in ("OPENBLAS", "MKL", "OMP")}
    result: dict[str, float] = json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
    return result


# ------------------------------------------------------------------------------------------ in the fresh interpreter


def estimator(size: Size) -> dict[str, float]:
    """Our estimator, float32 waves chosen by itself."""
    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    def fitted(n_waves: int, X: Any, y: Any) -> Any:
        kernel = SquaredExponential(length_scale=size.length_scale)
        model = SpatialRegressor(
            kernel, features="quasi", n_frequencies=n_waves, noise_variance=NOISE, tune=None, n_jobs=size.threads
        )
        return model.fit(X, y)

    return measured(fitted, size)


def blocks(size: Size, dtype: str = "float32") -> dict[str, float]:
    """Our moments by dense blocks of waves, and their Cholesky factor."""
    import numpy as np

    from bochner.features import Rows
    from bochner.moments import dense_moments
    from bochner.solvers import cholesky_factor

    class Fitted:
        def __init__(self, n_waves: int, X: Any, y: Any) -> None:
            self.features = waves(size, n_waves, dtype)
            moments = dense_moments(self.features, Rows(X, np.ones((len(X), 1))), y, np.full(len(X), 1 / NOISE))
            prior = np.r_[np.ones(self.features.n_columns), 0.0]  # none on the intercept
            self.coef = cholesky_factor(moments.gram + np.diag(prior), 1).solve(moments.projection)

        def predict(self, X: Any) -> Any:
            return self.features.forward(X, self.coef[:-1]) + self.coef[-1]

    return measured(Fitted, size)


def theirs(size: Size, dtype: str = "float64") -> dict[str, float]:
    """The same model from scikit-learn's parts, by default in float64; `alpha` is the noise variance."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    def fitted(n_waves: int, X: Any, y: Any) -> Any:
        sampler = RBFSampler(gamma=1 / (2 * size.length_scale**2), n_components=2 * n_waves, random_state=0)
        return make_pipeline(sampler, Ridge(alpha=NOISE)).fit(X.astype(dtype), y.astype(dtype))

    return measured(fitted, size)


def measured(fitted: Callable[[int, Any, Any], Any], size: Size) -> dict[str, float]:
    """Time, peak memory beyond imports and data, and accuracy of a fit."""
    X, y, places, truth = survey(size)
    fitted(64, X[:5_000], y[:5_000])  # whatever is imported late, compiled loops too, is imported now
    before = peak_megabytes()
    begin = size.now()
    model = fitted(size.frequencies, X, y)
    seconds, megabytes = size.now() - begin, peak_megabytes() - before
    error = model.predict(places) - truth
    return {"seconds": seconds, "megabytes": megabytes, "rmse": float((error**2).mean() ** 0.5)}


def blas(size: Size, dtype: str = "float32") -> dict[str, float]:
    """GFLOP/s of our pass over the rows and, just before and after it, of raw BLAS in the same precision."""
    import numpy as np
    from scipy.linalg.blas import dsyrk, ssyrk

    from bochner.features import Rows
    from bochner.moments import dense_moments

    n_rows = min(size.rows, 50_000)  # the speed is the same for more, and each is the best of several
    X, y, *_ = survey(replace(size, rows=n_rows))
    features, weight = waves(size, size.frequencies, dtype), np.full(n_rows, 1 / NOISE)
    p, block = features.n_columns, features.block(X[:4096])
    total, rank_k = np.zeros((p, p), dtype=dtype, order="F"), ssyrk if dtype == "float32" else dsyrk

    def raw() -> tuple[float, float]:
        flops = len(block) * p**2 / 1e9
        syrk = fastest(lambda: rank_k(1.0, block.T, beta=1.0, c=total, overwrite_c=1), size)
        return flops / syrk, 2 * flops / fastest(lambda: np.matmul(block.T, other), size)

    other = block.copy()  # of the same array NumPy would make a syrk
    first = raw()
    rows = Rows(X, np.ones((n_rows, 1)))
    own = n_rows * p**2 / 1e9 / fastest(lambda: dense_moments(features, rows, y, weight), size)
    syrk, gemm = (max(pair) for pair in zip(first, raw(), strict=True))
    return {"syrk": syrk, "gemm": gemm, "blocks": own, "share_of_syrk": own / syrk, "share_of_gemm": own / gemm}


MEASUREMENTS: dict[str, Callable[[Size], dict[str, float]]] = {
    "estimator": estimator,
    "blocks": blocks,
    "blocks in float64": partial(blocks, dtype="float64"),
    "theirs": theirs,
    "theirs in float32": partial(theirs, dtype="float32"),
    "blas": blas,
    "blas in float64": partial(blas, dtype="float64"),
}


def waves(size: Size, n_frequencies: int, dtype: str) -> Any:
    """The waves that our estimator takes."""
    import numpy as np

    from bochner.features import FourierMap
    from bochner.frequencies import rule_named
    from bochner.kernels import SquaredExponential

    kernel = SquaredExponential(length_scale=size.length_scale)
    drawn = rule_named("quasi").draw(kernel, n_frequencies, size.dim, np.random.default_rng(0))
    return FourierMap(drawn, np.dtype(dtype).type)


def survey(size: Size) -> tuple[Any, Any, Any, Any]:
    """Places (in two dimensions of a square of 10 length scales) and noisy values; more places, true values there."""
    import numpy as np

    rng, n = np.random.default_rng(0), size.rows
    if size.dim == 2:
        places = rng.uniform(0, 10, size=(n + 1_000, 2))
    else:
        places = rng.normal(size=(n + 1_000, size.dim))
    truth = np.sin(places[:, 0]) + np.cos(0.7 * places[:, 1])
    y = truth[:n] + rng.normal(0, NOISE**0.5, n)
    return places[:n], y, places[n:], truth[n:]


def fastest(call: Callable[[], object], size: Size, repeats: int = 5) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        begin = size.now()
        call()
        times.append(size.now() - begin)
    return min(times)


def peak_megabytes() -> float:
    """Most memory that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
