"""What several commands do: read a table, name a kernel, fit, predict, show that something is going on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bochner import SpatialRegressor, load
from bochner.exceptions import InputError
from bochner.geo import Table, find_coords, read_table, write_table
from bochner.kernels import Cauchy, Kernel, Laplacian, Matern, RationalQuadratic, SquaredExponential

KERNELS: dict[str, Kernel] = {
    "matern12": Matern(nu=0.5),
    "exponential": Matern(nu=0.5),
    "matern32": Matern(nu=1.5),
    "matern52": Matern(nu=2.5),
    "matern": Matern(learn_nu=True),
    "squared-exponential": SquaredExponential(),
    "laplacian": Laplacian(),
    "cauchy": Cauchy(),
    "rational-quadratic": RationalQuadratic(),
}


def fit_table(
    data: Path,
    target: str,
    coords: Sequence[str],
    covariates: Sequence[str],
    kernel: str | None,
    features: str,
    tune: str,
    predict_at: Path | None,
    seed: int,
) -> tuple[SpatialRegressor, list[str]]:
    """Fit a table; the model, and notes for the user."""
    table = read_table(data)
    coords = list(coords) or find_coords(table.names, table.source)
    used = [*coords, *covariates]
    twice = [name for name in {*used, target} if [*used, target].count(name) > 1]
    if twice:
        raise InputError(f"column {twice[0]!r} is named twice, as target, coordinate or covariate; name it once.")
    frame, notes = complete_rows(table, [*used, target])
    places = None if predict_at is None else complete_rows(read_table(predict_at), coords)[0]
    model = SpatialRegressor(
        kernel_named(kernel),
        features=features,
        tune=tune,
        coords=coords,
        covariates=list(covariates) or None,
        random_state=seed,
    )
    if [c.lower() for c in coords] in (["lon", "lat"], ["longitude", "latitude"], ["long", "lat"]):
        notes.append(f"note: {', '.join(coords)} are taken as planar coordinates in degrees.")
    return model.fit(frame[used], frame[target], predict_at=places), notes


def predict_table(path: Path, data: Path, output: Path, latent: bool, level: float) -> int:
    """Predict at the rows of a table and write it with mean, sd, lower and upper; the number of rows."""
    model, table = load(path), read_table(data)
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"{path} was fitted to an array without column names; fit it to a table, or predict in Python."
        )
    X = table.numbers(list(model.feature_names_in_))
    missing = ~np.isfinite(X.to_numpy()).all(axis=1)
    if missing.any():
        raise InputError(
            f"{table.source} has missing values in {int(missing.sum()):,} rows (first: {int(missing.argmax()) + 1}); "
            f"fill or drop them."
        )
    mean, sd = model.predict(X, return_std=True, include_noise=not latent)
    lower, upper = model.predict_interval(X, level, include_noise=not latent).T
    write_table(table.with_columns({"mean": mean, "sd": sd, "lower": lower, "upper": upper}), output)
    return len(table)


def complete_rows(table: Table, columns: Sequence[str]) -> tuple[Any, list[str]]:
    """Numbers of the rows without a missing value, and a note that counts the others by column."""
    frame = table.numbers(columns)
    missing = ~np.isfinite(frame.to_numpy())
    bad = missing.any(axis=1)
    if not bad.any():
        return frame, []
    if bad.all():
        raise InputError(
            f"every row of {table.source} has a missing value in {list(columns)}; there is nothing to fit."
        )
    told = ", ".join(f"{int(k)} in {name}" for name, k in zip(columns, missing.sum(axis=0), strict=True) if k)
    return frame[~bad], [
        f"note: {int(bad.sum()):,} of {len(bad):,} rows have missing values ({told}) and are left out."
    ]


def kernel_named(text: str | None) -> Kernel | None:
    """Kernel from its name, or a sum of kernels from names joined by +."""
    if text is None:
        return None
    kernel: Kernel | None = None
    for name in text.split("+"):
        if name.strip() not in KERNELS:
            raise InputError(f"kernel {name.strip()!r} is not known; choose from {sorted(KERNELS)}, or join them by +.")
        part = KERNELS[name.strip()]
        kernel = part if kernel is None else kernel + part
    return kernel


def names_in(text: str | None) -> list[str]:
    """Column names out of a comma-separated list."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


@contextmanager
def status(text: str) -> Iterator[None]:
    """A spinner on a terminal, nothing elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        yield
