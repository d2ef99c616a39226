"""Areas: points and weights that stand for polygons, where a mean over an area is observed or predicted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import BochnerWarning, InputError, warn
from bochner.geo import limits
from bochner.geo.crs import as_crs, crs_name, crs_text, is_geographic, transform
from bochner.geo.earth import curvature_radii
from bochner.geo.grids import RasterGrid, Resolution, Window, box_text, parse_resolution
from bochner.geo.masks import shape_mask
from bochner.geo.rasters import dataset_grid, opened_raster, raster_at, read_band
from bochner.geo.vectors import checked_areas


def area_points(
    areas: Any,
    spacing: str | float | Resolution | None = None,
    n_points: int | None = None,
    weights_raster: str | os.PathLike[str] | Any = None,
    *,
    crs: Any = None,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Points that represent polygons, so that a weighted sum over them is a mean over the area.

    Points lie on a regular grid in each polygon, weighted by the ground that they stand for. With a raster of weights
    (people per pixel, say) they stand for its pixels: the cells of the grid that hold any weight, each at the weighted
    centre of its pixels, so that no weight is lost. The same input gives the same points.

    Parameters
    ----------
    areas : GeoDataFrame of polygons
    spacing : length such as `5km`, or a number in units of the areas' CRS
    n_points : about how many points each area gets, instead of `spacing`; default 100
    weights_raster : raster of non-negative weights, in any CRS
    crs : CRS of the points; default that of the areas

    Returns
    -------
    coords : (k, 2)
    area_index : (k,) position of each point's area
    weight : (k,) sums to one within each area
    """
    areas = checked_areas(areas)
    if spacing is not None and n_points is not None:
        raise InputError("both spacing and n_points are given; give one of them.")
    if n_points is not None and n_points < 1:
        raise InputError(f"n_points is {n_points}; needed is at least 1.")
    cells = [_cell(shape, areas.crs, spacing, n_points or limits.POINTS_OF_AREA) for shape in areas.geometry]
    parts = list(_weighted(areas, cells, weights_raster)) if weights_raster is not None else None
    if parts is None:
        if spacing is not None:
            _check_count(areas, cells, spacing)
        most = limits.MORE_POINTS * (limits.MOST_POINTS if spacing is not None else n_points or limits.POINTS_OF_AREA)
        parts = [_regular(shape, cell, areas.crs, most) for shape, cell in zip(areas.geometry, cells, strict=True)]
    index = np.repeat(np.arange(len(parts)), [len(coords) for coords, _ in parts])
    coords = np.vstack([coords for coords, _ in parts])
    weight = np.concatenate([weight / weight.sum() for _, weight in parts])
    return transform(coords, areas.crs, crs) if crs is not None else coords, index, weight


def _cell(shape: Any, crs: Any, spacing: str | float | Resolution | None, n_points: int) -> tuple[float, float]:
    """Width and height of the cells of an area's grid, in units of the CRS."""
    _, south, _, north = shape.bounds
    latitude = (south + north) / 2
    if spacing is not None:
        return parse_resolution(spacing).sides(as_crs(crs), latitude)
    squash = np.cos(np.radians(latitude)) if is_geographic(as_crs(crs)) else 1.0
    side = float(np.sqrt(shape.area * squash / n_points))
    return side / max(squash, 0.01), side


def _check_count(areas: Any, cells: list[tuple[float, float]], spacing: Any) -> None:
    """Refuse a spacing by which an area would have more points than can be held."""
    for i, (shape, (dx, dy)) in enumerate(zip(areas.geometry, cells, strict=True)):
        about = max(shape.area / dx / dy, shape.length / 2 / max(dx, dy))
        if about > limits.MOST_POINTS:
            raise InputError(
                f"the spacing is {spacing}, which would give row {i + 1} of the areas about {about:.2g} points; at "
                f"most {limits.MOST_POINTS:,} are taken: give a larger spacing, or n_points."
            )


def _regular(shape: Any, cell: tuple[float, float], crs: Any, most: int) -> tuple[FloatArray, FloatArray]:
    """The cells of a grid as a polygon cuts them: the centre and the ground of each part.

    So the mean of a plane is exact but for parts around a corner, where points on a bare grid would err by the edge's
    share.
    """
    import shapely

    boxes = _boxes(shape, cell, most)
    cut = ~shapely.covers(shape, boxes)
    parts = boxes.copy()
    parts[cut] = [shapely.clip_by_rect(shape, *bounds) for bounds in shapely.bounds(boxes[cut])]
    if not np.isclose(shapely.area(parts).sum(), shape.area, rtol=1e-9):  # clipping is quick, and may fail
        parts[cut] = shapely.intersection(boxes[cut], shape)
    parts = parts[shapely.area(parts) > 0]
    centre = shapely.centroid(parts)
    bent = ~shapely.contains(shape, centre)  # a part around a corner
    centre[bent] = shapely.point_on_surface(parts[bent])
    coords = shapely.get_coordinates(centre)
    return coords, shapely.area(parts) * _ground(coords, crs)


