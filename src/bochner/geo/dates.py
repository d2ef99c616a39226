"""Dates: text as people write it, read in one order for a whole column.

The year first (2015-06-30), with dots (30.6.2015: the day first, always), with slashes or dashes (the one order of day
and month that fits every entry), with the name of the month (30-Jun-2015), or as whole numbers (20150630).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from bochner.exceptions import InputError

# How the dates of a column are written, where it is not the year first.
DAY_FIRST, MONTH_FIRST, DIGITS = "day first", "month first", "yyyymmdd"

CLOCK = (
    r"(?:(?:T|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>\.\d+)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>[Zz]|[-+]\d{2}:?\d{2})?)?"
)
YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2})(?P<rest>[T\s].*)?)?"
)
PACKED = re.compile(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?P<rest>T\d.*)")
DOTTED = re.compile(r"(?P<first>\d{1,2})\.\s?(?P<second_>\d{1,2})\.\s?(?P<year>\d{4}|\d{2})" + CLOCK)
SLASHED = re.compile(
    r"(?P<first>\d{1,2})(?:/(?P<second_>\d{1,2})/(?P<year>\d{4}|\d{2})|-(?P<second2>\d{1,2})-(?P<year2>\d{4}))" + CLOCK
)
NAMED = re.compile(
    r"(?:(?P<first>\d{1,2})\.?[-/\s]?\s*(?P<name>[A-Za-z]{3,9})\.?|(?P<name2>[A-Za-z]{3,9})\.?\s*(?P<first2>\d{1,2}))"
    r"[-/,\s]\s*(?P<year>\d{4}|\d{2})" + CLOCK
)
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip
# Columns whose whole numbers may be dates, by a word of their name or by its ending.
DATED = re.compile(
    r"(^|.*[^a-z])(date|day|datum|data|fecha|jour|dia|dagen|tag|tarih|datetime|time)([^a-z].*|$)|.*(date|datum|fecha)$"
)


def reads_as_date(text: str) -> bool:
    """Whether a text is written like a date, and is one in some order of day and month."""
    return any(_iso(text, order) is not None for order in (DAY_FIRST, MONTH_FIRST))


def only_months(text: str) -> bool:
    """Whether a text names a month of a year and no day, as seasons (2015-16) do, too."""
    found = YEAR_FIRST.fullmatch(text.strip())
    return found is not None and found["day"] is None


def date_order(column: Any, name: str) -> str:
    """The one order in which every date of a text column reads; "" where none is needed.

    Where both orders fit and give different days, the column is refused.
    """
    counts = _counts(column)
    orders = (DAY_FIRST, MONTH_FIRST)
    read = {text: tuple(_iso(text, order) for order in orders) for text in counts}
    asking = {text: pair for text, pair in read.items() if pair[0] != pair[1] and any(pair)}
    dotted = any(DOTTED.fullmatch(text.strip()) for text in counts)
    missed = [sum(n for text, n in counts.items() if text in asking and asking[text][k] is None) for k in (0, 1)]
    if missed[0] != missed[1]:
        return orders[int(np.argmin(missed))]
    if dotted:
        return DAY_FIRST
    if not asking:
        return ""
    told = next(iter(asking))
    days = [_spoken(iso) for iso in asking[told] if iso is not None]
    raise InputError(
        f"dates in column {name!r} can be read day first and month first ({told!r} is {' or '.join(days)}), and no "
        f"entry decides; write them as 2015-06-30 (yyyy-mm-dd), or parse the column: pandas.to_datetime(column, "
        f"format='%d/%m/%Y')."
    )


def isoformat(column: Any, order: str) -> Any:
    """Text of a pandas column with every date the year first, None where an entry is no date in that order."""
    order = MONTH_FIRST if order == MONTH_FIRST else DAY_FIRST
    read = {text: _iso(text, order) for text in _counts(column)}
    return column.map(lambda entry: None if _absent(entry) else read[str(entry)])


def named_like_dates(name: Any) -> bool:
    """Whether a column is named like one of dates."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower()
    return DATED.fullmatch(split) is not None


def are_digits(column: Any) -> bool:
    """Whether all numbers of a pandas column are dates of eight digits, 20150630, from 1900 to 2100."""
    values = np.unique(np.asarray(column.dropna(), dtype=np.float64))
    if not len(values) or not np.isfinite(values).all() or values[0] < 1900_01_01 or values[-1] > 2100_12_31:
        return False
    return bool((values == np.floor(values)).all() and all(_is_day(*_split(int(value))) for value in values))


def of_digits(column: Any) -> Any:
    """Text of dates of eight digits, the year first."""
    made = {value: "{:04}-{:02}-{:02}".format(*_split(int(value))) for value in set(column.dropna())}
    return column.map(lambda value: made.get(value))


def _iso(text: str, order: str) -> str | None:
    """A date as ISO 8601 has it; None if the text is none in that order."""
    text = text.strip()
    if (found := YEAR_FIRST.fullmatch(text) or PACKED.fullmatch(text)) is not None:
        year, month, day = int(found["year"]), int(found["month"]), int(found["day"] or 1)
        return f"{year:04}-{month:02}-{day:02}{found['rest'] or ''}" if _is_day(year, month, day) else None
    if (found := DOTTED.fullmatch(text)) is not None:
        return _written(found.groupdict(), int(found["first"]), int(found["second_"]), found["year"])
    if (found := SLASHED.fullmatch(text)) is not None:
        pair = int(found["first"]), int(found["second_"] or found["second2"])
        day, month = pair if order == DAY_FIRST else pair[::-1]
        return _written(found.groupdict(), day, month, found["year"] or found["year2"])
    if (found := NAMED.fullmatch(text)) is not None and (number := _month(found["name"] or found["name2"])):
        return _written(found.groupdict(), int(found["first"] or found["first2"]), number, found["year"])
    return None


def _written(found: Mapping[str, str | None], day: int, month: int, year: str) -> str | None:
    """ISO 8601 of the parts of a date; years of two digits are those from 1969 to 2068."""
    full = int(year) if len(year) > 2 else int(year) + (1900 if int(year) > 68 else 2000)
    if not _is_day(full, month, day):
        return None
    date = f"{full:04}-{month:02}-{day:02}"
    if found["hour"] is None:
        return date
    hour, half = int(found["hour"]), (found["half"] or "")[:1].lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{date}T{hour:02}:{found['minute']}:{found['second'] or '00'}{found['fraction'] or ''}{found['zone'] or ''}"


def _month(word: str) -> int:
    """Number of a month by its English name or the beginning of it; 0 if it is none."""
    word = word.lower()
    return next((k for k, month in enumerate(MONTHS, 1) if month.startswith(word) or (k, word) == (9, "sept")), 0)


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return 1678 <= year <= 2261  # what nanoseconds of 64 bits hold


def _split(number: int) -> tuple[int, int, int]:
    return number // 10_000, number // 100 % 100, number % 100


def _spoken(iso: str) -> str:
    year, month, day = (int(part) for part in iso[:10].split("-"))
    return f"{day} {MONTHS[month - 1].capitalize()} {year}"


def _counts(column: Any) -> dict[str, int]:
    """How often each text of a column occurs."""
    counts: dict[str, int] = {}
    for entry, n in column.dropna().astype(object).value_counts(sort=False).items():
        counts[str(entry)] = counts.get(str(entry), 0) + int(n)
    return counts


def _absent(entry: Any) -> bool:
    return entry is None or entry != entry
