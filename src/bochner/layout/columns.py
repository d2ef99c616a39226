"""Columns: which columns of a table are coordinates and which are covariates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ColumnError, InputError
from bochner.geo import is_geoframe
from bochner.geo.lonlat import twin_pair
from bochner.geo.tables import as_numbers
from bochner.spelling import nearest_name

Selector = str | int | Sequence[str | int] | None

# Names by which columns are known, in lower case: pairs of places, and further coordinates beside them.
# Pairs of names that say where a row lies, east first
PAIRS = (
    (re.compile(r"lon|long|longitude|lng"), re.compile(r"lat|latitude")),
    (re.compile(r"easting"), re.compile(r"northing")),
    (re.compile(r"x(_(m|km|utm))?"), re.compile(r"y(_(m|km|utm))?")),
)
TIME = re.compile(r"t|times?|dates?|datetime|timestamp|days?|(day_of_year|julian_day|doy)|weeks?|months?|years?|hours?")
# names that say when so surely that one left out is told of: `t` may be a temperature, `travel_time` a covariate
TIMED = re.compile(
    r"((.+[_ .-])?(dates?|datum|datetime|timestamp|day)|(date|day)[_ .-].+|times?|weeks?|months?|years?)"
)
FURTHER = re.compile(r"time|date|datetime|timestamp|day|year|z(_(m|km))?|depth")
NUMBERING = re.compile(r"unnamed: ?\d+|index|row(_?(no|nr|number|id))?|(.*[_ ])?(id|fid|gid|objectid)")


@dataclass(frozen=True)
class Columns:
    """Positions of coordinates and covariates among the columns that the model uses."""

    coords: tuple[int, ...]
    covariates: tuple[int, ...]
    names: tuple[str, ...]

    def coords_of(self, table: FloatArray) -> FloatArray:
        """Coordinates, (n, dim)."""
        return _taken(table, self.coords)

    def covariates_of(self, table: FloatArray) -> FloatArray:
        """Covariates, (n, number of covariates)."""
        return _taken(table, self.covariates)

    @property
    def covariate_names(self) -> tuple[str, ...]:
        return tuple(self.names[j] for j in self.covariates)

    @property
    def coord_names(self) -> tuple[str, ...]:
        return tuple(self.names[j] for j in self.coords)


def _taken(table: FloatArray, columns: tuple[int, ...]) -> FloatArray:
    """Columns of a table; a view where they lie side by side, as tables may be large."""
    if columns and columns == tuple(range(columns[0], columns[0] + len(columns))):
        return table[:, columns[0] : columns[-1] + 1]
    return table[:, columns]


def used_part(X: Any, coords: Selector, covariates: Selector) -> Any:
    """The columns of a data frame that the model uses, when they are named; other tables as they are.

    So a frame may hold further columns, text included, and in any order.
    """
    if not hasattr(X, "columns") or coords is None or not all(isinstance(c, str) for c in _listed(coords)):
        return X
    wanted = [*_listed(coords), *_listed(covariates)]
    for name in wanted:
        if not isinstance(name, str):
            raise InputError(
                f"coords are names but covariates hold {name!r}; use names for both, or positions for both."
            )
    resolve_columns([str(c) for c in X.columns], coords, covariates)
    return X[wanted]


def encodable(X: Any) -> Any:
    """A table of Arrow, or of polars with text, categories or dates, as one of pandas; any other as it is."""
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if type(X).__module__.partition(".")[0] != "polars" or not hasattr(X, "dtypes"):
        return X
    if all(kind.is_numeric() for kind in X.dtypes):
        return X
    import pandas as pd

    return pd.DataFrame({name: X[name].to_numpy() for name in X.columns})


def refuse_twins(X: Any) -> None:
    """Refuse a table with two columns of one name."""
    names = list(getattr(X, "columns", ()))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ColumnError(f"X has {names.count(twice)} columns {twice!r}; rename all but one.")


def named_columns(X: Any, coords: Selector, covariates: Selector, known: Collection[str]) -> tuple[Selector, Selector]:
    """Coordinates and covariates of a data frame by their names, where it has them and coordinates were not chosen.

    `known` are columns with another part to play: response, trials. A column without any part is refused: a row number
    that becomes a coordinate is a wrong map, and nobody would notice.
    """
    refuse_twins(X)
    names = list(getattr(X, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return coords, covariates
    if coords is not None or is_geoframe(X):
        return coords, covariates
    linear = [names[_position(c, names)] for c in _listed(covariates)]
    rest = [name for name in names if name not in linear]
    places = place_columns([name for name in rest if name not in known]) or place_columns(rest)
    if places:
        found = [n for n in rest if n in places or (n not in known and FURTHER.fullmatch(n.lower()))]
    else:
        found = [name for name in rest if name not in known and not _numbers_rows(X[name], name)]
        found = found if len(found) else rest
    strays = [name for name in rest if name not in found and name not in known]
    if strays:
        raise ColumnError(
            f"columns {strays} are neither coordinates ({', '.join(found)}) nor covariates. Name those that enter "
            f"linearly, covariates={strays}; name the coordinates, coords=[...], if they are more; or leave the rest "
            f"out: X[{[*found, *linear]}]."
        )
    return found, linear or covariates


def place_columns(names: Sequence[str]) -> list[str]:
    """The pair of columns that says where rows lie, by their names, in their order; none without such a pair."""
    pairs = []
    for east, north in PAIRS:
        both = [[n for n in names if one.fullmatch(n.lower())] for one in (east, north)]
        if all(both):
            pairs.append([n for n in names if n in both[0] + both[1]])
    if any(len(pair) > 2 for pair in pairs) or len(pairs) > 1:
        found = [name for pair in pairs for name in pair]
        raise ColumnError(f"columns {found} all look like coordinates; name two of them: coords={found[:2]}.")
    twins = None if pairs else twin_pair(names)
    return pairs[0] if pairs else [names[j] for j in sorted(twins or ())]


def unused_columns(X: Any, coords: Selector, covariates: Selector, known: Collection[str]) -> list[str]:
    """Columns of a data frame that a choice by name leaves out, and that have no other part to play."""
    placed = X.geometry.name if is_geoframe(X) else "geometry"
    if not hasattr(X, "columns") or (coords is None and not is_geoframe(X)):
        return []
    named = _listed(coords)
    used = {*named, *_listed(covariates), *known, placed}
    return [str(c) for c in X.columns if c not in used] if all(isinstance(c, str) for c in named) else []


def called(X: Any, columns: Columns) -> list[str]:
    """Names of the columns of a table; of one without names, their positions."""
    return list(columns.names) if hasattr(X, "columns") else [str(j) for j in range(len(columns.names))]


def told_of_axes(X: Any, columns: Columns, table: FloatArray) -> tuple[str, bool]:
    """What to say of many coordinates that nobody chose, and whether some hold only 0 and 1, like categories."""
    names = called(X, columns)
    told = f"{len(columns.coords)} columns are taken as coordinates: {', '.join(names[j] for j in columns.coords)}."
    flags = ", ".join(names[j] for j in columns.coords if np.isin(table[:, j], (0.0, 1.0)).all())
    hint = f" Columns that hold only 0 and 1 ({flags}) look like categories, which are no coordinates. Name the"
    told += f"{hint} coordinates, coords=[...], and the others as covariates=[...]." if flags else ""
    return told, bool(flags)


def timed_columns(names: Sequence[str]) -> list[str]:
    """Those of some columns that are named like times, dates first: a week may be one of several years."""
    return sorted((name for name in names if TIMED.fullmatch(name.lower())), key=lambda name: "dat" not in name.lower())


def told_of_unused(unused: Sequence[str], how: str | None) -> str:
    """What to say of columns that are not used; of one that is named like a time, `how` to make it a coordinate.

    Its name takes the place of {}. None: places have a time already.
    """
    times = timed_columns(unused) if how is not None else []
    hint = (
        f" If {times[0]} says when, rows have a place and a time: {how.replace('{}', times[0])}."
        if how and times
        else ""
    )
    listed = unused if len(unused) <= 8 else [*unused[:8], f"{len(unused) - 8:,} more"]
    return f"not used: {', '.join(listed)}.{hint}"


def _numbers_rows(column: Any, name: str) -> bool:
    """Whether a column only numbers the rows: by its name, and one by one."""
    if not NUMBERING.fullmatch(name.lower()):
        return False
    values = np.asarray(column)
    return values.dtype.kind in "iuO" or bool(np.all(np.diff(values.astype(float)) == 1))


def resolve_columns(names: Sequence[str], coords: Selector, covariates: Selector) -> Columns:
    """Turn the user's selection into positions."""
    second = [_position(c, names) for c in _listed(covariates)]
    if coords is None:
        first = [j for j in range(len(names)) if j not in second]
    else:
        first = [_position(c, names) for c in _listed(coords)]
    twice = next((j for part in (first, second) for j in part if part.count(j) > 1), None)
    if twice is not None:
        raise InputError(f"column {names[twice]!r} is named twice in coords or in covariates; name it once.")
    both = sorted(set(first) & set(second))
    if both:
        raise InputError(f"column {names[both[0]]!r} is given both as a coordinate and as a covariate; choose one.")
    if not first:
        raise InputError("no column is left as a coordinate; name at least one in coords.")
    return Columns(tuple(first), tuple(second), tuple(names))


