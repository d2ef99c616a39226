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
from bochner.exceptions import InputError, MissingExtraError
from bochner.geo.crs import LONLAT, as_crs
from bochner.geo.grids import RasterGrid
from bochner.geo.lonlat import AXES, is_lonlat
from bochner.geo.tables import check_columns, first_line


@contextmanager
def opened_cube(path: str | os.PathLike[str]) -> Iterator[Any]:
    """An xarray Dataset of a NetCDF file or a Zarr store; its values are read when they are asked for."""
    xarray, path = _xarray(), Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    options = {"engine": "zarr", "consolidated": None} if path.suffix.lower() == ".zarr" else {}
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
        x = np.unwrap(x, period=360.0)
    dx, dy = _step(x, x_name, source), _step(y, y_name, source)
    transform = (dx, 0.0, float(x[0] - dx / 2), 0.0, dy, float(y[0] - dy / 2))
    return RasterGrid(transform, len(y), len(x), cube_crs(cube, (x_name, y_name)))


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


def cube_crs(cube: Any, axes: tuple[str, str]) -> Any:
    """CRS of an xarray object: by its grid mapping, or longitude/latitude by the names of its dimensions."""
    try:
        import rioxarray  # noqa: F401  (gives xarray objects their .rio)
    except ImportError as error:
        raise MissingExtraError("reading the CRS needs rioxarray; pip install 'bochner[grid]'") from error
    crs = as_crs(cube.rio.crs)
    return as_crs(LONLAT) if crs is None and is_lonlat(axes) else crs


@dataclass(frozen=True)
class CubeRows:
    """Variables of a cube, one row per pixel: `values` (pixels, names), with a grid, or with `coords` of their own."""

    values: FloatArray
    names: list[str]
    axes: tuple[str, str]
    grid: RasterGrid | None
    coords: FloatArray


def cube_rows(cube: Any, source: str, columns: Sequence[str] | None = None, layer: str | None = None) -> CubeRows:
    """Numeric variables of a Dataset that lie on its grid, or on longitudes and latitudes given pixel by pixel."""
    axes = _curved_axes(cube)
    dims = tuple(cube[axes[0]].dims) if axes else cube_axes(cube, source)[::-1]
    on_grid = [
        str(name) for name in cube.data_vars if set(dims) <= set(cube[name].dims) and cube[name].dtype.kind in "iuf"
    ]
    if not on_grid:
        raise InputError(f"{source} has no numeric variable over {dims}; its variables are {list(cube.data_vars)}.")
    wanted = on_grid if columns is None else list(columns)
    check_columns(wanted, on_grid, source)
    layers = [_layer_of(cube[name], dims, source, layer) for name in wanted]
    values = np.column_stack([np.asarray(one.values, dtype=np.float64).ravel() for one in layers])
    if axes is None:
        grid = cube_grid(cube, source)
        return CubeRows(values, wanted, (dims[1], dims[0]), grid, np.empty((0, 2)))
    coords = np.column_stack([np.asarray(cube[name].values, dtype=np.float64).ravel() for name in axes])
    return CubeRows(values, wanted, axes, None, coords)


def _curved_axes(cube: Any) -> tuple[str, str] | None:
    """Names of longitudes and latitudes that are given pixel by pixel, as in a satellite's swath."""
    lower = {str(name).lower(): str(name) for name in cube.variables if cube[name].ndim == 2}
    pair = [next((lower[name] for name in known if name in lower), None) for known in AXES[0]]
    if pair[0] is None or pair[1] is None or cube[pair[0]].dims != cube[pair[1]].dims:
        return None
    return pair[0], pair[1]


def _layer_of(variable: Any, dims: tuple[str, ...], source: str, layer: str | None) -> Any:
    """A variable over two dimensions; further ones must have one label, or be chosen by `layer`."""
    further = [str(name) for name in variable.dims if name not in dims]
    many = [name for name in further if variable.sizes[name] > 1]
    if len(many) > 1 or (many and layer is None):
        labels = [str(value) for value in variable[many[0]].values[:3]]
        raise InputError(
            f"{variable.name} of {source} has {variable.sizes[many[0]]} layers along {many[0]!r} ({', '.join(labels)}, "
            f"...); choose one by its label with layer{', after selecting along the others' if len(many) > 1 else ''}."
        )
    chosen = variable if not many else variable.isel({many[0]: _label(variable[many[0]].values, layer, source)})
    return chosen.squeeze([name for name in further if name not in many]).transpose(*dims)


def _label(labels: Any, layer: str | None, source: str) -> int:
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


def _xarray() -> Any:
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError(
            "reading NetCDF and Zarr needs xarray; install it with: pip install 'bochner[grid]'"
        ) from error
    return xarray
