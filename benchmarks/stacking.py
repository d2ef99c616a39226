"""Mixtures of kernels in images with gaps, against each kernel alone and against the best of them by score.

    python benchmarks/stacking.py [SATELLITE] [--only NAME ...] [--size 120] [--seed 0] [--before REVISION]

SATELLITE is the Parquet file heaton_satellite_train (lon, lat, temp on a grid with gaps): windows of it lose pixels
under moved and mirrored images of its own gaps. Without it only simulated images are scored: stationary fields
(exponential, Matern 3/2, rotated), sums of scales, and fields whose range, amplitude or roughness varies in space.
Prints one line for each image: CRPS of new observations in the gaps by the default settings, by the winner that takes
all (three folds, as before there were mixtures), by every candidate alone and, where it is known, by the true kernel;
coverage of 95 % intervals, the weights, CPU seconds of fit and prediction. The last lines compare: ratio of default to
winner, and to the best single candidate, mean and largest. `--before REVISION` fits and predicts by the defaults of an
earlier revision of this repository, too, in a process of its own (afc7cac is the last one without mixtures).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from images import draw

NOISE = 0.05
CLOUDS = 0.25
SHORT = {"one Matern field": "one", "a sum of short, middle and long Matern fields": "sum3"}
SHORT |= {"one exponential field": "exp", "a sum of two exponential fields": "exp2"}


def main() -> None:
    """Score the chosen images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("satellite", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--size", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--before", metavar="REVISION", help="an earlier revision, to compare with its defaults")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, checkout(args.before, Path(folder) / "earlier") as earlier:
        score_all(args, earlier)


def score_all(args: argparse.Namespace, earlier: Path | None) -> None:
    """A line for every image, then the comparisons."""
    ratios, worst, gained = [], [], []
    print(
        f"{'image':<22} {'rows':>7} {'default':>8} {'before':>8} {'winner':>8} {'true':>8} {'cover':>6} {'s':>5}"
        "  candidates; weights"
    )
    for name, image, gap, kernel in images(args):
        if args.only and not any(word in name for word in args.only):
            continue
        found = scored(image, gap, kernel, earlier)
        gained.append(found["default"] / found["before"])
        ratios.append(found["default"] / found["winner"])
        worst.append(found["default"] / min(found["single"].values()))
        singles = " ".join(f"{SHORT.get(k, k)} {v:.4g}" for k, v in found["single"].items())
        print(
            f"{name:<22} {found['rows']:>7,} {found['default']:>8.4f} {found['before']:>8.4f} "
            f"{found['winner']:>8.4f} {found['true']:>8.4f} "
            f"{found['cover']:>6.3f} {found['seconds']:>5.0f}  {singles}; {found['weights']}",
            flush=True,
        )
    if ratios:
        print(f"default / winner: mean {np.mean(ratios):.3f}, largest {np.max(ratios):.3f}")
        print(f"default / best single candidate: mean {np.mean(worst):.3f}, largest {np.max(worst):.3f}")
    if gained and earlier is not None:
        print(f"default / before: mean {np.mean(gained):.3f}, largest {np.max(gained):.3f}")


def images(args: argparse.Namespace) -> Iterator[tuple[str, np.ndarray, np.ndarray, Any]]:
    """Name, image with NaN where nothing is known, pixels to hold out, and the true kernel (None: unknown)."""
    from bochner.kernels import Matern

    shape, n = (args.size, args.size), args.size
    stationary = {
        "exponential": Matern(0.1 * n, nu=0.5),
        "matern 3/2": Matern(0.08 * n, nu=1.5),
        "rotated": Matern((0.2 * n, 0.07 * n), nu=0.5, rotation=0.6),
        "two scales": Matern(0.02 * n, 0.2, nu=1.5) + Matern(0.3 * n, 1.0, nu=0.5),
    }
    for i, (name, kernel) in enumerate(stationary.items()):
        rng = np.random.default_rng([args.seed, 1, i])
        yield name, observed(draw(kernel, shape, rng), rng), clouds(shape, rng), kernel
    for i, name in enumerate(("varying range", "varying amplitude", "varying roughness", "slope and bumps")):
        rng = np.random.default_rng([args.seed, 2, i])
        yield name, observed(varying(name, shape, rng), rng), clouds(shape, rng), None
    if args.satellite is not None:
        yield from windows(args.satellite, args.seed)


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


