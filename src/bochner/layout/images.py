"""Images: an xarray DataArray or Dataset as the table of its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.geo.cubes import variable_of
from bochner.geo.stacks import Stack
from bochner.spelling import check_columns


def unstacked(
    cube: Any, y: Any, predict_at: Any, crs: Any, target: str | None = None, covariates: Sequence[Any] = ()
) -> tuple[Any, Any, Any]:
    """Coordinates and values of the pixels that have one, and, unless places are named, coordinates of the others.

    The response of a Dataset is its variable `target`, or its only one; `covariates` are variables beside it.
    """
    import pandas as pd

    if y is not None:
        raise InputError("X is an xarray object, which holds the response, and y was given as well; leave y out.")
    own = cube if target is not None or not covariates else _without(cube, covariates)
    stack = Stack.of(variable_of(own, "X", target, "name one: fit(dataset, target='name')"), crs, "X")
    images = stack.images
    there = np.isfinite(images)
    known = _beside(stack, cube, covariates)
    if not there.any():
        raise InputError(f"{stack.name!r} has no pixel with a value; check its fill value.")
    for name, values in known.items():
        there &= np.isfinite(values)
        if not there.any():
            raise InputError(f"no pixel has both {stack.name!r} and {name!r}; check their fill values.")
    if predict_at is None and not there.all():
        predict_at = stack.table(~there)
    table = stack.table(there)
    for name, values in known.items():
        table[name] = values[there]
    return table, pd.Series(images[there], name=stack.name), predict_at


def _without(cube: Any, names: Sequence[Any]) -> Any:
    return cube.drop_vars([name for name in names if name in cube]) if hasattr(cube, "data_vars") else cube


def _beside(stack: Stack, cube: Any, covariates: Sequence[Any]) -> dict[str, Any]:
    """Values (labels, rows, columns) of the variables that enter linearly."""
    if not covariates:
        return {}
    if not hasattr(cube, "data_vars"):
        raise InputError(f"covariates {list(covariates)} were named, but X is a DataArray; give the Dataset with them.")
    check_columns([str(name) for name in covariates], [str(name) for name in cube.data_vars], "X")
    return {str(name): stack.beside(cube, str(name)) for name in covariates}
