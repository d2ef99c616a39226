"""Entries: text of a table as people write numbers, read as numbers.

Decimal commas, thousands separators, degrees with minutes and seconds, and words for what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bochner.geo import limits

# Words that stand for a missing value, in lower case.
MISSING = frozenset(
    ("", "na", "n/a", "#n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "---", ".", "?", "nd", "n.d.", "missing",
     "unknown", "manquant", "k.a.", "s/d")
)  # fmt: skip

# Spaces of every kind and apostrophes stand between thousands whatever the decimal mark is.
SPACED = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+)?,\d+([eE][-+]?\d+)?")
POINTS_OF_THOUSANDS = re.compile(r"[-+]?\d{1,3}(\.\d{3}){2,}")
COMMAS_OF_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
# 12°34'56.7"N, N 12 34 56, 12d34m56sW, -12° 34.5′
DEGREES = re.compile(
    r"""(?P<before>[NSEW])?\s*(?P<sign>[-+])?\s*(?P<degrees>\d{1,3}(?:[.,]\d+)?)\s*(?:°|º|d|deg|:|\s)\s*
    (?:(?P<minutes>\d{1,2}(?:[.,]\d+)?)\s*(?:'|′|’|m|min|:|\s|$)?\s*)?
    (?:(?P<seconds>\d{1,2}(?:[.,]\d+)?)\s*(?:"|″|”|''|s|sec)?\s*)?(?P<after>[NSEW])?""",
    re.VERBOSE,
)


def tidied(columns: Mapping[str, Any], semicolons: bool = False) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Text columns (pandas) with numbers in plain notation and what is missing as None, and notes of what was done.

    A column is touched only where most of its entries are numbers; those that are none stay as they are, to be refused
    by name. `semicolons`: whether they part the columns of the file, so that a comma can be a decimal mark only.
    """
    commas = semicolons or any(shows_decimal_comma(column) for column in columns.values())
    read = {
        "decimal commas": (_decimal_comma if commas else _thousands_comma),
        "degrees, minutes and seconds": _degrees,
    }
    out, done, missing = {}, dict[str, list[str]](), list[str]()
    for name, column in columns.items():
        words = column.map(lambda v: isinstance(v, str) and v.strip().lower() in MISSING).to_numpy(dtype=bool)
        absent = words | column.isna().to_numpy()
        entries = column[~absent]
        numbers, how = _best(entries, read, commas)
        if numbers is None:
            out[name] = column.where(~words, None) if words.any() else column
            continue
        column = column.astype(object).where(~absent, None)
        column[~absent] = numbers
        out[name] = column
        for kind in how:
            done.setdefault(kind, []).append(name)
        if words.any():
            shown = sorted({repr(v) for v in set(columns[name][words])})
            missing.append(
                f"{', '.join(shown[:4])} in {name} {'stands' if len(shown) == 1 else 'stand'} for missing values."
            )
    return out, (*(f"{kind} are read in {', '.join(names)}." for kind, names in done.items()), *missing)


def numbers_in(column: Any, commas: bool) -> tuple[list[Any], int]:
    """Entries of a pandas column as numbers, None where one is missing, text that is neither as it is; how many are."""
    found: list[Any] = []
    n_numbers = 0
    for entry in column:
        text = entry.strip() if isinstance(entry, str) else "" if entry is None or entry != entry else str(entry)
        number = None if text.lower() in MISSING else as_number(text, commas)
        n_numbers += number is not None
        found.append(number if number is not None or text.lower() in MISSING else text)
    return found, n_numbers


def as_number(text: str, commas: bool = False) -> float | None:
    """A number as people write it, or None."""
    plain = _plain(text) or (_decimal_comma(text) if commas else _thousands_comma(text)) or _degrees(text)
    return None if plain is None else float(plain)


def _best(entries: Any, read: Mapping[str, Callable[[str], str | None]], commas: bool) -> tuple[Any, list[str]]:
    """Entries in plain notation, those that are none as they are, and what was met; None if most are no numbers."""
    found, how, n_numbers = [], set[str](), 0
    for entry in entries:
        text = str(entry).strip()
        number = _plain(text)
        for kind, reader in read.items() if number is None else ():
            number = reader(text)
            if number is not None:
                comma = commas and "," in text
                how.add(kind if comma or kind != "decimal commas" else "thousands separators")
                break
        n_numbers += number is not None
        found.append(text if number is None else number)
    if not len(found) or n_numbers <= (1 - limits.MOSTLY_TEXT) * len(found):
        return None, []
    return found, sorted(how)


def _plain(text: str) -> str | None:
    return text if PLAIN.fullmatch(text) else None


def _decimal_comma(text: str) -> str | None:
    """12,5 and 1.234,5 and 1 234,5."""
    text = SPACED.sub("", text)
    if DECIMAL_COMMA.fullmatch(text) or POINTS_OF_THOUSANDS.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return _plain(text)


def _thousands_comma(text: str) -> str | None:
    """1,234.5 and 1 234.5."""
    text = SPACED.sub("", text)
    return text.replace(",", "") if COMMAS_OF_THOUSANDS.fullmatch(text) else _plain(text)


def _degrees(text: str) -> str | None:
    found = DEGREES.fullmatch(text)
    if found is None or (found["minutes"] is None and found["before"] is None and found["after"] is None):
        return None
    degrees, minutes, seconds = (float((found[k] or "0").replace(",", ".")) for k in ("degrees", "minutes", "seconds"))
    if minutes >= 60 or seconds >= 60:
        return None
    side = (found["before"] or found["after"] or "").upper()
    negative = side in ("S", "W") or found["sign"] == "-"
    return repr((-1 if negative else 1) * (degrees + minutes / 60 + seconds / 3600))


def shows_decimal_comma(column: Any) -> bool:
    """Whether a comma in some entry can only be a decimal mark: other than three digits follow it."""
    return any(re.fullmatch(r"[-+]?[\d. \u00a0\u202f]*,(\d{1,2}|\d{4,})", str(v).strip()) for v in column.dropna())
