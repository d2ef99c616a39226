"""Quick figure: the map of a model as it stands, with nothing asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bochner.estimators import SpatialRegressor
from bochner.geo import as_crs, is_geographic
from bochner.maps.mappable import Mappable, map_layout, mappable
from bochner.maps.plots.map_figure import plot_map


def plot(model: Mappable, resolution: Any = None, **options: Any) -> Any:
    """Maps of mean and sd over the data, with the training places as dots; see `plot_map` for the options.

    Covariates that are not given are held at their means over the training rows, categories at the most frequent of
    their levels, and the title says so.
    """
    regressor = mappable(model)
    given = dict(options.pop("covariates", None) or {})
    held = {name: value for name, value in typical_inputs(regressor).items() if name not in given}
    if held and "title" not in options:
        options["title"] = "at " + ", ".join(f"{name} = {short(value)}" for name, value in held.items())
    if regressor.has_training and "data" not in options:
        options["data"] = training_places(regressor)
    return plot_map(regressor, resolution, covariates={**given, **held}, **options)


def typical_inputs(model: SpatialRegressor) -> Mapping[str, Any]:
    """Means of the covariates, and medians of further coordinates, over the training rows; none of a loaded model.

    Of a category, its most frequent level.
    """
    layout = map_layout(model)
    if not model.has_training or not layout.further or layout.design is not None:
        return {}
    responses = model.training_responses()
    kept = responses.weight > 0
    covariates, coords = layout.covariates(responses.rows)[kept], layout.coords(responses.rows.coords[kept])
    columns = layout.columns
    means = dict(zip(columns.covariate_names, covariates.mean(axis=0).tolist(), strict=True))
    middles = dict(zip(columns.coord_names, np.median(coords, axis=0).tolist(), strict=True))
    usual = {name: levels[0] for name, levels in layout.levels.items()}
    return {name: value for name, value in {**middles, **means, **usual}.items() if name in layout.further}


def short(value: Any) -> str:
    """A level as it is, a number in four digits."""
    return value if isinstance(value, str) else f"{value:.4g}"


def training_places(model: SpatialRegressor) -> Any:
    """Easting and northing (n, 2) of the training rows."""
    responses, layout = model.training_responses(), map_layout(model)
    coords = layout.coords(responses.rows.coords[responses.weight > 0])
    names = list(layout.columns.coord_names)
    pair = coords[:, [names.index(name) for name in layout.map_axes]]
    if is_geographic(as_crs(layout.crs)):  # round the globe as often as the map does
        pair[:, 0] = np.degrees(np.unwrap(np.radians(pair[:, 0]))) if np.ptp(pair[:, 0]) > 180 else pair[:, 0]
    return pair
