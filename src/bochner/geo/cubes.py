"""Cubes: NetCDF files, Zarr stores and xarray objects as grids and as rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ColumnError, InputError, MissingExtraError
from bochner.geo.crs import LONLAT, as_crs
from bochner.geo.grids import Axes, RasterGrid
from bochner.geo.lonlat import AXES, is_lonlat
from bochner.geo.tables import first_line
from bochner.spelling import check_columns


@contextmanager
def opened_cube(path: str | os.PathLike[str]) -> Iterator[Any]:
    """An xarray Dataset of a NetCDF file or a Zarr store; its values are read when they are asked for."""
    xarray, path = xarray_module(), Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    options = {"engine": "zarr", "consolidated": False} if path.suffix.lower() == ".zarr" else {}
    try:
        cube = xarray.open_dataset(path, decode_coords="all", **options)
    except Exception as error:  # each engine has errors of its own
        told = first_line(error).partition(" in any of xarray")[0]
        raise InputError(f"{path} cannot be read as {path.suffix[1:]} ({told}); check the file.") from error
    with cube:
        yield cube


def cube_grid(cube: Any, source: str) -> RasterGrid:
    """The grid of an xarray Dataset or DataArray with evenly spaced coordinates."""
    x_name, y_name = cube_axes(cube, source)
    x, y = (np.asarray(cube[name].values, dtype=np.float64) for name in (x_name, y_name))
    if x_name.lower().startswith("lon"):  # from 179.5 on to -179.5, across the antimeridian
        turned = np.unwrap(x, period=360.0)
        x = turned - 360.0 * (turned.max() > 360 >= x.max())
    dx, dy = _step(x, x_name, source), _step(y, y_name, source)
    transform = (dx, 0.0, float(x[0] - dx / 2), 0.0, dy, float(y[0] - dy / 2))
    dims = tuple(str(name) for name in _dims_of(cube) if name in (x_name, y_name))
    axes = Axes((x_name, y_name), (dims[0], dims[1]), x, y)
    return RasterGrid(transform, len(y), len(x), cube_crs(cube, (x_name, y_name)), axes)


def cube_axes(cube: Any, source: str) -> tuple[str, str]:
    """Names of the dimensions that run east and north."""
    lower = {str(name).lower(): str(name) for name in cube.dims}
    for east, north in AXES:
        pair = [next((lower[name] for name in known if name in lower), None) for known in (east, north)]
        if pair[0] is not None and pair[1] is not None:
            missing = [name for name in pair if name not in cube.coords]
            if missing:
                raise InputError(f"{source} has no georeference: its dimension {missing[0]!r} has no coordinates.")
            return pair[0], pair[1]
    raise InputError(f"{source} has dimensions {list(cube.dims)}; needed are x and y, or lon and lat, among them.")


def variable_of(cube: Any, source: str, target: str | None = None, hint: str = "name it") -> Any:
    """A numeric variable of a Dataset on its grid: the one that is named, or the only one."""
    if not hasattr(cube, "data_vars"):
        return cube
    pixels = pixel_axes(cube)
    dims = set(cube[pixels[0]].dims) if pixels else set(cube_axes(cube, source))
    names = [str(n) for n in cube.data_vars if dims <= set(cube[n].dims) and cube[n].dtype.kind in "iuf"]
    if target is None and len(names) == 1:
        return cube[names[0]]
    if target in names:
        return cube[target]
    if target is None:
        raise InputError(f"{source} has the variables {names}; {hint}.")
    raise ColumnError(f"{source} has no numeric variable {target!r} on its grid; it has {names}.")


def _dims_of(cube: Any) -> Sequence[Any]:
    """Dimensions in the order of the variables; those of a Dataset itself stand in no order that means anything."""
    variables = getattr(cube, "data_vars", None)
    if variables is None:
        return tuple(cube.dims)
    widest: Sequence[Any] = max((one.dims for one in variables.values()), key=len, default=tuple(cube.dims))
    return widest if set(widest) >= set(cube_axes(cube, "the cube")) else tuple(cube.dims)


def cube_crs(cube: Any, axes: tuple[str, str]) -> Any:
    """CRS of an xarray object: by its grid mapping, or longitude/latitude by the names of its dimensions."""
    try:
        import rioxarray  # noqa: F401  (gives xarray objects their .rio)
    except ImportError as error:
        raise MissingExtraError("reading the CRS needs rioxarray; pip install 'bochner[grid]'") from error
    crs = as_crs(cube.rio.crs)
    return as_crs(LONLAT) if crs is None and is_lonlat(axes) else crs


def pixel_axes(cube: Any) -> tuple[str, str] | None:
    """Names of longitudes and latitudes that are given pixel by pixel, as in a satellite's swath."""
    known_names = getattr(cube, "variables", None) or cube.coords
    lower = {str(name).lower(): str(name) for name in known_names if cube[name].ndim == 2}
    pair = [next((lower[name] for name in known if name in lower), None) for known in AXES[0]]
    if pair[0] is None or pair[1] is None or cube[pair[0]].dims != cube[pair[1]].dims:
        return None
    return pair[0], pair[1]


