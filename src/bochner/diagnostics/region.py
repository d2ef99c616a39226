"""Region: where the data of a model lie, told so coarsely that no place can be read from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull, QhullError, cKDTree

from bochner.arrays import FloatArray
from bochner.diagnostics import limits
from bochner.geo import Placement
from bochner.geo.lonlat import longitude_arc
from bochner.random import generator

BLUR = np.array([1, 4, 6, 4, 1]) / 16


@dataclass(frozen=True)
class Region:
    """Box of the coordinates, and the cells of it that lie near data.

    The box is rounded outwards and the mask is coarse and widened by `reach`, so that neither gives away where a row
    was observed.

    Attributes
    ----------
    names : tuple of str
        Names of the coordinates, as the user has them.
    low, high : tuple of float
        Corners of the box, one number per coordinate.
    middle : tuple of float
        Median of each coordinate.
    mask : tuple of str
        Cells of the map, "1" near data and "0" far from it: one string per step northwards; one string alone for a
        single coordinate.
    reach : float
        How far from data a cell may lie and still count as near, in units of the coordinate that points east.
    axes : tuple of int
        Coordinates that point east and north on the map.
    km_per_unit : tuple of float, optional
        Kilometres in one unit of each of the two, where that is known.
    crs : str, optional
        Coordinate reference system, where it is known.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    middle: tuple[float, ...]
    mask: tuple[str, ...]
    reach: float
    axes: tuple[int, ...] = (0, 1)
    km_per_unit: tuple[float, float] | None = None
    crs: str | None = None

    @property
    def dim(self) -> int:
        return len(self.low)

    def nearness(self, x: FloatArray, y: FloatArray | None = None) -> FloatArray:
        """How near data places lie, from 0 to 1, by the coordinate that points east and, from two on, the one north.

        The mask, smoothed between its cells, so that the outline at one half has no steps.
        """
        cells = _smooth(np.array([[c == "1" for c in line] for line in self.mask], dtype=float))
        along = _position(x, *self._side(0), cells.shape[1])
        if y is None:
            return np.asarray(np.interp(along, np.arange(cells.shape[1]), cells[0]))
        return _bilinear(cells, _position(y, *self._side(1), cells.shape[0]), along)

    def near(self, x: FloatArray, y: FloatArray | None = None) -> np.ndarray:
        """Whether places lie near data."""
        return self.nearness(x, y) >= 0.5

    def _side(self, axis: int) -> tuple[float, float]:
        return self.low[self.axes[axis]], self.high[self.axes[axis]]


def region_of(
    coords: FloatArray, names: tuple[str, ...], placement: Placement | None = None, crs: str | None = None
) -> Region:
    """Region of some places (n, dim), as the user has them."""
    placement = placement or Placement("planar", "", n_columns=coords.shape[1])
    coords = _unwrapped(coords, placement)
    low, high = _rounded_box(coords)
    axes = placement.map_axes
    if placement.in_degrees:
        east, north = axes
        low[north], high[north] = max(low[north], -90.0), min(high[north], 90.0)
        if high[east] - low[east] >= 360:
            low[east] = -180.0 if low[east] < -180 or high[east] <= 180 else 0.0
            high[east] = low[east] + 360
    middle = np.median(coords, axis=0)
    km = placement.km_per_unit(middle)
    unit = np.ones(len(axes)) if km is None else np.asarray(km)
    flat = coords[:, axes] * unit
    if len(flat) > limits.MAX_MASK_ROWS:
        flat = flat[generator(0, "region").choice(len(flat), limits.MAX_MASK_ROWS, replace=False)]
    mask, reach = _mask(flat, low[list(axes)] * unit, high[list(axes)] * unit)
    low_corner, high_corner, centre = (tuple(corner.tolist()) for corner in (low, high, middle))
    return Region(names, low_corner, high_corner, centre, mask, float(reach / unit[0]), axes, km, crs)


