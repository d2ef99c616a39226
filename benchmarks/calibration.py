"""Are the posteriors calibrated? Simulated fields of every family, fitted by every scheme, at several numbers of rows.

    python benchmarks/calibration.py                 until every cell has its fields; go on by calling it again
    python benchmarks/calibration.py --times 5       five times as many fields of each cell
    python benchmarks/calibration.py --minutes 30    for so long
    python benchmarks/calibration.py --quick         two fields of each cell up to 300 rows: a few minutes
    python benchmarks/calibration.py --page          nothing but the page, of what was measured so far

Hyperparameters are drawn from a prior, a field is drawn from the exact kernel with them by a dense Cholesky factor at n
rows and 100 other places of the unit square, and responses are drawn from the family. A cell is a way to fit (`held`:
the true hyperparameters are given; `learned`: nothing is; `adverse`: nothing is, and the field is at a corner of the
prior, or beyond), a family, a scheme and n. Of each field it keeps, at the other places, the posterior rank of the true
linear predictor (simulation-based calibration) and the PIT of a new observation (randomised, where it is a count): both
are uniform if the posterior is right, and a 95 % interval holds what lies in their middle 95 %. What `check()` says is
kept, too. Results are lines of out/calibration/fields.jsonl; docs/calibration.md and its chart are made of them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg

from bochner import SpatialRegressor
from bochner.exceptions import BochnerError
from bochner.families import Bernoulli, Binomial, Family, Gamma, Gaussian, NegativeBinomial, Poisson, Student
from bochner.kernels import Matern

RESULTS = Path("out/calibration/fields.jsonl")
PAGE, CHART = Path("docs/calibration.md"), Path("docs/_static/calibration.svg")
FAMILIES = ("gaussian", "student", "bernoulli", "binomial", "poisson", "negative-binomial", "gamma")
SCHEMES = ("exact", "lattice", "nystroem", "quasi")
SIZES = (50, 300, 2000)
# fields of each cell, by the number of rows: a mean over k fields of 100 places has a standard error near .1 / sqrt(k)
WANTED = {50: 4, 300: 2, 2000: 1}
REGIMES = ("held", "learned", "adverse")
N_PLACES, N_BINS = 100, 10
HONEST = (0.92, 0.97)
# smoothness, range and how large the noise is, of fields that are hard to learn
CORNERS = ((0.5, 0.03, 0.1), (0.5, 0.03, 2.0), (2.5, 1.5, 0.1), (2.5, 1.5, 2.0))


@dataclass(frozen=True)
class Cell:
    """What is fitted how."""

    regime: str
    family: str
    scheme: str
    n: int


@dataclass(frozen=True)
class Truth:
    """A field, its responses and the values that they were drawn with; the last rows are the places to predict."""

    kernel: Matern
    family: Family
    noise: float
    X: np.ndarray
    eta: np.ndarray
    size: np.ndarray
    y: np.ndarray


# ------------------------------------------------------------------------------------------------------------- truth


def drawn(cell: Cell, field: int) -> Truth:
    """Hyperparameters of the prior or of a corner, a field and its responses; the same for every scheme."""
    rng = np.random.default_rng([field, cell.n, FAMILIES.index(cell.family), cell.regime == "adverse"])
    if cell.regime == "adverse":
        nu, reach, noisy = CORNERS[field % len(CORNERS)]
    else:
        nu, reach, noisy = float(rng.choice([0.5, 1.5, 2.5])), _between(0.08, 0.8, rng), _between(0.1, 1.5, rng)
    kernel = Matern(reach, _between(0.5, 2.0, rng), nu=nu)
    return truth_of(kernel, *family_of(cell.family, noisy, rng), cell.n, rng)


def truth_of(kernel: Matern, family: Family, noise: float, n: int, rng: np.random.Generator) -> Truth:
    """A field of a kernel at n rows and the places to predict, and its responses."""
    X = rng.uniform(size=(n + N_PLACES, 2))
    covariance = kernel(X)
    covariance[np.diag_indices_from(covariance)] += 1e-9 * kernel.variance
    eta = 0.5 * rng.standard_normal() + linalg.cholesky(covariance, lower=True) @ rng.standard_normal(len(X))
    size = rng.integers(5, 30, len(X)).astype(float) if family.size_name else np.ones(len(X))
    own = 0.0 if family.observes_eta else np.sqrt(noise) * rng.standard_normal(len(X))
    return Truth(kernel, family, noise, X, eta, size, family.draw(eta + own, size, rng))


def family_of(name: str, noisy: float, rng: np.random.Generator) -> tuple[Family, float]:
    """A family with its parameters, and the noise variance beside it: of a Gaussian, or of single rows on the link."""
    return {
        "gaussian": (Gaussian(dispersion=noisy**2), noisy**2),
        "student": (Student(dispersion=0.5 * noisy**2, dof=float(rng.uniform(3, 10))), 0.0),
        "bernoulli": (Bernoulli(), 0.0),
        "binomial": (Binomial(), 0.2 * noisy),
        "poisson": (Poisson(), 0.2 * noisy),
        "negative-binomial": (NegativeBinomial(dispersion=0.5 * noisy), 0.0),
        "gamma": (Gamma(dispersion=0.5 * noisy), 0.0),
    }[name]


def _between(low: float, high: float, rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# ----------------------------------------------------------------------------------------------------------- measure


def measure(cell: Cell, field: int) -> dict[str, Any]:
    """One field: ranks of the surface, PIT of new observations, what `check()` says."""
    truth, begin = drawn(cell, field), time.process_time()
    rows, places = slice(0, cell.n), slice(cell.n, None)
    sizes = [{} if truth.family.size_name is None else {truth.family.size_name: truth.size[i]} for i in (rows, places)]
    result: dict[str, Any] = {**asdict(cell), "field": field}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = estimator(cell, truth).fit(truth.X[rows], truth.y[rows], **sizes[0])
            surface = model.predict_distribution(truth.X[places])
            new = model.predict_distribution(truth.X[places], include_noise=True, **sizes[1])
            ranks = surface.law.eta.cdf(truth.eta[places])
            low, high = new.law.pit_bounds(truth.y[places])
            said = model.check()
        except BochnerError as error:
            return {**result, "error": f"{type(error).__name__}: {error}"[:200]}
    pit = low + np.random.default_rng(field).random(N_PLACES) * (high - low)
    return {
        **result,
        "latent": _inside(ranks),
        "new": _inside(pit),
        "spread": float(12 * np.mean((ranks - 0.5) ** 2)),
        "latent_ranks": np.histogram(ranks, N_BINS, (0, 1))[0].tolist(),
        "new_ranks": np.histogram(pit, N_BINS, (0, 1))[0].tolist(),
        "check": [finding[:60] for finding in said],
        "answers": model.fitted_.model.scheme,
        "seconds": round(time.process_time() - begin, 3),
    }


def estimator(cell: Cell, truth: Truth) -> SpatialRegressor:
    """Model that is told all, or nothing but the family."""
    if cell.regime != "held":
        return SpatialRegressor(family=cell.family, features=cell.scheme, n_jobs=1)
    family = "gaussian" if truth.family.observes_eta else truth.family
    parts = {"family": family, "features": cell.scheme, "noise_variance": truth.noise, "tune": None, "n_jobs": 1}
    return SpatialRegressor(truth.kernel, **parts)


def _inside(ranks: np.ndarray) -> float:
    return float(np.mean((ranks >= 0.025) & (ranks <= 0.975)))


# ------------------------------------------------------------------------------------------------------------ the run


def main() -> None:
    """Measure what is missing, cheap cells first, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two fields of each cell up to 300 rows")
    parser.add_argument("--page", action="store_true", help="write the page of what was measured, measure nothing")
    parser.add_argument("--times", type=int, default=1, help="so many times the fields of each cell")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so many")
    parser.add_argument("--only", default="", help="regimes, families, schemes or sizes, as in held,gamma,300")
    args = parser.parse_args()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * args.minutes
    for cell, field in [] if args.page else missing(args.quick, args.only, args.times):
        if time.monotonic() > end:
            break
        result = measure(cell, field)
        with RESULTS.open("a") as lines:
            lines.write(json.dumps(result) + "\n")
        told = result.get("error") or f"{result['latent']:.2f} {result['new']:.2f} {result['seconds']:6.1f} s"
        print(*asdict(cell).values(), field, told, flush=True)
    from calibration_page import write

    write(read(), PAGE, CHART)


def missing(quick: bool, only: str, times: int = 1) -> list[tuple[Cell, int]]:
    """Cells and fields that are yet to be measured: a field of every cell, few rows first; then another of each."""
    done = {(r["regime"], r["family"], r["scheme"], r["n"], r["field"]) for r in read()}
    words, todo = set(filter(None, only.split(","))), []
    for cell in cells():
        if words <= set(map(str, asdict(cell).values())):
            n_fields = (2 if cell.n <= 300 else 0) if quick else times * WANTED[cell.n]
            todo += [(cell, field) for field in range(n_fields) if (*asdict(cell).values(), field) not in done]

    return sorted(todo, key=lambda one: (one[1], one[0].n))


def cells() -> list[Cell]:
    """Every regime x family x scheme x size."""
    return [Cell(r, f, s, n) for n in SIZES for r in REGIMES for f in FAMILIES for s in SCHEMES]


def read() -> list[dict[str, Any]]:
    """Fields measured so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


if __name__ == "__main__":
    main()
