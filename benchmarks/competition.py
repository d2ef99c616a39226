"""Default settings on the data of published competitions.

    python benchmarks/competition.py DIR [--only satellite gp03 ...]

DIR holds the Parquet files heaton_satellite_train, heaton_satellite_test_places, heaton_simulated_train,
heaton_simulated_test_places, heaton_small and kaust2021_gp03, _gp05, _gp11. Files with a column `split` are scored on
their own test rows. Where the truth is kept apart, rows that lie as the places to be predicted do are held out of
the training file (`GapBlocks`, two folds), and the places are not told to the model. Prints one line each: RMSE, MAE,
CRPS, 95 % interval score, coverage, seconds of fit and prediction, peak memory.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

REFERENCE = {"gp03": 0.2278, "gp05": 0.0047, "gp11": 0.6056}  # RMSE of kriging with the true parameters
CASES = ("satellite", "simulated", "small", *REFERENCE)


def main() -> None:
    """Score the chosen data sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=CASES, choices=CASES)
    args = parser.parse_args()
    if args.directory is None:
        print("no directory of data was given: nothing to score")
        return
    print(
        f"{'data':<14} {'rmse':>8} {'mae':>8} {'crps':>8} {'interval':>9} {'cover':>6} "
        f"{'fit s':>7} {'pred s':>7} {'GB':>5}"
    )
    for name in args.only:
        for label, train, test in cases(args.directory, name):
            score(label, *train, *test)


def cases(directory: Path, name: str):  # type: ignore[no-untyped-def]
    """Training and test rows of a data set, one pair or one for each held-out fold."""
    import pandas as pd

    from bochner.validation import GapBlocks

    if name in ("satellite", "simulated"):
        frame = pd.read_parquet(directory / f"heaton_{name}_train.parquet")
        places = pd.read_parquet(directory / f"heaton_{name}_test_places.parquet")
        X, y = frame[["lon", "lat"]].to_numpy(), frame["temp"].to_numpy()
        folds = GapBlocks(places[["lon", "lat"]].to_numpy(), 2, random_state=77).split(X)
        for k, (train, test) in enumerate(folds):
            yield f"{name} {k + 1}", (X[train], y[train]), (X[test], y[test])
        return
    small = name == "small"
    frame = pd.read_parquet(directory / ("heaton_small.parquet" if small else f"kaust2021_{name}.parquet"))
    coords = [c for c in ("lon", "lat", "x", "y") if c in frame.columns]
    target = next(c for c in frame.columns if c not in (*coords, "split"))
    train, test = frame[frame.split == "train"], frame[frame.split == "test"]
    label = f"{name} ({REFERENCE[name]})" if name in REFERENCE else name
    yield label, *((part[coords].to_numpy(), part[target].to_numpy()) for part in (train, test))


def score(label: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> None:
    """Fit with default settings, predict new observations, print a line."""
    from bochner import SpatialRegressor
    from bochner.validation import coverage, crps, interval_score, mae, rmse

    begin = time.perf_counter()
    model = SpatialRegressor().fit(X, y)
    middle = time.perf_counter()
    mean, sd = model.predict(X_test, return_std=True, include_noise=True)
    seconds = time.perf_counter() - middle
    lower, upper = model.predict_interval(X_test, include_noise=True).T
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{label:<14} {rmse(y_test, mean):>8.4f} {mae(y_test, mean):>8.4f} {crps(y_test, mean, sd):>8.4f} "
        f"{interval_score(y_test, lower, upper):>9.3f} {coverage(y_test, lower, upper):>6.3f} "
        f"{middle - begin:>7.1f} {seconds:>7.1f} {peak:>5.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
