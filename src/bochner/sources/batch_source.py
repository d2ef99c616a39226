"""Batches: tables from a function or a sequence, one after the other, that can be begun again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bochner.exceptions import InputError
from bochner.sources.base import Columns, Part, Reading, Source, as_column

REFUSED = (
    "a generator can be read once, and a fit reads its rows at least twice: once for the sample that tunes, once for "
    "the sums. Give a function that makes a new one (Batches(lambda: ...)), a list of batches, or files."
)


class Batches(Source):
    """Record batches (Arrow, data frames, mappings of arrays) from a function that begins them anew.

    Parameters
    ----------
    start : callable or sequence
        ``start()`` gives an iterable of batches, the same ones every time; or a list of batches.
    label : str
        Name for messages.
    """

    def __init__(self, start: Callable[[], Iterable[Any]] | Sequence[Any], label: str = "the batches") -> None:
        if isinstance(start, Iterator):
            raise InputError(REFUSED)
        self._start = start if callable(start) else lambda: iter(start)
        self.label = label
        first = next(iter(self._start()), None)
        if first is None:
            raise InputError(f"{label} are none; give at least one batch of rows.")
        self.names = tuple(names_of(first, label))

    @property
    def parts(self) -> Sequence[Part]:
        raise InputError(f"{self.label} come one after the other and cannot be shared out; write them to Parquet.")

    @property
    def n_rows(self) -> int | None:
        return None

    @property
    def n_parts(self) -> int | None:
        return None

    @property
    def divisible(self) -> bool:
        return False

    def read(self, names: Sequence[str], start: int = 0) -> Iterator[Reading]:
        for number, batch in enumerate(self._start()):
            if number < start:
                continue
            where = f"batch {number} of {self.label}"
            missing = [n for n in names if n not in names_of(batch, where)]
            if missing:
                raise InputError(f"{where} has no column {missing[0]!r}, which the first one has; mend it.")
            yield Reading(number, where, columns_of(batch, names))


def names_of(batch: Any, where: str) -> list[str]:
    """Names of the columns of a batch of any kind."""
    if isinstance(batch, Mapping):
        return [str(name) for name in batch]
    if hasattr(batch, "schema") and hasattr(batch, "column"):
        return list(batch.schema.names)
    if hasattr(batch, "columns"):
        return [str(name) for name in batch.columns]
    raise InputError(f"{where} is a {type(batch).__name__}; needed are record batches, data frames or mappings.")


def columns_of(batch: Any, names: Sequence[str]) -> Columns:
    """Columns of a batch of any kind."""
    if hasattr(batch, "schema") and hasattr(batch, "column"):
        from bochner.sources.parquet_source import arrow_column

        return {name: arrow_column(batch.column(name), name, "a batch") for name in names}
    return {name: as_column(batch[name]) for name in names}
