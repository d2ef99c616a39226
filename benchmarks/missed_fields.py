"""Fields that defaults once missed, against what is true: far stretched ones, and rare counts.

    python benchmarks/missed_fields.py            stretched fields of 501 and 1,200 rows, rare counts of 200 to 499
    python benchmarks/missed_fields.py --seeds 6

Stretched: RMSE of a default fit over that of kriging by the true kernel, coverage of the surface by 95 % intervals.
Rare counts: coverage of the expected count by 95 % intervals, with the number of counts in all.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Matern

NOISE, N_NEW = 0.1, 300
# rows, length scales, smoothness, angle
STRETCHED = (
    (501, (0.05, 0.6), 0.5, 0.0),
    (1_200, (0.05, 0.5), 1.5, 0.0),
    (1_200, (0.04, 0.6), 1.5, 0.0),
    (1_200, (0.04, 0.6), 1.5, 0.6),
    (1_200, (0.05, 0.6), 0.5, 0.0),
)


def simulated(kernel: Matern, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, a field there, and its covariance."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    K = kernel.covariance(X, X)
    return X, np.linalg.cholesky(K + 1e-9 * np.eye(n)) @ rng.standard_normal(n), K


def stretched(n: int, scales: tuple[float, float], nu: float, angle: float, seed: int) -> str:
    kernel = Matern(scales, nu=nu, rotation=angle or None)
    X, truth, K = simulated(kernel, n + N_NEW, seed)
    y = truth[:n] + np.sqrt(NOISE) * np.random.default_rng(seed + 1_000).standard_normal(n)
    start = time.process_time()
    model = SpatialRegressor(n_jobs=1).fit(X[:n], y)
    seconds = time.process_time() - start
    mean, sd = model.predict(X[n:], return_std=True)
    best = K[n:, :n] @ np.linalg.solve(K[:n, :n] + NOISE * np.eye(n), y)
    ours, oracle = (np.sqrt(np.mean((m - truth[n:]) ** 2)) for m in (mean, best))
    inside = np.mean(np.abs(mean - truth[n:]) <= 1.96 * sd)
    return f"{ours / oracle:.3f}, {inside:.2f} inside, {seconds:.1f} s"


def rare_counts(n: int, seed: int) -> str:
    X, eta, _ = simulated(Matern(0.3, nu=1.5), n + N_NEW, seed)
    expected = np.exp(eta - 4)
    y = np.random.default_rng(seed + 1_000).poisson(expected[:n])
    if not y.any():
        return "no counts"
    low, high = SpatialRegressor(family="poisson", n_jobs=1).fit(X[:n], y).predict_interval(X[n:], level=0.95).T
    return f"{np.mean((low <= expected[n:]) & (expected[n:] <= high)):.2f} inside ({y.sum()} counts)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    for case in STRETCHED:
        print(*case, "|", "; ".join(stretched(*case, seed) for seed in seeds), flush=True)
    for n in (200, 300, 499):
        print(f"{n} rare counts |", "; ".join(rare_counts(n, seed) for seed in seeds), flush=True)


if __name__ == "__main__":
    main()
