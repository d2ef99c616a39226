"""Reading: any file of places, by its suffix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.formats import CUBES, RASTERS, READ_TABLES, READABLE, VECTORS
from bochner.geo.crs import LONLAT, agreed_crs, as_crs, crs_name, is_geographic, is_projected
from bochner.geo.cubes import cube_rows, opened_cube
from bochner.geo.distortion import refuse_degrees
from bochner.geo.frames import attributes, frame_coords
from bochner.geo.lonlat import check_degrees, few_off_earth, in_degrees, is_lonlat, lonlat_axes
from bochner.geo.places import Places, made_names
from bochner.geo.rasters import (
    band_names,
    categories,
    dataset_grid,
    has_colours,
    opened_raster,
    read_band,
    read_codes,
)
from bochner.geo.tables import find_coords, misprints, read_table
from bochner.geo.vectors import is_geoparquet, read_vector
from bochner.spelling import check_columns


def read_places(
    path: str | os.PathLike[str],
    *,
    layer: str | None = None,
    coords: Sequence[str] | None = None,
    crs: Any = None,
    columns: Sequence[str] | None = None,
) -> Places:
    """Read a table, a vector file, a raster or a cube as rows with coordinates.

    Parameters
    ----------
    path : file
        CSV, Excel, Parquet; GeoParquet, GeoPackage, shapefile, GeoJSON; GeoTIFF; NetCDF, Zarr.
    layer : str, optional
        Layer of a GeoPackage, or the label along a further dimension (time, say) of a cube.
    coords : names, optional
        Coordinate columns of a table. Default: lon and lat, easting and northing, or x and y.
    crs : CRS or code, optional
        For a file without one; where the file has one, the two must agree.
    columns : names, optional
        Columns, bands or variables to read beside the coordinates. Default: all.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in READABLE:
        raise InputError(f"{path} ends in {suffix!r}; what can be read is {', '.join(READABLE)}.")
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    if layer is not None and (suffix in (*READ_TABLES, *RASTERS) or is_geoparquet(path)):
        raise InputError(f"layer {layer!r} was asked for, but {path.name} has no layers; leave it out.")
    if suffix in RASTERS:
        places = _from_raster(path, crs, columns)
    elif suffix in CUBES:
        places = _from_cube(path, layer, crs, columns)
    elif suffix in VECTORS or is_geoparquet(path):
        places = _from_vector(path, layer, coords, crs, columns)
    else:
        places = _from_table(path, coords, crs, columns)
    _check_coords(places)
    return places


def _from_table(path: Path, coords: Sequence[str] | None, crs: Any, columns: Sequence[str] | None) -> Places:
    table = read_table(path)
    names = list(coords) if coords else find_coords(table.names, table.source)
    check_columns([*names, *(columns or ())], table.names, table.source)
    _check_twins(names, table.source)
    frame = _frame(table.arrow)
    if columns is not None:
        frame = frame[list(dict.fromkeys([*names, *columns]))]
    places = _placed(frame, names, crs, "table", path.name, unread=_unread(table.names, frame))
    return replace(places, notes=(*table.notes, *places.notes))


def _unread(names: Sequence[str], frame: Any) -> tuple[str, ...]:
    return tuple(name for name in names if name not in frame.columns)


def _check_twins(coords: Sequence[str], source: str) -> None:
    if len(set(coords)) < len(coords):
        raise InputError(f"the coordinates of {source} are given as {list(coords)}, one of them twice; name each once.")


def _frame(arrow: Any) -> Any:
    """A data frame of an Arrow table; what pandas noted of it, its index say, is passed over if it is damaged."""
    try:
        return arrow.to_pandas()
    except (ValueError, KeyError, TypeError, AttributeError):
        return arrow.replace_schema_metadata(None).to_pandas()


def _placed(frame: Any, names: list[str], crs: Any, kind: str, source: str, **others: Any) -> Places:
    """Places with named coordinate columns, longitude or easting first."""
    notes = []
    if lonlat_axes(names) == (1, 0):
        names = [names[1], names[0], *names[2:]]
        notes.append(f"coordinates of {source} are taken as {names[0]} (east), {names[1]} (north).")
    crs = as_crs(crs)
    if crs is None and in_degrees(names, np.column_stack([_loose(frame[name]) for name in names])):
        crs = as_crs(LONLAT)
        notes.append(f"{names[0]}, {names[1]} of {source} are taken as degrees ({LONLAT}).")
    return Places(frame, tuple(names), crs, kind, source, tuple(notes), **others)


def _loose(column: Any) -> FloatArray:
    """Numbers of a column, NaN for all that is none."""
    import pandas as pd
    from pandas.api import types

    if not (types.is_numeric_dtype(column) or types.is_object_dtype(column) or types.is_string_dtype(column)):
        return np.full(len(column), np.nan)
    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)


