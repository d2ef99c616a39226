"""Lines: rows of a file by where they stand in it, in what a fit or a prediction says of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bochner.arrays import IntArray
from bochner.exceptions import InputError, RowError
from bochner.geo import Places
from bochner.layout.row_names import RowName


def line_of(places: Places) -> RowName:
    """What rows of a file are called: the line in a table, the number in a vector file, the place of a pixel."""
    if places.pixels is None:
        return places.line
    columns = places.frame[list(places.coords)]

    def pixel(row: int) -> str:
        return "the pixel at " + ", ".join(f"{name} {_text(columns[name].iloc[row])}" for name in places.coords)

    return pixel


@contextmanager
def told_by_line(places: Places, rows: IntArray | None = None) -> Iterator[None]:
    """Within: an error of rows names the first by where it stands in the file; `rows` are those in use, if not all."""
    try:
        yield
    except RowError as error:
        first = int(error.rows[0]) if rows is None else int(rows[error.rows[0]])
        needed = str(error).partition("; ")[2]
        raise InputError(f"{places.source}, {line_of(places)(first)}: {error.reasons[0]}; {needed}") from error


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
