"""Laplace maximum likelihood on three surveys, beside what glmmTMB reaches with the same model.

    python benchmarks/references.py DIR      DIR holds loaloa.parquet, rongelap.parquet and liberia_oncho.parquet

One exponential field, no effect of single rows. Every normalising constant is in the log-likelihood. The data are not
part of the project; without DIR nothing is done.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bochner import SpatialRegressor
from bochner.estimators import Fitted
from bochner.kernels import Matern
from bochner.posterior import Mixture


@dataclass(frozen=True)
class Reference:
    """A survey, how to fit it, and what the reference software found."""

    file: str
    family: str
    response: str
    size: str
    latitude: float | None  # of the plane in km; None: x and y in metres
    covariate: str | None  # enters by its logarithm
    log_likelihood: float
    coef: tuple[float, ...]
    standard_error: float | None  # of the intercept
    sd: float
    reach: float  # range in km

    @property
    def size_name(self) -> str:
        return "trials" if self.family == "binomial" else "exposure"


REFERENCES = (
    Reference("loaloa", "binomial", "positive", "examined", 5.0, None, -683.849, (-2.2914,), 0.4887, 1.5882, 75.49),
    Reference("rongelap", "poisson", "count", "time", None, None, -1317.989, (1.8306,), 0.0852, 0.5444, 0.1033),
    # a second optimum at -240.49, of range 0.2 km, catches many a start
    Reference(
        "liberia_oncho",
        "binomial",
        "positive",
        "examined",
        6.4,
        "elevation",
        -235.437,
        (-3.1950, 0.3374),
        None,
        0.2954,
        45.77,
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    folder = parser.parse_args().folder
    if folder is None:
        print("no data: pass the folder of the surveys")
        return
    print(f"{'':<32}{'found':>12}{'reference':>12}")
    for reference in REFERENCES:
        report(reference, *fitted(reference, folder))


def fitted(reference: Reference, folder: Path) -> tuple[SpatialRegressor, float]:
    """Model of a survey, and the seconds that it took."""
    import pandas as pd

    table = pd.read_parquet(folder / f"{reference.file}.parquet")
    columns = coordinates(table, reference.latitude)
    covariates = None
    if reference.covariate is not None:
        covariates = [f"log_{reference.covariate}"]
        columns[covariates[0]] = np.log(table[reference.covariate])
    model = SpatialRegressor(
        Matern(nu=0.5),
        family=reference.family,
        features="exact",
        noise_variance=0,
        tune="likelihood",
        coords=["x", "y"],
        covariates=covariates,
    )
    begin = time.perf_counter()
    model.fit(columns, table[reference.response], **{reference.size_name: table[reference.size]})
    return model, time.perf_counter() - begin


def coordinates(table: Any, latitude: float | None) -> Any:
    """Columns x and y in km."""
    import pandas as pd

    if latitude is None:
        return table[["x", "y"]] / 1000
    x = table["lon"] * 111.32 * np.cos(np.radians(latitude))
    return pd.DataFrame({"x": x, "y": table["lat"] * 110.57})


def report(reference: Reference, model: SpatialRegressor, seconds: float) -> None:
    averaged = np.sqrt(np.diag(model.fitted_.fixed_effects[1]))
    plain = np.sqrt(np.diag(at_the_best(model.fitted_).fixed_effects[1]))
    names = ["intercept", *([] if reference.covariate is None else [f"log {reference.covariate}"])]
    rows = [("log-likelihood", model.log_likelihood_, reference.log_likelihood)]
    rows += list(zip(names, model.coef_, reference.coef, strict=True))
    if reference.standard_error is not None:
        rows.append(("standard error, kernel held", plain[0], reference.standard_error))
        rows.append(("standard error, kernel averaged", averaged[0], np.nan))
    rows.append(("sd of the field", np.sqrt(model.kernel_.variance), reference.sd))
    rows.append(("range, km", model.kernel_.length_scale, reference.reach))
    print(f"\n{reference.file}, {reference.family}, {seconds:.1f} s")
    for name, found, expected in rows:
        print(f"  {name:<32}{found:>10.4f}{'' if np.isnan(expected) else f'{expected:>12.4f}'}")


def at_the_best(fitted: Fitted) -> Fitted:
    """The model at its best hyperparameters alone."""
    mixture = fitted.model.mixture
    best = Mixture(mixture.components[:1], np.ones(1), mixture.noise_variance[:1])
    return replace(fitted, model=replace(fitted.model, mixture=best))


if __name__ == "__main__":
    main()
