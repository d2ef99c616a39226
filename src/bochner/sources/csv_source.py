"""CSV: files and folders of them, some megabytes of lines at a time."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError, MissingExtraError
from bochner.sources import limits
from bochner.sources.base import Columns, Part, Source
from bochner.sources.parquet_source import arrow_column


@dataclass(frozen=True)
class CsvPart(Part):
    """Whole lines of a file, from byte `start` to byte `stop`."""

    path: str
    start: int
    stop: int
    header: str
    n_rows: int | None = None

    @property
    def where(self) -> str:  # type: ignore[override]
        return f"{self.path}, bytes {self.start:,} to {self.stop:,}"

    def load(self, names: Sequence[str]) -> Columns:
        csv = _csv()
        with open(self.path, "rb") as file:
            file.seek(self.start)
            text = file.read(self.stop - self.start)
        options = csv.ConvertOptions(include_columns=list(names))
        table = csv.read_csv(
            io.BytesIO(self.header.encode() + b"\n" + text),
            csv.ReadOptions(use_threads=False),
            csv.ParseOptions(delimiter=_mark(self.header)),
            options,
        )
        return {name: arrow_column(table.column(name), name, self.path) for name in names}


class CsvSource(Source):
    """CSV files of one header; fields with line breaks in quotes are not understood."""

    def __init__(self, paths: Sequence[Path], label: str, part_bytes: int = limits.CSV_BYTES) -> None:
        self.paths, self.label, self.part_bytes = list(paths), label, part_bytes
        self.header = _header(self.paths[0])
        mark = _mark(self.header)
        self.names = tuple(name.strip().strip('"') for name in self.header.split(mark))

    @cached_property
    def parts(self) -> Sequence[Part]:
        found = [part for path in self.paths for part in self._of(path)]
        if not found:
            raise InputError(f"{self.label} has columns {list(self.names)} but no rows; check how it was written.")
        return found

    def _of(self, path: Path) -> list[Part]:
        header = _header(path)
        if header != self.header:
            raise InputError(
                f"{path} begins with {header[:80]!r}, {self.paths[0].name} with {self.header[:80]!r}; give files of "
                f"one header."
            )
        found: list[Part] = []
        size = path.stat().st_size
        with open(path, "rb") as file:
            file.readline()
            start = file.tell()
            while start < size:
                file.seek(min(start + self.part_bytes, size))
                file.readline()
                stop = file.tell()
                found.append(CsvPart(str(path), start, stop, header))
                start = stop
        return found


def _header(path: Path) -> str:
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        header = file.readline().rstrip("\r\n")
    if not header:
        raise InputError(f"{path} is empty; check that it was written completely.")
    return header


def _mark(header: str) -> str:
    return next((mark for mark in ",;\t" if mark in header), ",")


def _csv() -> Any:
    try:
        from pyarrow import csv
    except ImportError as error:
        raise MissingExtraError("reading CSV needs pyarrow; pip install 'bochner[table]'") from error
    return csv
