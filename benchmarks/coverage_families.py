"""Coverage of 95 % intervals and recovery of fixed effects on simulated surveys of counts.

    python benchmarks/coverage_families.py                20 surveys of each kind
    python benchmarks/coverage_families.py --quick        two of each

A field is drawn from the exact kernel at 250 villages and 300 other places, by a dense Cholesky factor. Each village
has an effect of its own beside it, a covariate that matters, and 5 to 30 trials or 0.5 to 5 units of exposure (one
trial for the Bernoulli family). The model has default settings: it chooses smoothness and learns everything. Printed,
for every kind of survey: the share of the true surface, linear predictor without the villages' own effects, inside the
95 % intervals at the other places, with its standard error; the same of new observations there; RMSE and claimed sd of
the linear predictor; bias of the covariate's coefficient (the truth is 0.5) with its standard error, and how often its
95 % interval holds it; the same of the intercept (-1); and the largest relative difference over the surveys between the
scores of held-out blocks without refit and with a refit for every block, kernel held: CRPS, and log score (of amounts
the latter is a log density that may be near zero, so scores below 1 in size count as 1).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from sklearn.base import clone

from bochner import SpatialRegressor
from bochner.families import Family, Gamma, NegativeBinomial, family_named
from bochner.kernels import Kernel, Matern
from bochner.validation import BlockKFold

N_ROWS, N_TEST, LENGTH_SCALE = 250, 300, 0.2
INTERCEPT, EFFECT, IID = -1.0, 0.5, 0.1
WIDTH = 8
SURVEYS: dict[str, tuple[Family, Kernel]] = {
    "binomial, exponential": (family_named("binomial"), Matern(LENGTH_SCALE, 1.0, nu=0.5)),
    "binomial, Matern 3/2": (family_named("binomial"), Matern(LENGTH_SCALE, 1.0, nu=1.5)),
    "Poisson, exponential": (family_named("poisson"), Matern(LENGTH_SCALE, 1.0, nu=0.5)),
    "Poisson, Matern 3/2": (family_named("poisson"), Matern(LENGTH_SCALE, 1.0, nu=1.5)),
    "Bernoulli, Matern 3/2": (family_named("bernoulli"), Matern(LENGTH_SCALE, 2.0, nu=1.5)),
    "negative binomial, Matern 3/2": (NegativeBinomial(dispersion=0.5), Matern(LENGTH_SCALE, 1.0, nu=1.5)),
    "gamma, Matern 3/2": (Gamma(dispersion=0.3), Matern(LENGTH_SCALE, 1.0, nu=1.5)),
}


@dataclass(frozen=True)
class Result:
    """What the model made of one survey."""

    latent: float
    new: float
    rmse: float
    sd: float
    error: np.ndarray  # of intercept and effect
    standard_error: np.ndarray
    without_refit: np.ndarray  # share of CRPS and log score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two surveys of each kind")
    parser.add_argument("--only", default="", help="kinds of surveys whose name holds this")
    args = parser.parse_args()
    head = ("latent", "(se)", "new", "RMSE", "sd", "bias", "(se)", "in CI", "b0", "(se)", "in CI", "CRPS", "log")
    print(" " * 31 + "".join(f"{name:>{WIDTH}}" for name in head))
    for name in SURVEYS:
        if args.only in name:
            begin = time.perf_counter()
            results = [study(name, seed) for seed in range(2 if args.quick else 20)]
            print(row(name, results), flush=True)
            print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)


def study(name: str, seed: int) -> Result:
    """One survey, fitted with default settings."""
    family, kernel = SURVEYS[name]
    rng = np.random.default_rng(seed)
    X, eta, size = simulate(family, kernel, rng)
    own = np.sqrt(IID) * rng.standard_normal(len(eta)) if family.size_name and not family.has_dispersion else 0.0
    y = family.draw(eta + own, size, rng)
    train, test = slice(None, N_ROWS), slice(N_ROWS, None)

    def given(rows: slice | np.ndarray) -> dict[str, np.ndarray]:
        return {family.size_name: size[rows]} if family.size_name else {}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpatialRegressor(family=family.name, coords=[0, 1], covariates=[2])
        model.fit(X[train], y[train], **given(train))
    surface = model.predict_interval(X[test])
    mean, sd = model.predict_latent(X[test])
    new = model.predict_interval(X[test], include_noise=True, **given(test))
    coef, covariance = model.fitted_.fixed_effects
    return Result(
        latent=inside(family.mean(eta[test]), surface),
        new=inside(y[test], new),
        rmse=float(np.sqrt(np.mean((mean - eta[test]) ** 2))),
        sd=float(np.sqrt(np.mean(sd**2))),
        error=coef - (INTERCEPT, EFFECT),
        standard_error=np.sqrt(np.diag(covariance)),
        without_refit=difference(model, X[train], y[train], **given(train)),
    )


def difference(model: SpatialRegressor, X: np.ndarray, y: np.ndarray, **size: np.ndarray) -> np.ndarray:
    """How far scores of held-out blocks by one Newton step are from those by new fits, as a share of the score."""
    held = clone(model).set_params(
        kernel=model.kernel_, family=model.family_, noise_variance=model.noise_variance_, tune=None
    )
    cv = BlockKFold(5, random_state=0)
    quick = held.fit(X, y, **size).cross_validate(cv, ["crps", "log_score"])
    refit = np.empty((2, len(y)))
    for train, test in cv.split(X[:, :2]):
        known = [{name: values[rows] for name, values in size.items()} for rows in (train, test)]
        again = clone(held).fit(X[train], y[train], **known[0])
        law = again.predict_distribution(X[test], include_noise=True, **known[1])
        refit[:, test] = law.crps(y[test]), law.log_density(y[test])
    score = refit.mean(axis=1)
    return np.abs(np.array([quick["crps"], quick["log_score"]]) - score) / np.maximum(np.abs(score), (0.0, 1.0))


def simulate(family: Family, kernel: Kernel, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places with a covariate, the linear predictor there, and trials or exposure."""
    n = N_ROWS + N_TEST
    places, covariate = rng.uniform(size=(n, 2)), rng.normal(size=n)
    covariance = kernel(places)
    covariance[np.diag_indices_from(covariance)] += 1e-9
    field = linalg.cholesky(covariance, lower=True) @ rng.standard_normal(n)
    size = {"trials": rng.integers(5, 31, n).astype(float), "exposure": rng.uniform(0.5, 5.0, n), None: np.ones(n)}
    return np.column_stack([places, covariate]), INTERCEPT + EFFECT * covariate + field, size[family.size_name]


def inside(values: np.ndarray, interval: np.ndarray) -> float:
    return float(np.mean((interval[:, 0] <= values) & (values <= interval[:, 1])))


def row(name: str, results: list[Result]) -> str:
    latent, n = np.array([r.latent for r in results]), len(results)
    errors, ses = np.array([r.error for r in results]), np.array([r.standard_error for r in results])
    covered = np.mean(np.abs(errors) < 1.96 * ses, axis=0)
    bias, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(n)
    numbers = [
        latent.mean(),
        latent.std(ddof=1) / np.sqrt(n),
        np.mean([r.new for r in results]),
        np.sqrt(np.mean([r.rmse**2 for r in results])),
        np.sqrt(np.mean([r.sd**2 for r in results])),
        *(column[i] for i in (1, 0) for column in (bias, spread, covered)),
        *np.max([r.without_refit for r in results], axis=0),
    ]
    return f"{name:<31}" + "".join(f"{x:>{WIDTH}.3f}" for x in numbers)


if __name__ == "__main__":
    main()
