"""Dense Fourier features against scikit-learn's: time, peak memory, and how close the Gram comes to raw BLAS.

    python benchmarks/dense.py                    200,000 rows, 1,000 frequencies: about a minute on two cores
    python benchmarks/dense.py --rows 20000       a quick look
    python benchmarks/dense.py --threads 1        on a machine that is busy with other things

The same ridge regression on the same number of waves, kernel fixed: `SpatialRegressor(features="quasi")` against
`RBFSampler` + `Ridge`. Every measurement runs in an interpreter of its own; the memory counted is the peak of the fit
beyond imports and data. The posterior, its evidence and the check of its sd come with our fit, not with the other.
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
from typing import Any

# The interpreters that measure import NumPy. This one must not: a child's peak memory starts at its parent's.

NOISE = 0.1
LENGTH_SCALE = 1.0
TIME_GOAL = 2.0
MEMORY_GOAL = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--frequencies", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=2, help="each is measured so often, in turn; the best counts")
    parser.add_argument("--threads", type=int, help="of the linear algebra (default: as many as it likes)")
    parser.add_argument("--measure", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(MEASUREMENTS[args.measure](args.rows, args.frequencies)))
        return
    runs = [{name: measured_apart(name, args) for name in MEASUREMENTS} for _ in range(args.repeats)]
    report(args, runs)


def report(args: argparse.Namespace, runs: list[dict[str, dict[str, float]]]) -> None:
    """Print the comparison; of the repeats, the fastest of each counts."""
    ours, theirs = (min((run[name] for run in runs), key=lambda r: r["seconds"]) for name in ("ours", "theirs"))
    blas = max((run["blas"] for run in runs), key=lambda r: r["share_of_syrk"])
    print(f"{args.rows:,} rows x 2 coordinates, {args.frequencies:,} frequencies ({2 * args.frequencies:,} columns)\n")
    print(f"{'':<24}{'fit (s)':>10}{'peak memory (MB)':>20}{'RMSE of the map':>18}")
    for name, result in (("bochner", ours), ("RBFSampler + Ridge", theirs)):
        print(f"{name:<24}{result['seconds']:>10.2f}{result['megabytes']:>20,.0f}{result['rmse']:>18.4f}")
    faster, smaller = theirs["seconds"] / ours["seconds"], theirs["megabytes"] / ours["megabytes"]
    print(f"\n{'time ratio':<24}{faster:>10.2f}   goal: at least {TIME_GOAL:g}, {verdict(faster, TIME_GOAL)}")
    print(f"{'memory ratio':<24}{smaller:>10.1f}   goal: at least {MEMORY_GOAL:g}, {verdict(smaller, MEMORY_GOAL)}")
    print(
        f"\nfloat32 speed: SYRK {blas['syrk']:.0f} GFLOP/s, GEMM {blas['gemm']:.0f} GFLOP/s; our pass over the rows, "
        f"waves included, {blas['pass']:.0f} GFLOP/s:\n{blas['share_of_syrk']:.0%} of SYRK, "
        f"{blas['share_of_gemm']:.0%} of GEMM (n p^2 operations, half those of a general product)"
    )


def verdict(ratio: float, goal: float) -> str:
    return "met" if ratio >= goal else "MISSED"


def measured_apart(name: str, args: argparse.Namespace) -> dict[str, float]:
    """Result of one measurement, made in a fresh interpreter."""
    command = [sys.executable, __file__, "--measure", name, "--rows", str(args.rows)]
    env = dict(os.environ)
    if args.threads:
        env |= {f"{library}_NUM_THREADS": str(args.threads) for library in ("OPENBLAS", "MKL", "OMP")}
    command += ["--frequencies", str(args.frequencies)]
    result: dict[str, float] = json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
    return result


# ------------------------------------------------------------------------------------------ in the fresh interpreter


def ours(n_rows: int, n_frequencies: int) -> dict[str, float]:
    """Our estimator, float32 waves chosen by itself."""
    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    def fitted(n_waves: int, X: Any, y: Any) -> Any:
        kernel = SquaredExponential(length_scale=LENGTH_SCALE)
        model = SpatialRegressor(kernel, features="quasi", n_frequencies=n_waves, noise_variance=NOISE, tune=None)
        return model.fit(X, y)

    return measured(fitted, n_rows, n_frequencies)


def theirs(n_rows: int, n_frequencies: int) -> dict[str, float]:
    """The same model from scikit-learn's parts, which are in float64; `alpha` is the noise variance."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    def fitted(n_waves: int, X: Any, y: Any) -> Any:
        sampler = RBFSampler(gamma=1 / (2 * LENGTH_SCALE**2), n_components=2 * n_waves, random_state=0)
        return make_pipeline(sampler, Ridge(alpha=NOISE)).fit(X, y)

    return measured(fitted, n_rows, n_frequencies)


