"""Map view: the law of a model on a grid, as the page's map takes it, and the difference of two models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.diagnostics import diagnostics_of
from bochner.estimators import SpatialRegressor
from bochner.exceptions import InputError
from bochner.geo import RasterGrid, as_crs, grid_like, is_geographic, read_areas
from bochner.maps.grids.extent import make_grid
from bochner.maps.hot_places import area_names
from bochner.report import MapLayers, Survey, predict_layers
from bochner.report.answer import background, drawn_areas
from bochner.report.gridded import gridded_layers
from bochner.report.layers import affordable_pixels
from bochner.report.payload import map_payload, observations_of, threshold_of
from bochner.report.raster import pack
from bochner.studio import limits


def layers_of(
    model: SpatialRegressor,
    inputs: Mapping[str, Any],
    within: Path | None = None,
    resolution: str | float | None = None,
    like: Path | RasterGrid | None = None,
) -> tuple[MapLayers, bool]:
    """Mean and sd of the linear predictor on a grid, and whether covariates are at their means.

    Asked for nothing, it is the map of the report: as fine as is quick, blank far from data.
    """
    diagnostics = diagnostics_of(model)
    if diagnostics is not None and diagnostics.region.dim < 2:
        raise InputError("the model has one coordinate, so there is no map of it; look at the report instead.")
    if like is not None:
        grid = like if isinstance(like, RasterGrid) else coarsened(grid_like(like), affordable_pixels(model.fitted_))
        return gridded_layers(model, diagnostics, inputs, like=grid), False
    if diagnostics is not None and not inputs and within is None and resolution in (None, ""):
        return predict_layers(model, diagnostics), True
    areas = None if within is None else read_areas(within)
    if resolution not in (None, ""):
        grid = make_grid(model, resolution, within=areas)
        if max(grid.shape) > limits.MAP_SIDE:
            raise InputError(
                f"pixels of {resolution} make a map of {grid.width:,} x {grid.height:,}; the page takes up to "
                f"{limits.MAP_SIDE:,} along a side: give larger pixels, and write the fine map as a GeoTIFF."
            )
    return gridded_layers(model, diagnostics, inputs, within=areas, resolution=resolution or None), False


def payload_of(
    model: SpatialRegressor,
    layers: MapLayers,
    at_means: bool,
    survey: Survey | None,
    threshold: float | None,
    response: str,
    areas: Path | None = None,
) -> dict[str, Any]:
    """All that the page's map needs, as the report has it, and how the map was made; with the outlines of areas."""
    fitted, diagnostics = model.fitted_, diagnostics_of(model)
    family = fitted.model.family
    means = diagnostics.covariate_means if at_means and diagnostics is not None else None
    seen = None if survey is None else observations_of(fitted, survey, layers, means)
    payload = map_payload(
        fitted,
        layers,
        seen,
        threshold_of(fitted, layers, threshold),
        response,
        "",
        "" if diagnostics is None else diagnostics.distance_unit,
        share=family.link_function.range == (0.0, 1.0),
        background=background(model, layers.extent),
        areas=() if areas is None else _outlines(model, areas, layers),
    )
    return {**payload, "note": layers.note}


def _outlines(model: SpatialRegressor, areas: Path, layers: MapLayers) -> list[dict[str, Any]]:
    polygons = read_areas(areas)
    if model.crs_ is not None and polygons.crs is not None:
        polygons = polygons.to_crs(model.crs_)
    return drawn_areas(polygons, [str(name) for name in area_names(polygons)], layers.extent)


def difference_of(
    first: SpatialRegressor, second: SpatialRegressor, a: MapLayers, b: MapLayers, response: str
) -> dict[str, Any]:
    """Mean of the second model less that of the first, on the pixels of the first one's map."""
    mean = response_mean(first, a)
    change = resampled(b, response_mean(second, b), a) - mean
    if not np.isfinite(change).any():
        raise InputError("the maps of the two fits do not overlap, so there is no difference of them to draw.")
    rows, columns = a.shape
    known = change[np.isfinite(change)]
    return {
        "rows": rows,
        "columns": columns,
        "extent": list(a.extent),
        "names": list(a.names),
        "crs": a.crs,
        "km": None if a.km_per_unit is None else list(a.km_per_unit),
        "geographic": first.crs_ is not None and is_geographic(as_crs(first.crs_)),
        "lengthUnit": "km" if a.km_per_unit else "units",
        "response": response,
        "values": pack(change),
        "cover": None if a.cover is None else pack(a.cover),
        "low": float(known.min()),
        "high": float(known.max()),
        "mean_absolute": float(np.mean(np.abs(known))),
        "background": background(first, a.extent),
    }


def response_mean(model: SpatialRegressor, layers: MapLayers) -> FloatArray:
    """Mean of the response where the linear predictor is Gaussian with the moments of the layers."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(limits.MEAN_NODES)
    link = model.family_.link_function
    parts = [m * link.mean(layers.mean_eta + z * layers.sd_eta) for z, m in zip(nodes, mass / mass.sum(), strict=True)]
    return np.asarray(np.sum(parts, axis=0))


def resampled(source: MapLayers, values: FloatArray, onto: MapLayers) -> FloatArray:
    """Values of one map at the pixels of another, each from the pixel that holds its centre; NaN outside."""
    if source.extent == onto.extent and source.shape == onto.shape:
        return values
    west, south, east, north = source.extent
    (x, y), (rows, columns) = onto.centres(), source.shape
    col, row = np.floor((x - west) / (east - west) * columns), np.floor((north - y) / (north - south) * rows)
    inner = ((row >= 0) & (row < rows))[:, None] & ((col >= 0) & (col < columns))[None, :]
    pick = values[np.ix_(np.clip(row, 0, rows - 1).astype(int), np.clip(col, 0, columns - 1).astype(int))]
    return np.where(inner, pick, np.nan)


def coarsened(grid: RasterGrid, n_pixels: int) -> RasterGrid:
    """A grid of the same box with no more pixels than are quick, several of the old ones in each."""
    side = max(grid.shape) / limits.MAP_SIDE
    factor = int(np.ceil(max(1.0, side, np.sqrt(grid.n_pixels / n_pixels))))
    a, b, c, d, e, f = grid.transform
    height, width = -(-grid.height // factor), -(-grid.width // factor)
    return RasterGrid((a * factor, b * factor, c, d * factor, e * factor, f), height, width, grid.crs)
