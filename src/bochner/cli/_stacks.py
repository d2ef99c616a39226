"""Stacks of images: read from a file by variable and label."""

from __future__ import annotations

from pathlib import Path

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
        array = variable_of(cube, path.name, target, "name one with --target").load()
    whole = Stack.of(array, crs, path.name) if layer is None else None
    if whole is not None:
        return whole
    further = [str(d) for d in array.dims if array.sizes[d] > 1 and d not in _image_dims(array, path.name)]
    if len(further) != 1:
        raise InputError(f"--layer {layer} was given, but {path.name} has no single further dimension; leave it out.")
    image = array.isel({further[0]: label_at(array[further[0]].values, layer, path.name)})
    return Stack.of(image, crs, path.name)


def _image_dims(array: object, source: str) -> set[str]:
    from bochner.geo.cubes import cube_axes, pixel_axes

    pixels = pixel_axes(array)
    return {str(d) for d in array[pixels[0]].dims} if pixels else set(cube_axes(array, source))  # type: ignore[index]
