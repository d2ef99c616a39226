"""Encoding: columns of dates and of categories as numbers, in new tables as in the one they were learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.exceptions import InputError, RowError
from bochner.geo import limits as geo_limits
from bochner.geo.dates import DAY_FIRST, DIGITS, MONTH_FIRST, are_digits
from bochner.geo.kinds import instants, is_category, is_time, order_of
from bochner.layout import limits

DAY = np.timedelta64(1, "D")
ORDERS = "date orders"  # in `attrs` of a table whose dates were read from text: the order of each column
SHAPES = {DAY_FIRST: "dd/mm/yyyy", MONTH_FIRST: "mm/dd/yyyy"}


@dataclass(frozen=True)
class Encoding:
    """How columns that are not numbers become numbers.

    Attributes
    ----------
    names : tuple of str
        Columns as the user has them, in the order of the model.
    times : mapping of str to str
        Origin of each column of dates (ISO 8601, UTC); the model sees days since then.
    levels : mapping of str to list
        Levels of each category, the reference first; each of the others is a column of 0 and 1.
    orders : mapping of str to str
        How the dates of a column were written, where not the year first: "day first", "month first", "yyyymmdd".
    spans : mapping of str to float
        Days from the origin of a column of dates to the last of them.
    """

    names: tuple[str, ...]
    times: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    spans: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def learn(cls, frame: Any, covariates: Sequence[str | int]) -> Encoding | None:
        """The encoding that a pandas table needs; None where all of it is numbers."""
        if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
            return None
        times, levels = dict[str, str](), dict[str, list[Any]]()
        orders, spans = dict[str, str](), dict[str, float]()
        if not all(isinstance(name, str) for name in frame.columns):
            return None
        for name in frame.columns:
            column = frame[name]
            if is_time(column):
                order = getattr(frame, "attrs", {}).get(ORDERS, {}).get(name) or order_of(column, name)
                seen = instants(column, name, order)
                known = seen[~np.isnat(seen)]
                seen = known if len(known) else seen  # what is missing is refused beside the gaps of other columns
                times[name] = str(np.datetime64(seen.min(), "D"))
                spans[name] = float((seen.max() - np.datetime64(times[name], "ns")) / DAY)
                orders |= {name: order} if order else {}
            elif name in covariates and is_category(column):
                levels[name] = _levels(column, name)
        if not times and not levels:
            return None
        return cls(tuple(map(str, frame.columns)), times, levels, orders, spans)

    def frame(self, part: Any) -> Any:
        """The same columns of a table, as numbers."""
        import pandas as pd

        if not hasattr(part, "columns"):
            kinds = [f"dates in {n!r}" for n in self.times] + [f"categories in {n!r}" for n in self.levels]
            raise InputError(
                f"the model was fitted to a table with {', '.join(kinds)}, and X is a {type(part).__name__}; pass a "
                f"table with the columns {list(self.names)}."
            )
        for name in self.times:
            self.refuse_years(name, part[name])
        return pd.DataFrame(self.columns({name: part[name] for name in self.names}, len(part)), index=part.index)

    def columns(self, given: Mapping[str, Any], n: int) -> dict[str, Any]:
        """Columns of numbers by name, from columns as the user has them: arrays (n,), or one value for all rows."""
        out: dict[str, Any] = {}
        for name in self.names:
            if name in self.times:
                out[name] = np.broadcast_to(self.days(name, given[name]), (n,))
            elif name in self.levels:
                out.update(self.indicators(name, given[name], n))
            else:
                out[name] = given[name]
        return out

    def days(self, name: str, values: Any) -> FloatArray:
        """Days since the origin of a column of dates, read in its order; numbers are such days already.

        In a column of dates of eight digits, numbers that all are such dates are dates.
        """
        import pandas as pd

        column = pd.Series([values]) if np.ndim(values) == 0 else values
        column = column if hasattr(column, "dtype") and hasattr(column, "iloc") else pd.Series(np.asarray(column))
        order = self.orders.get(name)
        if pd.api.types.is_numeric_dtype(column) and not (order == DIGITS and are_digits(column)):
            return np.asarray(column, dtype=np.float64)
        since = instants(column, name, order) - np.datetime64(self.times[name], "ns")
        return np.where(np.isnat(since), np.nan, since / DAY)

    def refuse_years(self, name: str, values: Any) -> None:
        """Refuse numbers for a column of dates that look like years, where no training row is that many days off."""
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "iuf" or not numbers.size or name not in self.spans:
            return
        known = numbers[np.isfinite(numbers)]
        years = (known == np.floor(known)) & (known >= limits.FIRST_YEAR) & (known <= limits.LAST_YEAR)
        if len(known) and years.all() and (known > self.spans[name]).all():
            year = int(known[0])
            raise InputError(
                f"{name!r} is a column of dates and {year} was given, a number that looks like a year; numbers are "
                f"days since {self.times[name]}, and the training rows end at {self.spans[name]:,.0f}. Write a date, "
                f"{year}-07-01 say."
            )

    def indicators(self, name: str, values: Any, n: int) -> dict[str, FloatArray]:
        """A column of 0 and 1 for every level but the reference; a level that the fit had not is refused."""
        import pandas as pd

        known = list(self.levels[name])
        seen = pd.Series(np.broadcast_to(np.asarray(values, dtype=object), (n,)))
        code, absent = self._codes(name, seen), np.asarray(seen.isna())
        rows = np.flatnonzero(np.isnan(code) & ~absent)
        if len(rows):
            row = int(rows[0])
            raise RowError(
                f"{name!r} is {seen.iloc[row]!r} in row {row}, a level that the training rows have not; they have "
                f"{_listed(known)}.",
                rows.tolist(),
                [f"{name!r} is {seen.iloc[one]!r}, an unknown level" for one in rows[: geo_limits.LISTED_ROWS]],
            )
        columns = {f"{name}[{level}]": (code == j).astype(float) for j, level in enumerate(known) if j}
        return {made: np.where(absent, np.nan, values) for made, values in columns.items()}

    def strangers(self, frame: Any) -> dict[str, IntArray]:
        """Rows of a table that hold a level that the fit had not, by column; a missing one is none."""
        import pandas as pd

        found = {}
        for name in (name for name in self.levels if name in frame.columns):
            seen = pd.Series(np.asarray(frame[name], dtype=object))
            found[name] = np.flatnonzero(np.isnan(self._codes(name, seen)) & ~np.asarray(seen.isna()))
        return found

    def _codes(self, name: str, seen: Any) -> FloatArray:
        """Place of each value among the levels; NaN for a missing or an unknown one."""
        import pandas as pd

        absent, places = np.asarray(seen.isna()), _places_of(list(self.levels[name]))
        plain = [None if missing else _plain(value) for value, missing in zip(seen, absent, strict=True)]
        return np.asarray(pd.Series(plain, dtype=object).map(places), dtype=float)

    def expanded(self, names: Sequence[str]) -> list[str]:
        """Names of columns of numbers, from those of the user's."""
        return [
            made
            for name in names
            for made in ([f"{name}[{v}]" for v in list(self.levels[name])[1:]] if name in self.levels else [name])
        ]

    @property
    def choices(self) -> list[Choice]:
        """How each column was taken."""
        told = [
            Choice("time", origin, text=f"{name}: days since {origin}{_read_as(self.orders.get(name))}.")
            for name, origin in self.times.items()
        ]
        if self.levels:
            words = "; ".join(
                f"{name}: {len(levels)} levels, compared with {levels[0]!r}"
                if len(levels) > 1
                else f"{name}: {levels[0]!r} in every row, which says nothing"
                for name, levels in self.levels.items()
            )
            told.append(Choice("categories", {n: list(v) for n, v in self.levels.items()}, text=f"{words}."))
        return told


