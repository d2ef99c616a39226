"""Time and memory that are told before a fit, against what it takes.

    python benchmarks/fit_estimates.py [--only WORD ...]

Tables, images with gaps and stacks of them, made here; each fit in a process of its own, on one thread. `told` is what
`bochner fit` and the studio say before; `CPU s` is the time that the processor worked, which other work on the machine
hardly changes; memory is the peak of the process beyond what it held before the fit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

# name: rows, dimensions, family, kernel (None: the library's choice), whether it is an image with gaps
SIZES = (100, 300, 400, 1000, 1400, 2800, 3000, 5000, 10000, 30000, 100000)
KERNELS = {"": None, " matern32": "matern32"}
OTHERS = ("poisson", "negative-binomial", "gamma", "student")
CASES: dict[str, tuple[int, int, str, str | None, bool]] = {
    **{f"table {n}{name}": (n, 2, "gaussian", kernel, False) for name, kernel in KERNELS.items() for n in SIZES},
    **{f"survey {n}{name}": (n, 2, "binomial", kernel, False) for name, kernel in KERNELS.items() for n in SIZES},
    **{f"presence {n}{name}": (n, 2, "bernoulli", kernel, False) for name, kernel in KERNELS.items() for n in SIZES},
    **{f"{family} {n}": (n, 2, family, None, False) for family in OTHERS for n in SIZES[1::2]},
    "image 400": (400, 2, "gaussian", None, True),
    "image 1000": (1000, 2, "gaussian", None, True),
    "image 1000 matern32": (1000, 2, "gaussian", "matern32", True),
    "image 2800 matern32": (2800, 2, "gaussian", "matern32", True),
    "image 2800": (2800, 2, "gaussian", None, True),
    "image 6000": (6000, 2, "gaussian", None, True),
    "image 20000": (20000, 2, "gaussian", None, True),
    "stack 2000": (2000, 3, "gaussian", None, True),
    "stack 6000": (6000, 3, "gaussian", None, True),
}


def main() -> None:
    """Fit every case, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--case", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        print(json.dumps(measured(args.case)))
        return
    print(f"{'fit':<24}{'told s':>8}{'CPU s':>9}{'wall s':>9}{'told MB':>9}{'MB':>8}", flush=True)
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for name in CASES:
        if args.only and not any(word in name for word in args.only):
            continue
        done = subprocess.run([sys.executable, __file__, "--case", name], capture_output=True, text=True, env=own)
        if done.returncode:
            print(f"{name:<24}{(done.stderr.strip().splitlines() or ['ended'])[-1]}", flush=True)
            continue
        r = json.loads(done.stdout.splitlines()[-1])
        times = f"{r['told']:>8.0f}{r['cpu']:>9.1f}{r['wall']:>9.1f}"
        print(f"{name:<24}{times}{r['told_bytes'] / 1e6:>9.0f}{r['bytes'] / 1e6:>8.0f}", flush=True)


def measured(name: str) -> dict[str, float]:
    """Cost of a case, told and taken."""
    import resource

    from bochner import SpatialRegressor
    from bochner.estimators.fit_cost import fit_cost
    from bochner.families import family_named

    n, dim, family, kernel, gaps = CASES[name]
    table, y, wanted, sizes = data(n, dim, family, gaps)
    told = fit_cost(n, dim, 1, family_named(family), learns=True, searches=kernel is None)
    model = SpatialRegressor(kernel, family=family, n_jobs=1, random_state=0)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    warnings.simplefilter("ignore")
    begun, started = time.process_time(), time.perf_counter()
    model.fit(table, y, predict_at=wanted, **sizes)
    cpu, wall = time.process_time() - begun, time.perf_counter() - started
    peak = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held)
    return {"told": told.seconds, "cpu": cpu, "wall": wall, "told_bytes": told.memory_bytes, "bytes": peak}


def data(n: int, dim: int, family: str, gaps: bool) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Coordinates, response, gaps and sizes: a field of two scales with noise, scattered or on pixels with holes."""
    rng = np.random.default_rng(0)
    if not gaps:
        coords, wanted = rng.uniform(0, 100, (n, dim)), None
    else:
        steps = 3 if dim == 3 else 1
        side = int(np.sqrt(n / steps / 0.88))
        axes = np.meshgrid(np.arange(side), np.arange(side), np.arange(steps), indexing="ij")
        pixels = np.column_stack([axis.ravel() for axis in axes]).astype(float)[:, :dim]
        holes = side * rng.uniform(0.1, 0.9, (6, 2))
        distance = np.linalg.norm(pixels[:, None, :2] - holes, axis=2).min(axis=1)
        order = np.argsort(distance, kind="stable")
        wanted, coords = pixels[order[: len(pixels) - n]], pixels[np.sort(order[len(pixels) - n :])]
    x, y = coords[:, 0] / np.ptp(coords[:, 0]), coords[:, 1] / np.ptp(coords[:, 1])
    eta = np.sin(6 * x) + np.cos(5 * y) + 0.3 * np.sin(25 * x * y + 9 * y) + (0.2 * coords[:, 2] if dim == 3 else 0)
    noise = 0.1 * rng.normal(size=len(coords))
    simple = {
        "gaussian": lambda: eta + noise,
        "student": lambda: eta + 0.1 * rng.standard_t(4, size=len(coords)),
        "bernoulli": lambda: rng.binomial(1, 1 / (1 + np.exp(-eta))),
        "poisson": lambda: rng.poisson(3 * np.exp(eta)),
        "negative-binomial": lambda: rng.poisson(3 * np.exp(eta) * rng.gamma(4, 1 / 4, size=len(coords))),
        "gamma": lambda: np.exp(eta) * rng.gamma(4, 1 / 4, size=len(coords)),
    }
    if family in simple:
        return coords, simple[family](), wanted, {}
    trials = rng.integers(20, 60, len(coords))
    return coords, rng.binomial(trials, 1 / (1 + np.exp(-eta))), wanted, {"trials": trials}


if __name__ == "__main__":
    main()