def table_names(X: Any, n_columns: int) -> list[str]:
    """Column names of a table; x0, x1, ... where it has none."""
    columns = getattr(X, "columns", None)
    return [f"x{j}" for j in range(n_columns)] if columns is None else [str(c) for c in columns]


def plain_selectors(coords: Selector, covariates: Selector) -> tuple[list[str | int] | None, list[str | int] | None]:
    """Columns as they were asked for, as lists; None where nothing was."""
    first, second = (None if part is None else _listed(part) for part in (coords, covariates))
    return first, second


def roles_of(y: Any, given: Any) -> dict[str, str]:
    """Names of the columns that response, trials, exposure and offset are, where they are columns with names."""
    columns = {"target": y, "trials": given.trials, "exposure": given.exposure, "offset": given.offset}
    named = {role: getattr(column, "name", None) for role, column in columns.items()}
    return {role: str(name) for role, name in named.items() if isinstance(name, str) and name}


def _listed(selector: Selector) -> list[str | int]:
    if selector is None:
        return []
    if isinstance(selector, (str, int, np.integer)):
        return [selector if isinstance(selector, str) else int(selector)]
    if not isinstance(selector, Iterable) or getattr(selector, "shape", None) == ():
        raise InputError(f"a column is given as {selector!r}; needed is its name or its position, or a list of them.")
    return list(selector)


