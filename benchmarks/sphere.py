"""Fields on the sphere: default fits against kriging with the true parameters, near and far from data.

    python benchmarks/sphere.py [--rows 20000] [--quick]

Rows lie on land-like patches of the globe, so that some places are near to them and some far. One line for every range
and smoothness: RMSE of the surface relative to kriging with the true kernel and noise, coverage of its 95 % intervals
near and far, CPU seconds of fit and prediction, and peak memory of the run so far.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.kernels import Matern

RADIUS, NOISE, N_TEST, N_WAVES = 6371.0, 0.1, 1_000, 20_000
RANGES, SMOOTHNESS = (500.0, 1500.0, 5000.0), (0.5, 1.5, 2.5)


def main() -> None:
    """Run every case, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--quick", action="store_true", help="one smoothness, 4,000 rows")
    args = parser.parse_args()
    n, smoothness = (4_000, (1.5,)) if args.quick else (args.rows, SMOOTHNESS)
    print("| range km | nu | RMSE near | of the truth's | RMSE far | of the truth's | cover near | far | CPU s | GB |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for length in RANGES:
        for nu in smoothness:
            print(line(n, length, nu), flush=True)


def line(n: int, length: float, nu: float) -> str:
    """One row of the table."""
    rng = np.random.default_rng(int(length * 10 + nu * 2))
    rows, places = patches(rng, n), on_sphere(rng, 20 * N_TEST)
    away = np.array([np.min(np.linalg.norm(rows - p, axis=1)) for p in places[: 4 * N_TEST]]) * RADIUS
    near = np.flatnonzero(away < 150)[:N_TEST]
    far = np.flatnonzero((away > 400) & (away < 2000))[:N_TEST]
    every = np.concatenate([rows, places[near], places[far]])
    field = draw(rng, Matern(length / RADIUS, nu=nu), every)
    y = field[:n] + NOISE * rng.standard_normal(n)
    table = pd.DataFrame(lonlat(every), columns=["lon", "lat"])
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, sd = SpatialRegressor().fit(table[:n], y).predict(table[n:], return_std=True)
    cpu = time.process_time() - begin
    true = SpatialRegressor(Matern(length, nu=nu), noise_variance=NOISE**2, tune=None).fit(table[:n], y)
    best = true.predict(table[n:])
    truth, parts = field[n:], (slice(0, len(near)), slice(len(near), None))
    cells = []
    for part in parts:
        ours, theirs = (float(np.sqrt(np.mean((m[part] - truth[part]) ** 2))) for m in (mean, best))
        cells += [f"{ours:.4f}", f"{ours / theirs:.3f}"]
    cover = [f"{np.mean(np.abs(mean[part] - truth[part]) < 1.96 * sd[part]):.3f}" for part in parts]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return f"| {length:.0f} | {nu} | {' | '.join(cells)} | {' | '.join(cover)} | {cpu:.0f} | {peak:.1f} |"


def on_sphere(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unit vectors, uniform on the sphere."""
    v = rng.standard_normal((n, 3))
    return v / np.linalg.norm(v, axis=1)[:, None]


def patches(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unit vectors within a few caps, as land is."""
    centres, found = on_sphere(rng, 12), np.empty((0, 3))
    while len(found) < n:
        v = on_sphere(rng, 8 * n)
        found = np.concatenate([found, v[(v @ centres.T).max(axis=1) > np.cos(0.45)]])
    return found[:n]


def draw(rng: np.random.Generator, kernel: Matern, v: np.ndarray) -> np.ndarray:
    """A field of variance 1 at unit vectors, as a sum of many random waves in space."""
    omega = kernel.frequencies(rng.uniform(size=(N_WAVES, kernel.n_uniforms(3))), 3)
    phase, out = rng.uniform(0, 2 * np.pi, N_WAVES), np.zeros(len(v))
    for i in range(0, N_WAVES, 500):
        out += np.cos(v @ omega[i : i + 500].T + phase[i : i + 500]).sum(axis=1)
    return out * np.sqrt(2 / N_WAVES)


def lonlat(v: np.ndarray) -> np.ndarray:
    """Longitude and latitude in degrees."""
    return np.degrees(np.column_stack([np.arctan2(v[:, 1], v[:, 0]), np.arcsin(v[:, 2])]))


if __name__ == "__main__":
    main()
