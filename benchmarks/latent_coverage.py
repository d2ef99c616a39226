"""Coverage of 95 % intervals of the surface from few noisy rows, with nothing known: the model is fitted by default.

    python benchmarks/latent_coverage.py                      every case, 40 fields of each: about an hour on one core
    python benchmarks/latent_coverage.py --quick              2 fields of each: a few minutes
    python benchmarks/latent_coverage.py -o new.json          every number into a file; Ctrl-C: those so far
    python benchmarks/latent_coverage.py --against old.json   relative to an earlier run of the same fields

Matern fields of variance 1 in a unit square, drawn by a dense Cholesky of their covariance. Smoothness, range,
variance, noise and mean are all learned. `--n`, `--noise`, `--nu` and `--range` take a part of the design.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy import linalg

from bochner import SpatialRegressor
from bochner.kernels import Matern

N_TEST = 60
DESIGN = {"n": (30, 50, 100, 200), "noise": (0.1, 0.3, 1.0), "nu": (0.5, 1.5, 2.5), "range": (0.1, 0.3, 1.0)}
WANTED = (0.92, 0.97)  # of every marginal mean
LEAST = 0.85  # of a cell


@dataclass(frozen=True)
class Result:
    """What the default model did on one field."""

    n: int
    noise: float
    nu: float
    range: float
    field: int
    latent: float  # coverage of the surface
    new: float  # coverage of new observations
    rmse: float  # of the mean, about the surface
    crps: float  # of new observations
    n_sets: int  # of hyperparameters
    cpu: float  # seconds of the fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 fields of each kind")
    parser.add_argument("--fields", type=int, default=40, help="fields of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first field, which is its seed")
    for name, levels in DESIGN.items():
        parser.add_argument(f"--{name}", type=type(levels[0]), nargs="+", default=levels)
    parser.add_argument("-o", "--output", type=Path, help="JSON file of every number")
    parser.add_argument("--against", type=Path, help="JSON file of an earlier run, to compare with")
    args = parser.parse_args()
    fields = range(args.first, args.first + (2 if args.quick else args.fields))
    results: list[Result] = []
    with suppress(KeyboardInterrupt):  # what there is by then is told
        for result in measure([getattr(args, name) for name in DESIGN], fields):
            results.append(result)
    if args.output:
        args.output.write_text(json.dumps([asdict(r) for r in results]), encoding="utf-8")
    earlier = [Result(**r) for r in json.loads(args.against.read_text(encoding="utf-8"))] if args.against else None
    print(markdown(results, earlier))


def measure(levels: list[tuple[float, ...]], fields: range) -> Iterator[Result]:
    """The default model on every field of the design."""
    for field in fields:
        for n, noise, nu, reach in product(*levels):
            yield one(int(n), noise, nu, reach, field)
        print(f"field {field}", file=sys.stderr)


def one(n: int, noise: float, nu: float, reach: float, field: int) -> Result:
    """One field, fitted and judged at places of its own."""
    X, surface, y = simulate(n, noise, nu, reach, field)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        model = SpatialRegressor().fit(X[:n], y[:n])
        cpu = time.process_time() - begin
        laws = [model.predict_distribution(X[n:], include_noise=new) for new in (False, True)]
        latent, new = (
            float(np.mean((law.quantile(0.025) <= value) & (value <= law.quantile(0.975))))
            for law, value in zip(laws, (surface[n:], y[n:]), strict=True)
        )
        rmse = float(np.sqrt(np.mean((laws[0].mean - surface[n:]) ** 2)))
    crps = float(laws[1].crps(y[n:]).mean())
    sets = int(np.count_nonzero(model.fitted_.model.mixture.mass))
    return Result(n, noise, nu, reach, field, latent, new, rmse, crps, sets, cpu)


def simulate(n: int, noise: float, nu: float, reach: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places (n to learn from, then the test places), an exact draw of the field there, and observations.

    Every cell has fields of its own, so that marginal means are means over independent ones.
    """
    rng = np.random.default_rng([seed, n, *(round(100 * x) for x in (noise, nu, reach))])
    X = rng.uniform(size=(n + N_TEST, 2))
    covariance = Matern(reach, nu=nu)(X)
    covariance[np.diag_indices_from(covariance)] += 1e-9
    root = linalg.cholesky(covariance, lower=True)
    surface = root @ rng.standard_normal(len(X))
    return X, surface, surface + noise * rng.standard_normal(len(X))


# ------------------------------------------------------------------------------------------------------------ tables


def markdown(results: list[Result], earlier: list[Result] | None) -> str:
    """Marginal means, the worst cells and the time."""
    lines = [
        "| | surface | new observations | RMSE | CRPS | sets | CPU s (median) |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_line("all", results, earlier)]
    for name, levels in DESIGN.items():
        for level in levels:
            of_level = [r for r in results if getattr(r, name) == level]
            if of_level:
                before = None if earlier is None else [r for r in earlier if getattr(r, name) == level]
                lines += [_line(f"{name} {level:g}", of_level, before)]
    cells = sorted(_cells(results).items(), key=lambda cell: cell[1])
    lines += ["", "Worst cells (n, noise, nu, range): " + "; ".join(f"{k} {v:.3f}" for k, v in cells[:5]) + "."]
    lines += [f"Best cell: {cells[-1][0]} {cells[-1][1]:.3f}."]
    failed = [name for name, value in _marginals(results).items() if not WANTED[0] <= value <= WANTED[1]]
    lines += [f"Marginal means outside {WANTED[0]}-{WANTED[1]}: {', '.join(failed) or 'none'}."]
    lines += [f"Cells below {LEAST}: {sum(v < LEAST for v in _cells(results).values())} of {len(cells)}."]
    return "\n".join(lines)


def _line(name: str, results: list[Result], earlier: list[Result] | None) -> str:
    values = [f"{_mean(results, q):.3f}{_before(results, earlier, q)}" for q in ("latent", "new", "rmse", "crps")]
    cpu = f"{np.median([r.cpu for r in results]):.2f}"
    return f"| {name} | " + " | ".join([*values, f"{_mean(results, 'n_sets'):.0f}", cpu]) + " |"


def _before(results: list[Result], earlier: list[Result] | None, quantity: str) -> str:
    if not earlier:
        return ""
    wanted = {_key(r) for r in results}
    same = [r for r in earlier if _key(r) in wanted]
    if quantity in ("latent", "new"):
        return f" ({_mean(same, quantity):.3f})"
    return f" ({_mean(results, quantity) / _mean(same, quantity) - 1:+.1%})"


def _mean(results: list[Result], quantity: str) -> float:
    return float(np.mean([getattr(r, quantity) for r in results]))


def _key(r: Result) -> tuple[float, ...]:
    return (r.n, r.noise, r.nu, r.range, r.field)


def _cells(results: list[Result]) -> dict[tuple[float, ...], float]:
    keys = dict.fromkeys(_key(r)[:-1] for r in results)
    return {key: _mean([r for r in results if _key(r)[:-1] == key], "latent") for key in keys}


def _marginals(results: list[Result]) -> dict[str, float]:
    pairs = [(name, level) for name, levels in DESIGN.items() for level in levels]
    groups = {f"{name} {level:g}": [r for r in results if getattr(r, name) == level] for name, level in pairs}
    return {name: _mean(group, "latent") for name, group in groups.items() if group}


if __name__ == "__main__":
    main()