def _position(column: str | int, names: Sequence[str]) -> int:
    if isinstance(column, str):
        if column in names:
            return list(names).index(column)
        near = nearest_name(column, names)
        nameless = list(names) == [f"x{j}" for j in range(len(names))]
        hint = f"did you mean {near!r}?" if near else f"the columns are {list(names)}."
        if nameless and not near:
            hint = (
                "X has no column names. Pass a data frame, or positions; in a Pipeline the step before keeps names "
                'with set_output(transform="pandas").'
            )
        raise ColumnError(f"there is no column {column!r}; {hint}")
    if not isinstance(column, (int, np.integer)) or isinstance(column, bool):
        raise InputError(f"a column is given as {column!r}; needed is its name or its position, an integer.")
    if not -len(names) <= column < len(names):
        raise ColumnError(f"there is no column {column}; the table has {len(names)} columns.")
    return int(column) % len(names)


def refuse_gaps(table: FloatArray, X: Any) -> None:
    """Refuse values that are missing or infinite, by column and first row."""
    gaps = ~np.isfinite(table)
    if not gaps.any():
        return
    names, n_gaps = [_shown(name) for name in table_names(X, table.shape[1])], gaps.sum(axis=0)
    told = ", ".join(f"{n_gaps[j]:,} in {names[j]}" for j in np.flatnonzero(n_gaps))
    row, column = np.argwhere(gaps)[0]
    kinds = " or ".join(k for k, there in (("NaN", np.isnan(table)), ("infinity", np.isinf(table))) if there.any())
    raise InputError(
        f"Input X contains {kinds}: {told}; the first is in row {row}, column {names[column]}. Needed are "
        f"finite numbers: drop those rows, or fill them in."
    )


def _shown(name: str) -> str:
    """A name as a message can hold it, on one line."""
    return name if name.isprintable() else repr(name)


def refuse_text(table: Any, source: str) -> None:
    """Refuse a pandas column (or Series) of text by its name and first row; anything else is passed over."""
    if not hasattr(table, "iloc"):
        return
    from pandas.api import types

    for name, column in table.items() if hasattr(table, "columns") else [(table.name, table)]:
        if types.is_object_dtype(column) or types.is_string_dtype(column):
            as_numbers(column, str(name), source)
