"""Masks: which pixels of a grid lie within polygons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.exceptions import InputError, MissingExtraError
from bochner.geo.crs import as_crs, is_geographic, same_crs
from bochner.geo.grids import Bounds, RasterGrid, Window
from bochner.geo.lonlat import arc_of


def mask_within(grid: RasterGrid, areas: Any, window: Window | None = None) -> NDArray[np.bool_]:
    """Whether the centre of each pixel lies within any of the polygons, (rows, columns).

    Parameters
    ----------
    grid : RasterGrid
    areas : GeoDataFrame or GeoSeries of polygons, in any CRS; for many windows, take `areas_in(areas, grid.crs)`
    window : part of the grid; default: all of it
    """
    part = grid if window is None else grid.part(window)
    return shape_mask(part, _shapes(part, areas_in(areas, grid.crs)))


def shape_mask(grid: RasterGrid, shapes: Sequence[Any]) -> NDArray[np.bool_]:
    """Whether the centre of each pixel lies within any of some shapes in the grid's CRS, (rows, columns)."""
    if not len(shapes):
        return np.zeros(grid.shape, dtype=bool)
    affine, features = _libraries()
    placed = affine.Affine(*grid.transform)
    burned = features.rasterize(shapes, out_shape=grid.shape, transform=placed, all_touched=False, dtype="uint8")
    return np.asarray(burned == 1)


def areas_in(areas: Any, crs: Any) -> Any:
    """Polygons in a CRS; where neither has one, they are taken to share the plane."""
    if (areas.crs is None and crs is None) or same_crs(areas.crs, crs):
        return areas
    if areas.crs is None or crs is None:
        which = "polygons have" if areas.crs is None else "data have"
        raise InputError(f"the {which} no CRS, so the two cannot be laid over each other; give it.")
    return areas.to_crs(crs)


def areas_bounds(areas: Any) -> Bounds:
    """Left, bottom, right, top of polygons; degrees run the short way across the antimeridian, beyond 180."""
    import shapely

    left, bottom, right, top = (float(value) for value in areas.total_bounds)
    if is_geographic(as_crs(areas.crs)) and right - left > 180:
        west, _, east, _ = shapely.bounds(shapely.get_parts(areas.geometry.to_numpy())).T
        left, right = arc_of(west, east)
    return left, bottom, right, top


def _shapes(part: RasterGrid, areas: Any) -> list[Any]:
    from shapely.affinity import translate

    left, bottom, right, top = part.bounds
    turns = (-360, 0, 360) if is_geographic(part.crs) else (0,)
    shapes = []
    for shape in areas.geometry:
        for turn in turns:  # 190 E is 170 W
            west, south, east, north = shape.bounds
            if west + turn < right and east + turn > left and south < top and north > bottom:
                shapes.append(translate(shape, turn) if turn else shape)
    return shapes


def _libraries() -> tuple[Any, Any]:
    try:
        import affine
        from rasterio import features
    except ImportError as error:
        raise MissingExtraError("masks need rasterio; install it with: pip install 'bochner[geo]'") from error
    return affine, features
