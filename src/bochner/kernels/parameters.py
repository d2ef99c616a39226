"""Parameters of a kernel: positive, and frozen so that kernels compare, hash and print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels import limits

LENGTHS = ("length_scale", "period")


def check_positive(kernel: object, **values: Any) -> None:
    """Refuse hyperparameters that are not finite positive numbers."""
    for name, value in values.items():
        numbers = np.atleast_1d(np.asarray(value, dtype=object)).ravel()
        if not len(numbers):
            raise KernelError(f"{type(kernel).__name__}: {name} is {value!r}; needed is a finite number > 0.")
        for number in numbers:
            if not _is_positive(number):
                raise KernelError(f"{type(kernel).__name__}: {name} is {value!r}; needed is a finite number > 0.")
            if name in LENGTHS and not 1 / limits.SQUARED < float(number) < limits.SQUARED:
                raise KernelError(
                    f"{type(kernel).__name__}: {name} is {value!r}, whose square no double holds; give coordinates and "
                    f"lengths in another unit."
                )


def _is_positive(number: Any) -> bool:
    if isinstance(number, (str, bytes)):
        return False
    try:
        return bool(np.isfinite(float(number)) and float(number) > 0)
    except (TypeError, ValueError, OverflowError):
        return False


def freeze(kernel: object, *names: str) -> None:
    """Turn list, array and numpy parameters of a frozen kernel into tuples and numbers that compare, hash and print."""
    for name in names:
        object.__setattr__(kernel, name, _frozen(getattr(kernel, name)))


def _frozen(value: Any) -> Any:
    # what is frozen already is kept as it is: scikit-learn's clone asks for the same object
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (tuple, str)):
        array = np.asarray(value)
        return array.item() if array.ndim == 0 else tuple(float(v) for v in array.ravel())
    if isinstance(value, tuple):
        items = tuple(_frozen(v) for v in value)
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def table(array: FloatArray, given: Any) -> tuple[tuple[float, ...], ...]:
    """Rows of an array as tuples; what was given, if it is that already."""
    rows = tuple(tuple(float(v) for v in row) for row in array)
    return given if isinstance(given, tuple) and given == rows and isinstance(given[0], tuple) else rows
