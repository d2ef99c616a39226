"""Geography: tables with a geometry or with longitude and latitude, brought to places in km."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.geo import (
    agreed_crs,
    area_points,
    as_crs,
    attributes,
    crs_text,
    frame_coords,
    is_geoframe,
    same_crs,
    transform,
)
from bochner.geo.lonlat import in_degrees, is_plain_lonlat, lonlat_pair
from bochner.layout import limits
from bochner.layout.columns import Selector

GEOMETRY = ("x", "y")  # names of the coordinates that come from a geometry


def without_geometry(X: Any, coords: Selector, covariates: Selector, crs: str | None) -> Any:
    """A GeoDataFrame as a plain table, its points first as columns x and y; other tables as they are.

    With `crs`, the model's, points in another one are brought to it.
    """
    if not is_geoframe(X):
        return X
    if not _takes_geometry(X, coords):
        return attributes(X)
    points, own = centres(X), X.crs
    if crs is not None and own is None:
        raise InputError(f"the GeoDataFrame has no CRS and the model was fitted in {crs}; set it with set_crs().")
    if crs is not None and own is not None and not same_crs(own, crs):
        points = transform(points, own, crs)
    table = attributes(X)
    named = [name for name in (*_named(coords), *_named(covariates)) if coords is None or name not in GEOMETRY]
    clash = [name for name in GEOMETRY if name in named]
    if clash:
        raise InputError(f"covariate {clash[0]!r} has the name that the geometry's coordinates take; rename it.")
    table = table[[name for name in named if name in table.columns]].copy()
    for position, name in enumerate(GEOMETRY):
        table.insert(position, name, points[:, position])
    return table


def spelled_out(X: Any, coords: Selector) -> Selector:
    """Coordinates with the geometry column, where it is among them, as the x and y that are made of it."""
    listed = _named(coords)
    if not is_geoframe(X) or X.geometry.name not in listed:
        return coords
    return [part for name in listed for part in (GEOMETRY if name == X.geometry.name else (name,))]


def centres(X: Any) -> FloatArray:
    """Coordinates of the points of a GeoDataFrame, and centres of its polygons."""
    kinds = np.asarray(X.geometry.geom_type)
    areal = np.char.endswith(kinds.astype(str), "Polygon")
    if not areal.any():
        return frame_coords(X)[0]
    out = np.empty((len(X), 2))
    if not areal.all():
        out[~areal] = frame_coords(X[~areal])[0]
    coords, group, share = area_points(X[areal], n_points=limits.POINTS_PER_AREA)
    out[areal] = np.column_stack([np.bincount(group, share * c) for c in coords.T])
    return out


@dataclass(frozen=True)
class Support:
    """Points that stand for the rows of a table, some of which are areas; in the coordinates of the model."""

    points: FloatArray
    group: IntArray
    share: FloatArray


def support_of(X: Any, coords: Selector, crs: str | None) -> Support | None:
    """Support of a GeoDataFrame with polygons; None if all rows are points."""
    if not is_geoframe(X) or not _takes_geometry(X, coords):
        return None
    areal = np.char.endswith(np.asarray(X.geometry.geom_type).astype(str), "Polygon")
    if not areal.any():
        return None
    if coords is not None and len(_named(coords)) > 2:
        raise InputError("areal observations have two coordinates, x and y; leave the others out.")
    position = np.flatnonzero(areal)
    points, group, share = area_points(X[areal], n_points=limits.POINTS_PER_AREA, crs=crs)
    alone = np.flatnonzero(~areal)
    if len(alone):
        own, _ = frame_coords(X[~areal])
        if crs is not None and not same_crs(X.crs, crs):
            own = transform(own, X.crs, crs)
        points, share = np.concatenate([points, own]), np.concatenate([share, np.ones(len(own))])
    return Support(points, np.concatenate([position[group], alone]), share)


def _takes_geometry(X: Any, coords: Selector) -> bool:
    """Whether the geometry is meant: nothing is named, or x and y that are no columns."""
    if coords is None:
        return True
    return all(name in _named(coords) and name not in X.columns for name in GEOMETRY)


def _named(columns: Selector) -> list[Any]:
    return [] if columns is None else list(np.atleast_1d(np.asarray(columns, dtype=object)))


def crs_of(X: Any, names: tuple[str, ...]) -> str | None:
    """CRS of the coordinates as text: a GeoDataFrame's, one noted in `attrs`, or longitude and latitude by name."""
    if is_geoframe(X) and set(GEOMETRY) <= set(names) and not set(GEOMETRY) <= set(X.columns):
        return None if X.crs is None else crs_text(X.crs)
    noted = getattr(X, "attrs", {}).get("crs") if hasattr(X, "columns") else None  # of the pixels of an image
    return noted or ("EPSG:4326" if _says_degrees(X, names) else None)


def _says_degrees(X: Any, names: tuple[str, ...]) -> bool:
    """Whether coordinates are degrees by their names and, where these are unusual, by their numbers."""
    pair = lonlat_pair(names)
    if pair is None or is_plain_lonlat(names) or not set(names) <= set(getattr(X, "columns", ())):
        return pair is not None
    import pandas as pd

    numbers = [np.asarray(pd.to_numeric(X[names[j]], errors="coerce"), dtype=np.float64) for j in pair]
    return in_degrees([names[j] for j in pair], np.column_stack(numbers))


def perhaps_degrees(coords: FloatArray, named: Selector) -> bool:
    """Whether coordinates that the user named could be longitude and latitude, in either order, by their numbers."""
    if coords.shape[1] < 2 or not all(isinstance(name, str) for name in _named(named)) or not len(_named(named)):
        return False
    reach = np.sort(np.abs(coords[:, :2]).max(axis=0, initial=0.0))
    return bool(limits.LEAST_DEGREES < reach[0] <= 90 and reach[1] <= 180)


def agreed(found: str | None, given: Any) -> str | None:
    """CRS as text, of what the table says and what the user says; they may not contradict each other."""
    if given is None:
        return found
    return crs_text(agreed_crs(None if found is None else as_crs(found), given, "X"))
