"""Tables: CSV and Parquet files of places and measurements."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ColumnError, InputError, MissingExtraError

COORDINATES = (("lon", "lat"), ("longitude", "latitude"), ("long", "lat"), ("easting", "northing"), ("x", "y"))
FORMATS = (".csv", ".parquet")


@dataclass(frozen=True)
class Table:
    """A table on its way through: an Arrow table, and where it came from."""

    arrow: Any
    source: str

    @property
    def names(self) -> list[str]:
        """Column names."""
        return list(self.arrow.column_names)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def numbers(self, columns: Sequence[str]) -> Any:
        """Numeric columns as a data frame of float64; missing values become NaN."""
        import pandas as pd

        return pd.DataFrame({name: self._numbers(name) for name in columns})

    def _numbers(self, name: str) -> FloatArray:
        import pyarrow as pa

        if name not in self.names:
            near = difflib.get_close_matches(name, self.names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"its columns are {self.names}."
            raise ColumnError(f"{self.source} has no column {name!r}; {hint}")
        column = self.arrow.column(name)
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise InputError(
                f"column {name!r} of {self.source} holds {kind}, not numbers; name a numeric column, or mend the "
                f"entries that are not numbers."
            )
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)

    def with_columns(self, columns: Mapping[str, FloatArray]) -> Table:
        """The table with columns added, or replaced where the name is taken."""
        import pyarrow as pa

        arrow = self.arrow
        for name, values in columns.items():
            if name in arrow.column_names:
                arrow = arrow.drop_columns([name])
            arrow = arrow.append_column(name, pa.array(values))
        return Table(arrow, self.source)


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a CSV or Parquet file."""
    path = Path(path)
    suffix = _format(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    csv, parquet = _arrow()
    try:
        arrow = csv.read_csv(path) if suffix == ".csv" else parquet.read_table(path)
    except Exception as error:  # Arrow's own errors share no base but this
        raise InputError(f"{path} cannot be read as {suffix[1:]} ({_first_line(error)}); check the file.") from error
    return Table(arrow, path.name)


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a CSV or Parquet file; it appears under its name only when it is complete."""
    path = Path(path)
    suffix = _format(path)
    csv, parquet = _arrow()
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        (csv.write_csv if suffix == ".csv" else parquet.write_table)(table.arrow, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str], formats: Sequence[str] = ()) -> None:
    """Refuse an output whose folder is missing or whose format is not known, before any work is done."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} of the output {path.name} does not exist; make it first.")
    if formats and path.suffix.lower() not in formats:
        raise InputError(f"{path} ends in {path.suffix!r}; needed is one of {tuple(formats)}.")


def find_coords(names: Sequence[str], source: str) -> list[str]:
    """Coordinate columns by their usual names, longitude or easting first."""
    lower = {name.lower(): name for name in names}
    for pair in COORDINATES:
        if all(name in lower for name in pair):
            return [lower[name] for name in pair]
    raise ColumnError(
        f"no coordinate columns were recognised in {source} (its columns are {list(names)}); "
        f"name them, e.g. --coords x,y."
    )


def _format(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"{path} ends in {suffix!r}; needed is one of {FORMATS}.")
    return suffix


def _arrow() -> tuple[Any, Any]:
    try:
        from pyarrow import csv, parquet
    except ImportError as error:
        raise MissingExtraError(
            "reading tables needs pyarrow; install it with: pip install 'bochner[table]'"
        ) from error
    return csv, parquet


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
