"""Stations that report at many times: whole stations left out, by default fits and with the true kernel.

    python benchmarks/stations.py [--simulations 20] [--quick]

Two kinds of truth: a product of space and time, and one Matern field of both. Printed: RMSE of new observations at the
stations left out relative to kriging with the true kernel, coverage of 95 % intervals, CPU seconds of a fit.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.kernels import Matern, Separable

N_STATIONS, N_TIMES, N_OUT, NOISE = 56, 70, 8, 0.3
TRUTHS = {
    "a product": Separable(Matern(80.0, nu=0.5), Matern(5.0, nu=0.5)),
    "one Matern field": Matern((80.0, 80.0, 5.0), nu=0.5),
}


def main() -> None:
    """Run the simulations, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two simulations of each truth")
    args = parser.parse_args()
    n = 2 if args.quick else args.simulations
    print("| truth | simulations | RMSE of the truth's | coverage | CPU s a fit |")
    print("|---|---:|---:|---:|---:|")
    for name, kernel in TRUTHS.items():
        found = np.array([simulated(kernel, seed) for seed in range(n)])
        ratio = np.sqrt(np.mean(found[:, 0]) / np.mean(found[:, 1]))
        print(f"| {name} | {n} | {ratio:.4f} | {found[:, 2].mean():.3f} | {found[:, 3].mean():.0f} |", flush=True)


def simulated(kernel: Matern | Separable, seed: int) -> tuple[float, float, float, float]:
    """Mean squared errors of a default fit and of the truth's, coverage, CPU seconds."""
    rng = np.random.default_rng(seed)
    places, times = rng.uniform(0, 300, (N_STATIONS, 2)), np.arange(N_TIMES)
    station = np.repeat(np.arange(N_STATIONS), N_TIMES)
    X = pd.DataFrame(places[station], columns=["x", "y"]).assign(time=np.tile(times, N_STATIONS).astype(float))
    covariance = kernel(X.to_numpy())
    root = np.linalg.cholesky(covariance + 1e-8 * np.eye(len(X)))
    y = root @ rng.standard_normal(len(X)) + NOISE * rng.standard_normal(len(X))
    out = station >= N_STATIONS - N_OUT
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpatialRegressor().fit(X[~out], y[~out], groups=station[~out])
        law = model.predict_distribution(X[out], include_noise=True)
        mean, interval = law.mean, law.interval(0.95)
    cpu = time.process_time() - begin
    seen = covariance[np.ix_(~out, ~out)] + NOISE**2 * np.eye(int((~out).sum()))
    best = covariance[np.ix_(out, ~out)] @ np.linalg.solve(seen, y[~out])
    held = y[out]
    cover = np.mean((held > interval[:, 0]) & (held < interval[:, 1]))
    return float(np.mean((mean - held) ** 2)), float(np.mean((best - held) ** 2)), float(cover), cpu


if __name__ == "__main__":
    main()
