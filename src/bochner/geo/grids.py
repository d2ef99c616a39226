"""Grids: the pixels of a raster as places, by a resolution, in windows of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import InputError
from bochner.geo.crs import as_crs, crs_name, is_geographic, is_projected, km_per_unit
from bochner.geo.earth import km_per_degree, wrap
from bochner.geo.lonlat import check_degrees, longitude_arc
from bochner.spelling import length_and_unit

Window = tuple[int, int, int, int]
Bounds = tuple[float, float, float, float]


@dataclass(frozen=True)
class Axes:
    """Dimensions of a cube, as they are called and stored.

    Attributes
    ----------
    names : names of the dimensions that run east and north
    dims : the same names, in the order in which the cube has them
    x, y : coordinates along them
    """

    names: tuple[str, str]
    dims: tuple[str, str]
    x: FloatArray = field(compare=False)
    y: FloatArray = field(compare=False)


@dataclass(frozen=True)
class RasterGrid:
    """Pixels of a raster.

    Parameters
    ----------
    transform : (a, b, c, d, e, f)
        x = a col + b row + c and y = d col + e row + f, from the outer corner of the first pixel.
    height, width : rows and columns
    crs : CRS of x and y, or None for a plane of the user's own
    axes : of a cube, its dimensions, so that a map of its pixels has the same
    """

    transform: tuple[float, ...]
    height: int
    width: int
    crs: Any | None = None
    axes: Axes | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        transform = tuple(float(value) for value in tuple(self.transform)[:6])
        if len(transform) != 6 or not np.isfinite(transform).all():
            raise InputError(f"transform is {self.transform}; needed are six finite numbers (a, b, c, d, e, f).")
        a, b, _, d, e, _ = transform
        if a * e - b * d == 0:
            raise InputError(f"transform is {transform}: its pixels have no area; check the resolution.")
        if self.height < 1 or self.width < 1:
            raise InputError(f"the grid has {self.height} rows and {self.width} columns; needed is at least one each.")
        object.__setattr__(self, "transform", transform)
        object.__setattr__(self, "crs", as_crs(self.crs))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.height, self.width

    @property
    def n_pixels(self) -> int:
        """Number of pixels."""
        return self.height * self.width

    @property
    def whole(self) -> Window:
        """The window that is the whole grid."""
        return 0, self.height, 0, self.width

    @property
    def is_upright(self) -> bool:
        """Whether rows and columns run along the axes, so that x and y are vectors."""
        return self.transform[1] == 0 and self.transform[3] == 0

    @property
    def names(self) -> tuple[str, str]:
        """Names of the dimensions that run east and north."""
        return ("x", "y") if self.axes is None else self.axes.names

    @property
    def dims(self) -> tuple[str, str]:
        """The same names in the order in which arrays in files have them."""
        return self.names[::-1] if self.axes is None else self.axes.dims

    @property
    def resolution(self) -> tuple[float, float]:
        """Length of a pixel's sides along its columns and rows, in units of the CRS."""
        a, b, _, d, e, _ = self.transform
        return float(np.hypot(a, d)), float(np.hypot(b, e))

    @property
    def bounds(self) -> Bounds:
        """Left, bottom, right, top of the outer edges."""
        corners = self._at(np.array([0, 0, self.width, self.width]), np.array([0, self.height, 0, self.height]))
        (left, bottom), (right, top) = corners.min(axis=0), corners.max(axis=0)
        return float(left), float(bottom), float(right), float(top)

    @property
    def x(self) -> FloatArray:
        """Centres of the columns, (width,), of an upright grid."""
        if self.axes is not None:
            return self.axes.x
        return self._upright()._at(_centres(self.width), np.full(self.width, 0.5))[:, 0]

    @property
    def y(self) -> FloatArray:
        """Centres of the rows, (height,), of an upright grid."""
        if self.axes is not None:
            return self.axes.y
        return self._upright()._at(np.full(self.height, 0.5), _centres(self.height))[:, 1]

    def centres(self, window: Window | None = None) -> FloatArray:
        """Centres of the pixels of a window, row by row, (k, 2)."""
        row0, row1, col0, col1 = window or self.whole
        row, col = np.meshgrid(np.arange(row0, row1) + 0.5, np.arange(col0, col1) + 0.5, indexing="ij")
        return self._at(col.ravel(), row.ravel())

    def windows(self, max_pixels: int, multiple: int = 1) -> list[Window]:
        """Windows (row0, row1, col0, col1) that tile the grid, of whole rows where `max_pixels` allows it.

        Their sides are multiples of `multiple` (of the tiles of a file, say) where that many pixels fit.
        """
        cols = min(self.width, max(1, max_pixels))
        rows = min(self.height, max(1, max_pixels // cols))
        rows = _rounded_down(rows, multiple) if rows < self.height else rows
        if rows < multiple and rows < self.height:  # narrow blocks of full tiles rather than slices of tiles
            rows = min(multiple, self.height, max_pixels)
            cols = _rounded_down(min(self.width, max(1, max_pixels // rows)), multiple)
        return [
            (row, min(row + rows, self.height), col, min(col + cols, self.width))
            for row in range(0, self.height, rows)
            for col in range(0, self.width, cols)
        ]

    def part(self, window: Window) -> RasterGrid:
        """The grid of a window."""
        row0, row1, col0, col1 = window
        a, b, _, d, e, _ = self.transform
        ((x, y),) = self._at(np.array([col0]), np.array([row0]))
        return RasterGrid((a, b, float(x), d, e, float(y)), row1 - row0, col1 - col0, self.crs)

    def _at(self, col: FloatArray, row: FloatArray) -> FloatArray:
        a, b, c, d, e, f = self.transform
        return np.column_stack([a * col + b * row + c, d * col + e * row + f])

    def _upright(self) -> RasterGrid:
        if not self.is_upright:
            raise InputError("the grid is rotated, so its x and y are no vectors; use centres(), or an upright raster.")
        return self


@dataclass(frozen=True)
class Resolution:
    """Side of a pixel: a number, and `km`, `m`, `deg` or nothing for units of the CRS."""

    value: float
    unit: str = ""

    def sides(self, crs: Any, latitude: float = 0.0) -> tuple[float, float]:
        """Width and height of a pixel in units of a CRS; `latitude` is where degrees are measured."""
        if self.unit == "" or (self.unit == "deg" and is_geographic(crs)):
            return self.value, self.value
        km = self.value / (1 if self.unit == "km" else 1000)
        if self.unit != "deg" and is_geographic(crs):
            lon, lat = km_per_degree(min(abs(latitude), 89.0))
            return km / lon, km / lat
        if self.unit != "deg" and is_projected(crs):
            return km / km_per_unit(crs), km / km_per_unit(crs)
        where = "there is no CRS" if crs is None else f"the CRS is {crs_name(crs)}"
        raise InputError(f"the resolution is {self}, but {where}; give a number in the units of the coordinates.")

    def __str__(self) -> str:
        return f"{self.value:g}{self.unit}"


def parse_resolution(text: str | float | Resolution) -> Resolution:
    """A resolution from `5km`, `250 m`, `0.05deg`, or a number in units of the CRS."""
    if isinstance(text, Resolution):
        return text
    return Resolution(*length_and_unit(text))


def grid_over(bounds: Sequence[float], resolution: str | float | Resolution, crs: Any = None) -> RasterGrid:
    """The grid of a resolution that covers a box (left, bottom, right, top).

    Edges lie on whole multiples of a resolution in units of the CRS, so that grids of one resolution share their
    pixels; the pixels of other units begin at the box's upper left corner. Longitudes may leave [-180, 180].
    """
    left, bottom, right, top = (float(value) for value in bounds)
    if not (left <= right and bottom <= top):
        raise InputError(f"the box is {tuple(bounds)}; needed is (left, bottom, right, top), left to right, upward.")
    crs, size = as_crs(crs), parse_resolution(resolution)
    dx, dy = size.sides(crs, (bottom + top) / 2)
    if dx == size.value == dy:
        left, top = dx * np.floor(left / dx + 1e-9), dy * np.ceil(top / dy - 1e-9)
    width, height = (max(1, int(np.ceil(share - 1e-9))) for share in ((right - left) / dx, (top - bottom) / dy))
    if is_geographic(crs) and -90 <= bottom and float(bounds[3]) <= 90:  # no centre of a pixel lies beyond a pole
        above = int(top - dy / 2 > 90 and height > 1)
        top, height = top - above * dy, height - above
        height -= int(top - (height - 0.5) * dy < -90 and height > 1)
    return RasterGrid((dx, 0.0, float(left), 0.0, -dy, float(top)), height, width, crs)


def bounds_of(coords: ArrayLike, crs: Any = None, margin: float = 0.0) -> Bounds:
    """The box around places, wider by a share of its sides; degrees run the short way across the antimeridian."""
    pair, crs = as_coords(coords, 2), as_crs(crs)
    (left, bottom), (right, top) = pair.min(axis=0), pair.max(axis=0)
    if is_geographic(crs):
        check_degrees(pair)
        if right - left > 180:
            left, right = longitude_arc(pair[:, 0])
    dx, dy = margin * (right - left), margin * (top - bottom)
    box = float(left - dx), float(bottom - dy), float(right + dx), float(top + dy)
    return (box[0], max(box[1], -90.0), box[2], min(box[3], 90.0)) if is_geographic(crs) else box


def box_text(bounds: Sequence[float]) -> str:
    """A box (left, bottom, right, top) in words."""
    left, bottom, right, top = bounds
    return f"{left:.6g} to {right:.6g} east and {bottom:.6g} to {top:.6g} north"


def unwrapped(lon: FloatArray, west: float) -> FloatArray:
    """Longitudes moved by whole turns into [west, west + 360)."""
    return west + (wrap(lon) - west) % 360


def _centres(size: int) -> FloatArray:
    return np.asarray(np.arange(size) + 0.5, dtype=np.float64)


def _rounded_down(number: int, multiple: int) -> int:
    return max(number - number % multiple, 1) if number >= multiple else number
