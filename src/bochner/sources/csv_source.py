"""CSV: files and folders of them, some megabytes of lines at a time, as people write them.

Encoding, what parts the columns and whether commas are decimal marks are seen at the head of each file; which columns
are numbers, dates or text at the head of the first one, so that every part is read alike.
"""

from __future__ import annotations

import csv as lines_of
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bochner.exceptions import InputError, MissingExtraError
from bochner.geo.dates import DAY_FIRST, MONTH_FIRST
from bochner.geo.entries import LEVELS, MISSING, Notation, are_codes, mostly_numbers, notations, numbers_in, told_of
from bochner.geo.kinds import dates_of, is_time, misfits, order_of
from bochner.geo.tables import encoding_of, first_line, mark_of
from bochner.sources import limits
from bochner.sources.base import Columns, Part, Source, as_column
from bochner.sources.parquet_source import arrow_column

MARKS = {"utf-8-sig": ("utf-8", 3), "utf-16": ("", 2)}  # encodings with a mark at the beginning, and its bytes


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    Attributes
    ----------
    encoding : str
        Of the file; bytes that are no UTF-8 are read as CP1252.
    mark : str
        What parts the columns.
    names : tuple of str
        Columns.
    begin : int
        Byte at which the rows begin.
    commas : bool
        Whether a comma is a decimal mark wherever numbers have marks.
    notations : mapping of str to Notation
        How numbers are written, by column, where they have marks.
    """

    encoding: str
    mark: str
    names: tuple[str, ...]
    begin: int
    commas: bool = False
    notations: Mapping[str, Notation] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> Dialect:
        """Dialect by the first lines of a file."""
        encoding, start = MARKS.get(told := encoding_of(path), (told, 0))
        with open(path, "rb") as file:
            encoding = encoding or ("utf-16-le" if file.read(2) == b"\xff\xfe" else "utf-16-be")
            begin = _after_line(file, start, _newline(encoding))
            stop = _after_line(file, begin + limits.CSV_HEAD, _newline(encoding))
            file.seek(0)
            if encoding == "utf-8" and not _is_utf8(file.read(stop)):
                encoding = "cp1252"
            file.seek(start)
            header = _decoded(file.read(begin - start), encoding).decode().rstrip("\r\n")
            mark = mark_of(header)
            names = tuple(name.strip() for name in next(lines_of.reader([header], delimiter=mark), []))
            found = cls(encoding, mark, names, begin)
            if not any(names):
                raise InputError(f"{path} is empty; check that it was written completely.")
            return found.with_notations(_head(file, found))

    def with_notations(self, text: bytes) -> Dialect:
        """The dialect with the notations of columns that lines of the file show."""
        import pandas as pd

        rows = list(lines_of.reader(text.decode().splitlines(), delimiter=self.mark))
        columns = {j: pd.Series([row[j] for row in rows if j < len(row)], dtype=object) for j in range(len(self.names))}
        found = notations(columns, self.names, self.mark == ";")
        commas = bool(found) and all(notation.commas for notation in found.values())
        if not found and self.mark == ";":
            commas = True  # more rows may have some
        return replace(self, commas=commas, notations={self.names[j]: notation for j, notation in found.items()})

    def notation(self, name: str) -> Notation:
        """How the numbers of a column are written."""
        return self.notations.get(name, Notation(self.commas))


@dataclass(frozen=True)
class CsvPart(Part):
    """Whole lines of a file, from byte `start` to byte `stop`.

    `kinds` are those of columns: number, text, time (the year first), or the order of day and month of dates.
    """

    path: str
    start: int
    stop: int
    dialect: Dialect
    kinds: Mapping[str, str] = field(default_factory=dict)
    n_rows: int | None = None

    @property
    def where(self) -> str:  # type: ignore[override]
        return f"{self.path}, bytes {self.start:,} to {self.stop:,}"

    @property
    def file(self) -> str:
        return self.path

    def row_name(self, row: int) -> str:
        """Line of the file; those without anything are passed over, as Arrow does."""
        with open(self.path, "rb") as file:
            before = _decoded(file.read(self.start), self.dialect.encoding).count(b"\n")
        lines = self.text().split(b"\n")
        filled = [i for i, line in enumerate(lines) if line.strip(b"\r")]
        return f"line {before + filled[row] + 1:,}"

    def load(self, names: Sequence[str]) -> Columns:
        texts = {
            name: kind for name, kind in self.kinds.items() if kind == "text" or self.dialect.notation(name).points
        }
        table = self.table(names, texts)
        return {name: self._column(table.column(name), name) for name in names}

    def text(self) -> bytes:
        """The lines, in UTF-8."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return _decoded(file.read(self.stop - self.start), self.dialect.encoding)

    def table(self, names: Sequence[str], texts: Mapping[str, str]) -> Any:
        """An Arrow table; a line with too few or too many fields says so in each of them."""
        import pyarrow as pa

        text = self.text()
        if not text.strip():
            return pa.table({name: pa.array([], pa.float64()) for name in names})
        try:
            return self._parsed(text, names, texts)
        except pa.ArrowInvalid as error:
            if "columns, got" not in str(error):
                raise
        return self._parsed(_evened(text, self.dialect), names, texts)

    def _parsed(self, text: bytes, names: Sequence[str], texts: Mapping[str, str]) -> Any:
        import pyarrow as pa

        csv = _csv()
        return csv.read_csv(
            io.BytesIO(text),
            csv.ReadOptions(use_threads=False, column_names=list(self.dialect.names)),
            csv.ParseOptions(delimiter=self.dialect.mark),
            csv.ConvertOptions(
                include_columns=list(names),
                column_types=dict.fromkeys(texts, pa.string()),
                decimal_point="," if self.dialect.commas else ".",
            ),
        )

    def _column(self, column: Any, name: str) -> np.ndarray:
        """A column as its kind; what cannot be read so stays text among the others."""
        import pandas as pd
        import pyarrow as pa

        kind, types = self.kinds.get(name, "number"), pa.types
        if kind == "text":
            values = column.to_pandas().to_numpy(dtype=object)
            return np.array([v if _is_word(v, MISSING - LEVELS) else None for v in values], dtype=object)
        plain = types.is_temporal if kind != "number" else _is_number
        if types.is_null(column.type) or plain(column.type):
            return arrow_column(column, name, self.path)
        texts = column.cast(pa.string()).to_pandas()
        if kind == "number":
            return _mixed(numbers_in(texts, self.dialect.notation(name))[0])
        dates = pd.Series(dates_of(texts, kind))
        if (bad := dates.isna() & texts.map(_is_word).astype(bool)).any():
            return np.asarray(dates.astype(object).where(~bad, texts), dtype=object)
        return as_column(dates.to_numpy())


