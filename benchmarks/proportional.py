"""Errors in proportion to the response: where `check` names them, do a gamma family or logarithms predict better?

    python benchmarks/proportional.py                                   simulated fields of seven kinds
    python benchmarks/proportional.py --table FILE --coords x y --targets zinc lead    columns of a table, too

One line a fit: whether `check` said so, the CRPS of new observations under the Gaussian family, and those of
`family="gamma"` and of the exponential of a Gaussian field relative to it. Whatever lies below 1 is what its advice
is worth.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

LEVELS = np.linspace(0.005, 0.995, 100)
KINDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "lognormal": lambda f, e: np.exp(f + 0.5 * e),
    "lognormal, hardly any noise": lambda f, e: np.exp(f + 0.05 * e),
    "lognormal, small": lambda f, e: np.exp(0.3 * f + 0.2 * e),
    "Gaussian": lambda f, e: 10 + f + 0.5 * e,
    "Gaussian, near zero": lambda f, e: np.maximum(4 + f + 0.5 * e, 0.05),
    "hot spots": lambda f, e: 1 + np.exp(1.2 * f) + 0.3 * np.abs(e),
    "square of a field": lambda f, e: (2 + f) ** 2 + 0.2 + 0.3 * np.abs(e),
}


def main() -> None:
    """Fit each, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fields", type=int, default=2, help="of each kind")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--coords", nargs="+", default=["x", "y"])
    parser.add_argument("--targets", nargs="+", default=[])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'responses':<30}{'rows':>6}  {'said':<6}{'CRPS':>10}{'gamma':>8}{'logs':>8}")
    for name, train, test in (*simulated(args.fields), *of_table(args)):
        said, scores = judged(*train, *test)
        plain, gamma, logs = scores
        print(
            f"{name:<30}{len(train[1]):>6}  {'yes' if said else 'no':<6}{plain:>10.4g}{gamma / plain:>8.3f}"
            f"{logs / plain:>8.3f}",
            flush=True,
        )


def simulated(n_fields: int) -> Iterator[tuple[str, Any, Any]]:
    """Smooth fields of the plane, made positive in several ways."""
    from bochner.kernels import Matern

    for name, response in KINDS.items():
        for seed in range(n_fields):
            n = (150, 400)[seed % 2]
            rng = np.random.default_rng(seed)
            X = rng.uniform(size=(n + 300, 2))
            root = np.linalg.cholesky(Matern(0.25, nu=1.5)(X, X) + 1e-9 * np.eye(n + 300))
            y = response(root @ rng.normal(size=n + 300), rng.normal(size=n + 300))
            yield name, (X[:n], y[:n]), (X[n:], y[n:])


def of_table(args: argparse.Namespace) -> Iterator[tuple[str, Any, Any]]:
    """Positive columns of a table, a fifth of the rows held out."""
    if args.table is None:
        return
    import pandas as pd

    table = pd.read_parquet(args.table) if args.table.suffix == ".parquet" else pd.read_csv(args.table)
    for target in args.targets:
        rows = table[[*args.coords, target]].dropna()
        rows = rows[rows[target] > 0]
        order = np.random.default_rng(0).permutation(len(rows))
        test, train = np.split(order, [len(rows) // 5])
        X, y = rows[args.coords].to_numpy(float), rows[target].to_numpy(float)
        yield f"{args.table.stem} {target}", (X[train], y[train]), (X[test], y[test])


def judged(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> tuple[bool, tuple[float, ...]]:
    """Whether `check` names them, and the CRPS by the Gaussian, by gamma and of logs."""
    from bochner import SpatialRegressor

    plain = SpatialRegressor().fit(X, y)
    said = any("in proportion" in finding for finding in plain.check())
    gamma = SpatialRegressor(family="gamma").fit(X, y).predict_distribution(new)
    logs = SpatialRegressor().fit(X, np.log(y)).predict_distribution(new)
    laws = plain.predict_distribution(new).quantile, gamma.quantile, lambda p: np.exp(logs.quantile(p))
    return said, tuple(crps(quantile, truth) for quantile in laws)


def crps(quantile: Callable[[float], Any], y: np.ndarray) -> float:
    """By the pinball losses of a hundred quantiles."""
    at = np.stack([np.asarray(quantile(float(level))) for level in LEVELS])
    return float(np.mean(2 * (y - at) * (LEVELS[:, None] - (y < at))))


if __name__ == "__main__":
    main()
