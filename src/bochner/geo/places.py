"""Places: rows of a file with their coordinates and CRS, whatever kind of file it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.geo import limits
from bochner.geo.crs import is_geographic
from bochner.geo.grids import RasterGrid
from bochner.geo.kinds import is_category, is_time, misfits, present
from bochner.geo.lonlat import lonlat_axes, off_earth
from bochner.geo.tables import as_numbers, misprints
from bochner.spelling import check_columns


@dataclass(frozen=True)
class Places:
    """Rows on their way through.

    Attributes
    ----------
    frame : DataFrame
        Every column, text included, and the coordinates among them.
    coords : names of the coordinate columns, longitude or easting first
    crs : CRS of the coordinates, None for a plane of the user's own
    kind : `table`, `vector`, `raster` or `cube`
    source : name of the file
    notes : sentences for the user
    left_out : those among them that say which rows are no longer there
    unread : names of columns that a table or a vector file has beside those that were read
    geometry : GeoSeries, for a vector file
    grid, pixels : for a raster or a cube, its grid and the flat position of each row in it
    labels : for a stack, those of its images; pixels then count through one image after the other
    """

    frame: Any
    coords: tuple[str, ...]
    crs: Any
    kind: str
    source: str
    notes: tuple[str, ...] = ()
    geometry: Any = None
    grid: RasterGrid | None = None
    pixels: IntArray | None = None
    labels: Any = None
    left_out: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def names(self) -> list[str]:
        """Column names, those of the coordinates among them."""
        return [str(name) for name in self.frame.columns]

    @property
    def made_coords(self) -> bool:
        """Whether the coordinate columns were made from geometry or pixels, and are no columns of the file."""
        return self.kind in {"vector", "raster"} and self.coords[:2] in MADE

    def numbers(self, columns: Sequence[str]) -> Any:
        """Columns as a data frame of float64; missing values become NaN."""
        import pandas as pd

        check_columns(columns, self.names, self.source)
        values = {name: as_numbers(self.frame[name], name, self.source) for name in columns}
        return pd.DataFrame(values, index=self.frame.index)

    def values(self, columns: Sequence[str], linear: Sequence[str] = ()) -> Any:
        """Columns as a data frame: dates as they are, text of `linear` ones as categories, all else as numbers."""
        import pandas as pd

        check_columns(columns, self.names, self.source)
        out = {}
        for name in columns:
            column = self.frame[name]
            kept = (name in linear and is_category(column)) or is_time(column)
            out[name] = column if kept else as_numbers(column, name, self.source)
        return pd.DataFrame(out, index=self.frame.index)

    def bad_rows(self, columns: Sequence[str], linear: Sequence[str] = ()) -> dict[int, str]:
        """What is wrong with rows that cannot be used, by their position: text for a number, degrees beyond the Earth.

        `linear` columns may hold categories.
        """
        told: dict[int, list[str]] = {}
        for name in columns:
            column = self.frame[name]
            if is_time(column):
                for row in np.flatnonzero(misfits(column)):
                    told.setdefault(int(row), []).append(f"{name} is {str(column.iloc[row])!r}, no date among dates")
                continue
            if (name in linear and is_category(column)) or is_category(column):
                continue
            for row in np.flatnonzero(misprints(column)):
                told.setdefault(int(row), []).append(f"{name} is {str(column.iloc[row])!r}")
        if self.crs is not None and is_geographic(self.crs) and len(self.coords) > 1:
            pair = np.column_stack([_coerced(self.frame[self.coords[j]]) for j in lonlat_axes(self.coords)])
            off = off_earth(np.nan_to_num(pair))
            for row in np.flatnonzero(off) if off.mean() < limits.FEW_MISPRINTS else ():
                told.setdefault(int(row), []).append(f"no place on Earth: {pair[row, 0]:g}, {pair[row, 1]:g}")
        return {row: ", ".join(words) for row, words in sorted(told.items())}

    def line(self, row: int) -> str:
        """Where a row stands in its file, for people: its line in a table, its number elsewhere."""
        number = int(self.frame.index[row])
        return f"line {number + 2}" if self.kind == "table" else f"row {number + 1}"

    def without(self, bad: Mapping[int, str], drop: bool, way: str, fate: str = "left out") -> Places:
        """The rows without bad ones, with a note of each; unless they may be dropped, they are refused all at once."""
        if not bad:
            return self
        listed = "; ".join(f"{self.line(row)}: {why}" for row, why in list(bad.items())[: limits.LISTED_ROWS])
        listed += f"; and {len(bad) - limits.LISTED_ROWS:,} more" if len(bad) > limits.LISTED_ROWS else ""
        if not drop or len(bad) == len(self):
            raise InputError(f"{self.source} has {len(bad):,} of {len(self):,} rows amiss: {listed}. Correct {way}.")
        note = f"{len(bad):,} of {len(self):,} rows of {self.source} are {fate} as invalid: {listed}."
        kept = np.ones(len(self), dtype=bool)
        kept[list(bad)] = False
        return dataclasses.replace(self.rows(kept), notes=(*self.notes, note), left_out=(*self.left_out, note))

    def coordinates(self) -> FloatArray:
        """Coordinates, (n, number of coordinate columns)."""
        return np.asarray(self.numbers(self.coords).to_numpy(dtype=np.float64))

    def pair(self, loose: bool = False) -> FloatArray:
        """Easting and northing, or longitude and latitude, (n, 2); with `loose`, NaN where text stands for one."""
        names = [self.coords[j] for j in lonlat_axes(self.coords)]
        if loose:
            return np.column_stack([_coerced(self.frame[name]) for name in names])
        return np.asarray(self.numbers(names).to_numpy(dtype=np.float64))

    def gaps(self) -> Places:
        """Pixels of a raster or a stack that have no row."""
        import pandas as pd

        if self.grid is None or self.pixels is None:
            raise InputError(f"--predict-at gaps needs a raster; {self.source} is none: give a file of places.")
        n_images = 1 if self.labels is None else len(self.labels)
        missing = np.ones(self.grid.n_pixels * n_images, dtype=bool)
        missing[self.pixels] = False
        empty = np.flatnonzero(missing)
        if not len(empty):
            raise InputError(f"every pixel of {self.source} has a value, so there are no gaps; leave --predict-at out.")
        frame = pd.DataFrame(self.grid.centres()[empty % self.grid.n_pixels], columns=list(self.coords[:2]))
        if self.labels is not None:
            frame[self.coords[2]] = np.asarray(self.labels)[empty // self.grid.n_pixels]
        return dataclasses.replace(self, frame=frame, pixels=empty, geometry=None)

    def complete(self, columns: Sequence[str], linear: Sequence[str] = (), named: Sequence[str] = ()) -> Places:
        """The rows without a missing value in some columns, and a note that counts the others by column.

        `linear` ones may hold categories; those only `named`, anything.
        """
        table = self.values([name for name in columns if name not in named], linear)
        table = table.assign(**{name: self.frame[name] for name in named})[list(columns)]
        missing = ~present(table)
        bad = missing.any(axis=1)
        if not bad.any():
            return self
        told = ", ".join(f"{int(k):,} in {name}" for name, k in zip(columns, missing.sum(axis=0), strict=True) if k)
        if bad.all():
            raise InputError(
                f"every row of {self.source} ({len(bad):,}) has a missing value ({told}); fill them, or name "
                f"other columns."
            )
        note = f"{int(bad.sum()):,} of {len(bad):,} rows have missing values ({told}) and are left out."
        return dataclasses.replace(self.rows(~bad), notes=(*self.notes, note), left_out=(*self.left_out, note))

    def rows(self, chosen: Any) -> Places:
        """Some of the rows, by a mask or by positions."""
        return dataclasses.replace(
            self,
            frame=self.frame.loc[chosen] if np.asarray(chosen).dtype == bool else self.frame.iloc[chosen],
            geometry=None if self.geometry is None else self.geometry[np.asarray(chosen)],
            pixels=None if self.pixels is None else self.pixels[np.asarray(chosen)],
        )

    def with_columns(self, columns: Mapping[str, ArrayLike]) -> Places:
        """The rows with columns added, or replaced where the name is taken."""
        import pandas as pd

        if not columns:
            return self
        held = {n: v if isinstance(v, pd.Categorical) else np.asarray(v) for n, v in columns.items()}
        added = pd.DataFrame(held, index=self.frame.index)
        kept = self.frame.drop(columns=[name for name in columns if name in self.names])
        return dataclasses.replace(self, frame=pd.concat([kept, added], axis=1))


def _coerced(column: Any) -> FloatArray:
    import pandas as pd

    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)


# Names of coordinates that are made from geometry or pixels; the second where the first are taken.
MADE = (("x", "y"), ("geometry_x", "geometry_y"))


def made_names(taken: Sequence[str]) -> tuple[str, str]:
    """Names for coordinate columns beside those of a file."""
    return next((pair for pair in MADE if not set(pair) & set(taken)), MADE[-1])
