"""Answers: predictions as the kind of table, or of image, that was asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.exceptions import ColumnError
from bochner.geo import is_geoframe, like_frame
from bochner.geo.crs import same_crs
from bochner.geo.cubes import cube_axes, cube_crs, pixel_axes, xarray_module
from bochner.geo.stacks import is_cube
from bochner.layout.layout import Layout


def like_given(X: Any, columns: Mapping[str, Any], layout: Layout, *, tables: bool) -> Any:
    """New columns as what `X` is: a GeoDataFrame, an xarray Dataset, and with `tables` a pandas or polars data frame.

    None for anything else, whose answer are arrays.
    """
    if is_cube(X):
        return Pixels.of(X, layout).dataset(columns)
    if is_geoframe(X):
        return like_frame(X, columns)
    return _like_table(X, columns) if tables else None


def _like_table(X: Any, columns: Mapping[str, Any]) -> Any:
    """A pandas data frame with the index of `X`, or a polars one; None if it is neither."""
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "index"):
        import pandas as pd

        return pd.DataFrame(dict(columns), index=X.index)
    if library == "polars":
        import polars as pl

        return pl.DataFrame({name: np.asarray(values) for name, values in columns.items()})
    return None


@dataclass(frozen=True)
class Pixels:
    """The pixels of an xarray object as rows of a model, and predictions back onto them.

    Attributes
    ----------
    table : DataFrame
        Columns of the model at the pixels that have all of them.
    template : DataArray
        Over all pixels; its values mean nothing.
    there : array of bool
        Which pixels have all columns, in the shape of the template.
    """

    table: Any
    template: Any
    there: Any

    @classmethod
    def of(cls, cube: Any, layout: Layout) -> Pixels:
        """Coordinates and covariates of the model by their names; east and north by what the cube calls them."""
        import pandas as pd

        if not hasattr(cube, "data_vars"):
            cube = cube.to_dataset(name="value" if cube.name is None else cube.name)
        axes = _axes(cube, layout)
        columns = _columns(cube, layout, dict(zip(layout.map_axes, axes, strict=True)) if axes else {})
        wide = _broadcast(cube, list(columns.values()), axes)
        table = pd.DataFrame({name: one.values.ravel() for name, one in zip(columns, wide, strict=True)})
        crs = cube_crs(cube, axes) if axes and layout.crs is not None else None
        if crs is not None and not same_crs(crs, layout.crs):
            places = list(layout.map_axes)
            table[places] = layout.to_crs(table[places].to_numpy(dtype=np.float64), crs)
        table = table.replace([np.inf, -np.inf], np.nan)
        there = table.notna().all(axis=1).to_numpy()
        return cls(table[there].reset_index(drop=True), wide[0], there.reshape(wide[0].shape))

    def dataset(self, columns: Mapping[str, Any]) -> Any:
        """A Dataset of variables over the pixels: (n,) each, or (n, k) with the further dimension `draw`."""
        xarray = xarray_module()
        found = {}
        for name, values in columns.items():
            further, kind = np.shape(values)[1:], np.asarray(values).dtype.kind
            out = np.full((*self.there.shape, *further), np.nan, dtype=np.float64 if kind in "iuf" else object)
            out[self.there] = values
            found[name] = ((*self.template.dims, *("draw" for _ in further)), out)
        return xarray.Dataset(found, self.template.coords)


def _axes(cube: Any, layout: Layout) -> tuple[str, str] | None:
    """What the cube calls east and north; None of a model of a single coordinate."""
    names = layout.columns.coord_names
    if len(names) < 2:
        return None
    east, north = layout.map_axes
    return (east, north) if {east, north} <= set(cube.variables) else pixel_axes(cube) or cube_axes(cube, "X")


def _columns(cube: Any, layout: Layout, called: Mapping[str, str]) -> dict[str, Any]:
    """The columns of a model out of a Dataset."""
    names = {name: called.get(name, name) for name in layout.inputs}
    missing = [name for name, own in names.items() if own not in cube.variables]
    if missing:
        raise ColumnError(
            f"the model uses {missing[0]!r}, which the xarray object does not have; add it: "
            f"X.assign_coords({missing[0]}=...). It has {[str(name) for name in cube.variables]}."
        )
    return {name: cube[own] for name, own in names.items()}


def _broadcast(cube: Any, arrays: list[Any], axes: tuple[str, str] | None) -> list[Any]:
    """Arrays over the same dimensions, in the order of the cube's widest variable, or with east last."""
    wide = xarray_module().broadcast(*arrays)
    order = [d for d in max((one.dims for one in cube.data_vars.values()), key=len, default=()) if d in wide[0].dims]
    if len(order) < wide[0].ndim:
        order = sorted(wide[0].dims, key=lambda d: -1 if axes is None or d not in axes else 1 - axes.index(d))
    return [one.transpose(*order) for one in wide]
