"""Blunders: how much of the surface do Student's errors save?

    python benchmarks/student.py [--rows 300] [--fields 6] [--share 0.03]

Matern 3/2 fields of range .25 and variance 1 on the unit square, noise sd .2; a share of the rows is off by 20 noise
sds. Default fits, averaged over the fields, as Markdown: RMSE of the surface, coverage of its 95 % intervals and of
those of new observations (blunders among them), CPU seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Matern

NOISE, N_NEW, RANGE = 0.2, 600, 0.25
CASES = (("gaussian", False), ("gaussian", True), ("student", True), ("student", False))


def main() -> None:
    """Fit every field in every way, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--fields", type=int, default=6)
    parser.add_argument("--share", type=float, default=0.03)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = np.mean([scores(args.rows, args.share, seed) for seed in range(args.fields)], axis=0)
    print("| errors | blunders | RMSE | coverage of the surface | of new observations | CPU s |")
    print("|---|---|---|---|---|---|")
    for (family, spoiled), row in zip(CASES, found, strict=True):
        blunders = f"{args.share:.0%}" if spoiled else "none"
        print(f"| {family} | {blunders} | {row[0]:.4f} | {row[1]:.3f} | {row[2]:.3f} | {row[3]:.1f} |")


def scores(n: int, share: float, seed: int) -> list[tuple[float, ...]]:
    """RMSE, two coverages and CPU seconds of every case."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(n + N_NEW, 2))
    root = np.linalg.cholesky(Matern(RANGE).covariance(places, places) + 1e-8 * np.eye(len(places)))
    surface = root @ rng.normal(size=len(places))
    clean = surface + NOISE * rng.normal(size=len(places))
    off = 20 * NOISE * rng.choice([-1.0, 1.0], len(places)) * (rng.uniform(size=len(places)) < share)
    out = []
    for family, spoiled in CASES:
        y = clean + off * spoiled
        begin = time.process_time()
        model = SpatialRegressor(family=family).fit(places[:n], y[:n])
        seconds = time.process_time() - begin
        mean, sd = model.predict(places[n:], return_std=True)
        law = model.predict_distribution(places[n:], include_noise=True)
        inside = (law.quantile(0.025) <= y[n:]) & (y[n:] <= law.quantile(0.975))
        error = mean - surface[n:]
        out.append((np.sqrt(np.mean(error**2)), np.mean(np.abs(error) < 1.96 * sd), np.mean(inside), seconds))
    return out


if __name__ == "__main__":
    main()
