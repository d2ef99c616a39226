"""Layers of the page's map on a grid: covariates from rasters, cut to polygons."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from bochner.diagnostics.diagnostics import Diagnostics
from bochner.diagnostics.region import frame_of
from bochner.exceptions import FallbackWarning, InputError
from bochner.geo import RasterGrid, crs_name, mask_within
from bochner.maps.grids.extent import make_grid, why_far
from bochner.maps.grids.inputs import Input, Inputs
from bochner.maps.mappable import TableMaker
from bochner.report.layers import LONGEST_SIDE, MapLayers, affordable_pixels


def gridded_layers(
    model: Any,
    diagnostics: Diagnostics | None,
    covariates: Mapping[str, Input],
    *,
    within: Any = None,
    resolution: str | float | None = None,
) -> MapLayers:
    """Mean and sd of the linear predictor on a grid over polygons, or over the data.

    Parameters
    ----------
    model : SpatialRegressor
    diagnostics : Diagnostics, optional
        Covariates without a raster are held at their means; without polygons, pixels far from data are left blank.
    covariates : mapping of str to raster or number
    within : GeoDataFrame, optional
        Polygons; pixels outside are blank.
    resolution : str or float, optional
        Side of a pixel; default: as fine as takes a second or two.
    """
    maker = TableMaker.of(model)
    means = {} if diagnostics is None else {**diagnostics.covariate_means, **_middles(diagnostics)}
    at_mean = {name: means[name] for name in maker.others if name not in covariates and name in means}
    missing = [name for name in maker.others if name not in covariates and name not in at_mean]
    if missing:
        raise InputError(f"nothing was given for the covariate {missing[0]!r}; give its raster or a number.")
    grid = _affordable_grid(model, within) if resolution is None else make_grid(model, resolution, within=within)
    layers = Inputs.of(grid, {**at_mean, **covariates})
    wanted = _wanted(grid, layers, within, diagnostics)
    if not wanted.any():
        raise InputError("no pixel of the map has a value of every covariate; check that rasters and data overlap.")
    told = why_far(model, grid.centres()[wanted.ravel()])
    if told is not None:
        warnings.warn(told, FallbackWarning, stacklevel=2)
    here = {name: layer[wanted] for name, layer in layers.read(grid.whole).items()}
    table = maker.table(grid.centres()[wanted.ravel()], {**layers.fixed, **here})
    values = np.full((2, *grid.shape), np.nan)
    values[:, wanted] = model.predict_latent(table)
    middle = np.array([[(a + b) / 2 for a, b in zip(grid.bounds[:2], grid.bounds[2:], strict=True)]])
    return MapLayers(
        values[0],
        values[1],
        extent=grid.bounds,
        crs=None if grid.crs is None else crs_name(grid.crs),
        names=maker.coords,
        km_per_unit=frame_of(model).km_per_unit(middle[0]) if len(model._columns.coords) == 2 else None,
        note=_note(at_mean, layers),
    )


def _affordable_grid(model: Any, within: Any) -> RasterGrid:
    """A grid of about as many pixels as are quick, none of its sides longer than the page shows."""
    rough = make_grid(model, within=within)
    left, bottom, right, top = rough.bounds
    side = np.sqrt((right - left) * (top - bottom) / affordable_pixels(model))
    return make_grid(model, max(side, (right - left) / LONGEST_SIDE, (top - bottom) / LONGEST_SIDE), within=within)


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


def _note(at_mean: Mapping[str, float], layers: Inputs) -> str:
    rasters = ", ".join(layers.layers)
    parts = [f"Covariates from rasters: {rasters}."] if rasters else []
    if at_mean:
        told = ", ".join(f"{name} = {value:.4g}" for name, value in at_mean.items())
        parts.append(f"Held at its mean over the data: {told}.")
    return " ".join(parts)
