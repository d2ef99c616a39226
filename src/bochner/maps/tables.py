"""Tables: the rows that a model predicts at, made from places and the inputs there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo import as_crs, transform
from bochner.geo.lonlat import lonlat_axes


@dataclass(frozen=True)
class TableMaker:
    """How places become rows of a model's table.

    Attributes
    ----------
    model : SpatialRegressor
    coords : tuple of str
        Columns that hold easting (longitude) and northing (latitude).
    others : tuple of str
        All other columns: covariates, and further coordinates such as time.
    names : tuple of str
        Columns in the model's order.
    """

    model: Any
    coords: tuple[str, str]
    others: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, model: Any) -> TableMaker:
        names, coords = _columns(model)
        if len(coords) < 2:
            raise InputError(f"the model has one coordinate, {coords[0]!r}; a map needs two. Use predict for a line.")
        east, north = (coords[j] for j in lonlat_axes(coords))
        return cls(model, (east, north), tuple(n for n in names if n not in (east, north)), names)

    @property
    def crs(self) -> Any:
        """CRS of the model's coordinates, None for a plane of the user's own."""
        return as_crs(getattr(self.model, "crs_", None))

    def in_crs(self, coords: FloatArray, crs: Any) -> FloatArray:
        """Coordinates (n, 2) brought to the model's CRS; as they are where either has none."""
        return coords if self.crs is None or crs is None else transform(coords, crs, self.crs)

    def table(self, coords: FloatArray, others: Mapping[str, Any]) -> Any:
        """Rows as `predict` takes them, from coordinates (n, 2) in the model's CRS and the other columns."""
        table = np.empty((len(coords), len(self.names)))
        for name, values in (*zip(self.coords, coords.T, strict=True), *((n, others[n]) for n in self.others)):
            table[:, self.names.index(name)] = values
        if not hasattr(self.model, "feature_names_in_"):
            return table
        import pandas as pd

        return pd.DataFrame(table, columns=list(self.names))


def mappable(model: Any) -> Any:
    """The model behind a map: a classifier of two classes shows the probability of the second."""
    models = getattr(model, "models_", None)
    if models is None:
        return model
    if len(models) == 1:
        return models[0]
    raise InputError(
        f"the classifier has {len(models)} classes, and a map shows one; pass model.models_[k] for the class "
        f"model.classes_[k]."
    )


def _columns(model: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of all columns that a model asks for, and of its coordinates; of a formula, those of the table it reads."""
    design = getattr(model, "_design", None)
    if design is None:
        return model._columns.names, model._columns.coord_names
    coords = design.formula.coords
    variables = sorted(str(v) for v in design.spec.required_variables)
    return (*coords, *(v for v in variables if v not in coords)), coords
