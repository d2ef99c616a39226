"""Large maps: pixels per second, memory and the error of interpolation, by kind of model.

    python benchmarks/maps.py [--side 10000] [--models survey survey-rough survey-covariate waves neighbours]

A square map with mean and sd (and a covariate raster where named so), streamed into a cloud-optimised GeoTIFF; each
model in a process of its own. `direct` is the speed at which the model itself predicts mean and sd at scattered places,
`CPU s` the time that the processors worked on the map (on a busy machine the better measure), `evaluated` the places
at which the model was evaluated as a share of the pixels, `worst sd` the largest error of interpolation at random
pixels, and `peak` the largest resident memory of the process. The map of 10,000 x 10,000 pixels must stay under 2 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Measure each model in a fresh process and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=10_000)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one, args.side)))
        return
    print(f"{args.side:,} x {args.side:,} pixels, mean and sd, GeoTIFF")
    head = f"{'model':<18} {'rows':>7} {'guess s':>8} {'map s':>8} {'CPU s':>6} {'pixels/s':>10} {'direct/s':>9}"
    print(f"{head} {'evaluated':>10} {'worst sd':>9} {'peak MB':>8} {'file MB':>8}")
    for name in args.models:
        command = [sys.executable, __file__, "--one", name, "--side", str(args.side)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{name:<18} failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        r = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{name:<18} {r['rows']:>7,} {r['guess']:>8.0f} {r['seconds']:>8.0f} {r['cpu']:>6.0f} {r['speed']:>10,.0f} "
            f"{r['direct']:>9,.0f} {r['evaluated']:>10.2%} {r['worst']:>9.1e} {r['peak']:>8.0f} {r['file']:>8.0f}",
            flush=True,
        )


def survey(rows: int, nu: float, covariate: bool = False) -> tuple[Any, list[str]]:
    """A survey with an exact kernel; kernel and noise are kept as they are."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    table, y = simulate(rows)
    covariates = ["elevation"] if covariate else []
    model = SpatialRegressor(
        Matern(0.15, nu=nu), noise_variance=0.05, tune=None, coords=["x", "y"], covariates=covariates or None
    )
    return model.fit(table, y), covariates


def many(rows: int, length_scale: float, nu: float, waves: int | str = "auto") -> tuple[Any, list[str]]:
    """Many rows on the lattice: so many waves, or conjugate gradients and neighbours."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    table, y = simulate(rows)
    kernel = Matern(length_scale, nu=nu)
    model = SpatialRegressor(
        kernel, features="lattice", n_frequencies=waves, noise_variance=0.05, tune=None, coords=["x", "y"]
    )
    return model.fit(table[["x", "y"]], y), []


MODELS = {
    "survey": lambda: survey(500, 1.5),
    "survey-rough": lambda: survey(500, 0.5),
    "survey-covariate": lambda: survey(500, 1.5, covariate=True),
    "waves": lambda: many(20_000, 0.5, 2.5, 600),
    "neighbours": lambda: many(20_000, 0.1, 0.5),
}


def simulate(rows: int) -> tuple[Any, np.ndarray]:
    """Places in the unit square, an elevation, and a smooth response with noise."""
    import pandas as pd

    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(2, rows))
    table = pd.DataFrame({"x": x, "y": y, "elevation": elevation(x, y)})
    response = np.sin(7 * x) * np.cos(5 * y) + table["elevation"] / 500 + 0.2 * rng.standard_normal(rows)
    return table, response.to_numpy()


def elevation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rough hills, in metres."""
    return 300 + 200 * np.sin(40 * x) * np.sin(31 * y) + 50 * np.sin(301 * x + 97 * y)


def elevation_raster(path: Path, side: int) -> Path:
    """The hills as a raster of the unit square, written in strips."""
    import rasterio
    from affine import Affine

    transform = Affine(1 / side, 0, 0, 0, -1 / side, 1)
    centres = (np.arange(side) + 0.5) / side
    with rasterio.open(
        path, "w", driver="GTiff", height=side, width=side, count=1, dtype="float32", transform=transform
    ) as file:  # fmt: skip
        for row in range(0, side, 500):
            y = 1 - centres[row : row + 500, None]
            file.write(elevation(centres[None, :], y).astype("f4"), 1, window=((row, row + len(y)), (0, side)))
    return path


def measure(name: str, side: int) -> dict[str, object]:
    """Fit one model, map it, and report."""
    from bochner.geo import RasterGrid
    from bochner.maps import estimate_map, map_to_file

    model, covariates = MODELS[name]()
    places = np.random.default_rng(1).uniform(size=(4_000, 2))
    table = simulate(4_000)[0][list(model.feature_names_in_)]
    table[["x", "y"]] = places
    model.predict(table[:100], return_std=True)
    begin = time.perf_counter()
    model.predict(table, return_std=True)
    direct = len(table) / (time.perf_counter() - begin)
    grid = RasterGrid((1 / side, 0, 0, 0, -1 / side, 1), side, side)
    with tempfile.TemporaryDirectory() as folder:
        options = {}
        if covariates:
            options["covariates"] = {"elevation": elevation_raster(Path(folder) / "elevation.tif", side)}
        guess = estimate_map(model, grid, **options)
        before = time.process_time()
        report = map_to_file(model, grid, Path(folder) / "map.tif", **options)
        cpu = time.process_time() - before
        size = report.path.stat().st_size
    return {
        "rows": len(model.training_responses()),
        "guess": guess.seconds,
        "seconds": report.seconds,
        "cpu": cpu,
        "speed": report.pixels_per_second,
        "direct": direct,
        "evaluated": report.tally.n_evaluated / grid.n_pixels if report.tally.n_evaluated else 1.0,
        "worst": report.tally.worst_error,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "file": size / 1e6,
    }


if __name__ == "__main__":
    main()
