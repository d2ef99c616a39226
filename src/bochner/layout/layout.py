"""Layout: the columns of a table, where they lie on the Earth, and the trend; tables in, rows of a model out."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bochner.arrays import FloatArray, IntArray, as_coords, rowwise
from bochner.exceptions import InputError
from bochner.features import ArealRows, Rows
from bochner.geo import Placement, as_crs, transform
from bochner.geo.dates import reads_as_date
from bochner.geo.lonlat import check_degrees, lonlat_axes
from bochner.geo.missing_codes import told_of_code
from bochner.inference import Domain, Responses
from bochner.layout import limits
from bochner.layout.columns import TIME, Columns, used_part
from bochner.layout.encoding import Encoding
from bochner.layout.formula import Design
from bochner.layout.geography import Support, support_of, without_geometry
from bochner.layout.oddities import Oddities, copies_text, far_rows, n_copies
from bochner.layout.purpose import domain_of, mostly_among, variance_between
from bochner.layout.row_names import RowName, by_position
from bochner.layout.trend import Trend
from bochner.validation.coordinates import distinct


class Blocked(NamedTuple):
    """Columns of places in which distances are told, and rows held out in blocks: None is all of them, in one unit.

    A kilometre is no day, and no metre of depth. A map is drawn where there is no row at any time, so blocks of rows
    with a time are blocks of space at all times; where rows lie at a few places and more times, or each group of rows
    is of one time, they are blocks of time.
    """

    axes: list[int] | None
    unit: str
    rest: str = ""  # of what is told of blocks: how they lie in the other columns
    beside: str = ""  # what those are called

    def of(self, places: FloatArray) -> FloatArray:
        """Those columns (n, k) of places."""
        return places if self.axes is None else places[:, self.axes]


@dataclass(frozen=True)
class Layout:
    """How a table becomes rows.

    Attributes
    ----------
    columns : Columns
        Columns of the model, in its order: which are coordinates, which covariates.
    placement : Placement
        How coordinates become places in km.
    centre : (dim,)
        Of the places; the model works around it.
    trend : Trend
        How covariates become trend columns.
    crs : str or None
        CRS of the coordinates as the user has them.
    design : Design or None
        Of a formula: how the user's columns become those of the model.
    roles : mapping of str to str
        Names of the columns that response, trials, exposure and offset were, where they had any.
    asked : (coords, covariates)
        Columns as the user named them, or None.
    encoding : Encoding or None
        How columns of dates and categories become numbers, where there are any.
    """

    columns: Columns
    placement: Placement
    centre: FloatArray
    trend: Trend
    crs: str | None = None
    design: Design | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[Any, Any] = (None, None)
    encoding: Encoding | None = None

    # ------------------------------------------------------------------------------ rows

    def rows(self, table: FloatArray, support: Support | None = None) -> Rows:
        """Rows of a table (n, columns) of numbers in the order of the model."""
        coords = self.columns.coords_of(table)
        if self.placement.in_degrees:
            check_degrees(coords[:, self.placement.axes])
        return self.rows_at(coords, self.columns.covariates_of(table), support)

    def rows_at(self, coords: FloatArray, covariates: FloatArray, support: Support | None = None) -> Rows:
        """Rows of coordinates (n, k), as the user has them, and covariates (n, q)."""
        places, trend = self.places(coords), self.trend.columns(covariates)
        if support is None:
            return Rows(places, trend)
        return ArealRows(places, trend, self.places(support.points), support.group, support.share)

    def places(self, coords: FloatArray) -> FloatArray:
        """Places of the model, (n, dim), from coordinates as the user has them."""
        return rowwise(np.subtract, self.placement.forward(coords), self.centre)

    def coords(self, places: FloatArray) -> FloatArray:
        """Coordinates as the user has them, from places of the model."""
        return self.placement.inverse(places + self.centre)

    def covariates(self, rows: Rows) -> FloatArray:
        """Covariates in the user's units, (n, q), out of the trend columns of some rows."""
        return self.trend.covariates(rows.trend)

    # ---------------------------------------------------------------------------- tables

    def frame(self, X: Any) -> Any:
        """The columns of the model out of a table of the user's; an array as it is."""
        if self.design is not None:
            return self.design.frame(X)
        coords, covariates = self.asked
        part = used_part(without_geometry(X, coords, covariates, self.crs), coords, covariates)
        self._refuse_categories(part)
        return part

    def _refuse_categories(self, part: Any) -> None:
        """Refuse a column of classes for a covariate that the model knows as a number: a code is no amount."""
        kinds: Any = getattr(part, "dtypes", None)
        for name in self.columns.covariate_names if hasattr(kinds, "get") else ():
            if str(kinds.get(name)) == "category":
                raise InputError(
                    f"{name!r} is a category, and the model was fitted to it as a number; give numbers, or fit the "
                    f"model to the category."
                )

    def numbers(self, part: Any) -> Any:
        """The same columns as numbers: dates in days, categories as indicators."""
        return part if self.encoding is None else self.encoding.frame(part)

    def support(self, X: Any) -> Support | None:
        """Points that stand for the polygons of a table; None if all rows are points."""
        return None if self.design is not None else support_of(X, self.asked[0], self.crs)

    def wanted(self, predict_at: Any) -> FloatArray | None:
        """Places of the model that a table or an array of coordinates names."""
        if predict_at is None:
            return None
        table = without_geometry(predict_at, self.asked[0], None, self.crs)
        names = [c for c in self.columns.coord_names if c in getattr(table, "columns", ())]
        if names:
            table = table[names]
            for name in names if self.encoding is not None else ():
                if self.encoding is not None and name in self.encoding.times:
                    self.encoding.refuse_years(name, table[name])
                    table = table.assign(**{name: self.encoding.days(name, table[name])})
        try:
            places = np.asarray(table, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"predict_at cannot be read as numbers ({error}); needed are places, (n, dim).") from error
        if not names and places.ndim == 2 and places.shape[1] == len(self.columns.names):
            places = self.columns.coords_of(places)
        return self.places(as_coords(places, len(self.columns.coords), "predict_at"))

    def domain(self, coords: FloatArray, predict_at: FloatArray | None, groups: IntArray | None) -> Domain:
        """What a model of rows with these coordinates is for; `predict_at` as `wanted` gives it."""
        return domain_of(coords, self.placement, self.centre, predict_at, groups, self.last_is_time)

    @property
    def last_is_time(self) -> bool:
        """Whether the last column of three or more of places is a time, by its name or its values."""
        return len(self.columns.coords) > 2 and self._ends_in_time

    def blocks(self, places: FloatArray, wanted: FloatArray | None = None, groups: IntArray | None = None) -> Blocked:
        """Which columns of places (n, dim) blocks of rows, or of groups of them, to be held out are cut in.

        Where other times of the sites that rows lie at are wanted, forecasts, blocks are of time; where what is missing
        among these sites and times is, they are of both.
        """
        own, dim, every = self._of_their_own, places.shape[1], Blocked(None, self.placement.unit)
        if not own:
            return every
        beside, only_time = ", ".join(own), self._ends_in_time and len(own) == 1
        rest = " at all times" if only_time else f" at every {beside}"
        of_space = Blocked([*range(dim - len(own))], self.placement.unit, rest, beside)
        n_sites = len(distinct(of_space.of(places))[0])
        if not self._ends_in_time:
            return of_space if n_sites >= limits.BLOCKED_SITES else every
        of_time = Blocked([dim - 1], "days" if self._of_dates else own[-1], " at all places", "place")
        if groups is not None:
            apart = [variance_between(groups, some.of(places)) for some in (of_space, of_time)]
            return of_time if apart[1] > 2 * apart[0] else of_space
        if wanted is not None and mostly_among(of_space.of(wanted), of_space.of(places)):
            return every if mostly_among(of_time.of(wanted), of_time.of(places)) else of_time
        n_times = len(distinct(of_time.of(places))[0])
        return of_space if n_sites >= min(limits.BLOCKED_SITES, n_times) else of_time

    @property
    def _last(self) -> str:
        """What the last column of places is called: beside kilometres those of the map come first."""
        names = self.columns.coord_names
        others = [name for i, name in enumerate(names) if i not in self.placement.axes] if self.placement.unit else []
        return others[-1] if others else names[-1]

    @property
    def _ends_in_time(self) -> bool:
        return self._of_dates or TIME.fullmatch(self._last.lower()) is not None

    @property
    def _of_their_own(self) -> list[str]:
        """Coordinates in units of their own, the last columns of places: beside kilometres all others, else a time."""
        names = self.columns.coord_names
        if self.placement.unit:
            return [name for i, name in enumerate(names) if i not in self.placement.axes]
        return [names[-1]] if len(names) > 1 and self._ends_in_time else []

    def written(self, name: str, value: float) -> str:
        """A value of a column as people write it: days of a column of dates as the date."""
        if self.encoding is None or name not in self.encoding.times:
            return f"{value:.4g}"
        at = np.datetime64(self.encoding.times[name], "s") + np.timedelta64(round(value * 86_400), "s")
        return str(at.astype("datetime64[D]") if value == round(value) else at.astype("datetime64[m]"))

    @property
    def _of_dates(self) -> bool:
        return self.encoding is not None and self._last in self.encoding.times

    def oddities(self, table: FloatArray, responses: Responses, row_name: RowName | None = by_position) -> Oddities:
        """What looks odd about the training rows themselves."""
        coords, kept = self.columns.coords_of(table), np.flatnonzero(responses.weight > 0)
        own = None if row_name is None else lambda row: row_name(int(kept[row]))
        alarm = far_rows(coords[kept], self.placement, self.columns.coord_names, own)
        copies = n_copies(table, responses.y, responses.error) if responses.gaussian else 0
        alarms = (() if alarm is None else (alarm,)) + self._missing_codes(table, responses)
        alarms += self._unvarying(coords[kept])
        notes = (copies_text(copies, len(table)),) if copies > 0 else ()
        return Oddities(alarms, notes + self._early_time())

    def _early_time(self) -> tuple[str, ...]:
        """What to say of a time that stands before the places of a plane, where it counts as a length."""
        names = self.columns.coord_names
        if self.placement.unit or self.last_is_time or len(names) < 3:
            return ()
        dates = {} if self.encoding is None else self.encoding.times
        early = [name for name in names[:-1] if name in dates or TIME.fullmatch(name.lower())]
        if len(early) != 1:
            return ()
        order = [*(name for name in names if name not in early), *early]
        return (f"{early[0]} is taken for a length like the others; last of the coordinates it is a time: {order}.",)

    def _unvarying(self, coords: FloatArray) -> tuple[str, ...]:
        """What to say of a time or a depth that is the same in every row; of one row there is nothing to say."""
        one = np.all(coords == coords[:1], axis=0) & (len(coords) > 1)
        return tuple(
            f"{name} is {self.written(name, coords[0, i])} in every row: how far the field reaches along it cannot be "
            f"learned, and what is predicted at other values is a guess. Leave {name} out of the coordinates."
            for i, name in enumerate(self.columns.coord_names)
            if one[i] and name in self._of_their_own
        )

    def _missing_codes(self, table: FloatArray, responses: Responses) -> tuple[str, ...]:
        """What to say of response and covariates that hold a code for missing values."""
        columns = [(self.roles.get("target", "the response"), responses.y)]
        if self.design is None:
            columns += zip(self.columns.covariate_names, self.columns.covariates_of(table).T, strict=True)
        found = [told_of_code(name, values, "make it missing (NaN), or drop these rows.") for name, values in columns]
        return tuple(told for told in found if told is not None)

    # ------------------------------------------------------------------- what maps are given

    def moment(self, name: str, value: Any) -> Any:
        """Days of the model for a single date of a column of dates; anything else as it is."""
        if self.encoding is None or name not in self.encoding.times:
            return value
        if isinstance(value, (int, float, np.integer, np.floating)):
            self.encoding.refuse_years(name, value)
            return float(self.encoding.days(name, value)[0])
        if not _is_date(value):
            return value
        return float(self.encoding.days(name, np.array([str(value)], dtype=object))[0])

    def moments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a map is given by name, single dates as days of the model."""
        return {name: self.moment(name, value) for name, value in given.items()}

    @property
    def levels(self) -> Mapping[str, Any]:
        """Levels of the columns that are categories, the most frequent first."""
        return {} if self.encoding is None else self.encoding.levels

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that a prediction asks for; of a formula, those of the table that it reads."""
        if self.design is not None:
            return self.design.inputs
        return self.columns.names if self.encoding is None else self.encoding.names

    @property
    def map_axes(self) -> tuple[str, str]:
        """Columns that hold easting (longitude) and northing (latitude)."""
        names = self.columns.coord_names
        east, north = (names[j] for j in lonlat_axes(names))
        return east, north

    @property
    def further(self) -> tuple[str, ...]:
        """Columns that a map needs beside its place: covariates, and further coordinates such as time."""
        return tuple(name for name in self.inputs if name not in self.map_axes)

    def to_crs(self, coords: FloatArray, crs: Any) -> FloatArray:
        """Coordinates (n, 2) in another CRS brought to that of the model; as they are where either has none."""
        own = as_crs(self.crs)
        return coords if own is None or crs is None else transform(coords, crs, own)

    def map_rows(self, coords: FloatArray, further: Mapping[str, Any]) -> Rows:
        """Rows of a map: coordinates (n, 2) in the model's CRS, and the further columns by name. Trusts its input."""
        given = {**dict(zip(self.map_axes, coords.T, strict=True)), **further}
        columns = given if self.design is None else self.design.columns(given, len(coords))
        columns = columns if self.encoding is None else self.encoding.columns(columns, len(coords))
        table = np.empty((len(coords), len(self.columns.names)))
        for j, name in enumerate(self.columns.names):
            table[:, j] = columns[name]
        return self.rows(table)


def _is_date(value: Any) -> bool:
    """Whether a single value is a date, or text or a path that reads as one."""
    if isinstance(value, (np.datetime64, datetime.date)):
        return True
    return isinstance(value, (str, os.PathLike)) and reads_as_date(str(value))
