"""CF: names and attributes of maps in NetCDF files, Zarr stores and xarray objects."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from bochner._version import __version__
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
    """Attributes of the coordinates, by the names of the dimensions."""
    x, y = grid.names
    if is_geographic(grid.crs):
        return {
            x: {"axis": "X", "standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"},
            y: {"axis": "Y", "standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"},
        }
    if grid.crs is None:
        return {x: {"axis": "X", "long_name": x, "units": "1"}, y: {"axis": "Y", "long_name": y, "units": "1"}}
    unit = getattr(grid.crs.axis_info[0], "unit_name", "metre")
    return {
        x: {"axis": "X", "standard_name": "projection_x_coordinate", "long_name": "easting", "units": unit},
        y: {"axis": "Y", "standard_name": "projection_y_coordinate", "long_name": "northing", "units": unit},
    }


def variable_name(name: str) -> str:
    """A name as CF asks for: letters, digits and underscores, a letter first; 0.2 becomes 0_2, and -3 minus_3."""
    plain = re.sub(r"\W", "_", name.replace("_-", "_minus_").replace("+", ""), flags=re.ASCII)
    return plain if re.match(r"[A-Za-z]", plain) else f"v_{plain}"


def file_attributes(attributes: Mapping[str, str], title: str) -> dict[str, str]:
    """Attributes of a whole file: conventions, a title, its history, and what else there is to say."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    known = {"Conventions": CONVENTIONS, "title": title, "history": f"{now}: written by bochner {__version__}"}
    known |= {"institution": "not stated", "references": "https://bochner.readthedocs.io"}
    return {**known, "comment": "mean and uncertainty of a fitted spatial model", **attributes}


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
