"""Coordinate reference systems: what the user's CRS is, and coordinates from one to another."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError, MissingExtraError

# Longitude and latitude in degrees, as they may be spelled where pyproj is not installed.
LONLAT = "EPSG:4326"
_SPELLED = {"4326", "epsg:4326", "ogc:crs84", "crs84", "wgs84", "wgs 84", "epsg:4258", "epsg:4269"}


def as_crs(value: Any) -> Any:
    """A CRS from whatever the user has: a code, a name, WKT, a CRS object of another library; None stays None.

    Without pyproj only longitude/latitude is known, as the text `EPSG:4326`.
    """
    if value is None:
        return None
    pyproj = _pyproj()
    if pyproj is None:
        return _without_pyproj(value)
    if isinstance(value, str) and re.fullmatch(r"\d{4,6}", value.strip()):
        value = int(value)
    if hasattr(value, "to_wkt") and not isinstance(value, pyproj.CRS):
        value = value.to_wkt()  # rasterio and others carry their own PROJ
    try:
        return pyproj.CRS.from_user_input(value)
    except (pyproj.exceptions.CRSError, ValueError, TypeError):  # an array, say
        raise InputError(f"the CRS {value!r:.80} is not known; give a code such as EPSG:4326 or EPSG:32633.") from None


def is_geographic(crs: Any) -> bool:
    """Whether coordinates in this CRS are longitudes and latitudes."""
    if crs is None:
        return False
    return crs == LONLAT if isinstance(crs, str) else bool(crs.is_geographic)


def is_projected(crs: Any) -> bool:
    """Whether coordinates in this CRS are eastings and northings of a map projection."""
    return crs is not None and not isinstance(crs, str) and bool(crs.is_projected)


def in_plain_degrees(crs: Any) -> bool:
    """Whether a geographic CRS counts degrees from Greenwich, as nearly all do."""
    if isinstance(crs, str):
        return crs == LONLAT
    degrees = all(axis.unit_name.startswith("degree") for axis in crs.axis_info[:2])
    return degrees and crs.prime_meridian is not None and crs.prime_meridian.longitude == 0


def km_per_unit(crs: Any) -> float:
    """Kilometres in one unit of a projected CRS."""
    return float(crs.axis_info[0].unit_conversion_factor) / 1000


def crs_name(crs: Any) -> str:
    """Short name for messages: EPSG:32633 where there is a code, otherwise the CRS's own name."""
    if crs is None or isinstance(crs, str):
        return str(crs)
    authority = crs.to_authority()
    return ":".join(authority) if authority else str(crs.name)


def crs_text(crs: Any) -> str | None:
    """Text from which the same CRS can be made again: a code if that is exact, otherwise WKT."""
    if crs is None or isinstance(crs, str):
        return crs
    authority = crs.to_authority(min_confidence=100)
    return ":".join(authority) if authority else str(crs.to_wkt())


def same_crs(a: Any, b: Any) -> bool:
    """Whether two CRSs give a place the same numbers, longitude or easting first."""
    a, b = as_crs(a), as_crs(b)
    if a is None or b is None:
        return a is b
    if isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    return bool(a.equals(b, ignore_axis_order=True))


def agreed_crs(found: Any, given: Any, source: str) -> Any:
    """The CRS of a file, or the one the user gives where the file has none; the two must not differ."""
    found, given = as_crs(found), as_crs(given)
    if found is not None and given is not None and not same_crs(found, given):
        raise InputError(
            f"{source} says its CRS is {crs_name(found)}, but {crs_name(given)} was given; leave the CRS out to use "
            f"the file's, or re-project the file."
        )
    return found if given is None else given


def transform(coords: FloatArray, source: Any, target: Any) -> FloatArray:
    """Coordinates (n, 2) from one CRS to another, longitude or easting first; inf where there is no image."""
    if same_crs(source, target):
        return coords
    pyproj = _pyproj()
    if pyproj is None:
        raise MissingExtraError("changing the CRS needs pyproj; install it with: pip install 'bochner[geo]'")
    try:
        change = pyproj.Transformer.from_crs(as_crs(source), as_crs(target), always_xy=True)
    except pyproj.exceptions.ProjError as error:  # a local one, say, that says nothing of where on the Earth it is
        raise InputError(
            f"there is no way from the CRS {crs_name(as_crs(source))} to {crs_name(as_crs(target))} "
            f"({str(error).splitlines()[0]}); give another, or re-project the file."
        ) from None
    return np.column_stack(change.transform(coords[:, 0], coords[:, 1])).astype(np.float64, copy=False)


def _without_pyproj(value: Any) -> str:
    if str(value).strip().lower() in _SPELLED:
        return LONLAT
    raise MissingExtraError(f"the CRS {value!r} needs pyproj; install it with: pip install 'bochner[geo]'")


def _pyproj() -> Any:
    try:
        import pyproj
        import pyproj.exceptions
    except ImportError:
        return None
    return pyproj
