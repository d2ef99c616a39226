"""Predictions at the rows of a file, as further columns of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner import SpatialRegressor
from bochner.arrays import FloatArray
from bochner.cli._amiss import no_size
from bochner.cli._lines import told_by_line
from bochner.cli._tables import model_table
from bochner.cli._thresholds import Threshold
from bochner.estimators.constructor import resources_of
from bochner.exceptions import InputError, OutsideWarning, PartError, warn
from bochner.families import Family
from bochner.geo import Places
from bochner.geo.kinds import present
from bochner.maps.grids.extent import why_far


@dataclass(frozen=True)
class Wanted:
    """What is to be predicted: columns are names or numbers, as text."""

    latent: bool = False
    trials: str | None = None
    exposure: str | None = None
    offset: str | None = None
    level: float = 0.95
    exceed: tuple[Threshold, ...] = ()

    def resolve(self, model: SpatialRegressor, places: Places) -> tuple[dict[str, str], bool]:
        """Trials, exposure and offset that a model is to be given, and whether new observations are meant."""
        family, roles = model.family_, model.fitted_.layout.roles
        sizes = {"trials": self.trials, "exposure": self.exposure}
        for name, column in sizes.items():
            if column is not None and family.size_name != name:
                raise PartError(f"--{name} was given, but the model is {family.name}, which has none; leave it out.")
        offset = self.offset if self.offset is not None else roles.get("offset")
        if self.offset is None and offset is not None and offset not in places.names:
            raise InputError(
                f"the model was fitted with the offset {offset!r}; give it with --offset, a column or a number."
            )
        given = {name: text for name, text in {**sizes, "offset": offset}.items() if text is not None}
        return given, not self.latent and _observable(family, roles, given)


def predicted(model: SpatialRegressor, places: Places, wanted: Wanted, drop_bad: bool = False) -> tuple[Places, str]:
    """Places with mean, sd, lower, upper and exceedances, and what these are of.

    Rows that are amiss are refused, all in one message; with `drop_bad` they stay and get no prediction.
    """
    given, new = wanted.resolve(model, places)
    bad = _amiss(model, places, given)
    fine = places.without(bad, drop_bad, "them, or leave them empty: --drop-bad", "left empty")
    table, more = model_table(model, fine), asked(fine, given)
    known = present(table).all(axis=1)
    for column in more.values():
        known &= np.isfinite(column)
    if not known.any():
        raise InputError(f"every row of {places.source} misses one of {[*table.columns, *given.values()]}.")
    _warn_of_distance(model, table[known])
    rows = np.setdiff1d(np.arange(len(places)), list(bad))[known]
    with told_by_line(places, rows):
        values = _values(model, table[known], {name: v[known] for name, v in more.items()}, new, wanted)
    columns = {name: np.full(len(places), np.nan) for name in values}
    for name, value in values.items():
        columns[name][rows] = value
    places = replace(places, notes=(*fine.notes, *_told(table, more, known, len(places), places.source)))
    return beside(places, columns), _meaning(model.family_, given, new)


def beside(places: Places, columns: Mapping[str, FloatArray]) -> Places:
    """Places with further columns; own ones of the same name are kept under another, and a note says so."""
    own = {name: _spare(name, places.names) for name in places.names if name in columns}
    if own:
        told = f"{places.source} has columns {list(own)} already; those are kept as {list(own.values())}."
        coords = tuple(own.get(name, name) for name in places.coords)
        frame = places.frame.rename(columns=own)
        places = replace(places, frame=frame, coords=coords, notes=(*places.notes, told))
    return places.with_columns(columns)


def _spare(name: str, taken: Sequence[str]) -> str:
    name = f"{name}_given"
    return _spare(name, taken) if name in taken else name


def _amiss(model: SpatialRegressor, places: Places, given: Mapping[str, str]) -> dict[int, str]:
    """What is wrong with rows, by their position: text for a number, no place on Earth, no trials, an unseen class."""
    layout, encoding = model.fitted_.layout, model.fitted_.layout.encoding
    linear = [name for name in layout.inputs if name not in layout.columns.coord_names and name in places.names]
    more = [name for name in given.values() if name in places.names]
    told = places.bad_rows(list(dict.fromkeys([*places.coords, *linear, *more])), linear)
    for name in (given[role] for role in ("trials", "exposure") if given.get(role) in places.names):
        told |= no_size(places, name, told)
    strangers = {} if encoding is None else encoding.strangers(places.frame)
    for name, rows in strangers.items():
        for row in map(int, rows):
            text = f"{name} is {str(places.frame[name].iloc[row])!r}, a class that no training row has"
            told[row] = f"{told[row]}, {text}" if row in told else text
    return dict(sorted(told.items()))


def asked(places: Places, given: Mapping[str, str]) -> dict[str, FloatArray]:
    """Columns of places by what they are for; each is named, or is a number for every row."""
    return {name: _column(places, text) for name, text in given.items()}


def _values(
    model: SpatialRegressor, table: Any, more: dict[str, FloatArray], new: bool, wanted: Wanted
) -> dict[str, FloatArray]:
    size = more.get(model.family_.size_name or "")
    limits = {f"exceedance_{one.value:.12g}": one.among(model.family_, size) for one in wanted.exceed}
    law = model.predict_distribution(table, include_noise=new, **more)
    with resources_of(model).in_use(len(law)):
        lower, upper = law.interval(wanted.level).T
        above = {name: law.exceedance(limit) for name, limit in limits.items()}
        return {"mean": law.mean, "sd": law.sd, "lower": lower, "upper": upper, **above}


def _warn_of_distance(model: SpatialRegressor, table: Any) -> None:
    layout = model.fitted_.layout
    if len(layout.columns.coords) > 1:
        told = why_far(model, table[list(layout.map_axes)].to_numpy())
        if told is not None:
            warn(told, OutsideWarning)


def _observable(family: Family, roles: Mapping[str, str], given: Mapping[str, str]) -> bool:
    """Whether a new observation says more than the surface: not of one trial, or of a rate without its exposure."""
    if family.bounded_by_size:
        return "trials" in given
    return family.size_name is None or family.size_name in given or family.size_name not in roles


def _meaning(family: Family, given: Mapping[str, str], new: bool) -> str:
    if new:
        return "new counts" if family.discrete else "a new observation"
    if family.size_name in given:
        return "expected counts"
    return f"the {family.surface_name or 'surface'}"


def _column(places: Places, text: str) -> FloatArray:
    """A column by its name, or a number for every row."""
    if text not in places.names:
        try:
            return np.full(len(places), float(text))
        except ValueError:
            pass
    return np.asarray(places.numbers([text])[text].to_numpy())


def _told(table: Any, more: dict[str, FloatArray], known: Any, n_rows: int, source: str) -> tuple[str, ...]:
    if known.all():
        return ()
    lacking = {name: int(count) for name, count in zip(table.columns, (~present(table)).sum(axis=0), strict=True)}
    lacking |= {name: int((~np.isfinite(values)).sum()) for name, values in more.items()}
    told = ", ".join(f"{count:,} in {name}" for name, count in lacking.items() if count)
    return (f"{int((~known).sum()):,} of {n_rows:,} rows of {source} have missing values ({told}): no prediction.",)
