"""Leave-one-out scores of log zinc in the Meuse flood plain, beside what other software reaches.

    python benchmarks/meuse.py PATH        PATH of meuse.parquet: x, y (metres), zinc, dist

The data are not part of the project; without PATH nothing is done.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bochner import SpatialRegressor

# reached by an exact GP (REML, constant mean, Matern 1/2) and by kriging with a fitted variogram
TARGETS = {"constant mean": {"rmse": 0.387, "crps": 0.209}, "with sqrt(dist)": {"rmse": 0.376}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, metavar="PATH")
    path = parser.parse_args().path
    if path is None:
        print("no data: pass the path of meuse.parquet")
        return
    import pandas as pd

    table = pd.read_parquet(path).assign(root_dist=lambda t: np.sqrt(t["dist"]))
    print(f"{'':<18}{'RMSE':>8}{'target':>8}{'CRPS':>8}{'target':>8}{'coverage':>10}")
    for name, covariates in (("constant mean", None), ("with sqrt(dist)", ["root_dist"])):
        model = SpatialRegressor(coords=["x", "y"], covariates=covariates).fit(table, np.log(table["zinc"]))
        report(name, model.cross_validate())
        print(f"{'':<18}{model.choices_['kernel']}")


def report(name: str, scores: dict[str, float]) -> None:
    target = TARGETS[name]
    cells = [f"{scores['rmse']:.4f}", target.get("rmse", ""), f"{scores['crps']:.4f}", target.get("crps", "")]
    print(f"{name:<18}" + "".join(f"{cell:>8}" for cell in cells) + f"{scores['coverage']:10.3f}")


if __name__ == "__main__":
    main()