def _from_vector(
    path: Path, layer: str | None, coords: Sequence[str] | None, crs: Any, columns: Sequence[str] | None
) -> Places:
    whole = read_vector(path, layer, crs)
    absent = np.asarray(whole.geometry.isna() | whole.geometry.is_empty)
    if absent.all():
        raise InputError(f"{path.name} has no geometry in any row; needed are points.")
    notes = (f"{int(absent.sum()):,} of {len(absent):,} rows of {path.name} have no geometry and are left out.",)
    part = whole[~absent].reset_index(drop=True)
    frame = attributes(part)
    names = list(frame.columns)
    beside = _beside_geometry(coords or (), names)
    coords = (coords or ()) if beside is None else beside
    check_columns([*(columns or ()), *coords], names, path.name)
    _check_twins(coords, path.name)
    frame = frame if columns is None else frame[list(dict.fromkeys([*columns, *coords]))]
    others = {"geometry": part.geometry, "unread": _unread(names, frame)}
    if coords and beside is None:
        return _placed(frame, list(coords), crs, "vector", path.name, **others)
    pair, found = frame_coords(part)
    made = made_names(list(frame.columns))
    frame = frame.assign(**dict(zip(made, pair.T, strict=True)))
    placed = (*made, *coords)
    return Places(frame, placed, as_crs(found), "vector", path.name, notes if absent.any() else (), **others)


def _beside_geometry(coords: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Coordinates of a vector file beside its geometry, named `geometry` or x and y; None, where that is not named."""
    if "geometry" in coords:
        return [name for name in coords if name != "geometry"]
    made = made_names(names)
    return [name for name in coords if name not in made] if set(made) <= set(coords) else None


def _from_raster(path: Path, crs: Any, columns: Sequence[str] | None) -> Places:
    with opened_raster(path) as dataset:
        grid = dataset_grid(dataset)
        names = band_names(dataset)
        wanted = names if columns is None else list(columns)
        check_columns(wanted, names, path.name)
        if not wanted:
            raise InputError(f"no band of {path.name} was asked for; its bands are {names}.")
        numbers = [names.index(name) + 1 for name in wanted]
        classes = [name for name, number in zip(wanted, numbers, strict=True) if has_colours(dataset, number)]
        bands = np.column_stack(
            [(read_codes if has_colours(dataset, n) else read_band)(dataset, n).ravel() for n in numbers]
        )
    places = _from_pixels(grid, bands, wanted, crs, path.name, "raster", ("x", "y"))
    return places.with_columns({name: categories(places.frame[name].to_numpy()) for name in classes})


def _from_cube(path: Path, layer: str | None, crs: Any, columns: Sequence[str] | None) -> Places:
    with opened_cube(path) as cube:
        rows = cube_rows(cube, path.name, columns, layer)
    if rows.along is None and rows.grid is not None:
        return _from_pixels(rows.grid, rows.values, rows.names, crs, path.name, "cube", rows.axes)
    coords = rows.coords if rows.grid is None else rows.grid.centres()
    own = None if rows.grid is None else rows.grid.crs
    found = agreed_crs(own or (as_crs(LONLAT) if is_lonlat(rows.axes) else None), crs, path.name)
    axes: tuple[str, ...] = rows.axes
    times = None
    if rows.along is not None:
        times = np.repeat(rows.labels, len(coords))
        coords, axes = np.tile(coords, (len(rows.labels), 1)), (*rows.axes, rows.along)
    frame, pixels, notes = _valid_rows(rows.values, rows.names, coords, axes, path.name, times)
    grid = None if rows.grid is None else replace(rows.grid, crs=found)
    return Places(frame, axes, found, "cube", path.name, notes, grid=grid, pixels=pixels, labels=rows.labels)


def _from_pixels(
    grid: Any, values: FloatArray, names: Sequence[str], crs: Any, source: str, kind: str, axes: tuple[str, str]
) -> Places:
    found = agreed_crs(grid.crs, crs, source)
    frame, pixels, notes = _valid_rows(values, names, grid.centres(), axes, source)
    grid = replace(grid, crs=found)
    return Places(frame, axes, found, kind, source, notes, grid=grid, pixels=pixels)


def _valid_rows(
    values: FloatArray, names: Sequence[str], coords: FloatArray, axes: Sequence[str], source: str, times: Any = None
) -> tuple[Any, Any, tuple[str, ...]]:
    """Data frame of the pixels that have any value, their positions, and a note that counts the others."""
    import pandas as pd

    valid = np.flatnonzero(np.isfinite(values).any(axis=1))
    if not len(valid):
        raise InputError(f"{source} has no pixel with a value in {list(names)}; choose other bands or variables.")
    columns = [*coords[valid].T, *([] if times is None else [times[valid]]), *values[valid].T]
    frame = pd.DataFrame(dict(zip([*axes, *names], columns, strict=True)))
    empty = len(values) - len(valid)
    note = f"{empty:,} of {len(values):,} pixels of {source} have no value and are left out."
    return frame, valid, (note,) if empty else ()


def _check_coords(places: Places) -> None:
    """Refuse degrees that are none, and degrees under a projected CRS."""
    if places.crs is None or len(places.coords) < 2:
        return
    if any(misprints(places.frame[name]).any() for name in places.coords):
        return  # refused, or left out, row by row where the rows are wanted
    pair = places.pair()
    pair = pair[np.isfinite(pair).all(axis=1)]
    if is_geographic(places.crs) and few_off_earth(pair):
        return
    if not len(pair):
        raise InputError(f"every row of {places.source} has a missing coordinate; nothing is left.")
    if is_geographic(places.crs):
        check_degrees(pair, f"{places.source}: ")
    elif is_projected(places.crs):
        if is_lonlat(places.coords) and np.abs(pair).max() <= 360:
            raise InputError(
                f"{places.source} has columns {', '.join(places.coords[:2])} in degrees, but {crs_name(places.crs)} is "
                f"projected; give the CRS of the columns (EPSG:4326), or other columns."
            )
        refuse_degrees(pair, places.crs, f"{places.source}: ")
