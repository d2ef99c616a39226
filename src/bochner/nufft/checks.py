"""Checks at the door of the NUFFT: shapes, precision, tolerance, sign, threads."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bochner.arrays import FloatArray, as_coords, positive
from bochner.exceptions import InputError, MemoryLimitError
from bochner.nufft import limits
from bochner.nufft.contract import Array, RealType, complex_type

# What all back ends reach in 1 to 3 dimensions.
FINEST = {"float32": 1e-6, "float64": 1e-12}


def as_places(values: ArrayLike, dim: int | None = None, name: str = "coords") -> FloatArray:
    """Coordinates (n, dim) of 1 to 3 dimensions."""
    coords = as_coords(values, dim, name)
    if not 1 <= coords.shape[1] <= 3:
        raise InputError(f"{name} has {coords.shape[1]} columns; a NUFFT needs 1, 2 or 3. Use dense features instead.")
    return coords


def as_shape(shape: int | Sequence[int], dim: int) -> tuple[int, ...]:
    """Number of modes on each axis."""
    try:
        counts = tuple(operator.index(n) for n in (shape if isinstance(shape, Sequence | np.ndarray) else (shape,)))
    except TypeError:
        raise InputError(f"shape is {shape!r}; needed are whole numbers of modes.") from None
    if len(counts) != dim or min(counts) < 1:
        raise InputError(f"shape is {counts}; needed are {dim} numbers of modes >= 1, one per column of coords.")
    return counts


def as_precision(dtype: DTypeLike) -> RealType:
    """Real type of a transform: float32 or float64."""
    for real in (np.dtype(np.float32), np.dtype(np.float64)):
        if np.dtype(dtype) == real:
            return real
    raise InputError(f"dtype is {np.dtype(dtype)}; needed is float32 or float64, the real type of the transform.")


def precision_of(values: ArrayLike) -> RealType:
    """Precision in which values are transformed: their own, float64 for integers."""
    single = getattr(values, "dtype", None) in (np.float32, np.complex64)
    return np.dtype(np.float32) if single else np.dtype(np.float64)


def as_vectors(values: ArrayLike, tail: tuple[int, ...], dtype: RealType, name: str) -> Array:
    """Finite values (n_vectors, *tail), complex or real, in the given precision."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise InputError(f"{name} has type {array.dtype}; needed are real or complex numbers.")
    if array.ndim not in (len(tail), len(tail) + 1) or array.shape[-len(tail) :] != tail:
        raise InputError(f"{name} has shape {array.shape}; needed is {tail} or (n_vectors, {str(tail)[1:-1]}).")
    kind = complex_type(dtype) if array.dtype.kind == "c" else dtype
    vectors = np.ascontiguousarray(array if array.ndim > len(tail) else array[None], kind)
    if not np.isfinite(vectors).all():
        raise InputError(f"{name} holds NaN, infinite or too large values for {kind}; drop or fill them first.")
    return vectors


def as_tolerance(eps: float, dtype: RealType) -> float:
    """Relative tolerance that the precision can reach."""
    tolerance = positive(eps, "eps")
    finest = FINEST[dtype.name]
    if tolerance < finest:
        hint = "use float64 values (or dtype=float64)" if dtype == np.float32 else "ask for a larger eps"
        raise InputError(f"eps is {tolerance:g}; {dtype} reaches {finest:g} at best: {hint}.")
    if tolerance > limits.COARSEST:
        raise InputError(f"eps is {tolerance:g}; needed is a relative error of at most {limits.COARSEST}.")
    return tolerance


def as_sign(sign: int) -> int:
    """Sign of the exponent."""
    if sign not in (-1, 1):
        raise InputError(f"sign is {sign!r}; needed is -1 or +1, the sign of the exponent.")
    return int(sign)


def check_grid(shape: Iterable[float]) -> None:
    """Refuse a fine grid that would exhaust the memory, before a back end tries to allocate it."""
    counts = [float(n) for n in shape]
    size = float(np.prod(counts))
    if size > limits.LARGEST_GRID:
        raise MemoryLimitError(
            f"the NUFFT needs a grid of {' x '.join(f'{n:.0f}' for n in counts)} points ({16 * size / 1e9:.0f} GB); "
            f"at most {limits.LARGEST_GRID} are allowed. Ask for fewer modes, or a smaller range of coordinates or "
            f"targets."
        )


def wrapped(coords: FloatArray) -> FloatArray:
    """Coordinates moved by multiples of 2 pi to [-pi, pi], in float64."""
    if coords.min(initial=0.0) >= -np.pi and coords.max(initial=0.0) <= np.pi:
        return coords
    return coords - 2 * np.pi * np.rint(coords / (2 * np.pi))
