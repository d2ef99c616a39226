"""Lazy maps: of xarray objects whose values Dask computes, chunk by chunk and when they are asked for.

A chunk is a window of the whole grid, so its pixels lie where those of the map in memory lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.geo import RasterGrid
from bochner.geo.stacks import Stack
from bochner.maps.grids.gridmap import GridMap

FillImage = Callable[[Stack, int, Any, RasterGrid | None, Mapping[str, Any]], FloatArray]
"""A stack, one of its images, the label of that, its grid and the covariates, to its bands: mean and sd."""


def lazily_filled(stack: Stack, covariates: Mapping[str, Any], fill_image: FillImage) -> tuple[Any, Any]:
    """Mean and sd of all images as DataArrays with the chunks of the stack; nothing is computed yet."""
    arrays: Any = import_module("dask.array")
    delayed: Any = import_module("dask").delayed
    data = stack.array.data
    blank = stack.array.copy(data=np.broadcast_to(np.float64(0.0), stack.array.shape))  # coordinates alone
    shared = delayed((replace(stack, array=blank), stack.labels, stack.grid, dict(covariates), fill_image), pure=False)
    both = arrays.map_blocks(
        _fill_chunk,
        data,
        shared=shared,
        dtype=np.float64,
        new_axis=0,
        chunks=((2,), *data.chunks),
        meta=np.empty((0,) * (data.ndim + 1)),
    )
    kept = {k: v for k, v in stack.array.encoding.items() if k == "grid_mapping"}
    found = [stack.array.copy(data=one) for one in both]
    for one in found:
        one.encoding = dict(kept)
    return found[0], found[1]


def lazy_bands(
    model: Any, grid: RasterGrid, chunks: Mapping[str, Sequence[int]], options: Mapping[str, Any]
) -> tuple[GridMap, Any]:
    """A map, and its bands (k, height, width) as a Dask array, in the chunks of a template by dimension."""
    arrays: Any = import_module("dask.array")
    delayed: Any = import_module("dask").delayed
    x, y = grid.names
    sizes = (tuple(chunks.get(y, (grid.height,))), tuple(chunks.get(x, (grid.width,))))
    work = GridMap(model, grid, **options)  # what is wrong with the request is told at once
    work.begin()
    shared = delayed((work.model, grid, dict(options)), pure=False)
    empty = arrays.zeros(grid.shape, chunks=sizes)
    made = ((len(work.bands),), *sizes)
    bands = arrays.map_blocks(
        _map_chunk, empty, shared=shared, dtype=np.float64, new_axis=0, chunks=made, meta=np.empty((0, 0, 0))
    )
    return work, bands


def chunks_of(template: Any) -> dict[str, Sequence[int]]:
    """Chunks of a DataArray or a Dataset by dimension."""
    sizes = template.chunksizes
    return {str(name): tuple(sizes[name]) for name in sizes}


def _fill_chunk(values: FloatArray, shared: Any, block_info: Any = None) -> FloatArray:
    whole, labels, grid, covariates, fill_image = shared
    where = block_info[0]["array-location"]
    cut = {str(d): slice(a, b) for d, (a, b) in zip(whole.array.dims, where, strict=True)}
    part = replace(whole, array=whole.array.isel(cut).copy(data=np.asarray(values)))
    rows, columns = (cut[d] for d in whole.dims)
    window = (rows.start, rows.stop, columns.start, columns.stop)
    inside = None if grid is None else grid.part(window)
    own = {
        name: value[rows, columns] if isinstance(value, np.ndarray) and value.ndim == 2 else value
        for name, value in covariates.items()
    }
    some = labels if whole.along is None else labels[cut[whole.along]]
    filled = [fill_image(part, i, label, inside, own) for i, label in enumerate(some)]
    both = [part.like(np.stack(images)).values for images in zip(*filled, strict=True)]
    return np.stack(both)


def _map_chunk(blank: FloatArray, shared: Any, block_info: Any = None) -> FloatArray:
    model, grid, options = shared
    (row0, row1), (col0, col1) = block_info[0]["array-location"]
    return GridMap(model, grid, **options).compute((row0, row1, col0, col1))
