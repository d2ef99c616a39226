"""Writing: places as a table or a vector file; it appears under its name only when it is complete."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.formats import VECTORS, WRITABLE
from bochner.geo.frames import geopandas_module
from bochner.geo.places import Places
from bochner.geo.spreadsheets import plain_cells
from bochner.geo.tables import Table, write_table
from bochner.outputs import check_writable, complete_files, told_as_output

DRIVERS = {".gpkg": "GPKG", ".shp": "ESRI Shapefile", ".geojson": "GeoJSON", ".json": "GeoJSON"}


def write_places(places: Places, path: str | os.PathLike[str], *, escape_formulas: bool = False) -> tuple[str, ...]:
    """Write places in the format of the suffix; the notes for the user.

    A vector file holds the geometry that was read, or points at the coordinates, and the CRS. A CSV has columns
    alone; a `.parquet` file is GeoParquet if a vector file was read. Text of a CSV is kept as it is, though a
    spreadsheet may run it as a formula; `escape_formulas` puts an apostrophe before such cells, and is for CSV alone.
    """
    path = Path(path)
    check_writable(path, WRITABLE)
    suffix = path.suffix.lower()
    if escape_formulas and suffix != ".csv":
        raise InputError(f"escape_formulas was given, and {path} is no .csv; leave it out, or write a .csv.")
    if suffix == ".csv" or (suffix == ".parquet" and places.geometry is None):
        import pyarrow as pa

        frame = plain_cells(places.frame) if escape_formulas else places.frame
        write_table(Table(pa.Table.from_pandas(frame, preserve_index=False), places.source), path)
        return ()
    return write_vector(as_geoframe(places), path)


def as_geoframe(places: Places) -> Any:
    """GeoDataFrame of places: the geometry that was read, or points at the coordinates."""
    geopandas = geopandas_module()
    frame = places.frame.drop(columns=list(places.coords[:2])) if places.made_coords else places.frame
    if places.geometry is not None:
        return geopandas.GeoDataFrame(frame, geometry=places.geometry.array)  # in its own CRS
    points = geopandas.points_from_xy(*places.pair().T)
    return geopandas.GeoDataFrame(frame, geometry=points, crs=places.crs)


def write_vector(frame: Any, path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Write a GeoDataFrame; the notes for the user."""
    path = Path(path)
    check_writable(path, (*VECTORS, ".parquet"))
    suffix = path.suffix.lower()
    notes = _short_names(frame, path) if suffix == ".shp" else ()
    with complete_files(path) as partial, told_as_output(path), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="pyogrio")  # told in the notes
        warnings.filterwarnings("ignore", message="Column names longer than 10")
        warnings.filterwarnings("ignore", message="'crs' was not provided")
        if suffix in DRIVERS:
            frame.to_file(partial, driver=DRIVERS[suffix], engine="pyogrio", index=False)
            check_written(partial, len(frame))
        else:
            frame.to_parquet(partial, index=False)
    return notes


def check_written(path: Path, n_rows: int) -> None:
    """Refuse a file that GDAL has cut short without a word, as it does where a disk is full."""
    if path.suffix.lower() == ".shp":
        told = {end: path.with_suffix(end).read_bytes()[:100] for end in (".shp", ".shx", ".dbf")}
        sizes = {end: path.with_suffix(end).stat().st_size for end in told}
        lengths = all(2 * int.from_bytes(told[end][24:28], "big") == sizes[end] for end in (".shp", ".shx"))
        head = told[".dbf"]
        rows, start, width = (int.from_bytes(head[i:j], "little") for i, j in ((4, 8), (8, 10), (10, 12)))
        whole = lengths and rows == n_rows and sizes[".shx"] == 100 + 8 * n_rows
        whole = whole and sizes[".dbf"] >= start + n_rows * width
    else:
        import pyogrio

        whole = pyogrio.read_info(path, force_feature_count=True)["features"] == n_rows
    if not whole:
        raise OSError(f"not all of the {n_rows:,} rows are in it")


def _short_names(frame: Any, path: Path) -> tuple[str, ...]:
    names = [str(name) for name in frame.columns if name != frame.geometry.name]
    long = [name for name in names if len(name.encode()) > 10]
    short = [name.encode()[:10].decode(errors="ignore") for name in names]
    if len(set(short)) < len(short):
        twice = next(name for name in names if short.count(name.encode()[:10].decode(errors="ignore")) > 1)
        raise InputError(
            f"{path.name} cannot hold column {twice!r}: a shapefile cuts names to 10 characters, and two become one; "
            f"write a GeoPackage (.gpkg) instead."
        )
    return (_told(long, path),) if long else ()


def _told(names: Sequence[str], path: Path) -> str:
    return f"{path.name} is a shapefile, which cuts column names to 10 characters: {', '.join(names)}."