def round_step(size: float) -> float:
    """Largest of 1, 2, 5 times a power of ten that is not above a size."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(max(k * power for k in (1, 2, 5) if k * power <= size * (1 + 1e-9)))


def _unwrapped(coords: FloatArray, placement: Placement) -> FloatArray:
    """Longitudes made continuous where the places lie on both sides of the antimeridian."""
    if not placement.in_degrees:
        return coords
    axis = placement.map_axes[0]
    west, east = longitude_arc(coords[:, axis])
    if east - west > limits.WIDEST_ARC:  # all round the globe
        return coords
    moved = coords.copy()
    lon = west + (coords[:, axis] - west) % 360
    # round the globe as often as the user counts
    moved[:, axis] = lon + 360 * np.round((np.median(coords[:, axis]) - np.median(lon)) / 360)
    return moved


def _rounded_box(coords: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Box of the places, moved outwards to whole steps: its sides are no coordinate of a row."""
    low, high = coords.min(axis=0), coords.max(axis=0)
    extent = high - low
    fill = extent.max() if extent.max() > 0 else max(float(np.abs(low).max()), 1.0)
    step = np.array([round_step(e / 20) for e in np.where(extent > 0, extent, fill)])
    # a quarter of a step of room, lest a row that happens to lie on a whole step be on the side
    return np.floor(low / step - 0.25) * step, np.ceil(high / step + 0.25) * step


def _mask(places: FloatArray, low: FloatArray, high: FloatArray) -> tuple[tuple[str, ...], float]:
    """Cells of the box with a place within reach of their centre, and the reach."""
    extent = high - low
    side = extent.max() / limits.MAX_MASK_CELLS
    shape = np.maximum(np.ceil(extent / side - 1e-9).astype(int), 1)
    tree = cKDTree(places)
    reach = _reach(tree, low, high, 1.5 * float(np.linalg.norm(extent / shape)))
    axes = [a + (b - a) * (np.arange(k) + 0.5) / k for a, b, k in zip(low, high, shape, strict=True)]
    centres = np.stack(np.meshgrid(*axes, indexing="xy"), axis=-1).reshape(-1, len(extent))
    near = (tree.query(centres)[0] <= reach).reshape(-1, shape[0])
    return tuple("".join("1" if cell else "0" for cell in line) for line in near), reach


def _reach(tree: cKDTree, low: FloatArray, high: FloatArray, least: float) -> float:
    """Distance that bridges the usual gaps between the places, but not the bays around them."""
    probes = generator(0, "region probes").uniform(low, high, size=(limits.MASK_PROBES, len(low)))
    if len(low) == 2:
        try:
            sides = ConvexHull(tree.data).equations
            probes = probes[np.all(probes @ sides[:, :2].T + sides[:, 2] <= 0, axis=1)]
        except QhullError:  # places on one line have no inside
            pass
    gaps = tree.query(probes)[0] if len(probes) else np.zeros(1)
    return float(np.clip(2 * np.quantile(gaps, 0.9), least, max(least, 0.25 * float((high - low).max()))))


def _position(values: FloatArray, low: float, high: float, n: int) -> FloatArray:
    return np.clip((np.asarray(values) - low) / (high - low) * n - 0.5, 0, n - 1)


def _smooth(cells: FloatArray) -> FloatArray:
    """Weighted mean of every cell and its neighbours; beyond the edge of the mask they go on as they are."""
    return np.asarray(ndimage.correlate1d(ndimage.correlate1d(cells, BLUR, 0, mode="nearest"), BLUR, 1, mode="nearest"))


def _bilinear(cells: FloatArray, up: FloatArray, along: FloatArray) -> FloatArray:
    i, j = (np.minimum(np.floor(p).astype(int), n - 1) for p, n in ((up, cells.shape[0]), (along, cells.shape[1])))
    k, l = np.minimum(i + 1, cells.shape[0] - 1), np.minimum(j + 1, cells.shape[1] - 1)
    s, t = up - i, along - j
    return (1 - s) * ((1 - t) * cells[i, j] + t * cells[i, l]) + s * ((1 - t) * cells[k, j] + t * cells[k, l])
