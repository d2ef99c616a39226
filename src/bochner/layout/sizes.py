"""Responses at the door: counts, trials, exposure and offsets, checked and made plain."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray, as_rows
from bochner.exceptions import InputError, PartError
from bochner.families import Family
from bochner.families.base import refuse


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


def survey_weights(weight: FloatArray) -> str | None:
    """What to say of weights that look like those of a survey and not like copies of rows; None of others."""
    kept = weight[weight > 0]
    if np.any(kept != np.round(kept)):
        sign = f"sample_weight has fractions (e.g. {kept[kept != np.round(kept)][0]:.4g})"
    elif np.min(kept) > 1 and np.mean(kept) > 20:
        sign = f"every sample_weight is large (mean {np.mean(kept):.4g})"
    else:
        return None
    return (
        f"{sign}: it looks like survey (sampling) weights, but a sample_weight of k stands for k copies of the row, so "
        f"that intervals shrink with its size. Leave it out, and bring the design in as covariates."
    )
