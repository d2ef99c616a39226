"""Coverage of 95 % intervals on fields drawn from the exact kernel, for every kind of features.

    python benchmarks/coverage.py                  every case: about a quarter of an hour on two cores
    python benchmarks/coverage.py --quick          few rows, few waves, one field of each kind: under a minute
    python benchmarks/coverage.py -o coverage.md   the tables into coverage.md, every number into coverage.csv

The field is drawn by a dense Cholesky of the kernel's own covariance, never from features: a model of few waves is
always honest about fields made of few waves. Kernel and noise are held at the truth, so that what is measured is the
features and nothing else.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from scipy import linalg

from bochner import SpatialRegressor
from bochner.exceptions import CheckWarning
from bochner.kernels import Kernel, Matern, SquaredExponential

LENGTH_SCALE = 0.2  # in a unit square
KERNELS: dict[str, Kernel] = {
    "Matern 1/2": Matern(nu=0.5, length_scale=LENGTH_SCALE),
    "Matern 3/2": Matern(nu=1.5, length_scale=LENGTH_SCALE),
    "squared exp.": SquaredExponential(length_scale=LENGTH_SCALE),
}
NOISES = (0.01, 0.1)  # of the field's variance, which is 1
N_TEST = 500
EXACT_ROWS = 3_000  # up to here features="auto" is the exact kernel itself; beyond, it is measured beside it
SCHEMES = ("nystroem", "monte-carlo", "quasi", "orthogonal", "structured")


@dataclass(frozen=True)
class Plan:
    """Numbers of rows, each with how many fields are drawn, and numbers of waves or landmarks."""

    n_fields: dict[int, int]
    n_waves: tuple[int, ...]

    def features(self, n: int) -> list[tuple[str, int | None]]:
        """Kinds of features for n rows, with their number of waves if it is not their own affair."""
        others = [(scheme, m) for scheme in SCHEMES for m in self.n_waves] if n <= EXACT_ROWS else [("auto", None)]
        return [("exact", None), *others]


FULL = Plan({1_000: 6, 3_000: 3, 5_000: 4}, (200, 800))
QUICK = Plan({500: 1}, (50, 200))


@dataclass(frozen=True)
class Result:
    """What one kind of features did on one field."""

    n: int
    kernel: str
    noise: float
    features: str
    field: int
    latent: float  # coverage of the surface
    new: float  # coverage of new observations
    sd: float  # mean standard deviation of the surface
    rmse: float  # of the mean, about the surface
    warned: bool  # by check()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small plan, to see that all runs")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file; a .csv is written beside it")
    args = parser.parse_args()
    begin = time.perf_counter()
    results = list(measure(QUICK if args.quick else FULL))
    print(f"{len(results)} fits in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    if args.output:
        args.output.write_text(markdown(results), encoding="utf-8")
        args.output.with_suffix(".csv").write_text(as_csv(results), encoding="utf-8")
    else:
        print(markdown(results), as_csv(results), sep="\n")


def measure(plan: Plan) -> Iterator[Result]:
    """Every kind of features on the same fields."""
    for n, n_fields in plan.n_fields.items():
        for name, kernel in KERNELS.items():
            for field in range(n_fields):
                print(f"{n:,} rows, {name}, field {field + 1} of {n_fields}", file=sys.stderr)
                X, surface, noise = simulate(kernel, n, field)
                for share in NOISES:
                    y = surface + np.sqrt(share) * noise
                    for features, m in plan.features(n):
                        model = fitted(kernel, share, features, m, field, X[:n], y[:n])
                        label = features if m is None else f"{features}, {m}"
                        yield Result(n, name, share, label, field, *scores(model, X[n:], surface[n:], y[n:]))


def simulate(kernel: Kernel, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places (n to learn from, then the test places), an exact draw of the field there, and standard noise."""
    rng = np.random.default_rng([seed, n])
    X = rng.uniform(size=(n + N_TEST, 2))
    covariance = kernel(X)
    covariance[np.diag_indices_from(covariance)] += 1e-8  # the squared exponential's is singular to rounding
    root = linalg.cholesky(covariance, lower=True)
    return X, root @ rng.standard_normal(len(X)), rng.standard_normal(len(X))


