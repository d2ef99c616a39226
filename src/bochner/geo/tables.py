"""Tables: CSV and Parquet files of places and measurements."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ColumnError, InputError, MissingExtraError
from bochner.formats import READ_TABLES, TABLES
from bochner.geo.entries import are_codes, tidied
from bochner.geo.kinds import is_time
from bochner.geo.lonlat import twin_pair
from bochner.geo.signatures import check_text
from bochner.outputs import completed, told_as_output
from bochner.spelling import check_columns

COORDINATES = (("lon", "lat"), ("longitude", "latitude"), ("long", "lat"), ("easting", "northing"), ("x", "y"))


@dataclass(frozen=True)
class Table:
    """A table on its way through: an Arrow table, where it came from, and notes for the user."""

    arrow: Any
    source: str
    notes: tuple[str, ...] = ()

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
        check_columns([name], self.names, self.source)
        return as_numbers(self.arrow.column(name).to_pandas(), name, self.source)

    def with_columns(self, columns: Mapping[str, FloatArray]) -> Table:
        """The table with columns added, or replaced where the name is taken."""
        import pyarrow as pa

        arrow = self.arrow
        for name, values in columns.items():
            if name in arrow.column_names:
                arrow = arrow.drop_columns([name])
            arrow = arrow.append_column(name, pa.array(values))
        return Table(arrow, self.source, self.notes)


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a CSV, Excel (.xlsx) or Parquet file; numbers may be written as people do, and what was done is noted."""
    path = Path(path)
    suffix = _format(path, READ_TABLES)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    csv, parquet = _arrow()
    read = _Csv()
    try:
        if suffix == ".csv":
            arrow, read = _read_csv(csv, path)
        else:
            arrow = _read_excel(path) if suffix == ".xlsx" else parquet.read_table(path)
        names = arrow.column_names  # damaged ones are no text
    except (MissingExtraError, InputError):
        raise
    except Exception as error:  # Arrow's own errors share no base but this
        raise InputError(f"{path} cannot be read as {suffix[1:]} ({first_line(error)}); check the file.") from error
    if not arrow.num_rows:
        raise InputError(f"{path} has columns {names} but no rows; check that it was written completely.")
    arrow, told = _with_numbers(arrow, read)
    return Table(arrow, path.name, (*read.notes, *(f"{path.name}: {note}" for note in told)))


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a CSV or Parquet file; it appears under its name only when it is complete."""
    path = Path(path)
    suffix = _format(path)
    csv, parquet = _arrow()
    with completed(path) as partial, told_as_output(path):
        (csv.write_csv if suffix == ".csv" else parquet.write_table)(table.arrow, partial)


def find_coords(names: Sequence[str], source: str) -> list[str]:
    """Coordinate columns by their usual names, or by two that contain longitude and latitude; the east first."""
    lower = {name.lower(): name for name in names}
    for pair in COORDINATES:
        if all(name in lower for name in pair):
            return [lower[name] for name in pair]
    if (twins := twin_pair(names)) is not None:
        return [names[j] for j in twins]
    raise ColumnError(
        f"no coordinate columns were recognised in {source} (its columns are {list(names)}); "
        f"name them, e.g. --coords x,y."
    )


def as_numbers(column: Any, name: str, source: str) -> FloatArray:
    """Float64 values of a pandas column, NaN where one is missing; text is refused by its first row."""
    import pandas as pd
    from pandas.api import types

    if types.is_numeric_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        raise InputError(f"column {name!r} of {source} holds {column.dtype}, not numbers; name a numeric column.")
    values = pd.to_numeric(column, errors="coerce")
    text = np.asarray(values.isna() & column.notna())
    if text.any() and is_time(column):
        raise InputError(
            f"column {name!r} of {source} is a column of dates, and numbers are asked for; name a numeric column, or "
            f"make the dates numbers: days since one of them, say."
        )
    if text.any():
        row = int(text.argmax())
        hint = "mend that entry, or name a numeric column"
        raise InputError(
            f"column {name!r} of {source} holds text, not numbers, in {int(text.sum()):,} of {len(text):,} rows; the "
            f"first is {str(column.iloc[row])!r} in row {row + 1}: {hint}."
        )
    return np.asarray(values, dtype=np.float64)


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its name where there is none."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def misprints(column: Any) -> Any:
    """Which entries of a pandas column are text where most are numbers, (n,)."""
    import pandas as pd
    from pandas.api import types

    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return np.zeros(len(column), dtype=bool)
    return np.asarray(pd.to_numeric(column, errors="coerce").isna() & column.notna())


@dataclass(frozen=True)
class _Csv:
    """How a CSV was read: notes, whether semicolons part its columns, and a way to have columns as they are written."""

    notes: tuple[str, ...] = ()
    semicolons: bool = False
    written: Callable[[Sequence[str]], Any] | None = None


def _read_csv(csv: Any, path: Path) -> tuple[Any, _Csv]:
    """Columns of a CSV in any of the usual encodings, and how they were read."""
    import pyarrow as pa

    encoding, notes = encoding_of(path), []
    check_text(path, encoding)
    with open(path, encoding=encoding, errors="replace") as file:
        header = file.readline()
    if encoding == "utf-8-sig":
        encoding = "utf-8"  # Arrow passes over the mark itself
    mark = mark_of(header)
    parse = csv.ParseOptions(delimiter=mark)
    arrow = csv.read_csv(path, csv.ReadOptions(encoding=encoding), parse)
    if "\ufffd" in header or any(str(kind) == "binary" for kind in arrow.schema.types):  # no UTF-8
        encoding = "cp1252"
        arrow = csv.read_csv(path, csv.ReadOptions(encoding=encoding), parse)
    if encoding != "utf-8":
        notes.append(f"{path.name} is read as {encoding.upper()}.")
    own = arrow.column_names

    def written(names: Sequence[str]) -> Any:
        kinds = {name: pa.string() for name in own if name.strip() in names}
        return csv.read_csv(path, csv.ReadOptions(encoding=encoding), parse, csv.ConvertOptions(column_types=kinds))

    return arrow.rename_columns([name.strip() for name in own]), _Csv(tuple(notes), mark == ";", written)


def mark_of(header: str) -> str:
    """What parts the columns of a CSV, by its first line."""
    return max(";\t,", key=header.count) if any(m in header for m in ";\t,") else ","


def encoding_of(path: Path) -> str:
    """Encoding by the mark at the beginning of a file, or by the zeros of UTF-16 without one."""
    with open(path, "rb") as file:
        head = file.read(200)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if head[1::2].count(0) > 0.4 * len(head[1::2]) > 0:
        return "utf-16-le"
    return "utf-8-sig" if head.startswith(b"\xef\xbb\xbf") else "utf-8"


def _read_excel(path: Path) -> Any:
    """The first sheet of a workbook."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"reading {path.name} needs openpyxl; install it with: pip install 'bochner[table]'"
        ) from error
    import pandas as pd
    import pyarrow as pa

    frame = pd.read_excel(path, keep_default_na=False, na_values=[""])
    frame.columns = [str(name).strip() for name in frame.columns]
    texts = {name: frame[name].map(lambda v: v if v is None or isinstance(v, str) or v != v else str(v)) for name in
             frame.columns if frame[name].dtype == object and any(isinstance(v, str) for v in frame[name])}  # fmt: skip
    return pa.Table.from_pandas(frame.assign(**texts), preserve_index=False)


