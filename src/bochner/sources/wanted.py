"""Wanted: the columns that a fit reads of a source, and which rows of a part it can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bochner.arrays import IntArray
from bochner.exceptions import InputError, RowError
from bochner.geo import limits as geo_limits
from bochner.geo.entries import notation_of, numbers_in
from bochner.geo.kinds import is_time
from bochner.sources.base import Columns, Reading, as_column

Door = Callable[[Columns], None]
"""Raises `RowError` where rows hold what a model cannot be fitted to."""

MENDED = "Correct them, or leave them out: --drop-bad, in Python open_source(..., drop_bad=True)."


class Usable(NamedTuple):
    """Rows of a part that can be fitted: their columns, and their positions in the part.

    Left out are `n_missing` rows that miss a value, and `n_amiss` that are `amiss`, as the first of these say.
    """

    columns: Columns
    rows: IntArray
    n_missing: int
    n_amiss: int
    amiss: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """Columns that a fit reads.

    Attributes
    ----------
    coords, covariates : tuple of str
    roles : mapping of str to str
        Columns by what they are to the model: target, trials, exposure, offset, sample_weight, ...
    sparse : bool
        Whether a part without a single complete row is passed over.
    drop_bad : bool
        Whether rows that are amiss are left out; otherwise they are refused, those of a part in one message.
    door : callable or None
        Check of the rows of a part.
    """

    coords: tuple[str, ...]
    covariates: tuple[str, ...]
    roles: Mapping[str, str]
    sparse: bool = False
    drop_bad: bool = False
    door: Door | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys([*self.coords, *self.covariates, *self.roles.values()]))

    def complete(self, reading: Reading) -> Columns:
        """The rows that can be used; refused where a whole part of a table has none."""
        return self.usable(reading).columns

    def usable(self, reading: Reading) -> Usable:
        """The rows without a missing value that are not amiss, and what the others are."""
        columns, bad = self._as_numbers(reading.columns)
        n = len(next(iter(columns.values())))
        rows = np.arange(n)
        if bad:
            rows = np.delete(rows, list(bad))
        some = columns if not bad else {name: values[rows] for name, values in columns.items()}
        some, rows, n_missing = self._present(reading, some, rows)
        told, n_amiss, needed = dict(bad), len(bad), ""
        while self.door is not None and len(rows):
            try:
                self.door(some)
                break
            except RowError as error:
                told |= dict(zip((int(rows[i]) for i in error.rows), error.reasons, strict=False))
                n_amiss += len(error.rows)
                needed = needed or str(error).partition("; ")[2]
                kept = np.delete(np.arange(len(rows)), list(error.rows))
                some, rows = {name: values[kept] for name, values in some.items()}, rows[kept]
        if n_amiss:
            self._refuse(reading, told, n, n_amiss, needed)
        if n_amiss and not len(rows) and not self.sparse:
            self._refuse(reading, told, n, n_amiss, last=True)
        listed = sorted(told.items())[: geo_limits.LISTED_ROWS] if told else ()
        amiss = tuple(f"{reading.file}, {reading.row_name(row)}: {why}" for row, why in listed)
        return Usable(some, rows, n_missing, n_amiss, amiss)

    def _present(self, reading: Reading, columns: Columns, rows: IntArray) -> tuple[Columns, IntArray, int]:
        kept = np.ones(len(rows), dtype=bool)
        for values in columns.values():
            kept &= _present(values)
        if kept.all():
            return columns, rows, 0
        if not kept.any() and not self.sparse:
            worst = max(columns, key=lambda name: int((~_present(columns[name])).sum()))
            raise InputError(
                f"every row of {reading.where} has a missing value, {worst!r} most often; mend or remove that part."
            )
        return {name: values[kept] for name, values in columns.items()}, rows[kept], int((~kept).sum())

    def _as_numbers(self, columns: Columns) -> tuple[Columns, dict[int, str]]:
        """Columns with text that stands for numbers read as such, and what is wrong with rows where it cannot be."""
        bad: dict[int, str] = {}
        needed = {*self.coords, *(name for role, name in self.roles.items() if role != "groups")}
        out = dict(columns)
        for name, values in columns.items():
            if values.dtype != object or name == self.roles.get("groups"):
                continue
            plain = _plain(values, name in needed)
            if plain is None:
                continue
            out[name], misprints = plain
            for row in misprints:
                bad[row] = ", ".join([*([bad[row]] if row in bad else []), f"{name} is {str(values[row])!r}"])
        return out, bad

    def _refuse(
        self, reading: Reading, bad: Mapping[int, str], n: int, n_bad: int, needed: str = "", last: bool = False
    ) -> None:
        """Refuse rows of a part, unless they may be dropped."""
        if self.drop_bad and not last:
            return
        shown = sorted(bad.items())[: geo_limits.LISTED_ROWS]
        listed = "; ".join(f"{reading.row_name(row)}: {why}" for row, why in shown)
        more = f"; and {n_bad - len(shown):,} more" if n_bad > len(shown) else ""
        way = "No row of this part is left." if last else " ".join(filter(None, [needed and _sentence(needed), MENDED]))
        raise InputError(
            f"{reading.file} has {n_bad:,} of {n:,} rows amiss (in a part that was read): {listed}{more}. {way}"
        )


def _plain(values: np.ndarray, needed: bool) -> tuple[np.ndarray, list[int]] | None:
    """A column of objects as numbers or dates with the positions of text among them; None: it is text throughout."""
    import pandas as pd
    from pandas.api.types import infer_dtype

    if not needed and infer_dtype(values, skipna=True) in ("string", "empty"):
        return None
    text = np.array([isinstance(v, str) for v in values], dtype=bool)
    absent = np.array([v is None or v != v for v in values], dtype=bool)
    others = values[~text & ~absent]
    if len(others):
        dates = any(hasattr(v, "year") or isinstance(v, np.datetime64) for v in others[:5])
        fill: Any = np.datetime64("NaT", "ns") if dates else np.nan
        plain = np.where(text | absent, fill, values)
        return (
            as_column(pd.to_datetime(plain).to_numpy() if dates else plain.astype(np.float64)),
            np.flatnonzero(text).tolist(),
        )
    column = pd.Series(values, dtype=object)
    if is_time(column):
        return None
    entries, _ = numbers_in(column, notation_of(column))
    misprints = [row for row, entry in enumerate(entries) if isinstance(entry, str)]
    numbers = [np.nan if entry is None or isinstance(entry, str) else entry for entry in entries]
    return np.array(numbers, dtype=np.float64), misprints


def _present(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isfinite(values)
    if values.dtype.kind == "M":
        return ~np.isnat(values)
    return np.array([v is not None and v == v for v in values], dtype=bool)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
