"""Soil of two fields by ten folds: covariates with a learned prior beside none, and another version.

    python benchmarks/soil.py DIR                 tables soil_*.parquet of DIR (LimeSoDa)
    python benchmarks/soil.py DIR --src OTHER     the library in another folder

One line a field and response: RMSE of all folds with covariates, without, and their ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

RESPONSES = ("SOC", "pH", "Clay")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--src", type=Path, help="folder that holds the library to be measured")
    args = parser.parse_args()
    if args.src and os.environ.get("PYTHONPATH") != str(args.src.resolve()):
        environment = {**os.environ, "PYTHONPATH": str(args.src.resolve())}
        raise SystemExit(subprocess.call([sys.executable, __file__, str(args.folder)], env=environment))
    warnings.simplefilter("ignore")
    ratios, sizes = [], []
    for path in sorted(args.folder.glob("soil_*.parquet")):
        frame = pd.read_parquet(path)
        for response in (name for name in frame.columns if name.split("_")[0] in RESPONSES):
            errors = [np.sqrt(np.mean(errors_of(frame, response, used) ** 2)) for used in (True, False)]
            ratios.append(errors[0] / errors[1])
            sizes.append(np.log(errors[0]))
            print(f"{path.stem:<14}{response:<12}{errors[0]:>10.4g}{errors[1]:>10.4g}{ratios[-1]:>8.3f}", flush=True)
    print(f"mean ratio to none {np.mean(ratios):.3f}, largest {max(ratios):.3f}")
    print(f"geometric mean with covariates {np.exp(np.mean(sizes)):.4g}")


def errors_of(frame: pd.DataFrame, response: str, covariates: bool) -> np.ndarray:
    """Held-out errors of every row."""
    from bochner import SpatialRegressor

    apart = {"fold", "x", "y", *(c for c in frame.columns if c.split("_")[0] in RESPONSES)}
    names = [c for c in frame.columns if c not in apart] if covariates else []
    X, y = frame[["x", "y", *names]], frame[response].to_numpy(float)
    errors = np.zeros(len(frame))
    for fold in np.unique(frame["fold"]):
        test = (frame["fold"] == fold).to_numpy()
        model = SpatialRegressor(coords=["x", "y"], covariates=names or None).fit(X[~test], y[~test])
        errors[test] = model.predict(X[test]) - y[test]
    return errors


if __name__ == "__main__":
    main()
