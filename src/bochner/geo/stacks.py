"""Stacks: an image, or images along a further dimension such as time, as rows and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo.crs import agreed_crs, crs_text
from bochner.geo.cubes import cube_axes, cube_crs, cube_grid, pixel_axes, xarray_module
from bochner.geo.grids import RasterGrid
from bochner.geo.rasters import band_names, dataset_grid, opened_raster, read_band
from bochner.spelling import check_columns


@dataclass(frozen=True)
class Stack:
    """A variable of a cube: one image, or one for each label of a further dimension.

    Attributes
    ----------
    array : xarray.DataArray
        As the user has it.
    axes : names of the coordinates that run east and north
    dims : dimensions of an image, that of its rows first
    along : the further dimension, or None for a single image
    crs : CRS of the coordinates, or None
    """

    array: Any
    axes: tuple[str, str]
    dims: tuple[str, str]
    along: str | None
    crs: Any

    @classmethod
    def of(cls, array: Any, crs: Any = None, source: str = "the array") -> Stack:
        """The stack of a DataArray over x and y, lon and lat, and at most one further dimension of many labels."""
        if not is_cube(array) or hasattr(array, "data_vars"):
            raise InputError(f"{source} is a {type(array).__name__}; needed is a DataArray: dataset['name'].")
        if array.dtype.kind not in "iuf":
            raise InputError(f"{source} holds {array.dtype}; needed are numbers.")
        array = _without_fill(array)
        axes = pixel_axes(array) or cube_axes(array, source)
        swath = pixel_axes(array) is not None
        dims = tuple(str(d) for d in array[axes[0]].dims) if swath else axes[::-1]
        many = [str(name) for name in array.dims if name not in dims and array.sizes[name] > 1]
        if len(many) > 1:
            raise InputError(f"{source} has the further dimensions {many}; needed is one: select the others by isel().")
        found = agreed_crs(cube_crs(array, axes), crs, source)
        return cls(array, axes, (dims[0], dims[1]), many[0] if many else None, found)

    @property
    def name(self) -> str:
        """Name of the variable."""
        return "value" if self.array.name is None else str(self.array.name)

    @property
    def coords(self) -> tuple[str, ...]:
        """Names of the coordinates of a pixel."""
        return self.axes if self.along is None else (*self.axes, self.along)

    @property
    def grid(self) -> RasterGrid | None:
        """The grid of an image; None where its pixels are not evenly spaced."""
        if pixel_axes(self.array) is not None:
            return None
        try:
            found = cube_grid(self.array, self.name)
        except InputError:
            return None
        # a raster file keeps its own numbers, to the last digit
        stored = tuple(self.array.rio.transform())[:6]
        exact = np.allclose(stored, found.transform, rtol=1e-9, atol=1e-9 * max(found.resolution))
        return RasterGrid(stored if exact else found.transform, found.height, found.width, self.crs, found.axes)

    def single(self, names: Iterable[str]) -> dict[str, Any]:
        """Coordinates of these names that have one value for the whole image, as the time of one layer of a stack."""
        coords = self.array.coords
        found = {name: coords[name].values for name in names if name in coords and coords[name].size == 1}
        return {name: value.reshape(-1)[0] for name, value in found.items() if value.dtype.kind in "iufM"}

    @property
    def labels(self) -> Sequence[Any]:
        """Labels along the further dimension; [None] for a single image."""
        if self.along is None:
            return [None]
        labels = self.array[self.along].values
        return list(labels if labels.dtype.kind in "iufM" else _days(labels, self.along))

    @property
    def images(self) -> FloatArray:
        """Values (labels, rows, columns)."""
        return self._laid_out(self.array)

    def beside(self, cube: Any, name: str) -> FloatArray:
        """Values (labels, rows, columns) of another variable of the same Dataset, over some of the dimensions."""
        variable = cube[name]
        strange = [str(d) for d in variable.dims if d not in self.array.dims]
        if strange or variable.dtype.kind not in "iufb":
            what = f"runs along {strange[0]!r}" if strange else f"holds {variable.dtype}"
            raise InputError(f"{name!r} {what}; needed are numbers over the dimensions of {self.name!r}.")
        return self._laid_out(variable.broadcast_like(self.array))

    def _laid_out(self, array: Any) -> FloatArray:
        order = self.dims if self.along is None else (self.along, *self.dims)
        flat = array.squeeze([d for d in array.dims if d not in order]).transpose(*order)
        values = np.asarray(flat.values, dtype=np.float64)
        return values[None] if self.along is None else values

    def table(self, wanted: Any) -> Any:
        """Coordinates of some pixels, by a mask (labels, rows, columns), as a data frame; its CRS in `attrs`."""
        import pandas as pd

        time, row, col = np.nonzero(wanted)
        columns = dict(zip(self.axes, (grid[row, col] for grid in self._places()), strict=True))
        if self.along is not None:
            columns[self.along] = np.array(self.labels)[time]
        frame = pd.DataFrame(columns)
        if self.crs is not None:
            frame.attrs["crs"] = crs_text(self.crs)
        return frame

    def like(self, images: FloatArray, name: str | None = None) -> Any:
        """Values (labels, rows, columns) as a DataArray with the dimensions, their order and coordinates of the own."""
        order = self.dims if self.along is None else (self.along, *self.dims)
        single = [d for d in self.array.dims if d not in order]
        template = self.array.transpose(*single, *order)
        values = images if self.along is not None else images[0]
        out = template.copy(data=np.asarray(values).reshape(template.shape)).transpose(*self.array.dims)
        out.encoding = {k: v for k, v in self.array.encoding.items() if k == "grid_mapping"}
        return out if name is None else out.rename(name)

    def _places(self) -> Iterator[FloatArray]:
        """Coordinates east and north of every pixel, (rows, columns) each."""
        x, y = (self.array[name] for name in self.axes)
        if x.ndim == 2:
            return (np.asarray(one.transpose(*self.dims).values, dtype=np.float64) for one in (x, y))
        return iter(np.meshgrid(np.asarray(x.values, dtype=np.float64), np.asarray(y.values, dtype=np.float64)))


def is_cube(data: Any) -> bool:
    """Whether an object is an xarray DataArray or Dataset."""
    return type(data).__module__.partition(".")[0] == "xarray" and hasattr(data, "dims") and hasattr(data, "coords")


def is_lazy(cube: Any) -> bool:
    """Whether the values of an xarray object are computed by Dask, when they are asked for."""
    return bool(getattr(cube, "chunks", None))


def raster_array(path: str | os.PathLike[str], band: str | None = None) -> Any:
    """A band of a GeoTIFF as a DataArray, NaN where it has no value: the one that is named, or the only one."""
    xarray = xarray_module()
    with opened_raster(path) as dataset:
        grid, names = dataset_grid(dataset), band_names(dataset)
        if band is None and len(names) > 1:
            raise InputError(f"{Path(path).name} has the bands {names}; name one with --target.")
        check_columns([band or names[0]], names, Path(path).name)
        number = names.index(band or names[0]) + 1
        values, stored = read_band(dataset, number), dataset.dtypes[number - 1]
    array = xarray.DataArray(values, {"y": grid.y, "x": grid.x}, ("y", "x"), band or names[0])
    import rioxarray  # noqa: F401  (gives xarray objects their .rio)
    from affine import Affine

    array = array.rio.write_transform(Affine(*grid.transform))
    array = array if grid.crs is None else array.rio.write_crs(crs_text(grid.crs))
    array.encoding["dtype"] = stored
    return array


def _days(labels: Any, name: str) -> FloatArray:
    """Days since the first of labels in a calendar of their own; anything else is refused."""
    try:
        return np.array([(label - labels[0]).total_seconds() / 86400 for label in labels])
    except (TypeError, AttributeError):
        raise InputError(f"labels along {name!r} are {labels[:3]}; needed are dates or numbers.") from None


def _without_fill(array: Any) -> Any:
    """Decoded: without the pixels that hold the fill value of an array that was opened as it is stored."""
    for name in ("_FillValue", "missing_value"):
        fill = array.attrs.get(name)
        if isinstance(fill, (int, float, np.number)) and np.isfinite(fill):
            array = array.where(array != fill)
            array.attrs.pop(name, None)
    return array
