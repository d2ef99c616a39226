"""Rows within areas: how many training rows lie in each, where the model holds their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.diagnostics import diagnostics_of
from bochner.estimators import SpatialRegressor
from bochner.geo import as_crs
from bochner.geo.crs import crs_text


def rows_within(model: SpatialRegressor, areas: Any) -> IntArray | None:
    """Number of training rows in each area, (n_areas,); None where the model does not hold their places."""
    import shapely

    layout = model.fitted_.layout
    places, own = _places(model), as_crs(layout.crs)
    if places is None:
        return None
    here = areas if own is None or areas.crs is None else areas.to_crs(crs_text(own))
    points = shapely.STRtree(shapely.points(places[:, list(layout.placement.map_axes[:2])]))
    inside = points.query(np.asarray(here.geometry), predicate="intersects")[0]
    return np.bincount(inside, minlength=len(areas))


def _places(model: SpatialRegressor) -> FloatArray | None:
    """Coordinates of the training rows, as the user has them: those at hand, or those that the posterior holds."""
    fitted, rows = model.fitted_, getattr(model.fitted_.model.posterior, "rows", None)
    if model.has_training:
        responses = model.training_responses()
        rows = responses[np.flatnonzero(responses.weight > 0)].rows
    else:
        known = diagnostics_of(model)
        if rows is None or known is None or known.n_rows != len(rows):  # equal rows were put together
            return None
    return None if rows.has_areas else fitted.layout.coords(rows.coords)
