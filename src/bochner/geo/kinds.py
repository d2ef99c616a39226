"""Kinds of columns: numbers, dates, categories, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.geo import limits
from bochner.geo.dates import (
    DIGITS,
    are_digits,
    date_order,
    isoformat,
    named_like_dates,
    of_digits,
    only_months,
    reads_as_date,
)


def present(table: Any) -> Any:
    """Which entries of a pandas table are there: neither missing nor infinite, (n, columns)."""
    return ~(table.isin([np.inf, -np.inf]).to_numpy() | table.isna().to_numpy())


def is_time(column: Any) -> bool:
    """Whether a pandas column holds dates: as such, as text most of which reads as dates, or as 20150630 by its name.

    Entries that are none are found by `misfits`.
    """
    from pandas.api import types

    if types.is_datetime64_any_dtype(column) or isinstance(getattr(column, "dtype", None), _period()):
        return True
    if types.is_numeric_dtype(column):
        return holds_digits(column)
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return False
    some = column.dropna()
    if not len(some) or any(isinstance(v, (int, float, complex)) for v in some.iloc[:5]):
        return False
    counts = some.map(str).value_counts(sort=False)
    dates = np.array([reads_as_date(text) for text in counts.index], dtype=bool)
    if not dates.all() and any(map(only_months, counts.index)):
        return False  # seasons: 2014-15, 2011-12
    return bool(counts.to_numpy()[dates].sum() > limits.MOSTLY_TEXT * len(some))


def holds_digits(column: Any) -> bool:
    """Whether a column of numbers is one of dates of eight digits: all of them are, and it is named like dates."""
    from pandas.api import types

    return bool(
        types.is_numeric_dtype(column)
        and not types.is_bool_dtype(column)
        and not types.is_complex_dtype(column)
        and named_like_dates(getattr(column, "name", ""))
        and are_digits(column)
    )


def order_of(column: Any, name: str) -> str:
    """How the dates of a column are written: the order of day and month, eight digits, or "" for all that is plain."""
    from pandas.api import types

    if types.is_numeric_dtype(column):
        return DIGITS
    if types.is_object_dtype(column) or types.is_string_dtype(column):
        return date_order(column, name)
    return ""


def misfits(column: Any, order: str | None = None) -> Any:
    """Which entries of a column of dates are none, (n,); in the `order` that is known, or else in either."""
    from pandas.api import types

    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return np.zeros(len(column), dtype=bool)
    if order is None:
        fits = column.map(lambda entry: reads_as_date(str(entry))).to_numpy(dtype=bool)
    else:
        fits = ~np.isnat(dates_of(column, order))
    return ~fits & column.notna().to_numpy(dtype=bool)


def is_category(column: Any) -> bool:
    """Whether a pandas column holds categories: a categorical, text that is mostly no numbers, or codes as text.

    Who writes classes as text, "1", "2", "3", means names, and so are codes with leading zeros, however many; numbers
    with decimals, or very many of them, are numbers that a file had no better way to hold.
    """
    import pandas as pd
    from pandas.api import types

    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return False
    some = column.dropna()
    if all(isinstance(v, str) and v.strip().isdecimal() for v in some):
        zeros = any(len(v.strip()) > 1 and v.strip()[0] == "0" for v in some)
        if zeros or some.nunique() <= limits.MOST_CODES:
            return len(some) > 0
    text = sum(isinstance(v, str) and not _is_number(v) for v in some)
    return len(some) > 0 and text > limits.MOSTLY_TEXT * len(some)


def instants(column: Any, name: str, order: str | None = None) -> Any:
    """A pandas column of dates, or of text that reads as dates, as datetime64[ns] in UTC.

    `order` is that of day and month where a model knows it; otherwise it is the one that fits all of the column.
    """
    import pandas as pd
    from pandas.api import types

    column = pd.Series(column)
    if isinstance(column.dtype, _period()):
        column = column.dt.to_timestamp()
    if types.is_numeric_dtype(column):
        column = of_digits(column)
    if types.is_object_dtype(column) or types.is_string_dtype(column):
        return _from_text(column, name, order)
    try:
        return _plain(pd.to_datetime(column, utc=True))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"column {name!r} cannot be read as dates ({str(error).splitlines()[0]}); write them as 2015-06-30."
        ) from error


def dates_of(column: Any, order: str) -> Any:
    """Text as datetime64[ns] in UTC, NaT where an entry is missing or no date in that order."""
    return _parsed(isoformat(column, order))


def _from_text(column: Any, name: str, order: str | None) -> Any:
    found = order_of(column, name) if order in (None, "", DIGITS) else order
    values = dates_of(column, found or "")
    bad = np.isnat(values) & column.notna().to_numpy(dtype=bool)
    if bad.any():
        row = int(bad.argmax())
        how = f" {found}, as the training rows are" if order and order != DIGITS else f" {found}" if found else ""
        raise InputError(
            f"column {name!r} is a column of dates{how and ', read' + how}, and {int(bad.sum()):,} of {len(bad):,} "
            f"entries do not fit: the first is {str(column.iloc[row])!r} in row {row + 1}. Write it as 2015-06-30, or "
            f"leave the row out."
        )
    return values


def _parsed(texts: Any) -> Any:
    import pandas as pd

    return _plain(pd.to_datetime(pd.Series(texts, dtype=object), format="ISO8601", utc=True, errors="coerce"))


def _plain(instants: Any) -> Any:
    return instants.dt.tz_localize(None).to_numpy(dtype="datetime64[ns]")


def _period() -> Any:
    import pandas as pd

    return pd.PeriodDtype


def _is_number(text: str) -> bool:
    try:
        float(text.strip().replace(",", "."))
    except ValueError:
        return False
    return True
