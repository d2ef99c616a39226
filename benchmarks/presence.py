"""Rare presence and few trials: tuned in every case, and as good as with the true kernel?

    python benchmarks/presence.py [--rows 2000 10000 50000] [--prevalence .01 .05 .2 .5] [--only WORD] [--no-dense]
                                  [--seeds 1 2 3]

A Matern 3/2 field on the unit square, an intercept that gives the prevalence, a continuous covariate, two 0/1
covariates (one in 3 % of the rows) and a factor of five levels (the last in 4 %). Fitted by default. Variants: places
in clusters, 1 to 5 trials, counts with many zeros, and negative binomial counts with exposure at few places.
Printed, as Markdown:

- how the kernel was tuned, and its learned range and variance;
- mean log loss of 5,000 new rows, relative to the model with the true kernel and to the true probabilities;
- share of those rows whose true probability (or rate) lies within the 95 % interval of the surface, and the same with
  the true kernel;
- up to 2,500 rows: how far the dense Laplace evidence lies below its maximum (over several starts), in nats, for the
  kind of kernel that was chosen;
- CPU seconds of the fit, and per 10,000 rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import optimize

from bochner import SpatialRegressor
from bochner.families import Family, family_named
from bochner.features import FourierMap
from bochner.frequencies import lattice_frequencies
from bochner.inference.fits.fixed_effects import held_where_separated
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.other_families import Laplace
from bochner.kernels import Kernel, Matern

N_NEW = 5_000
TRUTH = Matern(0.2, 1.5, nu=1.5)
EFFECTS = np.array([0.5, -0.7, 0.8])  # continuous, 0/1, rare 0/1
LEVELS = np.array([0.0, 0.3, -0.3, 0.5, -0.5])
MAX_DENSE = 2_500


@dataclass(frozen=True)
class Case:
    """One simulated table."""

    name: str
    family: Family  # as it is fitted
    drawn_from: Family
    columns: list[np.ndarray]  # of the n rows, then of the new ones
    y: np.ndarray
    eta: np.ndarray
    size: np.ndarray
    n: int

    @property
    def X(self) -> np.ndarray:
        return np.column_stack(self.columns)

    def known(self, rows: slice) -> dict[str, np.ndarray]:
        name = self.family.size_name
        return {name: self.size[rows]} if name else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", type=int, default=[2_000, 10_000, 50_000])
    parser.add_argument("--prevalence", nargs="*", type=float, default=[0.01, 0.05, 0.2, 0.5])
    parser.add_argument("--only", default="")
    parser.add_argument("--no-dense", action="store_true")
    parser.add_argument("--seeds", nargs="*", type=int, default=[1])
    arguments = parser.parse_args()
    head = (
        "case",
        "rows",
        "tuned by",
        "range, variance",
        "loss / true kernel",
        "loss / truth",
        "coverage, true kernel's",
        "nats",
        "CPU s",
        "per 10^4",
    )
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    kinds = ("clustered", "trials", "zeros", "places")
    for n in arguments.rows:
        for seed in arguments.seeds:
            made = [partial(presence, f"presence {share:.0%}", n, share, seed=seed) for share in arguments.prevalence]
            made += [partial(variant, kind, n, seed=seed + 1) for kind in kinds]
            for make in made:
                if arguments.only in make.args[0]:
                    print(line(make(), not arguments.no_dense), flush=True)


def line(case: Case, dense: bool) -> str:
    """One row of the table."""
    model, cpu, told = fitted(case, None)
    true, _, _ = fitted(case, TRUTH)
    new = slice(case.n, None)
    losses = [
        loss(case, m.predict_distribution(case.X[new], include_noise=True, **case.known(new))) for m in (model, true)
    ]
    truth = -float(np.mean(case.drawn_from.log_density(case.y[new], case.eta[new], case.size[new])))
    inside = [f"{held(case, m):.3f}" for m in (model, true)]
    nats = f"{below_optimum(case, model):.2f}" if dense and case.n <= MAX_DENSE else ""
    kernel = model.kernel_
    shape = f"{np.round(kernel.length_scale, 3)}, {kernel.variance:.2f}, nu {kernel.nu:g}"
    cells = (
        *(case.name, f"{case.n:,}", f"{model.choices_['tuning'].value}{' (warned)' if told else ''}", shape),
        *(
            f"{losses[0] / losses[1]:.4f}",
            f"{losses[0] / truth:.4f}",
            ", ".join(inside),
            nats,
            f"{cpu:.1f}",
            f"{1e4 * cpu / case.n:.1f}",
        ),
    )
    return "| " + " | ".join(cells) + " |"


def fitted(case: Case, kernel: Kernel | None) -> tuple[SpatialRegressor, float, list[str]]:
    """Model by default, or with a kernel that is kept; its CPU seconds, and what it warned of."""
    model = SpatialRegressor(
        kernel,
        family=case.family,
        coords=[0, 1],
        covariates=list(range(2, len(case.columns))),
        tune="evidence" if kernel is None else None,
    )
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(case.X[: case.n], case.y[: case.n], **case.known(slice(case.n)))
    return model, time.process_time() - begin, [str(w.message) for w in caught]


def loss(case: Case, law: object) -> float:
    """Mean negative log score of the new rows."""
    return -float(np.mean(law.log_density(case.y[case.n :])))


def held(case: Case, model: SpatialRegressor) -> float:
    """Share of the new rows whose true mean lies within the 95 % interval of the surface."""
    new = slice(case.n, None)
    interval = model.predict_interval(case.X[new], **case.known(new))
    truth = case.family.mean(case.eta[new]) * (case.size[new] if case.family.size_name else 1.0)
    return float(np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))


# ------------------------------------------------------------------------------------- tables


def presence(name: str, n: int, share: float, clustered: bool = False, seed: int = 1) -> Case:
    """Presence with a given prevalence."""
    places, columns, effect, rng = covariates(n, clustered, seed)
    eta = effect + field(places, rng)
    eta += optimize.brentq(lambda level: np.mean(1 / (1 + np.exp(-eta - level))) - share, -20, 20)
    family, size = family_named("bernoulli"), np.ones(len(eta))
    return Case(name, family, family, [*places.T, *columns], family.draw(eta, size, rng), eta, size, n)


def variant(kind: str, n: int, seed: int = 2) -> Case:
    """Clustered places, few trials, many zeros, or many rows at few places."""
    if kind == "clustered":
        return presence(kind, n, 0.1, clustered=True, seed=seed)
    places, columns, effect, rng = covariates(n, False, seed)
    if kind == "places":
        few = places[: max(n // 12, 50)]
        places = few[rng.integers(0, len(few), len(places))]
    eta = effect + field(places, rng) - 1.5
    if kind == "trials":
        family, size = family_named("binomial"), rng.integers(1, 6, len(eta)).astype(float)
    elif kind == "zeros":
        family, size = family_named("poisson"), rng.uniform(0.5, 1.5, len(eta))
    else:
        family, size = family_named("negative-binomial").replace(dispersion=0.5), rng.uniform(0.5, 5.0, len(eta))
    y, learned = family.draw(eta, size, rng), family
    if kind == "places":
        learned = family.replace(dispersion=None)
    return Case(kind, learned, family, [*places.T, *columns], y, eta, size, n)


def covariates(
    n: int, clustered: bool, seed: int
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray, np.random.Generator]:
    """Places, covariate columns and what they add to the linear predictor, of n rows and the new ones."""
    rng = np.random.default_rng(seed)
    total = n + N_NEW
    places = rng.uniform(size=(total, 2))
    if clustered:
        centres = rng.uniform(0.05, 0.95, size=(40, 2))
        places[:n] = np.clip(centres[rng.integers(0, 40, n)] + 0.02 * rng.standard_normal((n, 2)), 0, 1)
    continuous, often = rng.standard_normal(total), (rng.uniform(size=total) < 0.3) * 1.0
    rare, level = (rng.uniform(size=total) < 0.03) * 1.0, rng.choice(5, total, p=[0.4, 0.3, 0.2, 0.06, 0.04])
    columns = [continuous, often, rare, *((level == k) * 1.0 for k in range(1, 5))]
    return places, columns, np.column_stack(columns[:3]) @ EFFECTS + LEVELS[level], rng


def field(places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Field of the true kernel: 15,000 waves of a lattice leave out next to nothing."""
    waves = lattice_frequencies(TRUTH, np.ones(2), missing=1e-5, maximum=15_000)
    features = FourierMap(waves)
    return features.forward(places, rng.standard_normal(features.n_columns))


