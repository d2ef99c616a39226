"""Stacks of images: read from a file by variable and label."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bochner.cli._terminal import note
from bochner.exceptions import InputError
from bochner.formats import CUBES, RASTERS
from bochner.geo.cubes import label_at, opened_cube, variable_of
from bochner.geo.stacks import Stack, raster_array


def read_stack(path: Path, target: str | None = None, layer: str | None = None, crs: str | None = None) -> Stack:
    """A variable of a cube, or the band of a GeoTIFF, in memory; with `layer`, one image of it."""
    suffix = path.suffix.lower()
    if suffix in RASTERS:
        if layer is not None:
            raise InputError(f"--layer {layer} was given, but {path.name} is a GeoTIFF, which has bands; leave it out.")
        return Stack.of(raster_array(path, target), crs, path.name)
    if suffix not in CUBES:
        raise InputError(f"{path} ends in {path.suffix!r}; needed is an image: one of {', '.join((*RASTERS, *CUBES))}.")
    with opened_cube(path) as cube:
        target = target or _guessed(cube, path.name)
        array = variable_of(cube, path.name, target, "name one with --target").load()
    if layer is None:
        return Stack.of(array, crs, path.name)
    further = [str(d) for d in array.dims if array.sizes[d] > 1 and d not in _image_dims(array, path.name)]
    if len(further) != 1:
        raise InputError(f"--layer {layer} was given, but {path.name} has no single further dimension; leave it out.")
    image = array.isel({further[0]: label_at(array[further[0]].values, layer, path.name)})
    return Stack.of(image, crs, path.name)


@contextmanager
def opened_beside(path: Path, stack: Stack, layer: str | None) -> Iterator[Any]:
    """The Dataset that a stack was read from, cut to its layer if one was chosen; None of a GeoTIFF."""
    if path.suffix.lower() in RASTERS:
        yield None
        return
    with opened_cube(path) as cube:
        cut = [name for name in cube[stack.name].dims if name not in stack.array.dims]
        yield cube.isel({name: label_at(cube[name].values, layer, path.name) for name in cut})


def _guessed(cube: Any, source: str) -> str | None:
    """The only variable of amounts, not of codes, that has gaps; None if there is no choice, or no such one."""
    dims = _image_dims(cube, source)
    on_grid = [one for one in cube.data_vars.values() if dims <= set(one.dims) and one.dtype.kind in "iuf"]
    real = [v for v in on_grid if "scale_factor" in v.encoding or np.dtype(v.encoding.get("dtype", "f8")).kind == "f"]
    found = [str(v.name) for v in real if bool(v.isnull().any())]
    if len(on_grid) > 1 and len(found) == 1:
        note(f"fills {found[0]!r}, the only variable of {source} with gaps; name another with --target.")
    return found[0] if len(on_grid) > 1 and len(found) == 1 else None


def _image_dims(array: object, source: str) -> set[str]:
    from bochner.geo.cubes import cube_axes, pixel_axes

    pixels = pixel_axes(array)
    return {str(d) for d in array[pixels[0]].dims} if pixels else set(cube_axes(array, source))  # type: ignore[index]
