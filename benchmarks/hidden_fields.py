"""Does `check()` tell of fields that the rows cannot show, and is it silent about those that they can?

    python benchmarks/hidden_fields.py               102 fields that rows show, and 28 hidden ones
    python benchmarks/hidden_fields.py --fields 2    fewer of each family

Plain fields are well specified and to be seen: 150 rows, a range of .15 to .5 of the side of the square, noise well
below the field. The same with sizes (exposures, or trials) over some four orders, a few of which hold most of what the
rows know; and with a covariate whose effect is as large as the field. Hidden ones are the rough fields of
`benchmarks/calibration.py`, whose range of .03 is about half the distance between 300 rows. Of each: how far 95 %
intervals of the surface hold it, whether `check()` says that rows hardly predict each other, and whether it says
anything.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass, replace

import numpy as np
from calibration import FAMILIES, Cell, Truth, drawn, family_of, truth_of

from bochner import SpatialRegressor
from bochner.kernels import Matern

TOLD = "hardly predict each other"
SIZED = ("binomial", "poisson", "negative-binomial")


@dataclass(frozen=True)
class Outcome:
    """Share of the surface inside 95 % intervals, and whether `check()` told of a hidden field, or of anything."""

    inside: float
    told: bool
    spoke: bool


def main() -> None:
    """Print a line for each family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fields", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=4)
    args = parser.parse_args()
    seen = {"plain": (plain, FAMILIES), "sizes": (unequal, SIZED), "covariate": (with_covariate, FAMILIES)}
    rounds = [(name, *of, args.fields) for name, of in seen.items()]
    for name, draw, families, n_fields in (*rounds, ("hidden", hidden, FAMILIES, args.hidden)):
        found: list[Outcome] = []
        for family in families if n_fields else ():
            own = [outcome(family, draw(family, i)) for i in range(n_fields)]
            found += own
            print(f"{name:<10}{family:<20}{_told(own)}", flush=True)
        if found:
            print(f"{name:<10}{'all':<20}{_told(found)}", flush=True)


def plain(family: str, field: int) -> Truth:
    """A field that rows can show."""
    rng = np.random.default_rng([field, FAMILIES.index(family), 17])
    kernel = Matern(float(rng.uniform(0.15, 0.5)), 1.5, nu=float(rng.choice([0.5, 1.5, 2.5])))
    return truth_of(kernel, *family_of(family, 0.3, rng), 150, rng)


def unequal(family: str, field: int) -> Truth:
    """The same with lognormal sizes: of a few towns and many hamlets."""
    truth, rng = plain(family, field), np.random.default_rng([field, FAMILIES.index(family), 18])
    size = np.ceil(10 * np.exp(1.5 * rng.standard_normal(len(truth.y))))
    own = truth.eta + np.sqrt(truth.noise) * rng.standard_normal(len(truth.y))
    return replace(truth, size=size, y=truth.family.draw(own, size, rng))


def with_covariate(family: str, field: int) -> Truth:
    """The same with a covariate, the third column, that varies from row to row."""
    truth, rng = plain(family, field), np.random.default_rng([field, FAMILIES.index(family), 19])
    covariate = rng.standard_normal(len(truth.y))
    eta = truth.eta + covariate
    own = 0.0 if truth.family.observes_eta else np.sqrt(truth.noise) * rng.standard_normal(len(eta))
    y = truth.family.draw(eta + own, truth.size, rng)
    return replace(truth, X=np.column_stack([truth.X, covariate]), eta=eta, y=y)


def hidden(family: str, field: int) -> Truth:
    """A field of the corner whose range is half the distance between rows, with little noise and with much."""
    return drawn(Cell("adverse", family, "exact", 300), (0, 1, 4, 5)[field % 4] + 8 * (field // 4))


def outcome(family: str, truth: Truth) -> Outcome:
    """Fit, ask and check."""
    n = len(truth.y) - 100
    sizes = {} if truth.family.size_name is None else {truth.family.size_name: truth.size[:n]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        covariates = list(range(2, truth.X.shape[1])) or None
        model = SpatialRegressor(family=family, covariates=covariates, n_jobs=1).fit(truth.X[:n], truth.y[:n], **sizes)
        ranks = model.predict_distribution(truth.X[n:]).law.eta.cdf(truth.eta[n:])
        found = model.check()
    inside = float(np.mean((ranks >= 0.025) & (ranks <= 0.975)))
    return Outcome(inside, any(TOLD in finding for finding in found), bool(found))


def _told(found: list[Outcome]) -> str:
    low = [o for o in found if o.inside < 0.85]
    return (
        f"inside {np.mean([o.inside for o in found]):.2f}; hidden by check() {sum(o.told for o in found)} of "
        f"{len(found)}, anything {sum(o.spoke for o in found)}; below .85: {len(low)}, of which hidden by check() "
        f"{sum(o.told for o in low)}, anything {sum(o.spoke for o in low)}"
    )


if __name__ == "__main__":
    main()