# ------------------------------------------------------------------------------------ evidence


def below_optimum(case: Case, model: SpatialRegressor) -> float:
    """Nats of the dense Laplace evidence between the learned hyperparameters and the best ones."""
    fit = model.fitted_
    responses = held_where_separated(replace(model.training_responses(), family=fit.model.family))[0]
    evidence = Laplace(responses, np.full(responses.rows.trend.shape[1], -1))
    kernel, noise = fit.model.kernel, fit.model.noise_variance
    learned = evidence.value(Theta(kernel, noise))[0]
    learns_noise = noise > 0

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        at = kernel.with_theta(x[: len(kernel.theta)])
        try:
            point = evidence.at(Theta(at, float(np.exp(x[-1])) if learns_noise else 0.0))
        except Exception:
            return 1e10, np.zeros(len(x))
        return -point.value, -point.gradient[: len(x)]

    own = np.r_[kernel.theta, [np.log(noise)] if learns_noise else []]
    ranges = [i for i, h in enumerate(kernel.hyperparameters) if h.role.is_range]
    best = learned
    for shift in (0.0, -1.0, 1.0):
        start = own.copy()
        start[ranges] += shift
        found = optimize.minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 25, "ftol": 1e-8})
        best = max(best, -float(found.fun))
    return best - learned


if __name__ == "__main__":
    main()