def windows(path: Path, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, None]]:
    """Windows of the satellite's image, with its own gaps mirrored and moved onto them."""
    import pandas as pd

    frame = pd.read_parquet(path)
    table = frame.pivot(index="lat", columns="lon", values="temp").to_numpy()
    rng = np.random.default_rng([seed, 3])
    rows, columns = table.shape
    height, width = min(150, rows), min(160, columns)
    gap = np.isnan(table)
    for k in range(6):
        i, j = int(rng.integers(rows - height + 1)), int(rng.integers(columns - width + 1))
        window = table[i : i + height, j : j + width]
        if k % 2:
            cover = np.roll(gap, (int(rng.integers(rows)), int(rng.integers(columns))), axis=(0, 1))
        else:
            cover = gap[:: rng.choice([-1, 1]), ::-1]
        yield f"satellite {k + 1}", window, cover[i : i + height, j : j + width], None


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


def scored(image: np.ndarray, gap: np.ndarray, kernel: Any, earlier: Path | None) -> dict[str, Any]:
    """CRPS of everything on the pixels held out."""
    from bochner import SpatialRegressor
    from bochner.validation import coverage, crps

    known = np.isfinite(image)
    train, test = known & ~gap, known & gap
    X, y, places, truth = np.argwhere(train) * 1.0, image[train], np.argwhere(test) * 1.0, image[test]
    start = time.process_time()
    with recorded() as seen:
        model = SpatialRegressor().fit(X, y)
    law = model.predict_distribution(places, include_noise=True)
    low, high = law.interval(0.95).T
    seconds = time.process_time() - start

    def alone(k: Any, noise: float) -> float:
        mean, sd = (
            SpatialRegressor(k, noise_variance=noise, tune=None)
            .fit(X, y)
            .predict(places, return_std=True, include_noise=True)
        )
        return float(crps(truth, mean, sd))

    candidates, winner = seen[0]
    told = str(model.choices_["kernel"])
    return {
        "rows": len(y),
        "default": float(np.mean(law.crps(truth))),
        "before": by_earlier(earlier, X, y, places, truth),
        "winner": alone(*winner),
        "single": {name: alone(t.kernel, t.noise_variance) for name, t in candidates},
        "true": alone(kernel, NOISE) if kernel is not None else float("nan"),
        "cover": float(coverage(truth, low, high)),
        "seconds": seconds,
        "weights": told[: told.index(":")] + told[told.find(", in ") : told.find(" gaps")],
    }


@contextmanager
def recorded() -> Iterator[list[tuple[list[tuple[str, Any]], tuple[Any, float]]]]:
    """The candidates of a fit, and the one that would have taken all."""
    from bochner.inference.tuning import limits, multiscale
    from bochner.inference.tuning.variance_factor import variance_factor
    from bochner.validation import crps

    kept: list[tuple[list[tuple[str, Any]], tuple[Any, float]]] = []
    stacked = multiscale._stacked

    def recording(candidates: Any, noise: Any, task: Any, obs: Any, folds: Any, *rest: Any, **named: Any) -> Any:
        before = [c for c in candidates if "exponential" not in c[0]]
        held = [multiscale._held_out(t, obs, folds) for _, t in before]
        scores = [crps(y, mean, sd, sample_weight=weight) for y, mean, sd, weight in held]
        best = 0
        for i in range(1, len(before)):
            if scores[i] < scores[best] * (1 - limits.WORTH_CRPS):
                best = i
        factor, tuned = variance_factor(*held[best]), before[best][1]
        kept.append((candidates, (tuned.kernel.scaled(factor), tuned.noise_variance * factor)))
        return stacked(candidates, noise, task, obs, folds, *rest, **named)

    multiscale._stacked = recording
    try:
        yield kept
    finally:
        multiscale._stacked = stacked


if __name__ == "__main__":
    main()
