"""What figures know of the data of a model: its diagnostics, from wherever they can be had."""

from __future__ import annotations

from bochner.diagnostics import Diagnostics, diagnose, diagnostics_of
from bochner.estimators import SpatialRegressor


def known_diagnostics(model: SpatialRegressor, given: Diagnostics | None) -> Diagnostics:
    """Those given, those that the model carries, or new ones from its rows; refused where there are none."""
    return given or diagnostics_of(model) or diagnose(model)