def _read_as(order: str | None) -> str:
    """What to say of how dates were written."""
    if order == DIGITS:
        return "; whole numbers are read as dates, yyyymmdd"
    return f"; dates are read {order} ({SHAPES[order]})" if order in SHAPES else ""


def _levels(column: Any, name: str) -> list[Any]:
    """Levels in their order, those that occur; the most frequent first, so that it is the reference."""
    counts = column.value_counts()
    counts = counts[counts > 0]
    if len(counts) > 10 and len(counts) > len(column) / 2:
        raise InputError(
            f"covariate {name!r} is text that differs in nearly every row ({len(counts):,} levels in {len(column):,} "
            f"rows): it names rows and does not group them. Leave it out, or merge its levels."
        )
    if len(counts) > limits.MOST_LEVELS:
        raise InputError(
            f"covariate {name!r} is text with {len(counts):,} levels; as a category it may have up to "
            f"{limits.MOST_LEVELS}. Leave it out, or merge its levels."
        )
    reference = _plain(counts.index[0])
    others = sorted((_plain(v) for v in counts.index[1:]), key=lambda v: (isinstance(v, str), v))
    return [reference, *others]


def _places_of(known: Sequence[Any]) -> dict[Any, int]:
    """Place of every level; where codes were written as text, a raster may give them as numbers."""
    codes = {int(level): j for j, level in enumerate(known) if isinstance(level, str) and level.isdecimal()}
    return codes | {level: j for j, level in enumerate(known)}


def _plain(value: Any) -> Any:
    """A level as plain text or number, so that 1, 1.0 and True are one level whatever table they come from."""
    if isinstance(value, (bool, np.bool_, int, np.integer, float, np.floating)):
        return float(value) if float(value) != int(value) else int(value)
    return str(value)


def _listed(values: Sequence[Any], most: int = 8) -> str:
    shown = ", ".join(map(repr, values[:most]))
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"
