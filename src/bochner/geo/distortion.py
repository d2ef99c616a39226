"""Distortion: by how much a plane misstates distances over the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo.crs import LONLAT, crs_name, km_per_unit, transform
from bochner.geo.earth import Equirectangular, curvature_radii, geodesic, wrap
from bochner.geo.lonlat import Footprint


def flat_error(footprint: Footprint) -> float:
    """Largest relative error of a distance between places of a footprint in its equirectangular plane.

    Measured over all pairs of a 7 x 7 grid on its box; the whole box counts, for that is where maps are drawn.
    """
    lonlat = _grid(footprint.west, footprint.east, footprint.south, footprint.north)
    first, second = np.triu_indices(len(lonlat), 1)
    plane = Equirectangular(*footprint.middle).forward(lonlat)
    # an arc of 180 degrees or more is no small footprint, and its ends meet in the plane
    if footprint.east - footprint.west >= 180:
        return np.inf
    true = geodesic(lonlat[first], lonlat[second])
    flat = np.linalg.norm(plane[first] - plane[second], axis=1)
    apart = flat > 0
    if not apart.any():
        return 0.0
    return float(np.max(np.abs(flat[apart] / np.maximum(true[apart], 1e-9) - 1)))


def ground_range(pair: FloatArray, crs: Any) -> tuple[float, float]:
    """Least and largest km on the ground of a short km on the map, over the box of the data and its extreme rows."""
    refuse_degrees(pair, crs)
    (left, bottom), (right, top) = pair.min(axis=0), pair.max(axis=0)
    extremes = _extremes(pair)
    if not np.isfinite(transform(extremes, crs, LONLAT)).all():
        raise InputError(f"coordinates have no place in {crs_name(crs)}; check that this is their CRS, easting first.")
    places = np.vstack([_grid(left, right, bottom, top), extremes])
    scale = km_per_unit(crs)
    step = max(1e-4 * (right - left), 1e-4 * (top - bottom), 0.01 / scale)
    east, north = (_step_in_km(places, crs, np.array(side) * step) for side in ((0.5, 0.0), (0.0, 0.5)))
    jacobian = np.stack([east, north], axis=-1) / (step * scale)
    jacobian = jacobian[np.isfinite(jacobian).all(axis=(1, 2))]  # a corner of the box may have no place
    if not len(jacobian):
        return 1.0, 1.0
    # singular values: along the directions that the projection stretches most and least
    ground = np.maximum(np.linalg.svd(jacobian, compute_uv=False), 1e-9)
    return float(ground.min()), float(ground.max())


def fills_grid(pair: FloatArray) -> bool:
    """Whether rows share their coordinates as the pixels of an image do."""
    n_columns, n_rows = (len(np.unique(axis)) for axis in pair.T)
    return len(pair) >= 100 and n_columns * n_rows <= 20 * len(pair)


def refuse_degrees(pair: FloatArray, crs: Any, source: str = "") -> None:
    """Refuse degrees that are given as eastings and northings of a projected CRS."""
    area = crs.area_of_use
    if area is None or np.abs(pair[:, 0]).max() > 360 or np.abs(pair[:, 1]).max() > 90:
        return
    lon, lat = transform(pair, crs, LONLAT).mean(axis=0)
    margin, width = 1.0, (area.east - area.west) % 360 or 360.0
    inside = (
        area.south - margin <= lat <= area.north + margin and (lon - area.west + margin) % 360 <= width + 2 * margin
    )
    at_sea = max(abs(lon), abs(lat)) < 0.1  # where degrees end up when they are read as metres from the equator
    if at_sea or not inside:
        raise InputError(
            f"{source}the coordinates look like degrees, but {crs_name(crs)} counts in "
            f"{crs.axis_info[0].unit_name}; give the CRS they are in (EPSG:4326 for longitude and latitude)."
        )


def _step_in_km(places: FloatArray, crs: Any, half: FloatArray) -> FloatArray:
    """Kilometres east and north on the ground of a step in the plane, (n, 2)."""
    before, after = (transform(places + sign * half, crs, LONLAT) for sign in (-1, 1))
    lat = (before[:, 1] + after[:, 1]) / 2
    with np.errstate(invalid="ignore"):  # places outside the projection are infinite
        meridian, vertical = curvature_radii(lat)
        turn = np.radians(np.column_stack([wrap(after[:, 0] - before[:, 0]), after[:, 1] - before[:, 1]]))
        return turn * np.column_stack([vertical * np.cos(np.radians(lat)), meridian])


def _grid(left: float, right: float, bottom: float, top: float) -> FloatArray:
    x, y = np.meshgrid(np.linspace(left, right, 7), np.linspace(bottom, top, 7))
    return np.column_stack([x.ravel(), y.ravel()])


def _extremes(pair: FloatArray) -> FloatArray:
    """Rows that lie furthest out in eight directions."""
    x, y = ((pair - pair.min(axis=0)) / np.maximum(np.ptp(pair, axis=0), 1e-300)).T
    return pair[[int(pick(side)) for side in (x, y, x + y, x - y) for pick in (np.argmin, np.argmax)]]
