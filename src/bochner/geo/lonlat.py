"""Longitude and latitude: recognised by name, checked, and the footprint that they cover."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo import limits
from bochner.geo.earth import RADIUS, angle_between, lonlat_of, unit_vectors, wrap

# Names of the two axes, those that say most first.
LONGITUDE, LATITUDE = ("lon", "longitude", "long", "lng"), ("lat", "latitude")
WORDS = tuple(
    re.compile(rf"({'|'.join(known)})(num|dd|deg|degrees?|dec|decimal|wgs|gps)?") for known in (LONGITUDE, LATITUDE)
)
# Words beside them that say that they are no degrees.
PLANE_WORDS = frozenset(
    ("m", "km", "metre", "metres", "meter", "meters", "utm", "rad", "radian", "radians", "ft", "feet")
)
AXES = ((LONGITUDE, LATITUDE), (("easting",), ("northing",)), (("x",), ("y",)))


@dataclass(frozen=True)
class Footprint:
    """What places cover: a box of longitudes and latitudes, and a cap around them.

    `west` <= `east` may leave [-180, 180]: the box is the shorter way round. `radius` is that of the cap, in km.
    """

    west: float
    east: float
    south: float
    north: float
    centre: tuple[float, float]
    radius: float

    @property
    def middle(self) -> tuple[float, float]:
        """Centre of the box."""
        return float(wrap(np.array((self.west + self.east) / 2))), (self.south + self.north) / 2


def is_lonlat(names: Sequence[str]) -> bool:
    """Whether two of the columns are named longitude and latitude, alone or among other words."""
    return lonlat_pair(names) is not None


def lonlat_pair(names: Sequence[str]) -> tuple[int, int] | None:
    """Positions of longitude and latitude by their names: lon and lat, or names in which these are words.

    Exact names come first; then, as decimalLongitude and decimalLatitude, two that differ in nothing else.
    """
    lower = [str(name).lower() for name in names]
    exact = [next((j for j, name in enumerate(lower) if name in known), None) for known in (LONGITUDE, LATITUDE)]
    if exact[0] is not None and exact[1] is not None:
        return exact[0], exact[1]
    east, north = ([j for j, name in enumerate(names) if axis_rest(name, axis) is not None] for axis in (0, 1))
    pairs = [(i, j) for i in east for j in north if i != j]
    alike = [(i, j) for i, j in pairs if axis_rest(names[i], 0) == axis_rest(names[j], 1)]
    return next(iter([*alike, *pairs]), None)


def in_degrees(names: Sequence[str], coords: FloatArray) -> bool:
    """Whether coordinates (n, columns) are longitude and latitude by their names.

    Plain names (lon, lat) are believed; of others, such as LONGNUM and LATNUM, most rows must be a place on Earth.
    """
    pair = lonlat_pair(names)
    if pair is None or is_plain_lonlat(names):
        return pair is not None
    numbers = np.asarray(coords, dtype=np.float64)[:, pair]
    known = numbers[np.isfinite(numbers).all(axis=1)]
    return len(known) == 0 or float(np.mean(off_earth(known))) < limits.FEW_MISPRINTS


def is_plain_lonlat(names: Sequence[str]) -> bool:
    """Whether two of the columns are named longitude and latitude, without other words."""
    lower = {str(name).lower() for name in names}
    return bool(lower.intersection(LONGITUDE)) and bool(lower.intersection(LATITUDE))


def twin_pair(names: Sequence[str]) -> tuple[int, int] | None:
    """Positions of two columns whose names differ in nothing but longitude and latitude."""
    pair = lonlat_pair(names)
    return None if pair is None or axis_rest(names[pair[0]], 0) != axis_rest(names[pair[1]], 1) else pair


def axis_rest(name: str, axis: int) -> tuple[str, ...] | None:
    """Words of a name beside the one that says longitude (0) or latitude (1); None if no word says so."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)).lower())
    found = next((match for word in words if (match := WORDS[axis].fullmatch(word)) is not None), None)
    if found is None or PLANE_WORDS.intersection(words):
        return None
    return (*(word for word in words if word != found[0]), found[2] or "")


def is_axis_of_degrees(name: str) -> bool:
    """Whether a name says longitude or latitude, alone or among other words."""
    return any(axis_rest(name, axis) is not None for axis in (0, 1))


