"""Arrays: memmaps and others, some rows at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.sources import limits
from bochner.sources.base import Columns, Part, Source, as_column


@dataclass(frozen=True)
class ArrayPart(Part):
    """A slice of some columns."""

    arrays: Mapping[str, Any]
    start: int
    stop: int
    label: str

    @property
    def where(self) -> str:  # type: ignore[override]
        return f"{self.label}, rows {self.start:,} to {self.stop:,}"

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return self.stop - self.start

    def load(self, names: Sequence[str]) -> Columns:
        return {name: as_column(self.arrays[name][self.start : self.stop]) for name in names}


class ArraySource(Source):
    """Columns of one length, by name: arrays, memmaps, anything that gives an array for a slice."""

    def __init__(self, arrays: Mapping[str, Any], label: str = "the arrays", part_rows: int = limits.PART_ROWS) -> None:
        self.arrays, self.label, self.names = dict(arrays), label, tuple(arrays)
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) != 1:
            raise InputError(f"columns have lengths {lengths}; needed is one value per row in each.")
        n = next(iter(lengths.values()))
        if not n:
            raise InputError(f"{label} have no rows; give at least one.")
        self._parts = [
            ArrayPart(self.arrays, i, min(i + part_rows, n), label) for i in range(0, n, max(int(part_rows), 1))
        ]

    @property
    def parts(self) -> Sequence[Part]:
        return self._parts

    @classmethod
    def of_matrix(cls, X: Any, y: Any = None, label: str = "X", part_rows: int = limits.PART_ROWS) -> ArraySource:
        """Columns x0, x1, ... of a matrix (n, k), and y where it is given apart."""
        if X.ndim != 2:
            raise InputError(f"{label} has shape {X.shape}; needed are rows and columns.")
        arrays = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        if y is not None:
            arrays["y"] = np.asanyarray(y).reshape(len(y))
        return cls(arrays, label, part_rows)
