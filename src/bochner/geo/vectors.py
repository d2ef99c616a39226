"""Vectors: points and polygons of GeoPackage, shapefile, GeoJSON and GeoParquet files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bochner.exceptions import BochnerWarning, InputError, warn
from bochner.formats import VECTORS
from bochner.geo.crs import agreed_crs, as_crs, is_geographic
from bochner.geo.frames import geopandas_module
from bochner.geo.tables import first_line


def is_geoparquet(path: Path) -> bool:
    """Whether a Parquet file says that it holds geometry."""
    if path.suffix.lower() == ".geoparquet":
        return True
    if path.suffix.lower() != ".parquet" or not path.exists():
        return False
    from pyarrow import ArrowException, parquet

    try:
        metadata = parquet.read_schema(path).metadata
    except (ArrowException, OSError, ValueError):  # names that are no text, too
        return False
    return b"geo" in (metadata or {})


def read_vector(path: str | os.PathLike[str], layer: str | None = None, crs: Any = None) -> Any:
    """GeoDataFrame of a vector file, with the file's CRS, or the one given where it has none."""
    geopandas, path = geopandas_module(), Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    if path.suffix.lower() not in (*VECTORS, ".parquet"):
        raise InputError(f"{path} ends in {path.suffix!r}; needed is one of {', '.join((*VECTORS, '.parquet'))}.")
    try:
        if is_geoparquet(path):
            frame = geopandas.read_parquet(path)
        else:
            frame = geopandas.read_file(path, layer=_layer(path, layer), engine="pyogrio", use_arrow=True)
    except InputError:
        raise
    except Exception as error:  # GDAL, pyogrio and Arrow each have their own
        raise InputError(f"{path} cannot be read ({first_line(error).partition(';')[0]}); check the file.") from error
    if not hasattr(frame, "geometry"):
        raise InputError(f"{path} holds no geometry; needed are points or polygons.")
    if not len(frame):
        raise InputError(f"{path} holds no rows; check that it was written completely.")
    return frame.set_crs(agreed_crs(frame.crs, crs, path.name), allow_override=True)


def read_areas(path: str | os.PathLike[str], *, layer: str | None = None, crs: Any = None) -> Any:
    """GeoDataFrame of the polygons of a file, checked: none empty, all valid, with a CRS.

    Polygons that cross themselves are mended, with a warning that names them.
    """
    path = Path(path)
    return checked_areas(read_vector(path, layer, crs), path.name)


def checked_areas(frame: Any, source: str = "areas") -> Any:
    """The polygons of a GeoDataFrame, checked as by `read_areas`."""
    shapes = frame.geometry
    if frame.crs is None:
        raise InputError(f"{source} has no CRS; add it to the file (ogr2ogr -a_srs EPSG:4326 NEW OLD) or call set_crs.")
    if not len(frame):
        raise InputError(f"{source} has no polygons; needed is at least one.")
    empty = np.asarray(shapes.isna() | shapes.is_empty)
    if empty.any():
        raise InputError(f"{source} has empty polygons: {_rows(frame, empty)}; drop or mend them.")
    kinds = np.asarray(shapes.geom_type)
    other = ~np.isin(kinds, ("Polygon", "MultiPolygon"))
    if other.any():
        raise InputError(f"{source} holds a {kinds[other.argmax()]} ({_rows(frame, other)}); needed are polygons.")
    _check_on_earth(frame, source)
    invalid = ~np.asarray(shapes.is_valid)
    return _mended(frame, invalid, source) if invalid.any() else frame


def _check_on_earth(frame: Any, source: str) -> None:
    """Refuse polygons whose coordinates are no numbers, or in degrees beyond the poles, by name."""
    import shapely

    corners, owner = shapely.get_coordinates(frame.geometry, return_index=True)
    wrong = np.bincount(owner[~np.isfinite(corners).all(axis=1)], minlength=len(frame)) > 0
    if wrong.any():
        amiss = _rows(frame, wrong)
        raise InputError(f"{source} has coordinates that are no numbers: {amiss}; mend or drop them.")
    if not is_geographic(as_crs(frame.crs)):
        return
    bounds = frame.geometry.bounds.to_numpy()
    beyond = (bounds[:, 1] < -90) | (bounds[:, 3] > 90) | (bounds[:, 0] < -540) | (bounds[:, 2] > 540)
    if beyond.any():
        west, south, east, north = bounds[beyond.argmax()]
        raise InputError(
            f"{source} has polygons that are nowhere on Earth: {_rows(frame, beyond)}, from {west:g}, {south:g} to "
            f"{east:g}, {north:g} degrees; if the file is projected, give its CRS, else mend or drop them."
        )


def _mended(frame: Any, invalid: Any, source: str) -> Any:
    import shapely

    mended = frame.geometry.copy()
    parts = shapely.make_valid(mended[invalid].to_numpy(), method="structure", keep_collapsed=False)
    if shapely.is_empty(parts).any():
        raise InputError(f"{source} has polygons without area: {_rows(frame, invalid)}; drop or mend them.")
    mended[invalid] = parts
    warn(
        f"{source} has polygons that are not valid: {_rows(frame, invalid)}; they were mended.",
        BochnerWarning,
    )
    return frame.set_geometry(mended)


def _rows(frame: Any, chosen: Any) -> str:
    """Rows of a frame by number, and by their first text, which usually is a name."""
    names = next((frame[c] for c in frame.columns if c != frame.geometry.name and _is_text(frame[c])), None)
    rows = np.flatnonzero(chosen)
    told = [f"row {i + 1}" + ("" if names is None else f" ({names.iloc[i]})") for i in rows[:3]]
    return ", ".join(told) + (f" and {len(rows) - 3:,} more" if len(rows) > 3 else "")


def _is_text(column: Any) -> bool:
    from pandas.api import types

    return bool(types.is_string_dtype(column))


def _layer(path: Path, asked: str | None) -> str | None:
    import pyogrio

    layers = [str(name) for name in pyogrio.list_layers(path)[:, 0]]
    if asked is not None and asked not in layers:
        raise InputError(f"{path.name} has no layer {asked!r}; its layers are {layers}.")
    if asked is None and len(layers) > 1:
        raise InputError(f"{path.name} has {len(layers)} layers, {layers}; choose one with layer.")
    return asked or (layers[0] if layers else None)