def fitted(
    kernel: Kernel, noise: float, features: str, m: int | None, seed: int, X: np.ndarray, y: np.ndarray
) -> SpatialRegressor:
    """A model that knows the true kernel and noise."""
    return SpatialRegressor(
        kernel,
        features=features,
        n_frequencies="auto" if m is None else m,
        noise_variance=noise,
        fit_intercept=False,
        tune=None,
        random_state=seed,
    ).fit(X, y)


def scores(
    model: SpatialRegressor, X: np.ndarray, surface: np.ndarray, y: np.ndarray
) -> tuple[float, float, float, float, bool]:
    """Coverage of the surface and of new observations, mean sd, RMSE, and whether `check` warns."""
    mean, sd = model.predict(X, return_std=True)
    latent = coverage(model.predict_interval(X), surface)
    new = coverage(model.predict_interval(X, include_noise=True), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckWarning)
        warned = bool(model.check())
    return latent, new, float(sd.mean()), float(np.sqrt(np.mean((mean - surface) ** 2))), warned


def coverage(interval: np.ndarray, value: np.ndarray) -> float:
    return float(np.mean((interval[:, 0] <= value) & (value <= interval[:, 1])))


# ------------------------------------------------------------------------------------------------------------ tables


def markdown(results: list[Result]) -> str:
    """Tables by number of rows: coverage of the surface, of new observations, relative sd, and warnings."""
    parts = []
    for n, group in groupby(results, key=lambda r: r.n):
        of_n = list(group)
        parts += [f"### {n:,} rows\n"]
        parts += ["Coverage of the surface (.95 is honest):\n", table(of_n, "latent")]
        parts += ["Coverage of new observations:\n", table(of_n, "new")]
        parts += ["Mean standard deviation of the surface, relative to that of the exact kernel:\n"]
        parts += [table(of_n, "sd", relative=True)]
        parts += ["RMSE of the surface, relative to that of the exact kernel:\n", table(of_n, "rmse", relative=True)]
        parts += ["Share of fits of which `check()` warns:\n", table(of_n, "warned")]
        parts += [f"Standard error of a coverage: at most {standard_error(of_n):.3f}.\n"]
    return "\n".join(parts)


def table(results: list[Result], quantity: str, *, relative: bool = False) -> str:
    """One row per kind of features, one column per kernel and noise; means over the fields."""
    cases = list(dict.fromkeys((r.kernel, r.noise) for r in results))
    labels = list(dict.fromkeys(r.features for r in results))
    lines = ["| features | " + " | ".join(f"{kernel}, {noise:.0%}" for kernel, noise in cases) + " |"]
    lines += ["|---|" + "---:|" * len(cases)]
    for label in labels:
        values = [mean_of(results, label, case, quantity) for case in cases]
        if relative:
            values = [v / mean_of(results, "exact", c, quantity) for v, c in zip(values, cases, strict=True)]
        lines += [f"| {label} | " + " | ".join(f"{v:.2f}" for v in values) + " |"]
    return "\n".join(lines) + "\n"


def mean_of(results: list[Result], label: str, case: tuple[str, float], quantity: str) -> float:
    return float(np.mean(of_case(results, label, case, quantity)))


def of_case(results: list[Result], label: str, case: tuple[str, float], quantity: str) -> list[float]:
    return [getattr(r, quantity) for r in results if r.features == label and (r.kernel, r.noise) == case]


def standard_error(results: list[Result]) -> float:
    """Largest standard error, over the cases, of a mean coverage; nan with one field of each kind."""
    cases = dict.fromkeys((r.features, (r.kernel, r.noise)) for r in results)
    groups = [np.array(of_case(results, *case, quantity)) for case in cases for quantity in ("latent", "new")]
    return max((g.std(ddof=1) / np.sqrt(len(g)) if len(g) > 1 else np.nan) for g in groups)


def as_csv(results: list[Result]) -> str:
    """Every number, one line per fit."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(results[0])), lineterminator="\n")
    writer.writeheader()
    for result in results:
        writer.writerow({k: round(v, 5) if isinstance(v, float) else v for k, v in asdict(result).items()})
    return text.getvalue()


if __name__ == "__main__":
    main()
