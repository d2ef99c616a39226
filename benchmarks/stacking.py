"""Mixtures of kernels in images with gaps, against each kernel alone and against the best of them by score.

    python benchmarks/stacking.py [TABLE[:X,Y,VALUE] ...] [--windows 4] [--only NAME ...] [--size 120] [--seed 0]
                                  [--before REVISION] [--units] [--engine]

A TABLE is a Parquet file; without further names its first two columns are places and the third is the response. Windows
of a grid with gaps (heaton_satellite_train) lose pixels under moved and mirrored images of its own gaps, other tables
under clouds. Beside them simulated images are scored: stationary fields (exponential, Matern 3/2, rotated), sums of
scales, fields whose range, amplitude or roughness varies in space, and a rough field sounded along the tracks of ships.
Prints one line for each image: CRPS of new observations in the gaps by the default settings, by every candidate alone
and, where it is known, by the true kernel; coverage of 95 % intervals, the weights, CPU seconds of fit and prediction.
The last lines compare: ratio of default to each of them and to the best single candidate, mean and largest. `--before
REVISION` fits and predicts by the defaults of an earlier revision of this repository, too, in a process of its own
(cbf084a is the last one without mixtures).

`--units` asks another question of the windows of the tables, whose places must be degrees: what becomes of CRPS if they
are named longitude and latitude, if they are bare numbers, and if they are km. `--engine` asks what it costs that
kernels are judged by kriging from the nearest rows: it weighs them by the engine that predicts, too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from images import draw

NOISE = 0.05
CLOUDS = 0.25
WINDOW_ROWS = 0.8  # rows of a window of scattered ones, of the pixels of an image
LEAST_GAPS = 0.05  # of the pixels: an image with fewer has no gaps to move


def main() -> None:
    """Score the chosen images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE[:X,Y,VALUE]")
    parser.add_argument("--windows", type=int, default=4, help="of every table")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--size", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--before", metavar="REVISION", help="an earlier revision, to compare with its defaults")
    parser.add_argument("--units", action="store_true", help="degrees, bare degrees and km, of windows of the tables")
    parser.add_argument("--engine", action="store_true", help="weights by the engine that predicts, beside the own")
    args = parser.parse_args()
    if args.units or args.engine:
        compare_units(args) if args.units else compare_engines(args)
        return
    with tempfile.TemporaryDirectory() as folder, checkout(args.before, Path(folder) / "earlier") as earlier:
        score_all(args, earlier)


@dataclass(frozen=True)
class Image:
    """Rows that are known, places in gaps and what was observed there, and the true kernel (None: unknown)."""

    name: str
    X: np.ndarray
    y: np.ndarray
    places: np.ndarray
    truth: np.ndarray
    kernel: Any = None


def score_all(args: argparse.Namespace, earlier: Path | None) -> None:
    """A line for every image, then the comparisons."""
    worst, gained, true = [], [], []
    print(
        f"{'image':<26} {'rows':>7} {'default':>8} {'before':>8} {'true':>8} {'cover':>6} {'s':>5}  candidates; weights"
    )
    for image in images(args):
        found = scored(image, earlier)
        gained.append(found["default"] / found["before"])
        worst.append(found["default"] / min(found["single"].values()))
        true.append(found["default"] / found["true"])
        singles = " ".join(f"{k} {v:.4g}" for k, v in found["single"].items())
        print(
            f"{image.name:<26} {found['rows']:>7,} {found['default']:>8.4g} {found['before']:>8.4g} "
            f"{found['true']:>8.4g} "
            f"{found['cover']:>6.3f} {found['seconds']:>5.0f}  {singles}; {found['weights']}",
            flush=True,
        )
    print(f"{len(worst)} images")
    for name, each in (("best single candidate", worst), ("before", gained), ("true kernel", true)):
        if np.isfinite(each).any():
            print(f"default / {name}: mean {np.nanmean(each):.3f}, largest {np.nanmax(each):.3f}")


def images(args: argparse.Namespace) -> Iterator[Image]:
    """Those that were asked for."""
    every = [*simulated(args.size, args.seed), *(part for table in args.tables for part in windows(table, args))]
    for name, make in every:
        if not args.only or any(word in name for word in args.only):
            yield make()


Maker = tuple[str, Callable[[], Image]]