def measured(fitted: Callable[[int, Any, Any], Any], n_rows: int, n_frequencies: int) -> dict[str, float]:
    """Time, peak memory beyond imports and data, and accuracy of a fit."""
    X, y, places, truth = survey(n_rows)
    fitted(8, X[:100], y[:100])  # whatever is imported late is imported now
    before = peak_megabytes()
    begin = time.perf_counter()
    model = fitted(n_frequencies, X, y)
    seconds, megabytes = time.perf_counter() - begin, peak_megabytes() - before
    error = model.predict(places) - truth
    return {"seconds": seconds, "megabytes": megabytes, "rmse": float((error**2).mean() ** 0.5)}


def blas(n_rows: int, n_frequencies: int) -> dict[str, float]:
    """GFLOP/s of our pass over the rows and, just before and after it, of raw float32 BLAS."""
    import numpy as np
    from scipy.linalg.blas import ssyrk

    from bochner.features import FourierMap, Rows
    from bochner.frequencies import rule_named
    from bochner.kernels import SquaredExponential
    from bochner.moments import dense_moments

    X, y, *_ = survey(n_rows)
    rng = np.random.default_rng(0)
    frequencies = rule_named("quasi").draw(SquaredExponential(length_scale=LENGTH_SCALE), n_frequencies, 2, rng)
    features, weight = FourierMap(frequencies, np.float32), np.full(n_rows, 1 / NOISE)
    p, block = features.n_columns, features.block(X[:4096])
    partial = np.zeros((p, p), dtype=np.float32, order="F")

    def raw() -> tuple[float, float]:
        flops = len(block) * p**2 / 1e9
        syrk = fastest(lambda: ssyrk(1.0, block.T, beta=1.0, c=partial, overwrite_c=1))
        return flops / syrk, 2 * flops / fastest(lambda: np.matmul(block.T, other))

    other = block.copy()  # of the same array NumPy would make a syrk
    first = raw()
    rows = Rows(X, np.ones((n_rows, 1)))
    own = n_rows * p**2 / 1e9 / fastest(lambda: dense_moments(features, rows, y, weight), 1)
    syrk, gemm = (max(pair) for pair in zip(first, raw(), strict=True))
    return {"syrk": syrk, "gemm": gemm, "pass": own, "share_of_syrk": own / syrk, "share_of_gemm": own / gemm}


MEASUREMENTS = {"ours": ours, "theirs": theirs, "blas": blas}


def survey(n_rows: int) -> tuple[Any, Any, Any, Any]:
    """Places in a square of 10 length scales and noisy values; places on a map and the true values there."""
    import numpy as np

    rng = np.random.default_rng(0)
    places = rng.uniform(0, 10 * LENGTH_SCALE, size=(n_rows + 1_000, 2))
    truth = np.sin(places[:, 0]) + np.cos(0.7 * places[:, 1])
    y = truth[:n_rows] + rng.normal(0, NOISE**0.5, n_rows)
    return places[:n_rows], y, places[n_rows:], truth[n_rows:]


def fastest(call: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def peak_megabytes() -> float:
    """Most memory that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
