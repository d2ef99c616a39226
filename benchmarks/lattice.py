"""The lattice at scale: wall time, memory and NUFFT throughput against the number of rows.

    python benchmarks/lattice.py [--rows 1e5 1e6 1e7 3e7]

A Matern 3/2 kernel (length scale 0.1 of the square, noise a tenth of the variance), fixed, in 2-D; each size in a
process of its own. Beside the whole fit it times the bare NUFFT calls that the fit needs. Time should grow
linearly, memory stay flat apart from the rows, and 1e7 rows take at most 3 times their NUFFT calls.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np


def main() -> None:
    """Measure each size in a fresh process and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e5, 1e6, 1e7, 3e7])
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(int(args.one))))
        return
    head = f"{'rows':>12} {'fit s':>8} {'NUFFT s':>8} {'ratio':>6} {'Mpts/s':>7}"
    print(f"{head} {'rows MB':>8} {'peak MB':>8} {'waves':>6}  solver")
    for n in args.rows:
        done = subprocess.run([sys.executable, __file__, "--one", str(n)], capture_output=True, text=True, check=True)
        r = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{r['rows']:>12,} {r['fit']:>8.2f} {r['nufft']:>8.2f} {r['fit'] / r['nufft']:>6.2f} {r['speed']:>7.2f} "
            f"{r['rows_mb']:>8.0f} {r['peak_mb']:>8.0f} {r['waves']:>6}  {r['solver']}",
            flush=True,
        )


def measure(n: int) -> dict[str, object]:
    """Fit n simulated rows; time the fit and the transforms that it needs."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    rng = np.random.default_rng(0)
    SpatialRegressor(Matern(0.3), features="lattice", tune=None, noise_variance=0.1).fit(
        rng.uniform(size=(500, 2)), rng.standard_normal(500)
    )  # imports and plans
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    X = rng.random((n, 2))
    y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1])
    y += np.sqrt(0.1) * rng.standard_normal(n)
    begin = time.perf_counter()
    model = SpatialRegressor(Matern(0.1, nu=1.5), features="lattice", tune=None, noise_variance=0.1).fit(X, y)
    fit = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    transform, speed = 0.0, 0.0
    if model.n_frequencies_:
        begin = time.perf_counter()
        bare_sums(X, y, model.fitted_.model.posterior.waves.lattice.half_width)
        transform = time.perf_counter() - begin
        speed = 3 * n / transform / 1e6
    return {
        "rows": n, "fit": fit, "nufft": transform or fit, "speed": speed, "rows_mb": 24 * n / 1e6,
        "peak_mb": peak - base, "waves": model.n_frequencies_ or 0, "solver": model.choices_["solver"],
    }  # fmt: skip


def bare_sums(X: np.ndarray, y: np.ndarray, half_width: Sequence[int]) -> None:
    """The transforms that the sums over rows need, of a lattice so many waves wide."""
    from bochner import nufft

    half = np.array(half_width)
    for start in range(0, len(X), 4_000_000):
        part = 6.0 * (X[start : start + 4_000_000] - 0.5)
        nufft.type1(part, np.ones((1, len(part))), tuple(4 * half + 1), eps=1e-10)
        strengths = np.vstack([np.ones(len(part)), y[start : start + 4_000_000]])
        nufft.type1(part, strengths, tuple(2 * half + 1), eps=1e-10)


if __name__ == "__main__":
    main()