def simulated(n: int, seed: int) -> Iterator[Maker]:
    """Fields of a known kernel, fields that are not stationary, and soundings."""
    from bochner.kernels import Matern

    stationary = {
        "exponential": Matern(0.1 * n, nu=0.5),
        "matern 3/2": Matern(0.08 * n, nu=1.5),
        "rotated": Matern((0.2 * n, 0.07 * n), nu=0.5, rotation=0.6),
        "two scales": Matern(0.02 * n, 0.2, nu=1.5) + Matern(0.3 * n, 1.0, nu=0.5),
    }
    for i, (name, kernel) in enumerate(stationary.items()):
        yield name, partial(of_kernel, name, kernel, n, np.random.default_rng([seed, 1, i]))
    for i, name in enumerate(("varying range", "varying amplitude", "varying roughness", "slope and bumps")):
        yield name, partial(of_varying, name, n, np.random.default_rng([seed, 2, i]))
    yield "soundings", partial(soundings, 4 * n, np.random.default_rng([seed, 4]))


def of_kernel(name: str, kernel: Any, n: int, rng: np.random.Generator) -> Image:
    return gridded(name, observed(draw(kernel, (n, n), rng), rng), clouds((n, n), rng), kernel)


def of_varying(name: str, n: int, rng: np.random.Generator) -> Image:
    return gridded(name, observed(varying(name, (n, n), rng), rng), clouds((n, n), rng))


def gridded(name: str, image: np.ndarray, gap: np.ndarray, kernel: Any = None) -> Image:
    """Pixels of an image with NaN where nothing is known, less those to hold out."""
    known = np.isfinite(image)
    train, test = known & ~gap, known & gap
    return Image(name, np.argwhere(train) * 1.0, image[train], np.argwhere(test) * 1.0, image[test], kernel)


def soundings(n: int, rng: np.random.Generator) -> Image:
    """Depths of a rough floor with a slope along the tracks of ships; some of the tracks are wanted."""
    from bochner.kernels import Matern

    floor = draw(Matern(0.15 * n, 400.0**2, nu=1.2), (n, n), rng) + np.linspace(0, 2000.0, n)
    tracks, each = 60, 3 * n // 8
    ends = rng.uniform(0, n - 1, size=(2, tracks, 1, 2))
    share = np.sort(rng.uniform(size=(tracks, each, 1)), axis=1)
    bend = (
        0.02 * n * np.sin(2 * np.pi * (share * rng.uniform(0.5, 2, (tracks, 1, 1)) + rng.uniform(size=(tracks, 1, 1))))
    )
    places = np.clip(ends[0] + share * (ends[1] - ends[0]) + bend, 0, n - 1)
    i, j = np.rint(places).astype(int).reshape(-1, 2).T
    depth = floor[i, j] + 20.0 * rng.standard_normal(len(i))
    held = np.repeat(rng.uniform(size=tracks) < CLOUDS, each)
    at = places.reshape(-1, 2)
    return Image("soundings", at[~held], depth[~held], at[held], depth[held])


