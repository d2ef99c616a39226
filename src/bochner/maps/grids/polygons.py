"""Polygons that a map or its grid is cut to: a GeoDataFrame, or the file that holds them."""

from __future__ import annotations

import os
from typing import Any

from bochner.geo import areas_in, read_areas


def polygons_in(within: str | os.PathLike[str] | Any, crs: Any) -> Any:
    """Polygons as a GeoDataFrame in a CRS, read if they are a file; None if there are none."""
    if within is None:
        return None
    return areas_in(read_areas(within) if isinstance(within, (str, os.PathLike)) else within, crs)