def _boxes(shape: Any, cell: tuple[float, float], most: int) -> Any:
    """The cells of a grid that a polygon touches; larger ones, twice as wide and high, where more than `most` would be.

    Found from large blocks to small ones: a line across the box touches few of the cells that the box has.
    """
    import shapely

    left, bottom, right, top = shape.bounds
    step = np.maximum(cell, max(right - left, top - bottom) * limits.FINEST_CELL)
    counts = np.maximum(1, np.ceil((np.array([right, top]) - (left, bottom)) / step)).astype(np.int64)
    # the grid is centred on the box, so that both sides are treated alike
    corner = np.array([left + right, bottom + top]) / 2 - step * counts / 2
    size = 2 ** max(0, int(np.ceil(np.log2(counts.max() / limits.FIRST_BLOCKS))))
    at = np.column_stack([axis.ravel() for axis in np.meshgrid(*(np.arange(0, n, size) for n in counts))])
    shapely.prepare(shape)
    kept = None
    while True:
        boxes = shapely.box(*(corner + step * at).T, *(corner + step * np.minimum(at + size, counts)).T)
        touched = shapely.intersects(shape, boxes)
        if kept is not None and np.count_nonzero(touched) > most:
            return kept
        at, kept = at[touched], boxes[touched]
        if size == 1:
            return kept
        size //= 2
        at = np.concatenate([at + size * np.array(part) for part in ((0, 0), (1, 0), (0, 1), (1, 1))])
        at = at[(at < counts).all(axis=1)]
        at = at[np.lexsort(at.T)]


def _ground(coords: FloatArray, crs: Any) -> FloatArray:
    """Area on the ground of one unit of the CRS squared, up to a constant factor."""
    if not is_geographic(as_crs(crs)):
        return np.ones(len(coords))
    meridian, vertical = curvature_radii(coords[:, 1])
    return meridian * vertical * np.cos(np.radians(coords[:, 1]))


def _weighted(areas: Any, cells: list[tuple[float, float]], raster: Any) -> Iterator[tuple[FloatArray, FloatArray]]:
    with opened_raster(raster) as dataset:
        grid = dataset_grid(dataset)
        if grid.crs is None:
            raise InputError("the raster of weights has no CRS; add it to the file.")
        own = areas.geometry.to_crs(crs_text(grid.crs))
        empty = []
        for i, (shape, there, cell) in enumerate(zip(areas.geometry, own, cells, strict=True)):
            coords, weight = _pixels_within(dataset, grid, there)
            if weight.sum() > 0:
                yield _gathered(transform(coords, grid.crs, areas.crs), weight, cell)
            else:
                empty.append(i + 1)
                yield _regular(shape, cell, areas.crs, limits.MORE_POINTS * limits.POINTS_OF_AREA)
    if len(empty) == len(areas):
        raise InputError(
            f"none of the {len(areas):,} areas holds any weight in the raster, which covers {box_text(grid.bounds)} in "
            f"{crs_name(grid.crs)}; check that the two overlap, and the CRS of both."
        )
    if empty:
        told = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
        warn(
            f"{len(empty)} of {len(areas)} areas hold no weight in the raster (row {told}); their points count by "
            f"the ground they stand for.",
            BochnerWarning,
        )


def _pixels_within(dataset: Any, grid: RasterGrid, shape: Any) -> tuple[FloatArray, FloatArray]:
    """Centres and weights of the pixels whose centre lies in a polygon; of the pixel at hand where there is none."""
    window = _window(grid, shape)
    if window is None:
        return np.empty((0, 2)), np.empty(0)
    point = shape.representative_point()
    parts, found = [], False
    for rows in _blocks(window):
        mask = shape_mask(grid.part(rows), [shape]).ravel()
        weight = read_band(dataset, 1, rows).ravel()
        if np.nanmin(weight, initial=0) < 0:
            raise InputError(f"the raster of weights holds {np.nanmin(weight):g}; needed are weights >= 0.")
        kept, found = mask & (weight > 0), found or bool(mask.any())
        parts.append((grid.centres(rows)[kept], weight[kept]))
    if not found:  # an area smaller than a pixel
        weight = raster_at(dataset, [[point.x, point.y]], grid.crs, resampling="nearest")
        return np.array([[point.x, point.y]]), np.nan_to_num(weight)
    coords, weights = zip(*parts, strict=True)
    return np.vstack(coords), np.concatenate(weights)


def _blocks(window: Window, max_pixels: int = 4_000_000) -> Iterator[Window]:
    """A window in blocks of whole rows."""
    row0, row1, col0, col1 = window
    step = max(1, max_pixels // (col1 - col0))
    for row in range(row0, row1, step):
        yield row, min(row + step, row1), col0, col1


def _window(grid: RasterGrid, shape: Any) -> Window | None:
    """Window of a grid that holds a polygon; None where they are apart."""
    a, b, c, d, e, f = grid.transform
    left, bottom, right, top = shape.bounds
    corners = np.array([[left, bottom], [left, top], [right, bottom], [right, top]]) - (c, f)
    col, row = np.linalg.solve(np.array([[a, b], [d, e]]), corners.T)
    row0, row1 = max(0, int(np.floor(row.min()))), min(grid.height, int(np.floor(row.max())) + 1)
    col0, col1 = max(0, int(np.floor(col.min()))), min(grid.width, int(np.floor(col.max())) + 1)
    return (row0, row1, col0, col1) if row0 < row1 and col0 < col1 else None


def _gathered(coords: FloatArray, weight: FloatArray, cell: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Pixels gathered into cells: each cell at the weighted centre of its pixels, with their total weight."""
    place = np.floor((coords - coords.min(axis=0)) / cell * (1 + 1e-12)).astype(np.int64)
    _, label = np.unique(place[:, 1] * (place[:, 0].max() + 1) + place[:, 0], return_inverse=True)
    total = np.asarray(np.bincount(label, weight), dtype=np.float64)
    centre = np.column_stack([np.bincount(label, weight * axis) / total for axis in coords.T])
    return centre, total
