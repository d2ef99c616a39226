"""Frames: GeoDataFrames in and out, recognised by what they can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray
from bochner.exceptions import InputError, MissingExtraError


def is_geoframe(X: Any) -> bool:
    """Whether X is a GeoDataFrame (a table with an active geometry)."""
    return hasattr(X, "columns") and hasattr(X, "crs") and hasattr(type(X), "set_geometry")


def frame_coords(frame: Any) -> tuple[FloatArray, Any]:
    """Coordinates (n, 2) of the points of a GeoDataFrame, and its CRS (None if it has none)."""
    geometry = _geometry(frame)
    absent = np.asarray(geometry.isna() | geometry.is_empty)
    if absent.any():
        raise InputError(
            f"{int(absent.sum()):,} of {len(absent):,} geometries are missing or empty (first: row "
            f"{int(absent.argmax()) + 1}); drop those rows."
        )
    kinds = np.asarray(geometry.geom_type)
    other = kinds != "Point"
    if other.any():
        raise InputError(_not_a_point(str(kinds[other.argmax()]), int(other.argmax()) + 1))
    coords = np.column_stack([geometry.x, geometry.y]).astype(np.float64, copy=False)
    if not np.isfinite(coords).all():
        row = int((~np.isfinite(coords)).any(axis=1).argmax()) + 1
        raise InputError(f"the point of row {row} has coordinates that are no finite numbers; drop that row.")
    return coords, frame.crs


def like_frame(frame: Any, columns: Mapping[str, ArrayLike]) -> Any:
    """GeoDataFrame of new columns with the geometry, the index and the CRS of another."""
    geopandas = geopandas_module()
    geometry = _geometry(frame)
    values = {name: np.asarray(value) for name, value in columns.items()}
    values[geometry.name] = geometry.array
    return geopandas.GeoDataFrame(values, index=frame.index, geometry=geometry.name, crs=frame.crs)


def attributes(frame: Any) -> Any:
    """The columns of a GeoDataFrame that are not its geometry, as a DataFrame."""
    import pandas as pd

    return pd.DataFrame(frame.drop(columns=frame.geometry.name))


def geopandas_module() -> Any:
    """geopandas, or an error that says how to install it."""
    try:
        import geopandas
    except ImportError as error:
        raise MissingExtraError("GeoDataFrames need geopandas; install it with: pip install 'bochner[geo]'") from error
    return geopandas


def _geometry(frame: Any) -> Any:
    try:
        return frame.geometry
    except AttributeError:
        raise InputError("the GeoDataFrame has no active geometry; choose one with set_geometry().") from None


def _not_a_point(kind: str, row: int) -> str:
    if kind.endswith("Polygon"):
        return (
            f"the geometry of row {row} is a {kind}, not a point; means of polygons are fitted in Python, by "
            f"SpatialRegressor().fit(frame, y), and predicted by aggregate; or pass points "
            f"(frame.representative_point()) if one will do."
        )
    if kind == "MultiPoint":
        return f"the geometry of row {row} is a MultiPoint, not a point; split it with frame.explode()."
    return f"the geometry of row {row} is a {kind}; needed are points."
