"""Placement: where rows lie in km, chosen by the data and told to the user.

Degrees are never treated as a plane in silence, and a projection that stretches distances is not taken at its word:

- `planar`: no CRS; the numbers are used as they are, in the user's own unit;
- `projected`: eastings and northings, in km;
- `equirectangular`: longitude/latitude of a small region, as a plane; regular grids stay regular;
- `equal-area`: of a larger one, as a local equal-area plane;
- `sphere`: of a continent or the globe, as chord coordinates in three dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords
from bochner.choices import Choice
from bochner.exceptions import ArchiveError, InputError
from bochner.geo import limits
from bochner.geo.crs import (
    LONLAT,
    as_crs,
    crs_name,
    crs_text,
    in_plain_degrees,
    is_geographic,
    is_projected,
    transform,
)
from bochner.geo.crs import km_per_unit as km_per_unit_of
from bochner.geo.distortion import fills_grid, flat_error, ground_range
from bochner.geo.earth import RADIUS, EqualArea, Equirectangular, Sphere
from bochner.geo.lonlat import check_degrees, footprint_of, in_degrees, lonlat_axes

KINDS = ("planar", "projected", "equirectangular", "equal-area", "sphere")


@dataclass(frozen=True)
class Placement:
    """How coordinates become places in km.

    Attributes
    ----------
    kind : one of `KINDS`
    why : one sentence for the user
    lon0, lat0 : centre of a plane made from longitude and latitude
    crs : CRS of the incoming coordinates, as text, where they must first become longitude and latitude
    scale : km per unit of projected coordinates
    axes : positions of longitude (or easting) and latitude (or northing) among the columns
    n_columns : number of columns; those that are neither (depth, time) follow the places, unchanged
    """

    kind: str
    why: str
    lon0: float = 0.0
    lat0: float = 0.0
    crs: str | None = None
    scale: float = 1.0
    axes: tuple[int, int] = (0, 1)
    n_columns: int = 2

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArchiveError(f"the placement is {self.kind!r}; known are {KINDS}. A newer bochner may read it.")

    @property
    def unit(self) -> str:
        """`km`, or nothing for the user's own unit."""
        return "" if self.kind == "planar" else "km"

    @property
    def choice(self) -> Choice:
        """How rows are laid out, as a decision."""
        return Choice("places", self.kind, text=self.why)

    @property
    def in_degrees(self) -> bool:
        """Whether the coordinates are longitude and latitude."""
        return self.kind not in ("planar", "projected") and self.crs is None

    @property
    def map_axes(self) -> tuple[int, ...]:
        """Columns that point east and north on a map."""
        return self.axes[: self.n_columns]

    def km_per_unit(self, at: FloatArray) -> tuple[float, float] | None:
        """Kilometres in one unit of the coordinates that point east and north, around a place; None without a CRS."""
        if not self.unit:
            return None
        steps = [np.eye(len(at))[axis] * 1e-3 for axis in self.map_axes]
        moved = self.forward(np.stack([at, *(at + step for step in steps)]))
        east, north = np.linalg.norm(moved[1:] - moved[0], axis=1) / 1e-3
        return float(east), float(north)

    @property
    def surface_axes(self) -> tuple[int, ...]:
        """Columns of places in which the map lies: two, on the sphere three; depth and time are none of them."""
        return self.map_axes if self.kind == "planar" else tuple(range(self.dim - self.n_columns + 2))

    @property
    def dim(self) -> int:
        """Number of columns that `forward` returns."""
        return self.n_columns + (self.kind == "sphere")

    def forward(self, coords: ArrayLike) -> FloatArray:
        """Places in km, (n, dim), from coordinates as the user has them."""
        coords = as_coords(coords, self.n_columns)
        if self.kind == "planar":
            return coords
        if self.kind == "projected":
            return self._joined(coords[:, self.axes] * self.scale, coords)
        lonlat = coords[:, self.axes]
        if self.crs is not None:
            lonlat = _inside(transform(lonlat, self.crs, LONLAT), self.crs)
        check_degrees(lonlat, reach=limits.MAP_REACH)
        return self._joined(self._surface.forward(lonlat), coords)

    def inverse(self, places: ArrayLike) -> FloatArray:
        """Coordinates as the user has them, (n, n_columns), from places in km."""
        places = as_coords(places, self.dim)
        if self.kind == "planar":
            return places
        n_surface = self.dim - (self.n_columns - 2)
        surface, rest = places[:, :n_surface], places[:, n_surface:]
        if self.kind == "projected":
            pair = surface / self.scale
        else:
            pair = self._surface.inverse(surface)
            pair = pair if self.crs is None else transform(pair, LONLAT, self.crs)
        coords = np.empty((len(places), self.n_columns))
        coords[:, self.axes], coords[:, self._others] = pair, rest
        return coords

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for a model file."""
        return {**asdict(self), "axes": list(self.axes)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Placement:
        """The placement that `as_dict` described."""
        try:
            first, second = values.get("axes", (0, 1))
            return cls(**{**values, "axes": (int(first), int(second))})
        except TypeError as error:
            raise ArchiveError(f"the placement cannot be read ({error}); it may come from a newer bochner.") from error

    @property
    def _surface(self) -> Equirectangular | EqualArea | Sphere:
        if self.kind == "sphere":
            return Sphere()
        return (Equirectangular if self.kind == "equirectangular" else EqualArea)(self.lon0, self.lat0)

    @property
    def _others(self) -> list[int]:
        return [j for j in range(self.n_columns) if j not in self.axes]

    def _joined(self, places: FloatArray, coords: FloatArray) -> FloatArray:
        return np.hstack([places, coords[:, self._others]]) if self.n_columns > 2 else places


def choose_placement(coords: ArrayLike, crs: Any = None, names: Sequence[str] = ()) -> Placement:
    """Choose how to lay rows out, by their CRS, the names of their columns and their extent.

    Parameters
    ----------
    coords : (n, dim)
        Coordinates as the user has them.
    crs : CRS, code or None
        Of the first two columns, or of those whose names say longitude/easting and latitude/northing.
    names : names of the columns, optional
        Without a CRS, columns named lon and lat (longitude, latitude, ...) are taken as degrees.
    """
    coords, crs = as_coords(coords), as_crs(crs)
    if crs is None and in_degrees(names, coords):
        crs = as_crs(LONLAT)
    if crs is None or not (is_geographic(crs) or is_projected(crs)):
        return Placement("planar", _why_planar(crs), n_columns=coords.shape[1])
    if coords.shape[1] < 2:
        raise InputError(f"coords have one column; the CRS {crs_name(crs)} needs two: leave the CRS out, or add one.")
    layout = {"axes": lonlat_axes(names), "n_columns": coords.shape[1]}
    pair = coords[:, layout["axes"]]
    if is_projected(crs):
        return _projected(pair, crs, layout)
    if in_plain_degrees(crs):
        return _geographic(pair, None, layout)
    return _geographic(_inside(transform(pair, crs, LONLAT), crs), crs, layout)


def _projected(pair: FloatArray, crs: Any, layout: dict[str, Any]) -> Placement:
    scale, name = km_per_unit_of(crs), crs_name(crs)
    low, high = ground_range(pair, crs)
    error = max(abs(1 / low - 1), abs(1 / high - 1))
    told = f"coordinates are in {name}, used as they are, in km (lengths within {_percent(error)})."
    kept = Placement("projected", told, scale=scale, **layout)
    if error <= limits.STRETCH_TOLERANCE:
        return kept
    ground = float(np.sqrt(low * high))  # one factor for all lengths leaves an error of sqrt(high / low)
    spread = float(np.sqrt(high / low)) - 1
    if spread <= limits.WIDE_TOLERANCE and fills_grid(pair):
        told = f"coordinates are a grid in {name}, which stretches lengths by {1 / ground:.4g} here: divided by that, "
        return replace(kept, why=f"{told}in km (lengths within {_percent(spread)}).", scale=scale * ground)
    other = _geographic(_inside(transform(pair, crs, LONLAT), crs), crs, layout)
    if other.kind == "sphere" and error <= limits.WIDE_TOLERANCE:
        return kept
    told = f"{name} stretches lengths by up to {_percent(error)} here, so it is not used as a plane: "
    return replace(other, why=told + other.why)


def _geographic(lonlat: FloatArray, crs: Any, layout: dict[str, Any]) -> Placement:
    check_degrees(lonlat)
    footprint = footprint_of(lonlat)
    layout = {**layout, "crs": crs_text(crs)}
    extent = f"longitude/latitude of a region {_rounded(2 * footprint.radius)} km across"
    if footprint.radius > limits.PLANE_RADIUS:
        return Placement("sphere", f"{extent}: chord coordinates on a sphere of radius 6,371 km.", **layout)
    error = flat_error(footprint)
    if error < limits.STRETCH_TOLERANCE or (error < limits.WIDE_TOLERANCE and crs is None and fills_grid(lonlat)):
        lon0, lat0 = footprint.middle
        why = f"{extent}: an equirectangular plane in km around {_place(lon0, lat0)} (distances within "
        return Placement("equirectangular", f"{why}{_percent(error)}).", lon0, lat0, **layout)
    lon0, lat0 = footprint.centre
    error = 1 / np.cos(footprint.radius / RADIUS / 2) - 1
    why = f"{extent}: a local equal-area plane in km around {_place(lon0, lat0)} (lengths within {_percent(error)})."
    return Placement("equal-area", why, lon0, lat0, **layout)


def _inside(lonlat: FloatArray, crs: Any) -> FloatArray:
    bad = np.asarray(~np.isfinite(lonlat).all(axis=1))
    if bad.any():
        raise InputError(
            f"{int(bad.sum()):,} of {len(bad):,} coordinates (first: row {int(bad.argmax()) + 1}) have no place in "
            f"{crs_name(as_crs(crs))}; check that this is their CRS, easting first."
        )
    return lonlat


def _why_planar(crs: Any) -> str:
    if crs is None:
        return "coordinates have no CRS: a plane in their own unit."
    return f"{crs_name(crs)} is neither geographic nor a map projection: a plane in its own unit."


def _place(lon: float, lat: float) -> str:
    return f"{abs(lon):.2f} {'EW'[lon < 0]}, {abs(lat):.2f} {'NS'[lat < 0]}"


def _percent(share: float) -> str:
    return "0.1 %" if share < 0.001 else f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:,.0f} %"


def _rounded(km: float) -> str:
    return f"{km:.2g}" if km < 100 else f"{round(km, -1):,.0f}"
