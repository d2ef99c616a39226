"""Layers of the page's map on a grid: covariates from rasters, cut to polygons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bochner.diagnostics import Diagnostics
from bochner.estimators import SpatialRegressor
from bochner.exceptions import InputError, OutsideWarning, warn
from bochner.geo import RasterGrid, crs_name, mask_within
from bochner.layout import Layout
from bochner.maps.grids.extent import make_grid, why_far
from bochner.maps.grids.inputs import Input, Inputs
from bochner.maps.grids.pixels import Pixels
from bochner.maps.mappable import map_layout
from bochner.report import limits
from bochner.report.layers import MapLayers, affordable_pixels


def gridded_layers(
    model: SpatialRegressor,
    diagnostics: Diagnostics | None,
    covariates: Mapping[str, Input],
    *,
    within: Any = None,
    resolution: str | float | None = None,
    like: Any = None,
) -> MapLayers:
    """Mean and sd of the linear predictor on a grid over polygons, or over the data.

    Parameters
    ----------
    model : SpatialRegressor
    diagnostics : Diagnostics, optional
        Covariates without a raster are held at their means; without polygons or `like`, pixels far from data are left
        blank.
    covariates : mapping of str to raster or number
    within : GeoDataFrame, optional
        Polygons; pixels outside are blank.
    resolution : str or float, optional
        Side of a pixel; default: as fine as takes a second or two.
    like : raster or RasterGrid, optional
        The grid is this one, all of it.
    """
    layout = map_layout(model)
    means = {} if diagnostics is None else {**diagnostics.covariate_means, **_middles(diagnostics)}
    at_mean = {name: means[name] for name in layout.further if name not in covariates and name in means}
    missing = [name for name in layout.further if name not in covariates and name not in at_mean]
    if missing:
        raise InputError(f"nothing was given for the covariate {missing[0]!r}; give its raster or a number.")
    grid = _grid(model, within, resolution, like)
    layers = Inputs.of(grid, {**at_mean, **layout.moments(covariates)}, layout.levels)
    # the pixels of an image are wanted all, its gaps above all
    wanted = _wanted(grid, layers, within, diagnostics if like is None else None)
    if not wanted.any():
        raise InputError("no pixel of the map has a value of every covariate; check that rasters and data overlap.")
    coords = grid.centres()[wanted.ravel()]
    told = why_far(model, coords)
    if told is not None:
        warn(told, OutsideWarning)
    here = {name: layer[wanted] for name, layer in layers.read(grid.whole).items()}
    patches = model.fitted_.model.mixture.patches(limits.MAP_TOLERANCE)
    eta = Pixels(model.fitted_, grid).latent(coords, {**layers.fixed, **here}, patches)
    values = np.full((2, *grid.shape), np.nan)
    values[:, wanted] = eta.mean, eta.sd
    return MapLayers(
        values[0],
        values[1],
        extent=grid.bounds,
        crs=None if grid.crs is None else crs_name(grid.crs),
        names=layout.map_axes,
        km_per_unit=_km_per_unit(layout, grid),
        note=_note(at_mean, layers, layout),
    )


def _km_per_unit(layout: Layout, grid: RasterGrid) -> tuple[float, float] | None:
    """Of the middle of the map, whatever the depth or the time."""
    left, bottom, right, top = grid.bounds
    middle = dict(zip(layout.map_axes, ((left + right) / 2, (bottom + top) / 2), strict=True))
    return layout.placement.km_per_unit(np.array([middle.get(name, 0.0) for name in layout.columns.coord_names]))


def _grid(model: SpatialRegressor, within: Any, resolution: str | float | None, like: Any) -> RasterGrid:
    if like is not None:
        return make_grid(model, like=like)
    return _affordable_grid(model, within) if resolution is None else make_grid(model, resolution, within=within)


def _affordable_grid(model: SpatialRegressor, within: Any) -> RasterGrid:
    """A grid of about as many pixels as are quick, none of its sides longer than the page shows."""
    rough = make_grid(model, within=within)
    left, bottom, right, top = rough.bounds
    side = np.sqrt((right - left) * (top - bottom) / affordable_pixels(model.fitted_))
    return make_grid(
        model, max(side, (right - left) / limits.LONGEST_SIDE, (top - bottom) / limits.LONGEST_SIDE), within=within
    )


def _wanted(grid: RasterGrid, layers: Inputs, within: Any, diagnostics: Diagnostics | None) -> Any:
    wanted = np.ones(grid.shape, dtype=bool) if within is None else mask_within(grid, within)
    if within is None and diagnostics is not None:
        x, y = grid.centres().T
        wanted &= diagnostics.region.near(x, y).reshape(grid.shape)
    for layer in layers.read(grid.whole).values():
        wanted &= np.isfinite(layer)
    return wanted


def _middles(diagnostics: Diagnostics) -> dict[str, float]:
    region = diagnostics.region
    return dict(zip(region.names, region.middle, strict=True))


def _note(at_mean: Mapping[str, float], layers: Inputs, layout: Layout) -> str:
    rasters = ", ".join(layers.layers)
    parts = [f"Covariates from rasters: {rasters}."] if rasters else []
    if at_mean:
        told = ", ".join(f"{name} = {layout.written(name, value)}" for name, value in at_mean.items())
        parts.append(f"Held at its mean over the data: {told}.")
    return " ".join(parts)