@dataclass(frozen=True)
class CubeRows:
    """Variables of a cube, one row per pixel: `values` (pixels, names), with a grid, or with `coords` of their own.

    Of a stack, images follow each other in the order of the `labels` of the dimension `along`.
    """

    values: FloatArray
    names: list[str]
    axes: tuple[str, str]
    grid: RasterGrid | None
    coords: FloatArray
    along: str | None = None
    labels: Any = None


def cube_rows(cube: Any, source: str, columns: Sequence[str] | None = None, layer: str | None = None) -> CubeRows:
    """Numeric variables of a Dataset that lie on its grid, or on longitudes and latitudes given pixel by pixel."""
    axes = pixel_axes(cube)
    dims = tuple(cube[axes[0]].dims) if axes else cube_axes(cube, source)[::-1]
    on_grid = [
        str(name) for name in cube.data_vars if set(dims) <= set(cube[name].dims) and cube[name].dtype.kind in "iuf"
    ]
    if not on_grid:
        raise InputError(f"{source} has no numeric variable over {dims}; its variables are {list(cube.data_vars)}.")
    wanted = on_grid if columns is None else list(columns)
    check_columns(wanted, on_grid, source)
    if not wanted:
        raise InputError(f"no variable of {source} was asked for; those on its grid are {on_grid}.")
    along = None if layer is not None else _common_further(cube, wanted, dims, source)
    layers = [_layer_of(cube[name], dims, source, layer, along) for name in wanted]
    n_images = 1 if along is None else cube.sizes[along]
    values = np.column_stack([_pixels_of(one, n_images) for one in layers])
    labels = None if along is None else cube[along].values
    if axes is None:
        grid = cube_grid(cube, source)
        return CubeRows(values, wanted, (dims[1], dims[0]), grid, np.empty((0, 2)), along, labels)
    coords = np.column_stack([np.asarray(cube[name].values, dtype=np.float64).ravel() for name in axes])
    return CubeRows(values, wanted, axes, None, coords, along, labels)


def _pixels_of(layer: Any, n_images: int) -> FloatArray:
    """Values of all pixels of all images, (n,); an image without labels is the same at each of them."""
    values = np.asarray(layer.values, dtype=np.float64)
    return values.ravel() if values.ndim == 3 else np.tile(values.ravel(), n_images)


def _common_further(cube: Any, wanted: Sequence[str], dims: tuple[str, ...], source: str) -> str | None:
    """The one dimension of many labels that variables have beside those of an image; None if there is none."""
    further = {str(d) for name in wanted for d in cube[name].dims if d not in dims and cube.sizes[d] > 1}
    if len(further) > 1:
        raise InputError(
            f"{source} has the further dimensions {sorted(further)}; needed is one at most, time say: select along the "
            f"others first, or name the variables to read."
        )
    return next(iter(further), None)


def _layer_of(variable: Any, dims: tuple[str, ...], source: str, layer: str | None, along: str | None) -> Any:
    """A variable over the two dimensions of an image, chosen by `layer`, or over those and `along`."""
    further = [str(name) for name in variable.dims if name not in dims]
    empty = [name for name in further if variable.sizes[name] == 0]
    if empty:
        raise InputError(f"{variable.name} of {source} has no values along {empty[0]!r}; check the file.")
    many = [name for name in further if variable.sizes[name] > 1]
    if along in many:
        return variable.squeeze([name for name in further if name != along]).transpose(along, *dims)
    if len(many) > 1:
        labels = [str(value) for value in variable[many[0]].values[:3]]
        raise InputError(
            f"{variable.name} of {source} has {variable.sizes[many[0]]} layers along {many[0]!r} ({', '.join(labels)}, "
            f"...); choose one by its label with layer, after selecting along the others."
        )
    chosen = variable if not many else variable.isel({many[0]: label_at(variable[many[0]].values, layer, source)})
    return chosen.squeeze([name for name in further if name not in many]).transpose(*dims)


def label_at(labels: Any, layer: str | None, source: str) -> int:
    """Position of the label that is, or alone begins with, the text asked for; or that equals it as a number."""
    texts = [str(label) for label in labels]
    found = [i for i, text in enumerate(texts) if text == layer] or [
        i for i, text in enumerate(texts) if text.startswith(str(layer))
    ]
    if len(found) != 1:
        how = "no layer" if not found else f"{len(found)} layers"
        raise InputError(f"{source} has {how} {layer!r}; its labels are {', '.join(texts[:5])}, ...")
    return found[0]


def _step(values: np.ndarray, name: str, source: str) -> float:
    if len(values) < 2:
        raise InputError(f"{source} has one value along {name}; needed are two to know the size of a pixel.")
    steps = np.diff(values)
    step = float((values[-1] - values[0]) / (len(values) - 1))
    # coordinates are often stored in single precision
    slack = 1e-3 * abs(step) + 4 * np.finfo(np.float32).eps * float(np.abs(values).max())
    if step == 0 or np.abs(steps - step).max() > slack:
        raise InputError(f"{source} is not evenly spaced along {name}; resample it to a regular grid first.")
    return step


def xarray_module() -> Any:
    """The library xarray, or an error that names the extra to install."""
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError(
            "reading NetCDF and Zarr needs xarray; install it with: pip install 'bochner[grid]'"
        ) from error
    return xarray