def _with_numbers(arrow: Any, read: _Csv) -> tuple[Any, tuple[str, ...]]:
    """A table whose text columns of numbers are in plain notation, and notes of what was done."""
    import pyarrow as pa

    arrow, typed = _rewritten(arrow, read)
    texts = [
        j for j, kind in enumerate(arrow.schema.types) if pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ]
    if not texts:
        return arrow, ()
    frame = {j: arrow.column(j).to_pandas() for j in texts}
    done, notes = tidied(frame, arrow.column_names, read.semicolons, typed)
    for j, column in done.items():
        if column is frame.get(j):
            continue
        numeric = not are_codes(column) and not misprints(column).any() and column.notna().any()
        values = pa.array(as_numbers(column, "", ""), from_pandas=True) if numeric and not _any_word(column) else None
        made = pa.array(column, type=pa.string(), from_pandas=True) if values is None else values
        arrow = arrow.set_column(j, arrow.column_names[j], made)
    return arrow, notes


def _rewritten(arrow: Any, read: _Csv) -> tuple[Any, dict[int, Any]]:
    """A table whose codes with leading zeros are text; and text of other numbers, where commas may be decimal marks."""
    import pyarrow as pa

    kinds = arrow.schema.types
    whole = [j for j, kind in enumerate(kinds) if pa.types.is_integer(kind)]
    broken = [j for j, kind in enumerate(kinds) if pa.types.is_floating(kind)] if _any_comma(arrow) else []
    if read.written is None or not (whole or broken):
        return arrow, {}
    written = read.written([arrow.column_names[j] for j in (*whole, *broken)])
    for j in whole:
        if _any_match(written.column(j), r"^\s*0\d"):
            arrow = arrow.set_column(j, arrow.column_names[j], written.column(j))
    return arrow, {j: written.column(j).to_pandas() for j in broken}


def _any_comma(arrow: Any) -> bool:
    """Whether some text has a comma before digits."""
    import pyarrow as pa

    texts = (column for column in arrow.columns if pa.types.is_string(column.type))
    return any(_any_match(column, r"^[-+ \d.]*,\d") for column in texts)


def _any_match(column: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())


def _any_word(column: Any) -> bool:
    """Whether some entry is text that is no number."""
    import pandas as pd

    return bool(pd.to_numeric(column.dropna(), errors="coerce").isna().any())


def _format(path: Path, known: Sequence[str] = TABLES) -> str:
    suffix = path.suffix.lower()
    if suffix not in known:
        raise InputError(f"{path} ends in {suffix!r}; needed is one of {', '.join(known)}.")
    return suffix


def _arrow() -> tuple[Any, Any]:
    try:
        from pyarrow import csv, parquet
    except ImportError as error:
        raise MissingExtraError(
            "reading tables needs pyarrow; install it with: pip install 'bochner[table]'"
        ) from error
    return csv, parquet
