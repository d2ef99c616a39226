"""Row names: what rows of a table are called where something is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bochner.arrays import FloatArray

RowName = Callable[[int], str]
"""From the position of a row to its name: "row 7", "line 9"."""


def by_position(row: int) -> str:
    """Position in the table that was given, counted from 0."""
    return f"row {row}"


def by_label(table: Any) -> RowName | None:
    """Position and label of rows of a data frame with an index of its own; None for any other table."""
    index = getattr(table, "index", None)
    if index is None or callable(index) or len(index) != len(table):
        return None
    if index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index))):
        return None
    return lambda row: f"row {row} (index {index[row]})"


def by_place(coords: FloatArray, names: Sequence[str]) -> RowName:
    """Coordinates (n, k), for rows whose position says nothing: those of a sample."""
    return lambda row: "that at " + ", ".join(f"{n} {value:.6g}" for n, value in zip(names, coords[row], strict=True))
