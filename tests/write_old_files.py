"""Writes model files of the present format to be kept for ever: ``python -m tests.write_old_files``.

Run once for every format, before it is released; a folder that is there already is left alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bochner import SpatialClassifier, SpatialRegressor, archive
from bochner.kernels import Matern, SquaredExponential
from tests.test_old_files import answers, data_folder, table

KNOWN: dict[str, Any] = {"tune": None, "noise_variance": 0.1}


def models() -> dict[str, tuple[Any, Any]]:
    """Small models of every kind with a few rows to predict at."""
    import pandas as pd

    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(size=(40, 2)), 3)
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=40)
    frame = pd.DataFrame(X * 2 + [10, 40], columns=["lon", "lat"])
    frame["height"] = np.round(rng.uniform(1, 2, size=40), 3)
    frame["kind"] = np.array(["field", "forest", "town"])[rng.integers(0, 3, 40)]
    frame["date"] = [f"2020-01-{1 + i % 28:02d}" for i in range(40)]
    counts, trials, new = rng.poisson(4, 40), np.full(40, 20), X[:5] + 0.01
    classed = frame[["lon", "lat", "height", "kind"]]
    named, formula = frame[["lon", "lat", "height"]], "y ~ log(height) + kind + gp(lon, lat)"
    dated = frame[["lon", "lat", "date"]]
    waves = {"n_frequencies": 12, **KNOWN}
    return {
        "exact": (SpatialRegressor(Matern(0.4), features="exact", **KNOWN).fit(X, y), new),
        "averaged": (SpatialRegressor("matern32").fit(X, y), new),
        "lattice": (SpatialRegressor(Matern(0.4), features="lattice", **waves).fit(X, y), new),
        "quasi": (SpatialRegressor(SquaredExponential(0.4), features="quasi", **waves).fit(X, y), new),
        "nystroem": (SpatialRegressor(Matern(0.4), features="nystroem", **waves).fit(X, y), new),
        "sum": (SpatialRegressor(Matern(0.1) + SquaredExponential(0.8), **KNOWN).fit(X, y), new),
        "poisson": (SpatialRegressor(Matern(0.4), family="poisson", **KNOWN).fit(X, counts), new),
        "student": (SpatialRegressor(Matern(0.4), family="student", tune=None).fit(X, y), new),
        "classifier": (SpatialClassifier(Matern(0.4), tune=None).fit(X, np.where(y > 0, "a", "b")), new),
        "binomial": (
            SpatialRegressor(Matern(50.0), family="binomial", covariates="height", tune=None).fit(
                named, rng.binomial(20, 0.3, 40), trials=trials
            ),
            named[:5],
        ),
        "categories": (
            SpatialRegressor(Matern(50.0), covariates=["height", "kind"], **KNOWN).fit(classed, y),
            classed[:5],
        ),
        "dates": (SpatialRegressor("matern32(length_scale=50)", tune=None).fit(dated, y), dated[:5]),
        "formula": (
            SpatialRegressor.from_formula(formula, tune=None).fit(frame.assign(y=y)),
            classed[:5],
        ),
    }


def main() -> None:
    """Write the files and what they predict."""
    folder = data_folder(archive.FORMAT)
    if folder.exists():
        raise SystemExit(f"{folder} is there already: files of a released format are never written again.")
    folder.mkdir(parents=True)
    told = {}
    for name, (model, new) in models().items():
        model.save(folder / f"{name}.bochner")
        columns = list(getattr(new, "columns", ()))
        rows = np.asarray(new, dtype=object).tolist()
        mean, sd = answers(model, table(rows, columns))
        told[name] = {"new": rows, "columns": columns, "mean": list(map(float, mean)), "sd": list(map(float, sd))}
    Path(folder / "predictions.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
