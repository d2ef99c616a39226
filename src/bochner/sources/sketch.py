"""Sketch: a sample of the rows of a source, drawn while they pass by, the same in whatever order they come.

Every row has a number that follows from its values alone (a hash), and the rows of the smallest numbers are the sample.
So sketches of parts add, and neither the order of the parts nor their sizes, nor the kind of file, makes a difference.
Beside the sample, a sketch keeps the outermost rows along each coordinate, so that the box of all rows is known, and
one row of each level of a category.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.geo import limits as geo_limits
from bochner.sources import limits
from bochner.sources.base import Columns, Reading
from bochner.sources.wanted import Wanted

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Sketch:
    """A sample of rows with what is known of all of them.

    Attributes
    ----------
    size : int
        Rows that the sample may have.
    keys, rows
        Numbers of the sampled rows, rising, and their columns.
    edge_keys, edges
        The same of the outermost rows, and of the levels of categories.
    coords : tuple of str
        Columns whose outermost rows are kept.
    n_rows, n_missing, n_amiss : int
        Complete rows in all, those left out because a value was missing, and those left out as amiss.
    amiss : tuple of str
        What the first of the latter are.
    marks : mapping of int to (rows, digest)
        Of each part, so that a source that changes between passes is noticed.
    """

    size: int
    coords: tuple[str, ...]
    keys: np.ndarray
    rows: Columns
    edge_keys: np.ndarray
    edges: Columns
    n_rows: int
    n_missing: int
    marks: Mapping[str, tuple[int, int]]
    n_amiss: int = 0
    amiss: tuple[str, ...] = ()

    def __add__(self, other: Sketch) -> Sketch:
        keys, rows = _joined((self.keys, self.rows), (other.keys, other.rows))
        edge_keys, edges = _joined((self.edge_keys, self.edges), (other.edge_keys, other.edges))
        keys, rows = _least(keys, rows, self.size)
        edge_keys, edges = _outermost(edge_keys, edges, self.coords)
        return replace(
            self,
            keys=keys,
            rows=rows,
            edge_keys=edge_keys,
            edges=edges,
            n_rows=self.n_rows + other.n_rows,
            n_missing=self.n_missing + other.n_missing,
            marks={**self.marks, **other.marks},
            n_amiss=self.n_amiss + other.n_amiss,
            amiss=(*self.amiss, *other.amiss)[: geo_limits.LISTED_ROWS],
        )

    @property
    def whole(self) -> bool:
        """Whether the sample holds every row."""
        return self.n_rows == len(self.keys)

    @property
    def columns(self) -> Columns:
        """Columns of the sample, with the outermost rows that are not in it; in the order of their numbers."""
        new = ~np.isin(self.edge_keys, self.keys)
        keys, rows = _joined((self.keys, self.rows), (self.edge_keys[new], _taken(self.edges, np.flatnonzero(new))))
        return _taken(rows, np.argsort(keys, kind="stable"))

    @property
    def marks_alone(self) -> Sketch:
        """The same without its rows: what `check` needs, small enough to travel to every worker."""
        return replace(self, keys=self.keys[:0], rows={}, edge_keys=self.edge_keys[:0], edges={})

    def check(self, number: int, where: str, columns: Columns) -> None:
        """Refuse a part that is not what it was when the sample was drawn."""
        before, now = self.marks.get(str(number)), mark(columns)
        if before is None or tuple(before) != now:
            was = "was not there" if before is None else f"had {before[0]:,} rows"
            change = f"it {was}, and has {now[0]:,} now" if before is None or before[0] != now[0] else "values differ"
            raise InputError(
                f"{where} changed between two passes over the source ({change}); fit again when nothing writes to it."
            )


def sketch(reading: Reading, wanted: Wanted, size: int = limits.HELD_ROWS, share: float = 1.0) -> Sketch:
    """Sketch of a part; `share` is that of all rows which the sample can hold, if it is known."""
    usable = wanted.usable(reading)
    columns = usable.columns
    keys = row_keys(columns, wanted.names)
    n = len(keys)
    if share < 1:
        some = np.flatnonzero(keys < np.uint64(min(share * 2.0**64, 2.0**64 - 2048)))
        chosen, rows = _least(keys[some], _taken(columns, some), size)
    else:
        chosen, rows = _least(keys, columns, size)
    edge_keys, edges = _outermost(keys, columns, wanted.coords)
    marks = {str(reading.number): mark(columns)}
    left_out = (usable.n_missing, marks, usable.n_amiss, usable.amiss)
    return Sketch(size, wanted.coords, chosen, rows, edge_keys, edges, n, *left_out)


def row_keys(columns: Columns, names: Sequence[str]) -> np.ndarray:
    """A number of 64 bits for each row, from its values alone; equal rows have equal ones."""
    keys: np.ndarray | None = None
    for name in names:
        bits = _bits(columns[name])
        keys = bits * _ODD if keys is None else keys ^ bits
        keys ^= keys >> np.uint64(30)
        keys *= _MIXERS[0]
        keys ^= keys >> np.uint64(27)
        keys *= _MIXERS[1]
        keys ^= keys >> np.uint64(31)
    assert keys is not None
    return keys


def mark(columns: Columns) -> tuple[int, int]:
    """Rows, and a digest that does not depend on their order; cheap enough for every pass."""
    total, n = 0, 0
    for i, name in enumerate(sorted(columns)):
        bits = _bits(columns[name])
        n = len(bits)
        total ^= (int(np.add.reduce(bits, dtype=np.uint64)) * (2 * i + 3)) % 2**64
    return n, total


def share_held(n_rows: int | None, size: int = limits.HELD_ROWS) -> float:
    """Share of the numbers below which a sample of `size` lies almost surely; 1 where the rows are not counted."""
    if n_rows is None or n_rows <= 2 * size:
        return 1.0
    return size / n_rows * (1 + 8 / size**0.5)


def _bits(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.asarray(values + 0.0, dtype=np.float64).view(np.uint64)  # -0.0 is 0.0
    if values.dtype.kind == "M":
        return values.astype("datetime64[ns]").view(np.uint64)
    from pandas.util import hash_array

    return np.asarray(hash_array(np.array([str(v) for v in values], dtype=object)), dtype=np.uint64)


def _least(keys: np.ndarray, rows: Columns, size: int) -> tuple[np.ndarray, Columns]:
    """Rows of the smallest numbers, in their order."""
    some = np.argpartition(keys, size)[:size] if len(keys) > size else np.arange(len(keys))
    some = some[np.argsort(keys[some], kind="stable")]
    return keys[some], _taken(rows, some)


def _outermost(keys: np.ndarray, rows: Columns, coords: Sequence[str]) -> tuple[np.ndarray, Columns]:
    """The lowest and highest row along each coordinate, and one row of each level of a text."""
    if not len(keys):
        return keys, rows
    chosen: set[int] = set()
    for name, values in rows.items():
        if name in coords and values.dtype != object:
            for at in (values.min(), values.max()):
                same = np.flatnonzero(values == at)
                chosen.add(int(same[np.argmin(keys[same])]))
        elif values.dtype == object:
            text = np.array([str(v) for v in values])
            order = np.lexsort((keys, text))
            first = np.r_[True, text[order][1:] != text[order][:-1]]
            chosen.update(int(i) for i in order[first][: limits.MOST_KEPT_LEVELS])
    some = np.array(sorted(chosen), dtype=np.intp)
    _, once = np.unique(keys[some], return_index=True)
    return keys[some[once]], _taken(rows, some[once])


def _joined(first: tuple[np.ndarray, Columns], second: tuple[np.ndarray, Columns]) -> tuple[np.ndarray, Columns]:
    if not len(second[0]):
        return first
    if not len(first[0]):
        return second
    rows = {name: np.concatenate([first[1][name], second[1][name]]) for name in first[1]}
    return np.concatenate([first[0], second[0]]), rows


def _taken(rows: Columns, index: Any) -> Columns:
    return {name: values[index] for name, values in rows.items()}
