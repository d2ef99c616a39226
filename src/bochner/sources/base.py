"""The contract of a source: rows that are read in parts, and can be read again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bochner.exceptions import BochnerError, InputError

Columns = dict[str, np.ndarray]
"""Columns of some rows by name: numbers as float64 (NaN where one is missing), dates, or text."""


class Part(ABC):
    """Some rows of a source, small enough for memory; a plain value, so that it can be sent to another machine.

    Attributes
    ----------
    where : str
        File and position, for messages.
    n_rows : int or None
        None: not known before it is read.
    """

    where: str
    n_rows: int | None

    @property
    def file(self) -> str:
        """What people open to mend a row: the file, where there is one."""
        return self.where

    def row_name(self, row: int) -> str:
        """How people find a row in `file`; `row` counts within the part."""
        return f"row {row + 1:,}"

    @abstractmethod
    def load(self, names: Sequence[str]) -> Columns:
        """The columns asked for."""

    def read(self, names: Sequence[str]) -> Columns:
        """The same; whatever goes wrong becomes an error that names the part."""
        try:
            return self.load(names)
        except BochnerError:
            raise
        except Exception as error:  # every library that reads files has errors of its own
            told = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{self.where} cannot be read ({told}); check that it was written completely.") from error


class Reading(NamedTuple):
    """A part that was read: its number in the source, its place, its columns, and what it was read from."""

    number: int
    where: str
    columns: Columns
    part: Part | None = None

    @property
    def file(self) -> str:
        """What people open to mend a row."""
        return self.where if self.part is None else self.part.file

    def row_name(self, row: int) -> str:
        """How people find a row there."""
        return f"row {row + 1:,}" if self.part is None else self.part.row_name(row)


class Source(ABC):
    """Rows that are read in parts.

    Attributes
    ----------
    label : str
        Name for messages.
    names : tuple of str
        Columns that it has.
    crs : str or None
        CRS of the coordinates, where the source says it.
    coords : tuple of str or None
        Columns that are coordinates by the nature of the source (pixels, geometry); None: they have names.
    sparse : bool
        Whether parts without a single complete row are natural, as in images with gaps.
    drop_bad : bool
        Whether rows that are amiss (text for a number, a count below zero) are left out; otherwise they are refused.
    notes : tuple of str
        What the user is to know of how it is read.
    orders : mapping of str to str
        Order of day and month in columns whose dates were read from text, where it is not the year first.
    """

    label: str
    names: tuple[str, ...]
    crs: str | None = None
    coords: tuple[str, ...] | None = None
    sparse: ClassVar[bool] = False
    drop_bad: bool = False
    notes: tuple[str, ...] = ()
    orders: Mapping[str, str] = MappingProxyType({})

    @property
    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """All parts, in order."""

    @property
    def n_rows(self) -> int | None:
        """Rows of all parts; None if that is not known before they are read."""
        counts = [part.n_rows for part in self.parts]
        return None if None in counts else int(sum(c for c in counts if c is not None))

    @property
    def n_parts(self) -> int | None:
        """Number of parts; None if that is not known."""
        return len(self.parts)

    @property
    def identity(self) -> str:
        """What tells the source from others with parts of the same names and sizes."""
        return ""

    @property
    def divisible(self) -> bool:
        """Whether parts can be read apart, on other machines, too."""
        return True

    def read(self, names: Sequence[str], start: int = 0) -> Iterator[Reading]:
        """Parts from number `start` on; the next one is read while the caller computes."""
        parts = self.parts[start:]
        if not parts:
            return
        with ThreadPoolExecutor(1) as pool:
            ahead = pool.submit(parts[0].read, names)
            for i, part in enumerate(parts):
                columns = ahead.result()
                if i + 1 < len(parts):
                    ahead = pool.submit(parts[i + 1].read, names)
                yield Reading(start + i, part.where, columns, part)


def as_column(values: Any) -> np.ndarray:
    """One column as the rest of the library has it: float64, datetime64[ns], or objects."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return np.asarray(array, dtype=np.float64)
    if array.dtype.kind == "M":
        return array.astype("datetime64[ns]")
    return array.astype(object)
