"""Checks at the door: what every public function does first with its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.exceptions import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def as_coords(values: ArrayLike, dim: int | None = None, name: str = "coords") -> FloatArray:
    """Coordinates as a finite float64 array of shape (n, dim)."""
    coords = as_finite(values, name)
    if coords.ndim == 1:
        coords = coords[:, None] if dim in (None, 1) else coords[None, :]
    if coords.ndim != 2:
        raise InputError(f"{name} has shape {np.shape(values)}; needed is (n, dim): one row per place.")
    if dim is not None and coords.shape[1] != dim:
        raise InputError(f"{name} has {coords.shape[1]} columns; needed are {dim}, one per coordinate.")
    return coords


def as_finite(values: ArrayLike, name: str) -> FloatArray:
    """Float64 array without NaN or infinity."""
    try:
        array = np.asarray(unmasked(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} cannot be read as numbers ({error}); pass numeric values.") from error
    bad = ~np.isfinite(array)
    if bad.any():
        if not array.ndim:
            raise InputError(f"{name} is {float(array)}; needed is a finite number.")
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{name} holds {int(bad.sum())} NaN or infinite value(s), the first at {where}; drop or fill those rows."
        )
    return array


def unmasked(values: Any) -> Any:
    """A masked array with NaN where it is masked, so that what is missing is seen to be; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    data = np.array(values.data, dtype=np.float64)
    data[np.ma.getmaskarray(values)] = np.nan
    return data


def as_rows(values: ArrayLike | None, n: int, name: str, default: float | None = None) -> FloatArray | None:
    """One finite number per row; a single number is repeated."""
    if values is None:
        return None if default is None else np.broadcast_to(np.float64(default), (n,))
    array = as_finite(values, name)
    if array.ndim == 0:
        return np.full(n, float(array))
    if array.shape == (n, 1):
        array = array[:, 0]
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape}; needed is one value per row, ({n},).")
    return array


def box_of(coords: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest of each coordinate."""
    long, rest = _in_long_rows(coords)
    if not len(long):
        return np.array([c.min() for c in coords.T]), np.array([c.max() for c in coords.T])
    low, high = (np.reshape(found, (-1, coords.shape[1])) for found in (long.min(axis=0), long.max(axis=0)))
    return np.concatenate([low, rest]).min(axis=0), np.concatenate([high, rest]).max(axis=0)


def rowwise(function: np.ufunc, table: FloatArray, row: FloatArray) -> FloatArray:
    """A function of every row of a narrow table (n, d) and of the same row (d,): `table - row`, but quickly."""
    long, rest = _in_long_rows(table)
    if not len(long):
        return np.asarray(function(table, row))
    out = np.empty(table.shape)
    whole = len(table) - len(rest)
    function(long, np.tile(row, long.shape[1] // len(row)), out=out[:whole].reshape(long.shape))
    function(rest, row, out=out[whole:])
    return out


def _in_long_rows(table: FloatArray, together: int = 256) -> tuple[FloatArray, FloatArray]:
    """Rows of a narrow table laid end to end in long ones, and the rest of them: numpy is slow along short rows."""
    whole = len(table) // together * together if table.flags.c_contiguous else 0
    return table[:whole].reshape(whole // together, together * table.shape[1]), table[whole:]


def positive(value: Any, name: str, *, zero: bool = False) -> float:
    """A positive (or, if `zero`, non-negative) finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}; needed is a number.") from None
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise InputError(f"{name} is {value!r}; needed is a finite number {'>= 0' if zero else '> 0'}.")
    return number
