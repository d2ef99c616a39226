"""Entries: text of a table as people write numbers, read as numbers.

Decimal commas, thousands separators, degrees with minutes and seconds, percentages, and words for what is missing. How
a column is written is decided for each one by itself; only where it does not tell, the others do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from bochner.geo import limits
from bochner.geo.kinds import is_time
from bochner.geo.lonlat import is_axis_of_degrees

# Words that stand for a missing value, in lower case.
MISSING = frozenset(
    ("", "na", "n/a", "#n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "---", ".", "?", "nd", "n.d.", "missing",
     "unknown", "manquant", "k.a.", "s/d")
)  # fmt: skip
# Those among them that are levels of a column of words: a field without trees may have none.
LEVELS = frozenset(("none", "nil", "unknown"))

# Spaces of every kind and apostrophes stand between thousands whatever the decimal mark is.
SPACED = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+)?,\d+([eE][-+]?\d+)?")
POINTS_OF_THOUSANDS = re.compile(r"[-+]?\d{1,3}(\.\d{3}){2,}")
ONE_POINT_OF_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
COMMAS_OF_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
# 12°34'56.7"N, N 12 34 56, 12d34m56sW, -12° 34.5′
DEGREES = re.compile(
    r"""(?P<before>[NSEW])?\s*(?P<sign>[-+])?\s*(?P<degrees>\d{1,3}(?:[.,]\d+)?)\s*(?:°|º|d|deg|:|\s)\s*
    (?:(?P<minutes>\d{1,2}(?:[.,]\d+)?)\s*(?:'|′|’|m|min|:|\s|$)?\s*)?
    (?:(?P<seconds>\d{1,2}(?:[.,]\d+)?)\s*(?:"|″|”|''|s|sec)?\s*)?(?P<after>[NSEW])?""",
    re.VERBOSE,
)


# 2.4409W, N7.9326: no blank before the letter
COMPASS = re.compile(r"(?P<before>[NSEW])?\s*(?P<degrees>\d{1,3}[.,]\d+)\s*(?P<after>[NSEW])?")
LISTED = re.compile(r"\d+(,\s*\d+){2,}")  # 1,2,5: answers, and no number
ONLY_DECIMAL_COMMA = re.compile(
    r"[-+\u2212]?([\d. \u00a0\u202f']*,(\d{1,2}|\d{4,})|0?,\d+|\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,})"
    r"([eE][-+]?\d+|%|\s*[NSEW])?"
)
ONLY_DECIMAL_POINT = re.compile(
    r"[-+\u2212]?(\d*\.(\d{1,2}|\d{4,})|0?\.\d+|\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,}|\d+\.\d+[eE][-+]?\d+)(%|\s*[NSEW])?"
)
MINUS = "\u2212\u2013\u2012\ufe63\uff0d"  # signs that are no hyphen


@dataclass(frozen=True)
class Notation:
    """How the numbers of one column are written.

    Attributes
    ----------
    commas : bool
        Whether a comma is the decimal mark; otherwise it parts thousands.
    points : bool
        Whether points part thousands: 2.329 is 2329.
    percent : bool
        Whether every entry is a percentage: 73.6% is 0.736.
    compass : bool
        Whether a letter may follow degrees without a blank: 2.4409W.
    """

    commas: bool = False
    points: bool = False
    percent: bool = False
    compass: bool = False

    def read(self, text: str) -> tuple[str | None, str]:
        """A number in plain notation, None if the text is none; and what was met, "" where it was plain."""
        if PLAIN.fullmatch(text) and not (self.points and "." in text):
            return text, ""
        if text[:1] and text[0] in MINUS:
            number, how = self.read(f"-{text[1:].lstrip()}")
            return number, how or f"minus signs such as {text[0]}"
        if self.percent and text.endswith("%"):
            number, _ = self.read(text[:-1].rstrip())
            return None if number is None else str(Decimal(number) / 100), "percentages"
        number = _decimal_comma(text, self.points) if self.commas else _thousands_comma(text)
        if number is not None and self.points and "," not in text:
            return number, "points"
        if number is not None:
            return number, "decimal commas" if self.commas and "," in text else "thousands separators"
        number = _degrees(text) or (_compass(text) if self.compass else None)
        return number, "degrees, minutes and seconds"

    def number(self, text: str) -> float | None:
        """A number as people write it, or None."""
        plain = self.read(text)[0]
        return None if plain is None else float(plain)


def tidied(
    columns: Mapping[int, Any], names: Sequence[str], semicolons: bool = False, typed: Mapping[int, Any] | None = None
) -> tuple[dict[int, Any], tuple[str, ...]]:
    """Text columns (pandas) with numbers in plain notation and what is missing as None, and notes of what was done.

    A column is touched only where most of its entries are numbers; those that are none stay as they are, to be refused
    by name. Codes with leading zeros stay text.

    Parameters
    ----------
    columns : Series by position
    names : of all columns, by position
    semicolons : whether they part the columns of the file, so that a comma is the decimal mark where nothing tells
    typed : text of columns that were read as numbers already; they are touched where their points part thousands
    """
    typed = typed or {}
    found = notations({**columns, **typed}, names, semicolons)
    known = {key: column for key, column in typed.items() if found.get(key, Notation()).points}
    out, done, missing = dict[int, Any](), dict[str, list[str]](), list[str]()
    for key, column in {**columns, **known}.items():
        number = mostly_numbers(column, found.get(key, Notation())) and not are_codes(column)
        gaps = MISSING if number or is_time(_stated(column)) else MISSING - LEVELS
        words = _gaps(column, gaps)
        absent = words | column.isna().to_numpy()
        out[key] = column.where(~words, None) if words.any() else column
        if number:
            out[key], how = _plain_column(column, absent, found.get(key, Notation()))
            for kind in how:
                done.setdefault(kind, []).append(names[key])
        if words.any():
            missing += _told_missing(column[words], names[key])
    return out, (*_told(done), *missing)


def notations(columns: Mapping[Any, Any], names: Sequence[str], semicolons: bool = False) -> dict[Any, Notation]:
    """How each column of text writes its numbers, for those that are mostly numbers with a mark in some entry.

    What a column shows itself decides (1,5 and 1.234,5; 1,234,567 and 1,234.5). Where it shows nothing, as 8,654 does,
    the comma is the decimal mark if more columns show decimal commas than decimal points; where semicolons part the
    columns, if as many do. In such a table points part thousands in a column where three digits follow each of them,
    once some decimal comma is shown.
    """
    some = {key: _entries(column) for key, column in columns.items()}
    some = {key: texts for key, texts in some.items() if _marked(texts) and not any(map(_is_list, texts))}
    first = {key: Notation(False, False, _all_percent(texts), _is_axis(names[key])) for key, texts in some.items()}
    some = {
        key: texts
        for key, texts in some.items()
        if _share(texts, first[key]) or _share(texts, replace(first[key], commas=True))
    }
    shown = {key: _shown(texts) for key, texts in some.items()}
    n_comma, n_point = (sum(mark == one for mark in shown.values()) for one in ",.")
    commas = n_comma > n_point or (semicolons and n_comma == n_point)
    found = {}
    for key, texts in some.items():
        comma, dotted = shown[key] == "," or (not shown[key] and commas), [text for text in texts if "." in text]
        points = comma and commas and n_comma > 0 and not is_axis_of_degrees(names[key])
        points = points and len(dotted) > 0 and all(map(ONE_POINT_OF_THOUSANDS.fullmatch, dotted))
        found[key] = replace(first[key], commas=comma, points=points)
    return found


def notation_of(column: Any) -> Notation:
    """How a column writes its numbers, where nothing is known of others."""
    return notations({0: column}, [""]).get(0, Notation())


def mostly_numbers(column: Any, notation: Notation) -> bool:
    """Whether most entries of a text column that are there are numbers."""
    return _share(_entries(column), notation)


def are_codes(column: Any) -> bool:
    """Whether the entries of a text column are codes: digits throughout, some with a leading zero."""
    texts = _entries(column)
    return all(map(str.isdecimal, texts)) and any(len(text) > 1 and text[0] == "0" for text in texts)


def numbers_in(column: Any, notation: Notation) -> tuple[list[Any], int]:
    """Entries of a pandas column as numbers, None where one is missing, text that is neither as it is; how many are."""
    found: list[Any] = []
    n_numbers = 0
    for entry in column:
        text = entry.strip() if isinstance(entry, str) else "" if entry is None or entry != entry else str(entry)
        number = None if text.lower() in MISSING else notation.number(text)
        n_numbers += number is not None
        found.append(number if number is not None or text.lower() in MISSING else text)
    return found, n_numbers


def told_of(columns: Mapping[str, Any], numbers: Mapping[str, Notation]) -> list[str]:
    """Sentences on how text columns are read: those of `numbers` in their notation, the others as words or dates."""
    done, missing = dict[str, list[str]](), list[str]()
    for name, column in columns.items():
        words = _gaps(column, MISSING if name in numbers else MISSING - LEVELS)
        missing += _told_missing(column[words], name) if words.any() else []
        if name in numbers:
            for kind in _plain_column(column, words | column.isna().to_numpy(), numbers[name])[1]:
                done.setdefault(kind, []).append(name)
    return [*_told(done), *missing]


def as_number(text: str, commas: bool = False) -> float | None:
    """A number as people write it, or None."""
    return Notation(commas).number(text)


def _plain_column(column: Any, absent: Any, notation: Notation) -> tuple[Any, list[str]]:
    """Entries in plain notation, those that are no numbers as they are, and what was met."""
    texts = [str(entry).strip() for entry in column[~absent]]
    read = {text: notation.read(text) for text in set(texts)}
    made = column.astype(object).where(~absent, None)
    made[~absent] = [text if read[text][0] is None else read[text][0] for text in texts]
    return made, sorted({how for number, how in read.values() if number is not None and how})


def _told(done: Mapping[str, list[str]]) -> list[str]:
    """Sentences on what was met, by kind."""
    points = done.get("points", [])
    told = []
    for kind, names in done.items():
        if kind == "points":
            continue
        more = f"; {_told_points(points)}" if kind == "decimal commas" and points else ""
        shares = " as shares (73.6% is 0.736)" if kind == "percentages" else ""
        told.append(f"{kind} are read in {', '.join(names)}{shares}{more}.")
    if points and "decimal commas" not in done:
        told.append(f"{_told_points(points)}.")
    return told


def _told_points(names: Sequence[str]) -> str:
    return f"points part thousands in {', '.join(names)} (2.329 is 2329)"


def _told_missing(words: Any, name: str) -> list[str]:
    """What to say of words that stand for a gap; a blank is none."""
    shown = sorted({repr(word) for word in set(words) if word.strip()})
    if not shown:
        return []
    return [f"{', '.join(shown[:4])} in {name} {'stands' if len(shown) == 1 else 'stand'} for missing values."]


def _gaps(column: Any, words: frozenset[str]) -> Any:
    """Which entries are words for what is missing."""
    return column.map(lambda entry: isinstance(entry, str) and entry.strip().lower() in words).to_numpy(dtype=bool)


def _stated(column: Any) -> Any:
    """The entries of a text column that are there and no word for a gap."""
    return column[[isinstance(v, str) and v.strip().lower() not in MISSING for v in column]]


def _entries(column: Any) -> dict[str, int]:
    """Entries of a text column and how often each occurs, without words for gaps."""
    counts: dict[str, int] = {}
    for entry, n in column.dropna().astype(object).value_counts(sort=False).items():
        text = str(entry).strip()
        if text.lower() not in MISSING:
            counts[text] = counts.get(text, 0) + int(n)
    return counts


def _is_list(text: str) -> bool:
    return LISTED.fullmatch(text) is not None and COMMAS_OF_THOUSANDS.fullmatch(text) is None


def _is_axis(name: str) -> bool:
    """Whether a column is named like a coordinate, so that a letter after a number is a direction."""
    return is_axis_of_degrees(name) or re.match(r"[xy]$|coord|east|north", str(name).lower()) is not None


def _marked(texts: Iterable[str]) -> bool:
    """Whether some entry has a mark that can be read in several ways."""
    return any(mark in text for text in texts for mark in (",", ".", "%"))


def _all_percent(texts: Collection[str]) -> bool:
    return len(texts) > 0 and all(text.endswith("%") for text in texts)


def _share(counts: Mapping[str, int], notation: Notation) -> bool:
    """Whether most of some entries are numbers."""
    numbers = sum(n for text, n in counts.items() if notation.read(text)[0] is not None)
    return numbers > (1 - limits.MOSTLY_TEXT) * sum(counts.values())


def _shown(texts: Collection[str]) -> str:
    """The decimal mark that a column shows by itself: a comma, a point, or ""."""
    if any(map(ONLY_DECIMAL_COMMA.fullmatch, texts)):
        return ","
    return "." if any(map(ONLY_DECIMAL_POINT.fullmatch, texts)) else ""


def _decimal_comma(text: str, points: bool = False) -> str | None:
    """12,5 and 1.234,5 and 1 234,5; with `points`, 1.234 is a thousand and more."""
    text = SPACED.sub("", text)
    if points and ONE_POINT_OF_THOUSANDS.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    if DECIMAL_COMMA.fullmatch(text) or POINTS_OF_THOUSANDS.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return text if PLAIN.fullmatch(text) else None


def _thousands_comma(text: str) -> str | None:
    """1,234.5 and 1 234.5."""
    text = SPACED.sub("", text)
    return text.replace(",", "") if COMMAS_OF_THOUSANDS.fullmatch(text) else text if PLAIN.fullmatch(text) else None


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


def _compass(text: str) -> str | None:
    """2.4409W, as degrees east or north."""
    found = COMPASS.fullmatch(text)
    if found is None or (found["before"] is None) == (found["after"] is None):
        return None
    side, degrees = found["before"] or found["after"], found["degrees"].replace(",", ".")
    if float(degrees) > (90 if side in "NS" else 180):
        return None
    return f"-{degrees}" if side in "SW" else degrees
