"""Dense Fourier features against scikit-learn's: time, peak memory, and how close the Gram comes to raw BLAS.

    python benchmarks/dense.py                    200,000 rows, 1,000 frequencies: about a minute on two cores
    python benchmarks/dense.py --quick            20,000 rows, each once
    python benchmarks/dense.py --threads 1        on a machine that is busy with other things

The same ridge regression on the same number of waves, kernel fixed: `SpatialRegressor(features="quasi")`, whichever way
it sums its Gram, and our dense blocks alone, against `RBFSampler` + `Ridge`. Every measurement runs in an interpreter
of its own; the memory counted is the peak of the fit beyond imports and data. The posterior, its evidence and the
check of its sd come with the estimator's fit, and with no other.
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
FULL_ROWS = 200_000
GOALS = {  # so many times fewer than scikit-learn's
    "estimator": {"seconds": 10, "megabytes": 5},
    "blocks": {"seconds": 2, "megabytes": 5},
}
LABELS = {"estimator": "SpatialRegressor", "blocks": "dense blocks alone", "theirs": "RBFSampler + Ridge"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=FULL_ROWS)
    parser.add_argument("--frequencies", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=2, help="each is measured so often, in turn; the best counts")
    parser.add_argument("--threads", type=int, help="of the linear algebra (default: as many as it likes)")
    parser.add_argument("--quick", action="store_true", help="20,000 rows, each measured once")
    parser.add_argument("--measure", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(MEASUREMENTS[args.measure](args.rows, args.frequencies)))
        return
    if args.quick:
        args.rows, args.repeats = min(args.rows, 20_000), 1
    runs = [{name: measured_apart(name, args) for name in MEASUREMENTS} for _ in range(args.repeats)]
    report(args, runs)


def report(args: argparse.Namespace, runs: list[dict[str, dict[str, float]]]) -> None:
    """Print the comparison; of the repeats, the fastest of each counts."""
    best = {name: min((run[name] for run in runs), key=lambda r: r["seconds"]) for name in LABELS}
    print(f"{args.rows:,} rows x 2 coordinates, {args.frequencies:,} frequencies ({2 * args.frequencies:,} columns)\n")
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


def estimator(n_rows: int, n_frequencies: int) -> dict[str, float]:
    """Our estimator, float32 waves chosen by itself."""
    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    def fitted(n_waves: int, X: Any, y: Any) -> Any:
        kernel = SquaredExponential(length_scale=LENGTH_SCALE)
        model = SpatialRegressor(kernel, features="quasi", n_frequencies=n_waves, noise_variance=NOISE, tune=None)
        return model.fit(X, y)

    return measured(fitted, n_rows, n_frequencies)


def blocks(n_rows: int, n_frequencies: int) -> dict[str, float]:
    """Our moments by dense blocks of float32 waves, and their Cholesky factor."""
    import numpy as np

    from bochner.features import Rows
    from bochner.moments import dense_moments
    from bochner.solvers import cholesky_factor

    class Fitted:
        def __init__(self, n_waves: int, X: Any, y: Any) -> None:
            self.features = float32_waves(n_waves)
            moments = dense_moments(self.features, Rows(X, np.ones((len(X), 1))), y, np.full(len(X), 1 / NOISE))
            prior = np.r_[np.ones(self.features.n_columns), 0.0]  # none on the intercept
            self.coef = cholesky_factor(moments.gram + np.diag(prior), 1).solve(moments.projection)

        def predict(self, X: Any) -> Any:
            return self.features.forward(X, self.coef[:-1]) + self.coef[-1]

    return measured(Fitted, n_rows, n_frequencies)


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

    from bochner.features import Rows
    from bochner.moments import dense_moments

    n_rows = min(n_rows, 50_000)  # the speed is the same for more, and each is the best of several
    X, y, *_ = survey(n_rows)
    features, weight = float32_waves(n_frequencies), np.full(n_rows, 1 / NOISE)
    p, block = features.n_columns, features.block(X[:4096])
    partial = np.zeros((p, p), dtype=np.float32, order="F")

    def raw() -> tuple[float, float]:
        flops = len(block) * p**2 / 1e9
        syrk = fastest(lambda: ssyrk(1.0, block.T, beta=1.0, c=partial, overwrite_c=1))
        return flops / syrk, 2 * flops / fastest(lambda: np.matmul(block.T, other))

    other = block.copy()  # of the same array NumPy would make a syrk
    first = raw()
    rows = Rows(X, np.ones((n_rows, 1)))
    own = n_rows * p**2 / 1e9 / fastest(lambda: dense_moments(features, rows, y, weight))
    syrk, gemm = (max(pair) for pair in zip(first, raw(), strict=True))
    return {"syrk": syrk, "gemm": gemm, "blocks": own, "share_of_syrk": own / syrk, "share_of_gemm": own / gemm}


MEASUREMENTS = {"estimator": estimator, "blocks": blocks, "theirs": theirs, "blas": blas}


def float32_waves(n_frequencies: int) -> Any:
    """The waves that our estimator takes."""
    import numpy as np

    from bochner.features import FourierMap
    from bochner.frequencies import rule_named
    from bochner.kernels import SquaredExponential

    kernel = SquaredExponential(length_scale=LENGTH_SCALE)
    return FourierMap(rule_named("quasi").draw(kernel, n_frequencies, 2, np.random.default_rng(0)), np.float32)


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
