"""Kinds of columns: numbers, dates, categories, by what they hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.geo import limits

# How a date begins: 2015-06-30, 30.6.2015, 30/06/2015, 20150630T12
DATE = re.compile(r"\s*(\d{4}-\d{1,2}(-\d{1,2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d{1,2}/\d{1,2}|\d{8}T\d)")


def present(table: Any) -> Any:
    """Which entries of a pandas table are there: neither missing nor infinite, (n, columns)."""
    return ~(table.isin([np.inf, -np.inf]).to_numpy() | table.isna().to_numpy())


def is_time(column: Any) -> bool:
    """Whether a pandas column holds dates, or text that reads as dates."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(column) or isinstance(getattr(column, "dtype", None), _period()):
        return True
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return False
    some = column.dropna()
    if not len(some) or any(isinstance(v, (int, float, complex)) for v in some.iloc[:5]):
        return False
    if not all(DATE.match(str(v)) for v in some.iloc[:5]):
        return False
    try:
        return bool(np.isfinite(instants(some.iloc[:5], "").astype(np.int64)).all())
    except InputError:
        return False


def is_category(column: Any) -> bool:
    """Whether a pandas column holds categories: a categorical, text that is mostly no numbers, or codes as text.

    Who writes classes as text, "1", "2", "3", means names; numbers with decimals, or very many of them, are numbers
    that a file had no better way to hold.
    """
    import pandas as pd
    from pandas.api import types

    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return False
    some = column.dropna()
    if all(isinstance(v, str) and v.strip().isdecimal() for v in some) and some.nunique() <= limits.MOST_CODES:
        return len(some) > 0
    text = sum(isinstance(v, str) and not _is_number(v) for v in some)
    return len(some) > 0 and text > limits.MOSTLY_TEXT * len(some)


def instants(column: Any, name: str) -> Any:
    """A pandas column of dates, or of text that reads as dates, as datetime64[ns] in UTC."""
    import pandas as pd

    try:
        if isinstance(getattr(column, "dtype", None), _period()):
            column = column.dt.to_timestamp()
        instants = pd.to_datetime(pd.Series(column), utc=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"column {name!r} cannot be read as dates ({str(error).splitlines()[0]}); write them as 2015-06-30."
        ) from error
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
