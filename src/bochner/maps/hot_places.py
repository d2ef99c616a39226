"""Hotspots: connected places that are above a threshold with high probability."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo import RasterGrid, checked_areas, grid_like, is_geographic, raster_at, read_areas
from bochner.geo.crs import crs_text, is_projected, km_per_unit
from bochner.geo.earth import km_per_degree
from bochner.maps import limits
from bochner.maps.grids.extent import make_grid
from bochner.maps.grids.gridmap import GridMap
from bochner.maps.grids.inputs import Input
from bochner.maps.mappable import Mappable, mappable

Mask = NDArray[np.bool_]


def hotspots(
    model: Mappable,
    threshold: float,
    *,
    certainty: float = 0.9,
    resolution: Any = None,
    like: Any = None,
    within: Any = None,
    covariates: Mapping[str, Input] | None = None,
    weights_raster: Any = None,
    areas: Any = None,
) -> Any:
    """Connected places where the surface is above a threshold with at least a given probability.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted.
    threshold : float
        On the scale of `predict`.
    certainty : float, default 0.9
        Least probability, pixel by pixel.
    resolution, like, within, covariates
        The grid and its inputs, as in `predict_grid`.
    weights_raster : raster, optional
        People per pixel, say; each hotspot then has their sum as ``people``.
    areas : GeoDataFrame or path, optional
        Named polygons; each hotspot then tells the one that it lies in, or the nearest.

    Returns
    -------
    GeoDataFrame
        One row each, the largest first: ``hotspot`` (its number), ``mean`` and ``highest`` of the surface in it,
        ``area_km2`` (``area`` without a CRS), ``people``, ``near``, ``x`` and ``y`` of its highest place, and its
        outline. Empty where no place is that certain.
    """
    if not 0.5 <= certainty < 1:
        raise InputError(f"certainty={certainty!r}; needed is a probability from 0.5 to below 1, e.g. 0.9.")
    model = mappable(model)
    model.fitted_.model.family.check_threshold(threshold)
    grid = make_grid(model, resolution, like=like, within=within)
    work = GridMap(model, grid, within=within, covariates=covariates, exceed=threshold)
    mean, _, chance = work.whole()
    return found_in(grid, mean, chance >= certainty, weights_raster, named_areas(areas))


def found_in(grid: RasterGrid, mean: FloatArray, above: Mask, weights_raster: Any, areas: Any) -> Any:
    """Hotspots of a mask on a grid, as `hotspots` returns them."""
    import geopandas
    from rasterio import features
    from rasterio.transform import Affine
    from scipy import ndimage
    from shapely.geometry import shape

    label, n_found = ndimage.label(above, structure=np.ones((3, 3)))
    size = pixel_area(grid)
    people = None if weights_raster is None else _people(grid, label, n_found, weights_raster)
    shapes: dict[int, Any] = {}
    if n_found:
        turned = Affine(*grid.transform)
        for outline, value in features.shapes(label.astype(np.int32), above, connectivity=8, transform=turned):
            one = shape(outline)
            shapes[int(value)] = one if int(value) not in shapes else shapes[int(value)].union(one)
    unit = "area_km2" if grid.crs is not None else "area"
    rows = []
    for i in range(1, n_found + 1):
        here = label == i
        top = int(np.nanargmax(np.where(here, mean, -np.inf)))
        x, y = grid.centres()[top]
        area = float(size[here].sum())
        row = {"mean": float(np.average(mean[here], weights=size[here])), "highest": float(mean.flat[top]), unit: area}
        row |= {} if people is None else {"people": float(people[i - 1])}
        rows.append({**row, "x": float(x), "y": float(y), "geometry": shapes[i]})
    columns = ["mean", "highest", unit, *(["people"] if people is not None else []), "x", "y", "geometry"]
    frame = geopandas.GeoDataFrame(rows, columns=columns, geometry="geometry", crs=crs_text(grid.crs))
    frame = frame.sort_values("people" if people is not None else unit, ascending=False, ignore_index=True)
    frame.insert(0, "hotspot", np.arange(1, len(frame) + 1))
    return frame if areas is None else _named(frame, areas)


def pixel_area(grid: RasterGrid) -> FloatArray:
    """Area of every pixel, (rows, columns): in km² where the CRS is known, else in units of the coordinates."""
    a, b, _, d, e, _ = grid.transform
    size = abs(a * e - b * d)
    if is_geographic(grid.crs):
        lat = grid.centres()[:, 1].reshape(grid.shape)
        return np.vectorize(lambda at: size * float(np.prod(km_per_degree(at))))(lat)
    factor = km_per_unit(grid.crs) ** 2 if is_projected(grid.crs) else 1.0
    return np.full(grid.shape, size * factor)


def named_areas(areas: Any) -> Any:
    """Polygons with their name as the column `name`; None without any."""
    if areas is None:
        return None
    frame = read_areas(areas) if isinstance(areas, (str, os.PathLike)) else checked_areas(areas)
    return frame.assign(name=[str(value) for value in area_names(frame)])


def area_names(frame: Any) -> Any:
    """Names of polygons: the first column of text, or their numbers."""
    from pandas.api import types

    texts = [c for c in frame.columns if c != frame.geometry.name and types.is_string_dtype(frame[c])]
    known = [c for c in texts if str(c).lower() in ("name", "nom", "district", "region", "admin", "label")]
    return frame[(known or texts)[0]] if texts else np.arange(1, len(frame) + 1)


def _named(frame: Any, areas: Any) -> Any:
    import shapely

    own = areas if areas.crs is None or frame.crs is None else areas.to_crs(frame.crs)
    points = shapely.points(frame[["x", "y"]].to_numpy(dtype=np.float64))
    distance = shapely.distance(points[:, None], np.asarray(own.geometry))
    near = own["name"].to_numpy()[distance.argmin(axis=1)]
    frame.insert(frame.columns.get_loc("x"), "near", near)
    return frame


def _people(grid: RasterGrid, label: Any, n_found: int, raster: Any) -> FloatArray:
    """Sum of a raster over the pixels of each hotspot: every pixel of the raster counts where its centre lies."""
    own = grid_like(raster)
    total = np.zeros(n_found)
    from bochner.geo import transform

    for window in own.windows(limits.PLACES_AT_ONCE):
        centres = own.part(window).centres()
        moved = centres if own.crs is None or grid.crs is None else transform(centres, own.crs, grid.crs)
        a, b, c, d, e, f = grid.transform
        col, row = np.linalg.solve(np.array([[a, b], [d, e]]), (moved - (c, f)).T)
        with np.errstate(invalid="ignore"):
            inside = (row >= 0) & (row < grid.height) & (col >= 0) & (col < grid.width)
        at = label[row[inside].astype(int), col[inside].astype(int)]
        hot = np.flatnonzero(inside)[at > 0]
        if len(hot):
            total += np.bincount(at[at > 0] - 1, np.nan_to_num(_weights_at(raster, own, centres[hot])), n_found)
    return total


def _weights_at(raster: Any, own: RasterGrid, centres: FloatArray) -> FloatArray:
    return raster_at(raster, centres, own.crs, resampling="nearest")