def lonlat_axes(names: Sequence[str]) -> tuple[int, int]:
    """Positions of longitude (or easting) and latitude (or northing); the first two where names do not tell."""
    if (degrees := lonlat_pair(names)) is not None:
        return degrees
    lower = [str(name).lower() for name in names]
    for east, north in AXES:
        pair = [next((j for j, name in enumerate(lower) if name in known), None) for known in (east, north)]
        if pair[0] is not None and pair[1] is not None:
            return pair[0], pair[1]
    return 0, 1


def check_degrees(lonlat: FloatArray, source: str = "", reach: float = limits.TURN) -> None:
    """Refuse what cannot be longitude (at most `reach` either way) and latitude in degrees; say what it looks like."""
    if not len(lonlat):
        return
    (west, south), (east, north) = lonlat.min(axis=0), lonlat.max(axis=0)
    if south >= -90 and north <= 90 and west >= -reach and east <= reach:
        return
    worst_lat, worst_lon = max(-south, north), max(-west, east)
    bad = off_earth(lonlat, reach)
    if bad.mean() <= limits.FEW_MISPRINTS:  # single rows: the columns are what they say
        row = int(np.argmax(bad))
        raise InputError(
            f"{source}{int(bad.sum()):,} of {len(lonlat):,} rows are no place on Earth, first row {row}: longitude "
            f"{lonlat[row, 0]:g}, latitude {lonlat[row, 1]:g}; correct or drop them."
        )
    if worst_lat <= 360 and worst_lon <= 90:
        raise InputError(
            f"{source}latitude reaches {_worst(south, north):g}, beyond 90, and longitude stays within 90: they look "
            f"swapped; give longitude first."
        )
    name, value = ("latitude", _worst(south, north)) if worst_lat > 90 else ("longitude", _worst(west, east))
    raise InputError(
        f"{source}{name} reaches {value:g}, which is no angle in degrees; if the coordinates are projected, give "
        f"their CRS."
    )


def off_earth(lonlat: FloatArray, reach: float = limits.TURN) -> NDArray[np.bool_]:
    """Which pairs of numbers (n, 2) are no longitude and latitude; those with a gap are not judged."""
    lon, lat = np.abs(lonlat.T)
    return np.asarray((lat > 90) | (lon > reach))


def few_off_earth(lonlat: FloatArray) -> bool:
    """Whether single pairs are no angles while most are: misprints, and no CRS that was forgotten."""
    share = float(np.mean(off_earth(lonlat))) if len(lonlat) else 0.0
    return 0 < share < limits.FEW_MISPRINTS


def footprint_of(lonlat: FloatArray) -> Footprint:
    """The footprint of places in degrees; longitudes may run from -180, from 0, or across the antimeridian."""
    west, east = longitude_arc(lonlat[:, 0])
    vectors = unit_vectors(lonlat)
    # the middle of the box around the places in space: it does not move with their density, as a mean would
    middle = (vectors.min(axis=0) + vectors.max(axis=0)) / 2
    length = np.linalg.norm(middle)
    middle = middle / length if length > 1e-9 else vectors[0]
    radius = float(RADIUS * angle_between(vectors, np.broadcast_to(middle, vectors.shape)).max())
    lon, lat = lonlat_of(middle[None, :])[0]
    south, north = float(lonlat[:, 1].min()), float(lonlat[:, 1].max())
    return Footprint(west, east, south, north, (float(lon), float(lat)), radius)


def longitude_arc(lon: FloatArray) -> tuple[float, float]:
    """West and east end of the shortest arc that holds all longitudes; west in [-180, 180), east >= west."""
    wrapped = wrap(lon)
    west, east = float(wrapped.min()), float(wrapped.max())
    if east - west <= 180:  # no gap between them can be wider than the one around
        return west, east
    ordered = np.unique(wrapped)
    return arc_of(ordered, ordered)


def arc_of(west: FloatArray, east: FloatArray) -> tuple[float, float]:
    """The same for arcs, from `west` to `east` each."""
    order = np.argsort(wrap(west), kind="stable")
    start = wrap(west)[order]
    reach = np.maximum.accumulate(start + np.minimum((east - west)[order], 360))
    gaps = np.append(start[1:], start[0] + 360) - reach
    # an arc that goes beyond 180 covers what lies at -180
    gaps = np.minimum(gaps, np.append(start[1:], start[0] + 360) - (reach[-1] - 360))
    if gaps.max() <= 0:
        return -180.0, 180.0
    after = (int(gaps.argmax()) + 1) % len(start)
    return float(start[after]), float(start[after] + 360 - gaps.max())


def _worst(low: float, high: float) -> float:
    return low if -low > high else high
