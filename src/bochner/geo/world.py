"""World: coastlines and borders of countries, for a reader to know where a map lies."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.geo import limits
from bochner.geo.crs import LONLAT, as_crs, is_geographic, transform
from bochner.geo.grids import Bounds


def outlines_in(bounds: Bounds, crs: Any) -> dict[str, list[FloatArray]]:
    """Lines (n, 2) in a CRS that meet a box of it, cut to a little more than the box: `coast` and `border`.

    None where there is no CRS, or where the box lies in the middle of a country and shows no line.
    """
    crs = as_crs(crs)
    found: dict[str, list[FloatArray]] = {"coast": [], "border": []}
    if crs is None:
        return found
    left, bottom, right, top = bounds
    margin = 0.02 * max(right - left, top - bottom)
    box = (left - margin, bottom - margin, right + margin, top + margin)
    for line, border in _near(_degrees_of(box, crs)):
        own = _in_crs(line, crs, (left + right) / 2)
        found["border" if border else "coast"] += _cut(own, box)
    return found


def outlines_around(bounds: Bounds, crs: Any) -> dict[str, list[FloatArray]]:
    """`outlines_in` of what a frame shows around a map whose shape is not its own, so that no line ends in sight."""
    left, bottom, right, top = bounds
    room = limits.AROUND_SIDES * max(right - left, top - bottom)
    if crs is not None and not is_geographic(as_crs(crs)):
        room = min(room, limits.AROUND_UNITS)  # farther out a projection may fold back
    return outlines_in((left - room, bottom - room, right + room, top + room), crs)


def _degrees_of(box: Bounds, crs: Any) -> Bounds:
    """Box of longitudes and latitudes around a box of a CRS."""
    if is_geographic(crs):
        return box
    left, bottom, right, top = box
    x, y = np.meshgrid(np.linspace(left, right, 21), np.linspace(bottom, top, 21))
    pair = transform(np.column_stack([x.ravel(), y.ravel()]), crs, LONLAT)
    pair = pair[np.isfinite(pair).all(axis=1)]
    if not len(pair):
        return (0.0, 0.0, 0.0, 0.0)
    (west, south), (east, north) = pair.min(axis=0), pair.max(axis=0)
    return float(west), float(south), float(east), float(north)


def _in_crs(line: FloatArray, crs: Any, middle: float) -> FloatArray:
    if not is_geographic(crs):
        return transform(line, LONLAT, crs)
    turn = 360 * np.round((middle - line[:, 0].mean()) / 360)  # round the globe as often as the map does
    return np.column_stack([line[:, 0] + turn, line[:, 1]])


def _near(box: Bounds) -> list[tuple[FloatArray, bool]]:
    """Lines whose own box meets one of longitudes and latitudes, whole turns apart or not."""
    lines, borders, low, high = _world()
    west, south, east, north = box
    keep = (high[:, 1] >= south) & (low[:, 1] <= north)
    across = np.zeros(len(lines), dtype=bool)
    for turn in (-360.0, 0.0, 360.0):
        across |= (high[:, 0] + turn >= west) & (low[:, 0] + turn <= east)
    return [(lines[i], bool(borders[i])) for i in np.flatnonzero(keep & across)]


def _cut(line: FloatArray, box: Bounds) -> list[FloatArray]:
    """Parts of a line whose segments may meet a box: both ends of each, though neither may lie in it."""
    (left, bottom, right, top), (x, y) = box, line.T
    low_x, high_x = np.minimum(x[1:], x[:-1]), np.maximum(x[1:], x[:-1])
    low_y, high_y = np.minimum(y[1:], y[:-1]), np.maximum(y[1:], y[:-1])
    meets = (high_x >= left) & (low_x <= right) & (high_y >= bottom) & (low_y <= top)
    near = np.r_[meets, False] | np.r_[False, meets]
    edges = np.flatnonzero(np.diff(np.r_[0, near.astype(int), 0]))
    return [line[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > 1]


@cache
def _world() -> tuple[list[FloatArray], Any, FloatArray, FloatArray]:
    path = resources.files("bochner.geo").joinpath("outlines", "natural_earth.npz")
    with path.open("rb") as file, np.load(file) as stored:
        points = np.cumsum(stored["steps"].T, axis=0) / 100
        lines = np.split(points, stored["start"][1:-1])
        border = stored["border"]
    return lines, border, np.array([one.min(axis=0) for one in lines]), np.array([one.max(axis=0) for one in lines])