class CsvSource(Source):
    """CSV files of the same columns; fields with line breaks in quotes are not understood."""

    def __init__(self, paths: Sequence[Path], label: str, part_bytes: int = limits.CSV_BYTES) -> None:
        self.paths, self.label, self.part_bytes = list(paths), label, part_bytes
        self.dialect = Dialect.of(self.paths[0])
        self.names = self.dialect.names
        with open(self.paths[0], "rb") as file:
            stop = self.dialect.begin + len(_head(file, self.dialect, raw=True))
        self.kinds, found = _kinds(CsvPart(str(self.paths[0]), self.dialect.begin, stop, self.dialect))
        told = [f"{self.paths[0].name} is read as {self.dialect.encoding.upper()}."] if _odd(self.dialect) else []
        told += [f"{self.paths[0].name}: {sentence}" for sentence in found]
        self.orders = {name: kind for name, kind in self.kinds.items() if kind in (DAY_FIRST, MONTH_FIRST)}
        told += [f"{self.paths[0].name}: dates in {name} are read {order}." for name, order in self.orders.items()]
        self.notes = tuple(told)

    @cached_property
    def parts(self) -> Sequence[Part]:
        found = [part for path in self.paths for part in self._of(path)]
        if not found:
            raise InputError(f"{self.label} has columns {list(self.names)} but no rows; check how it was written.")
        return found

    def _of(self, path: Path) -> list[Part]:
        dialect = self.dialect if path == self.paths[0] else Dialect.of(path)
        if set(dialect.names) != set(self.names):
            raise InputError(
                f"{path} has columns {list(dialect.names)}, {self.paths[0].name} has {list(self.names)}; give files of "
                f"the same columns."
            )
        found: list[Part] = []
        size, newline = path.stat().st_size, _newline(dialect.encoding)
        with open(path, "rb") as file:
            start = dialect.begin
            while start < size:
                stop = _after_line(file, start + self.part_bytes // len(newline) * len(newline), newline)
                found.append(CsvPart(str(path), start, min(stop, size), dialect, self.kinds))
                start = stop
        return found


def _kinds(head: CsvPart) -> tuple[dict[str, str], list[str]]:
    """Kinds of columns by the first rows of a file, and sentences on how they are read; names that occur twice are left
    out, and refused when they are wanted."""
    import pandas as pd
    import pyarrow as pa

    names = [name for name in head.dialect.names if head.dialect.names.count(name) == 1]
    if not names or head.stop <= head.start:
        return {}, []
    try:
        table = head.table(names, {})
        written = head.table(names, dict.fromkeys(names, "text"))
    except pa.ArrowInvalid as error:
        raise InputError(f"{head.path} cannot be read as csv ({first_line(error)}); check the file.") from error
    kinds, texts = dict[str, str](), dict[str, Any]()
    for name in names:
        column = table.column(name)
        texts[name] = pd.Series(written.column(name).to_pandas(), dtype=object)
        entries = texts[name][texts[name].map(_is_word).to_numpy(dtype=bool)]
        if are_codes(entries):
            kinds[name] = "text"
        elif pa.types.is_null(column.type) or _is_number(column.type):
            kinds[name] = "number"
        elif pa.types.is_temporal(column.type):
            kinds[name] = "time"
        else:
            mostly = len(entries) == 0 or mostly_numbers(entries, head.dialect.notation(name))
            kinds[name] = "number" if mostly else _date_kind(entries)
    found = {name: head.dialect.notation(name) for name in names if kinds[name] == "number"}
    return kinds, told_of(texts, found)


def _date_kind(entries: Any) -> str:
    """Kind of a text column: the order of its dates, "time" where they need none, or "text".

    Dates that fit in either order stay text, for the model: it may know the order, or meets a row that decides.
    """
    if not is_time(entries):
        return "text"
    try:
        return order_of(entries[~misfits(entries)], "") or "time"
    except InputError:
        return "text"


def _evened(text: bytes, dialect: Dialect) -> bytes:
    """Lines, each with as many fields as the header; those that had more or fewer say so in every field."""
    n, out = len(dialect.names), []
    for line in text.decode().splitlines():
        fields = next(lines_of.reader([line], delimiter=dialect.mark), [])
        if not line or len(fields) == n:
            out.append(line)
            continue
        out.append(dialect.mark.join([f"{len(fields)} fields instead of {n}"] * n))
    return "\n".join(out).encode()


def _mixed(entries: list[Any]) -> np.ndarray:
    """Numbers, NaN where one is missing; as objects where text is among them."""
    if any(isinstance(entry, str) for entry in entries):
        return np.array([np.nan if entry is None else entry for entry in entries], dtype=object)
    return np.array([np.nan if entry is None else entry for entry in entries], dtype=np.float64)


def _is_word(entry: Any, gaps: frozenset[str] = MISSING) -> bool:
    """Whether an entry is there, and no word for what is missing."""
    return isinstance(entry, str) and entry.strip().lower() not in gaps


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _odd(dialect: Dialect) -> bool:
    return dialect.encoding != "utf-8"


def _head(file: BinaryIO, dialect: Dialect, raw: bool = False) -> bytes:
    """The first lines after the header."""
    stop = _after_line(file, dialect.begin + limits.CSV_HEAD, _newline(dialect.encoding))
    file.seek(dialect.begin)
    found = file.read(stop - dialect.begin)
    return found if raw else _decoded(found, dialect.encoding)


def _newline(encoding: str) -> bytes:
    return "\n".encode(encoding)


def _after_line(file: BinaryIO, position: int, newline: bytes) -> int:
    """Byte after the line that a byte lies in; the end of the file if it is the last one."""
    file.seek(position)
    while chunk := file.read(limits.CSV_HEAD):
        at = chunk.find(newline)
        while at >= 0 and at % len(newline):  # of two bytes each, halves of two characters are no line break
            at = chunk.find(newline, at + 1)
        if at >= 0:
            return position + at + len(newline)
        position += len(chunk)
    return position


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(text: bytes, encoding: str) -> bytes:
    """Bytes of a file in UTF-8."""
    if encoding != "utf-8":
        return text.decode(encoding, errors="replace").encode()
    return text if _is_utf8(text) else text.decode("cp1252", errors="replace").encode()


def _csv() -> Any:
    try:
        from pyarrow import csv
    except ImportError as error:
        raise MissingExtraError("reading CSV needs pyarrow; pip install 'bochner[table]'") from error
    return csv
