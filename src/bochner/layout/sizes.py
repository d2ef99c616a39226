"""Responses at the door: counts, trials, exposure and offsets, checked and made plain."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray, as_rows
from bochner.exceptions import InputError, PartError
from bochner.families import Family
from bochner.families.base import refuse
from bochner.layout import limits


def checked_size(family: Family, n: int, trials: Any, exposure: Any) -> FloatArray | None:
    """Trials or exposure of each row, whichever the family counts out of; None if it was not given."""
    for name, value in (("trials", trials), ("exposure", exposure)):
        if isinstance(value, str):
            raise InputError(
                f"{name}={value!r} is a name; needed are numbers: {name}=table[{value!r}]. Names of columns are for "
                f"SpatialRegressor.from_formula."
            )
        if value is not None and family.size_name != name:
            has = f"has {family.size_name}" if family.size_name else "has neither trials nor exposure"
            raise PartError(
                f"{name} was given, but family={family.name!r} {has}; leave it out, or choose another family."
            )
    size = as_rows(trials if family.size_name == "trials" else exposure, n, family.size_name or "size")
    if size is None:
        return None
    if not np.all(size > 0):
        refuse(
            ~(size > 0),
            f"{family.size_name} is {{size}} at row {{row}}; needed are numbers > 0. Leave out rows without any.",
            size=size,
        )
    if family.size_name == "trials" and np.any(size != np.floor(size)):
        refuse(
            size != np.floor(size),
            "trials is {size} at row {row}; needed are whole numbers: how many were examined, not a share.",
            size=size,
        )
    return size


def check_responses(family: Family, y: FloatArray, size: FloatArray, weight: FloatArray, intercept: bool) -> None:
    """Refuse responses outside the family's domain, and those that no finite intercept explains."""
    if family.observes_eta:
        return
    family.check(y, size)
    if not intercept:
        return
    kept, out_of = y[weight > 0], size[weight > 0]
    if family.discrete and not kept.any():
        raise InputError(
            f"every response is 0; a {family.name} model with an intercept has no finite fit then. Give rows with "
            f"positive responses, or fit_intercept=False with an offset."
        )
    if family.bounded_by_size and np.all(kept == out_of):
        raise InputError(
            f"every response equals its number of trials; a {family.name} model with an intercept has no finite fit "
            f"then. Give rows with some failures, or fit_intercept=False with an offset."
        )


def odd_weights(weight: FloatArray) -> str:
    """What to say of weights that look like precisions or survey weights instead of copies of rows; empty if not."""
    kept = weight[weight > 0]
    mean = float(np.mean(kept))
    fractions = kept[kept != np.round(kept)]
    if np.all(kept == kept[0]) and kept[0] != 1:
        sign = f"is {kept[0]:.4g} in every row"
    elif len(fractions):
        sign = f"has fractions (e.g. {fractions[0]:.4g}, mean {mean:.4g})"
    elif np.min(kept) > 1 and mean > limits.LARGE_WEIGHT:
        sign = f"is large everywhere (mean {mean:.4g})"
    else:
        return ""
    return (
        f"sample_weight {sign}: as in scikit-learn, a sample_weight of k stands for k copies of the row, so that "
        f"{len(kept):,} rows are taken for {kept.sum():,.6g}. Did you mean measurement_variance? Of precisions, give "
        f"measurement_variance=1/weight (on the command line, its root as --error-sd); leave survey (sampling) "
        f"weights out, and bring the design in as covariates."
    )


def copies_without_noise(weight: FloatArray, noise_variance: float, variance: float) -> str:
    """What to say where the noise was learned from copies, which are equal in their response, too; empty if not."""
    kept = weight[weight > 0]
    if kept.sum() < (1 + limits.COPIED_SHARE) * len(kept) or noise_variance > limits.NO_NOISE * variance:
        return ""
    return (
        f"no noise was learned: a sample_weight of k stands for k copies of the row that have the same response, too, "
        f"and copies that do not scatter leave none ({len(kept):,} rows are taken for {kept.sum():,.6g}). If the rows "
        f"are noisy, the surface follows their noise, and intervals are too narrow. If a weight says how much a row is "
        f"to count, leave it out; if a row is the mean of k measurements, give its variance as measurement_variance "
        f"(on the command line its root, as --error-sd)."
    )
