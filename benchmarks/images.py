"""Simulated images with gaps by default settings, against kriging with the kernel that made them.

    python benchmarks/images.py [--side 500 1000 2000] [--stack 30 400 500] [--field exponential matern32] [--quick]

Fields of variance 1 and noise variance 0.05 on a regular grid, drawn on a torus; a quarter of the pixels is missing: a
fifth under clouds (a smooth field above a level), the others one by one. Every model is given the pixels that are left
and fills the others. The yardstick is the same engine with the true kernel and noise. Prints one line for each image:
pixels given, RMSE of the filled surface and its ratio to the yardstick's, coverage of 95 % intervals of the surface
near data (at most 2 pixels away) and inside gaps, CPU seconds of fit and of filling with sd, peak memory of all of it
(above that of the imports), and who answered. Each image has a process of its own. `--quick` takes sides 120 and
200 and a small stack.
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

NOISE = 0.05
RANGE = 0.05  # length scale, of the longest side
LASTS = 0.15  # length scale in time, of the frames
CLOUDS, SINGLE = 0.2, 0.0625  # shares of pixels missing under clouds, and of the others one by one
NEAR = 2.0  # pixels
SMOOTHNESS = {"exponential": 0.5, "matern32": 1.5}


def main() -> None:
    """Score the chosen images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, nargs="*")
    parser.add_argument("--stack", type=int, nargs="*")
    parser.add_argument("--field", nargs="*", default=list(SMOOTHNESS), choices=list(SMOOTHNESS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-yardstick", action="store_true")
    args = parser.parse_args()
    some = args.side is not None or args.stack is not None
    sides = args.side if some else [120, 200] if args.quick else [500, 1000, 2000]
    stack = args.stack if some else [10, 60, 80] if args.quick else [30, 400, 500]
    shapes = [(side, side) for side in sides or []] + ([tuple(stack)] if stack else [])
    print(
        f"{'image':>14} {'field':<11} {'given':>9} {'rmse':>7} {'ratio':>6} {'near':>5} {'inside':>6} {'fit s':>6} "
        f"{'fill s':>6} {'GB':>5}  scheme"
    )
    for shape in shapes:
        for field in args.field:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                print(pool.submit(line, shape, field, args.seed, not args.no_yardstick).result(), flush=True)


def line(shape: tuple[int, ...], field: str, seed: int, yardstick: bool) -> str:
    """What one image shows."""
    from scipy import ndimage

    from bochner import SpatialRegressor

    rng = np.random.default_rng([seed, *shape, list(SMOOTHNESS).index(field)])
    kernel = kernel_of(shape, SMOOTHNESS[field])
    truth = draw(kernel, shape, rng)
    seen = ~gaps(shape, rng)
    y = truth[seen] + np.sqrt(NOISE) * rng.standard_normal(int(seen.sum()))
    X, places = np.argwhere(seen).astype(float), np.argwhere(~seen).astype(float)
    away = ndimage.distance_transform_edt(~seen)[~seen]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    model = SpatialRegressor().fit(X, y)
    fitted = time.process_time()
    mean, sd = model.predict(places, return_std=True)
    filled = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    error = mean - truth[~seen]
    rmse, ratio = float(np.sqrt(np.mean(error**2))), float("nan")
    if yardstick:
        best = SpatialRegressor(kernel, noise_variance=NOISE, tune=None).fit(X, y).predict(places)
        ratio = rmse / float(np.sqrt(np.mean((best - truth[~seen]) ** 2)))
    held = np.abs(error) <= 1.96 * sd
    near, inside = (float(held[part].mean()) for part in (away <= NEAR, away > NEAR))
    return (
        f"{' x '.join(map(str, shape)):>14} {field:<11} {len(y):>9,} {rmse:7.4f} {ratio:6.3f} {near:5.3f} "
        f"{inside:6.3f} {fitted - start:6.1f} {filled - fitted:6.1f} {peak / 1e6:5.2f}  "
        f"{model.fitted_.model.scheme}; {model.kernel_}"
    )


def kernel_of(shape: tuple[int, ...], nu: float):  # type: ignore[no-untyped-def]
    """Kernel of an image, or of a stack, whose first axis is time."""
    from bochner.kernels import Matern

    space = RANGE * max(shape)
    return Matern(space, nu=nu) if len(shape) == 2 else Matern((LASTS * shape[0], space, space), nu=nu)


def draw(kernel, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:  # type: ignore[no-untyped-def]
    """A field of a kernel on a grid, from a torus twice as wide."""
    from scipy import fft

    counts = [fft.next_fast_len(2 * n, real=True) for n in shape]
    lags = [n * fft.fftfreq(n) for n in counts]  # with their signs: a rotated kernel knows them
    covariance = np.empty(counts)
    for i, lag in enumerate(lags[0]):
        rest = np.stack(np.meshgrid(*lags[1:], indexing="ij"), axis=-1).reshape(-1, len(shape) - 1)
        covariance[i] = kernel.lag_covariance(np.column_stack([np.full(len(rest), lag), rest])).reshape(counts[1:])
    power = np.maximum(fft.rfftn(covariance).real, 0.0)
    waves = fft.rfftn(rng.standard_normal(counts)) * np.sqrt(power)
    return np.asarray(fft.irfftn(waves, s=counts)[tuple(slice(n) for n in shape)])


def gaps(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Which pixels are missing."""
    from bochner.kernels import Matern

    space = RANGE * max(shape)
    clouds = Matern(space, nu=2.5) if len(shape) == 2 else Matern((2.0, space, space), nu=2.5)
    level = draw(clouds, shape, rng)
    return np.asarray((level > np.quantile(level, 1 - CLOUDS)) | (rng.uniform(size=shape) < SINGLE))


if __name__ == "__main__":
    main()
