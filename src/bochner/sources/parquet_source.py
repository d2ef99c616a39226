"""Parquet: files and folders of them, a few row groups at a time; geometry of GeoParquet becomes x and y."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bochner.exceptions import InputError, MissingExtraError
from bochner.sources import limits
from bochner.sources.base import Columns, Part, Source, as_column

ENDINGS = (".parquet", ".geoparquet", ".pq")


@dataclass(frozen=True)
class ParquetPart(Part):
    """Row groups of one file."""

    path: str
    groups: tuple[int, ...]
    n_rows: int
    geometry: str | None = None
    made: tuple[str, str] = ("x", "y")

    @property
    def where(self) -> str:  # type: ignore[override]
        first, last = self.groups[0], self.groups[-1]
        return f"{self.path}, row group {first}" + (f" to {last}" if last > first else "")

    @property
    def file(self) -> str:
        return self.path

    def row_name(self, row: int) -> str:
        with _parquet().ParquetFile(self.path) as file:
            before = sum(file.metadata.row_group(g).num_rows for g in range(self.groups[0]))
        return f"row {before + row + 1:,}"

    def load(self, names: Sequence[str]) -> Columns:
        parquet = _parquet()
        shaped = self.geometry is not None and set(self.made) & set(names)
        wanted = [n for n in names if not (shaped and n in self.made)]
        with parquet.ParquetFile(self.path) as file:
            table = file.read_row_groups(
                list(self.groups), columns=[*wanted, *([self.geometry] if shaped else [])], use_threads=False
            )
        lost = [n for n in wanted if n not in table.column_names]
        if lost:
            raise InputError(f"{self.path} has no column {lost[0]!r} and the files before it have; mend or remove it.")
        columns = {name: arrow_column(table.column(name), name, self.path) for name in wanted}
        if shaped:
            columns |= dict(zip(self.made, _points(table.column(self.geometry), self.path), strict=True))
        return columns


class ParquetSource(Source):
    """A Parquet file, a folder of them, or a list."""

    def __init__(self, paths: Sequence[Path], label: str, part_rows: int = limits.PART_ROWS) -> None:
        self.paths, self.label, self.part_rows = list(paths), label, part_rows
        self.schema = _opened(self.paths[0]).schema_arrow
        self.geometry, self.crs = _geometry(self.schema)
        plain = [n for n in self.schema.names if n != self.geometry]
        self.made = ("x", "y") if not {"x", "y"} & set(plain) else ("geometry_x", "geometry_y")
        self.names = tuple(plain if self.geometry is None else [*self.made, *plain])
        self.coords = self.made if self.geometry is not None else None

    @cached_property
    def parts(self) -> Sequence[Part]:
        found: list[Part] = []
        for path in self.paths:
            metadata = self._agreeing(path)
            groups: list[int] = []
            rows = 0
            for g in range(metadata.num_row_groups):
                n = metadata.row_group(g).num_rows
                if groups and rows + n > self.part_rows:
                    found.append(ParquetPart(str(path), tuple(groups), rows, self.geometry, self.made))
                    groups, rows = [], 0
                groups.append(g)
                rows += n
            if rows:
                found.append(ParquetPart(str(path), tuple(groups), rows, self.geometry, self.made))
        if not found:
            raise InputError(f"{self.label} has columns {list(self.names)} but no rows; check how it was written.")
        return found

    def _agreeing(self, path: Path) -> Any:
        """Metadata of a file whose columns are those of the first."""
        file = _opened(path)
        other = file.schema_arrow
        missing = [n for n in self.schema.names if n not in other.names]
        if missing:
            raise InputError(
                f"{path} has no column {missing[0]!r}, which {self.paths[0].name} has; its columns are "
                f"{list(other.names)}. Give files of one schema."
            )
        for name in self.schema.names:
            if _kind(other.field(name).type) != _kind(self.schema.field(name).type):
                raise InputError(
                    f"{path} holds {other.field(name).type} in column {name!r}, where {self.paths[0].name} holds "
                    f"{self.schema.field(name).type}; give files of one schema."
                )
        return file.metadata


def arrow_column(column: Any, name: str, where: str) -> np.ndarray:
    """A column of Arrow's as the library has it; missing numbers become NaN."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.uint8()).cast(pa.float64()) if pa.types.is_boolean(kind) else column.cast(pa.float64())
    return as_column(column.to_numpy())


def _kind(arrow_type: Any) -> str:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_floating(arrow_type) or kinds.is_integer(arrow_type) or kinds.is_boolean(arrow_type):
        return "number"
    if kinds.is_decimal(arrow_type) or kinds.is_null(arrow_type):
        return "number"
    if kinds.is_temporal(arrow_type):
        return "time"
    return "binary" if kinds.is_binary(arrow_type) or kinds.is_large_binary(arrow_type) else "text"


def _geometry(schema: Any) -> tuple[str | None, str | None]:
    """Column of points of GeoParquet, and their CRS; longitude and latitude where the file does not say."""
    told = (schema.metadata or {}).get(b"geo")
    if told is None:
        return None, None
    geo = json.loads(told)
    name = geo.get("primary_column", "geometry")
    crs = geo.get("columns", {}).get(name, {}).get("crs", "OGC:CRS84")
    if isinstance(crs, dict):
        named = crs.get("id", {})
        crs = f"{named['authority']}:{named['code']}" if named else json.dumps(crs)
    return name, "EPSG:4326" if crs == "OGC:CRS84" else crs


def _points(column: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        import shapely
    except ImportError as error:
        raise MissingExtraError("reading GeoParquet needs shapely; pip install 'bochner[geo]'") from error
    shapes = shapely.from_wkb(column.to_numpy(zero_copy_only=False))
    if not np.all(shapely.get_type_id(shapes[~shapely.is_missing(shapes)]) == 0):
        raise InputError(f"{where} holds shapes that are no points; rows that are read in chunks need points.")
    return shapely.get_x(shapes), shapely.get_y(shapes)


def _opened(path: Path) -> Any:
    try:
        return _parquet().ParquetFile(path)
    except MissingExtraError:
        raise
    except Exception as error:  # Arrow's errors share no base but this
        told = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet ({told}); check that it was written completely.") from error


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("reading Parquet needs pyarrow; pip install 'bochner[table]'") from error
    return parquet
