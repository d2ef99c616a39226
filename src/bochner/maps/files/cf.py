"""CF: names and attributes of maps in NetCDF files, Zarr stores and xarray objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.exceptions import InputError
from bochner.geo import RasterGrid, is_geographic
from bochner.maps.grids.bands import Band

GRID_MAPPING = "spatial_ref"  # the name that rioxarray, GDAL and QGIS look for
CONVENTIONS = "CF-1.8"


def check_upright(grid: RasterGrid) -> None:
    """Refuse a rotated grid, which has no vectors of coordinates."""
    if not grid.is_upright:
        raise InputError("the grid is rotated, which NetCDF and Zarr cannot hold; write a GeoTIFF (.tif).")


def axis_attributes(grid: RasterGrid) -> dict[str, dict[str, str]]:
    """Attributes of the coordinates x and y."""
    if is_geographic(grid.crs):
        return {
            "x": {"axis": "X", "standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"},
            "y": {"axis": "Y", "standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"},
        }
    if grid.crs is None:
        return {"x": {"axis": "X", "long_name": "x"}, "y": {"axis": "Y", "long_name": "y"}}
    unit = getattr(grid.crs.axis_info[0], "unit_name", "metre")
    return {
        "x": {"axis": "X", "standard_name": "projection_x_coordinate", "long_name": "easting", "units": unit},
        "y": {"axis": "Y", "standard_name": "projection_y_coordinate", "long_name": "northing", "units": unit},
    }


def mapping_attributes(grid: RasterGrid) -> dict[str, Any]:
    """Attributes of the variable that carries the CRS and the transform."""
    a, b, c, d, e, f = grid.transform
    attributes: dict[str, Any] = {"GeoTransform": " ".join(repr(v) for v in (c, a, b, f, d, e))}
    if grid.crs is not None and not isinstance(grid.crs, str):
        cf = {k: v for k, v in grid.crs.to_cf().items() if isinstance(v, str | int | float | list | tuple)}
        attributes |= {k: np.asarray(v, dtype=float) if isinstance(v, list | tuple) else v for k, v in cf.items()}
        attributes |= {"crs_wkt": grid.crs.to_wkt(), "spatial_ref": grid.crs.to_wkt()}
    return attributes


def band_attributes(band: Band) -> dict[str, Any]:
    """Attributes of a variable."""
    attributes: dict[str, Any] = {"long_name": band.text, "grid_mapping": GRID_MAPPING}
    if band.kind == "exceedance":
        attributes |= {"units": "1", "threshold": band.at}
    if band.kind == "quantile":
        attributes |= {"probability": band.at}
    return attributes