def observed(field: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return field + np.sqrt(NOISE) * rng.standard_normal(field.shape)


def clouds(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Pixels under clouds of several sizes."""
    from bochner.kernels import Matern

    reach = rng.choice([0.04, 0.08, 0.15])
    level = draw(Matern(reach * shape[0], nu=2.5), shape, rng)
    return np.asarray(level > np.quantile(level, 1 - CLOUDS))


def varying(name: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """A field that is not stationary."""
    from bochner.kernels import Matern

    n = shape[0]
    across = np.linspace(0, 1, n)[:, None] * np.ones(shape)
    rough, smooth = draw(Matern(0.06 * n, nu=0.5), shape, rng), draw(Matern(0.15 * n, nu=1.5), shape, rng)
    if name == "varying range":
        return np.sqrt(1 - across) * rough + np.sqrt(across) * draw(Matern(0.4 * n, nu=0.5), shape, rng)
    if name == "varying amplitude":
        return np.asarray((0.4 + 1.6 * across) * rough)
    if name == "varying roughness":
        return np.sqrt(1 - across) * rough + np.sqrt(across) * smooth
    return 3 * across + np.exp(0.8 * smooth) * rough


def windows(table: str, args: argparse.Namespace) -> Iterator[Maker]:
    """Windows of a table: of a grid with gaps, under its own gaps mirrored and moved; of others, under clouds."""
    path, names = (*table.split(":"), "")[:2]
    frame = pd.read_parquet(path)
    x, y, value = names.split(",") if names else frame.columns[:3]
    frame = frame[[x, y, value]].dropna()
    name = f"{Path(path).stem.split('_')[1]} {value}" if "_" in Path(path).stem else f"{Path(path).stem} {value}"
    image = frame.pivot_table(index=y, columns=x, values=value)
    for k in range(args.windows):
        rng = np.random.default_rng([args.seed, 3, k])
        told = f"{name} {k + 1}"
        if image.size < 2 * len(frame):
            yield told, partial(window_of_grid, told, image, k, args.size, rng)
        else:
            yield told, partial(window_of_rows, told, frame.to_numpy(dtype=float), int(WINDOW_ROWS * args.size**2), rng)


def window_of_grid(name: str, image: Any, k: int, size: int, rng: np.random.Generator) -> Image:
    """A window of an image that loses pixels; places as the table gives them."""
    table, lat, lon = image.to_numpy(), image.index.to_numpy(), image.columns.to_numpy()
    rows, columns = table.shape
    height, width = min(size, rows), min(size + 10, columns)
    gap = np.isnan(table)
    i, j = int(rng.integers(rows - height + 1)), int(rng.integers(columns - width + 1))
    part = np.s_[i : i + height, j : j + width]
    if gap.mean() < LEAST_GAPS:
        cover = clouds((height, width), rng)
    elif k % 2:
        cover = np.roll(gap, (int(rng.integers(rows)), int(rng.integers(columns))), axis=(0, 1))[part]
    else:
        cover = gap[:: rng.choice([-1, 1]), ::-1][part]
    found = gridded(name, table[part], cover)

    def at(pixels: np.ndarray) -> np.ndarray:
        down, across = pixels.astype(int).T
        return np.column_stack([lon[j + across], lat[i + down]])

    return replace(found, X=at(found.X), places=at(found.places))


def window_of_rows(name: str, rows: np.ndarray, most: int, rng: np.random.Generator) -> Image:
    """A square window of scattered rows that loses those under clouds."""
    middle = rows[rng.integers(len(rows)), :2]
    away = np.max(np.abs((rows[:, :2] - middle) / np.ptp(rows[:, :2], axis=0)), axis=1)
    rows = rows[away <= np.sort(away)[min(most, len(rows)) - 1]]
    low, size = rows[:, :2].min(axis=0), np.ptp(rows[:, :2], axis=0)
    n = 100
    pixel = np.minimum((n * (rows[:, :2] - low) / size).astype(int), n - 1)
    gap = clouds((n, n), rng)[tuple(pixel.T)]
    return Image(name, rows[~gap, :2], rows[~gap, 2], rows[gap, :2], rows[gap, 2])


# --------------------------------------------------------------------------- units of places


def compare_units(args: argparse.Namespace) -> None:
    """CRPS of windows of the tables with places in degrees, bare degrees and km."""
    from bochner import SpatialRegressor

    print(f"{'image':<26} {'rows':>7} {'degrees':>9} {'bare':>9} {'km':>9}  ratio of largest to smallest; kernels")
    for table in args.tables:
        for name, make in windows(table, args):
            if args.only and not any(word in name for word in args.only):
                continue
            image, found, told = make(), [], []
            for X, places in in_units(image):
                model = SpatialRegressor().fit(X, image.y)
                law = model.predict_distribution(places, include_noise=True)
                found.append(float(np.mean(law.crps(image.truth))))
                told.append(weights_of(model))
            print(
                f"{name:<26} {len(image.y):>7,} {found[0]:>9.4f} {found[1]:>9.4f} {found[2]:>9.4f}  "
                f"{max(found) / min(found):.4f}; {' | '.join(told)}",
                flush=True,
            )


def in_units(image: Image) -> Iterator[tuple[Any, Any]]:
    """Known and wanted places: named degrees, bare numbers, km about the middle."""
    middle = np.radians(image.X[:, 1].mean())
    km = np.array([111.32 * np.cos(middle), 110.57])
    yield tuple(pd.DataFrame(part, columns=["lon", "lat"]) for part in (image.X, image.places))  # type: ignore[misc]
    yield image.X, image.places
    yield image.X * km, image.places * km


def weights_of(model: Any) -> str:
    """Kernels and weights, in short."""
    return f"{model.choices_['kernel'].value}, {model.choices_['judge'].value}"


# --------------------------------------------------------------------------- who judges kernels


def compare_engines(args: argparse.Namespace) -> None:
    """CRPS of images whose kernels were weighed by kriging from the nearest rows, and by the engine itself."""
    print(f"{'image':<26} {'rows':>7} {'nearest':>9} {'s':>5} {'engine':>9} {'s':>5}  ratio; weights by either")
    for image in images(args):
        near = fitted_and_scored(image)
        with judged_by_engine():
            whole = fitted_and_scored(image)
        print(
            f"{image.name:<26} {len(image.y):>7,} {near[0]:>9.4g} {near[1]:>5.0f} {whole[0]:>9.4g} {whole[1]:>5.0f}  "
            f"{near[0] / whole[0]:.4f}; {near[2]} | {whole[2]}",
            flush=True,
        )


def fitted_and_scored(image: Image) -> tuple[float, float, str]:
    """CRPS by default settings, CPU seconds and weights."""
    from bochner import SpatialRegressor

    start = time.process_time()
    model = SpatialRegressor().fit(image.X, image.y)
    law = model.predict_distribution(image.places, include_noise=True)
    return float(np.mean(law.crps(image.truth))), time.process_time() - start, weights_of(model)


@contextmanager
def judged_by_engine() -> Iterator[None]:
    """Rows in gaps are predicted from all rows outside of them."""
    from bochner import SpatialRegressor
    from bochner.inference.fits.folds import MAX_LOCAL_TARGETS, HeldOut, stacked
    from bochner.inference.learning import judge
    from bochner.random import generator

    def by_engine(pairs: Any, obs: Any, folds: Any, nearest: Any = None) -> list[Any]:
        most = MAX_LOCAL_TARGETS
        parts: list[list[Any]] = [[] for _ in pairs]
        for k, (train, test) in enumerate(folds):
            if len(test) > most:
                test = np.sort(generator(k, "held-out rows").choice(test, most, replace=False))
            for (kernel, noise), done in zip(pairs, parts, strict=True):
                model = SpatialRegressor(kernel, noise_variance=noise, tune=None)
                model.fit(obs.rows.coords[train], obs.y[train])
                mean, sd = model.predict(obs.rows.coords[test], return_std=True)
                done.append(HeldOut(np.asarray(test), np.full(len(test), k), mean, sd**2))
        return [stacked(done) for done in parts]

    locally, judge.held_out_by_each = judge.held_out_by_each, by_engine
    try:
        yield
    finally:
        judge.held_out_by_each = locally


# --------------------------------------------------------------------------- scores


@contextmanager
def checkout(revision: str | None, folder: Path) -> Iterator[Path | None]:
    """The sources of an earlier revision, for as long as they are needed."""
    if revision is None:
        yield None
        return
    git = ["git", "-C", str(Path(__file__).parent), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), revision], check=True)
    try:
        yield folder / "src"
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


BEFORE = """
import sys, warnings
import numpy as np
from bochner import SpatialRegressor
warnings.simplefilter("ignore")
rows = np.load(sys.argv[1])
model = SpatialRegressor().fit(rows["X"], rows["y"])
mean, sd = model.predict(rows["places"], return_std=True, include_noise=True)
np.savez(sys.argv[1], mean=mean, sd=sd)
"""


def by_earlier(source: Path | None, X: np.ndarray, y: np.ndarray, places: np.ndarray, truth: np.ndarray) -> float:
    """CRPS by the defaults of an earlier revision."""
    from bochner.validation import crps

    if source is None:
        return float("nan")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, X=X, y=y, places=places)
        path_first = dict(os.environ, PYTHONPATH=str(source))
        subprocess.run([sys.executable, "-c", BEFORE, str(path)], check=True, env=path_first)
        with np.load(path) as found:
            return float(crps(truth, found["mean"], found["sd"]))


def scored(image: Image, earlier: Path | None) -> dict[str, Any]:
    """CRPS of everything on the pixels held out."""
    from bochner import SpatialRegressor
    from bochner.validation import coverage, crps

    X, y, places, truth = image.X, image.y, image.places, image.truth
    start = time.process_time()
    with recorded() as seen:
        model = SpatialRegressor().fit(X, y)
    law = model.predict_distribution(places, include_noise=True)
    low, high = law.interval(0.95).T
    default = float(np.mean(law.crps(truth)))
    seconds = time.process_time() - start

    def alone(k: Any, noise: float) -> float:
        mean, sd = (
            SpatialRegressor(k, noise_variance=noise, tune=None)
            .fit(X, y)
            .predict(places, return_std=True, include_noise=True)
        )
        return float(crps(truth, mean, sd))

    return {
        "rows": len(y),
        "default": default,
        "before": by_earlier(earlier, X, y, places, truth),
        "single": {name: alone(*pair) for part in seen for name, pair in part} or {"all": default},
        "true": alone(image.kernel, NOISE) if image.kernel is not None else float("nan"),
        "cover": float(coverage(truth, low, high)),
        "seconds": seconds,
        "weights": weights_of(model),
    }


@contextmanager
def recorded() -> Iterator[list[list[tuple[str, Any]]]]:
    """The candidates of a fit."""
    from bochner.inference.learning import learned

    kept: list[list[tuple[str, Any]]] = []
    judge = learned.judge

    def recording(geometry: Any, names: Any, pairs: Any, odds: Any) -> Any:
        kept.append(list(zip(names, pairs, strict=True)))
        return judge(geometry, names, pairs, odds)

    learned.judge = recording
    try:
        yield kept
    finally:
        learned.judge = judge


if __name__ == "__main__":
    main()
