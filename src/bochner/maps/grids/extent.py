"""Extent: the grid that a map is drawn on, by resolution, template, polygons or the region of the data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.diagnostics import diagnostics_of
from bochner.estimators import SpatialRegressor
from bochner.exceptions import InputError
from bochner.geo import (
    RasterGrid,
    Resolution,
    areas_bounds,
    as_crs,
    bounds_of,
    grid_like,
    grid_over,
)
from bochner.geo.crs import crs_name, is_geographic
from bochner.geo.grids import box_text, unwrapped
from bochner.geo.lonlat import lonlat_axes
from bochner.maps import limits
from bochner.maps.grids.polygons import polygons_in
from bochner.maps.mappable import Mappable, map_layout, mappable


def make_grid(
    model: Mappable,
    resolution: str | float | Resolution | None = None,
    *,
    like: Any = None,
    within: Any = None,
    bounds: Sequence[float] | None = None,
) -> RasterGrid:
    """Grid for a map of a model.

    Parameters
    ----------
    model : SpatialRegressor
        Its CRS is that of the grid, unless `like` has another.
    resolution : str or float, optional
        Side of a pixel: ``"5km"``, ``"250m"``, ``"0.05deg"``, or a number in units of the model's CRS.
        Default: 200 pixels along the longer side.
    like : raster file, rasterio dataset, xarray object or RasterGrid, optional
        Template: the grid is its grid.
    within : GeoDataFrame or path, optional
        Polygons: the grid covers them.
    bounds : (left, bottom, right, top), optional
        Box in the model's CRS; default: that of the polygons, otherwise that of the data.
    """
    if like is not None and (resolution is not None or bounds is not None):
        raise InputError("like was given together with resolution or bounds; a template has its own: give one.")
    model = mappable(model)
    crs = as_crs(map_layout(model).crs)
    if like is not None:
        return _template(crs, like)
    if bounds is None:
        bounds = data_bounds(model) if within is None else areas_bounds(polygons_in(within, crs))
    left, bottom, right, top = (float(v) for v in bounds)
    if resolution is None:
        resolution = max(right - left, top - bottom) / limits.DEFAULT_PIXELS or 1.0
    return grid_over((left, bottom, right, top), resolution, crs)


def data_bounds(model: SpatialRegressor) -> tuple[float, float, float, float]:
    """Box of the data of a model in its CRS, a little wider."""
    if model.has_training:
        return bounds_of(_training_coords(model), model.fitted_.layout.crs, limits.MARGIN)
    diagnostics = diagnostics_of(model)
    if diagnostics is None:
        raise InputError(
            "this model does not know where its data lie (it was loaded from a file without diagnostics); give "
            "bounds=(left, bottom, right, top), within=POLYGONS or like=RASTER, or fit again and call "
            "bochner.diagnostics.remember(model) before model.save(...), as `bochner fit` does."
        )
    region = diagnostics.region
    i, j = lonlat_axes(region.names)
    return region.low[i], region.low[j], region.high[i], region.high[j]


def why_far(model: SpatialRegressor, coords: FloatArray) -> str | None:
    """What to say where none of some places (n, 2), in the model's CRS, lies anywhere near its data; else None."""
    try:
        box = data_bounds(model)
    except InputError:  # the model does not know
        return None
    crs = as_crs(model.fitted_.layout.crs)
    if not len(coords) or _near(coords, box, crs).any():
        return None
    swapped = _near(coords[:, ::-1], box, crs).mean() > 0.5
    hint = "with the two coordinates swapped they would: check their order" if swapped else "check their CRS"
    return (
        f"no place lies near the data of the model ({box_text(box)}): only the trend and the prior are left there. "
        f"{hint[0].upper()}{hint[1:]}."
    )


def _near(coords: FloatArray, box: Sequence[float], crs: Any) -> NDArray[np.bool_]:
    """Whether places lie in a box that is three times as wide and as tall."""
    left, bottom, right, top = box
    x, y = coords.T
    if is_geographic(crs):
        x = unwrapped(x, (left + right) / 2 - 180)
    wide, tall = right - left, top - bottom
    return np.asarray((x > left - wide) & (x < right + wide) & (y > bottom - tall) & (y < top + tall))


def _training_coords(model: SpatialRegressor) -> FloatArray:
    """Easting and northing (n, 2) of the rows that a model was fitted to."""
    responses, layout = model.training_responses(), model.fitted_.layout
    coords = layout.coords(responses.rows.coords[responses.weight > 0])
    return coords[:, list(lonlat_axes(layout.columns.coord_names))]


def _template(crs: Any, like: Any) -> RasterGrid:
    grid = grid_like(like)
    if grid.crs is None and crs is not None and isinstance(like, (str, os.PathLike)):
        raise InputError(
            f"{like} has no CRS, and the model was fitted in {crs_name(crs)}; give it with --crs, or add it to the "
            f"file, for example with: gdal_edit.py -a_srs EPSG:4326 FILE"
        )
    return grid
