"""Images: an xarray DataArray as the table of its pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.geo.stacks import Stack, variable_of


def unstacked(cube: Any, y: Any, predict_at: Any, crs: Any) -> tuple[Any, Any, Any]:
    """Coordinates and values of the pixels that have one, and, unless places are named, those of the others."""
    import pandas as pd

    if y is not None:
        raise InputError("X is an xarray object, which holds the response, and y was given as well; leave y out.")
    stack = Stack.of(variable_of(cube, "X", hint="pass one of them: fit(dataset['name'])"), crs, "X")
    images = stack.images
    there = np.isfinite(images)
    if not there.any():
        raise InputError(f"{stack.name!r} has no pixel with a value; check its fill value.")
    if predict_at is None and not there.all():
        predict_at = stack.table(~there)
    return stack.table(there), pd.Series(images[there], name=stack.name), predict_at
