"""Rows amiss: responses, trials, exposures and known errors that a model cannot be fitted to."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError, RowError
from bochner.families import Family
from bochner.geo import Places, choose_placement
from bochner.geo.crs import is_geographic
from bochner.geo.lonlat import lonlat_axes, off_earth
from bochner.layout.oddities import odd_places


@dataclass(frozen=True)
class Amiss:
    """Rows that cannot be used: why, by their position, and what is needed instead."""

    rows: Mapping[int, str]
    needed: str = ""

    @property
    def way(self) -> str:
        """How to go on, for a refusal."""
        return f"them, or leave them out: --drop-bad{f'; {self.needed}' if self.needed else ''}"


def amiss(family: Family, roles: Mapping[str, str], places: Places, bad: Mapping[int, str]) -> Amiss:
    """Rows that a family cannot have, beside those that are known to be bad.

    `roles` name the columns target, trials, exposure and error_sd, as far as there are such.
    """
    told, needed = dict(bad), ""
    if family.binary and any(f"{roles['target']} is " in why for why in bad.values()):
        needed = f"{roles['target']!r} needs 0 or 1, yes or no, true or false"
    if "trials" in roles:
        told |= too_many(roles["target"], roles["trials"], places, told)
    if "error_sd" in roles:
        rows, (errors,) = _numbers(places, [roles["error_sd"]], told)
        told |= {int(row): f"{roles['error_sd']} is {v:g}" for row, v in zip(rows, errors, strict=True) if v < 0}
        needed = "needed is a standard error, 0 or more" if (errors < 0).any() else ""
    size_name = family.size_name if family.size_name in roles else None
    while not family.observes_eta:  # any number is a response there
        columns = [roles["target"], *([] if size_name is None else [roles[size_name]])]
        rows, numbers = _numbers(places, columns, told)
        if not len(rows):
            break
        try:
            family.check(numbers[0], numbers[1] if size_name else np.ones(len(rows)))
            break
        except RowError as error:
            _refuse_most(error, places, rows, roles)
            reasons = [_by_column(text, roles) for text in error.reasons]
            told |= dict.fromkeys(rows[list(error.rows)].tolist(), "the same")
            told |= dict(zip(rows[list(error.rows)].tolist(), reasons, strict=False))
            needed = needed or _needed(str(error))
    return Amiss(dict(sorted(told.items())), needed)


def too_many(target: str, trials: str, places: Places, bad: Collection[int]) -> dict[int, str]:
    """Rows with more positives than trials, or fewer than none, by their position."""
    rows, numbers = _numbers(places, [target, trials], bad)
    wrong = (numbers[0] > numbers[1]) | (numbers < 0).any(axis=0)
    return {
        int(rows[i]): f"{numbers[0, i]:g} in {target!r}, of {numbers[1, i]:g} in {trials!r}"
        for i in np.flatnonzero(wrong)
    }


def swapped_rows(places: Places) -> IntArray:
    """Positions of rows of a table that would lie among the others if their two coordinates were exchanged."""
    if places.kind not in ("table", "vector") or len(places.coords) < 2:
        return np.empty(0, dtype=int)
    pair = places.pair(loose=True)
    off = off_earth(pair) & is_geographic(places.crs)
    rows = np.flatnonzero(np.isfinite(pair).all(axis=1) & ~off)
    if not len(rows):
        return rows
    odd = odd_places(pair[rows], choose_placement(pair[rows], places.crs))
    others = np.delete(pair[rows], [*odd.far, *odd.swapped], axis=0)
    other = pair[:, ::-1]
    at_home = off & np.all((other >= others.min(axis=0)) & (other <= others.max(axis=0)), axis=1)
    return np.union1d(rows[odd.swapped], np.flatnonzero(at_home))


def exchanged(places: Places) -> Places:
    """Places with the coordinates of swapped rows exchanged, and a note that names these."""
    rows = swapped_rows(places)
    if not len(rows):
        return replace(places, notes=(*places.notes, f"no row of {places.source} looks swapped: all stay as they are."))
    east, north = (places.coords[j] for j in lonlat_axes(places.coords))
    one, two, kept = places.frame[east], places.frame[north], ~np.isin(np.arange(len(places)), rows)
    which = f"{len(rows):,} of {len(places):,} rows of {places.source} and are exchanged"
    note = f"{east} and {north} look swapped in {which}: {', '.join(map(places.line, rows))}."
    frame = places.frame.assign(**{east: one.where(kept, two), north: two.where(kept, one)})
    return replace(places, frame=frame, notes=(*places.notes, note))


ANSWERS = {"yes": "1", "y": "1", "true": "1", "no": "0", "n": "0", "false": "0"}


def yes_or_no(places: Places, family: Family, target: str) -> Places:
    """Places with yes and no, true and false of a response that is 0 or 1 as such, and a note that says so."""
    from pandas.api import types

    if not family.binary or target not in places.names or not types.is_string_dtype(places.frame[target]):
        return places
    column = places.frame[target]
    said = column.astype(str).str.strip().str.lower()
    known = said.isin(list(ANSWERS))
    if not known.any():
        return _numeric(places, target)
    words = sorted(set(said[known]), key=lambda word: (ANSWERS[word], word), reverse=True)
    note = f"{target}: " + ", ".join(f"{word!r} is read as {ANSWERS[word]}" for word in words) + "."
    read = places.with_columns({target: column.astype(object).where(~known, said.map(ANSWERS)).to_numpy()})
    return replace(read, notes=(*places.notes, note))


def _numeric(places: Places, target: str) -> Places:
    """The places, refused where a response that should be 0 or 1 holds no number at all."""
    import pandas as pd

    column = places.frame[target]
    there = np.flatnonzero(column.notna())
    if len(there) and pd.to_numeric(column, errors="coerce").isna().all():
        raise InputError(
            f"{target!r} of {places.source} holds words, {str(column.iloc[there[0]])!r} in {places.line(there[0])}; "
            f"needed is 0 or 1, yes or no, true or false: replace them."
        )
    return places


def no_size(places: Places, column: str, bad: Collection[int]) -> dict[int, str]:
    """Rows whose trials or exposure are none, or fewer, by their position."""
    rows, (size,) = _numbers(places, [column], bad)
    return {int(row): f"{column} is {v:g}, and must be above 0" for row, v in zip(rows, size, strict=True) if v <= 0}


def _numbers(places: Places, columns: list[str], bad: Collection[int]) -> tuple[IntArray, FloatArray]:
    """Positions (m,) of rows that are not bad and miss none of some columns, and these columns, (columns, m)."""
    rows = np.setdiff1d(np.arange(len(places)), np.array(list(bad), dtype=int))
    numbers = places.rows(rows).numbers(list(dict.fromkeys(columns)))[columns].to_numpy(dtype=np.float64)
    there = np.isfinite(numbers).all(axis=1)
    return rows[there], numbers[there].T


def _refuse_most(error: RowError, places: Places, rows: IntArray, roles: Mapping[str, str]) -> None:
    """Refuse a column most of whose rows are amiss: it is not what it was said to be, and no row is to blame."""
    n_bad = len(error.rows)
    if 2 * n_bad <= len(rows):
        return
    first = f"{places.line(int(rows[error.rows[0]]))}: {_by_column(error.reasons[0], roles)}"
    raise InputError(
        f"{places.source} has {n_bad:,} of {len(places):,} rows amiss, most of them, so that leaving them out would "
        f"not do; the first is {first}; {_needed(str(error))}."
    )


def _by_column(reason: str, roles: Mapping[str, str]) -> str:
    """What a row holds, by the name of its column."""
    word, _, rest = reason.partition(" ")
    return f"{roles.get('target' if word == 'y' else word, word)} {rest}"


def _needed(text: str) -> str:
    """What is needed, out of an error of a family."""
    return re.sub(r"\.?( \(\d+ such rows\.\))?$", "", text.partition("; ")[2])
