"""Purpose: where a map of some rows would be drawn, which rows are of one station, which axes are directions."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.features import find_grid
from bochner.geo import Placement
from bochner.inference import Domain
from bochner.layout import limits
from bochner.random import generator
from bochner.resources import n_threads
from bochner.validation.coordinates import distinct


def domain_of(
    coords: FloatArray,
    placement: Placement,
    centre: FloatArray,
    predict_at: FloatArray | None,
    groups: IntArray | None,
    time_like: bool,
) -> Domain:
    """Domain of rows with coordinates (n, k) as the user has them; `predict_at` in places of the model, or None.

    `time_like`: whether the last coordinate is a time by its name or its values.
    """
    likely = None
    if placement.kind == "sphere" and predict_at is None:
        likely = _on_surface(coords, placement)
        likely = None if likely is None else likely - centre
    if groups is None:
        asked = None if predict_at is None else placement.inverse(predict_at + centre)
        groups = stations(coords, placement.map_axes, asked)
    timed = time_like or (groups is not None and coords.shape[1] > 2 and placement.map_axes == (0, 1))
    return Domain(predict_at, likely, groups, shared_axes(placement), bool(timed))


def shared_axes(placement: Placement) -> tuple[int, ...] | None:
    """Number of the length scale of each axis: those of the sphere mean nothing alone, but for the Earth's axis."""
    if placement.kind != "sphere":
        return None
    further = placement.n_columns - 2
    return (0, 0, 1) if not further else (0, 0, 0, *range(1, 1 + further))


def stations(coords: FloatArray, map_axes: tuple[int, ...], asked: FloatArray | None) -> IntArray | None:
    """Number of the station of each row, where places repeat at many times and new places are wanted."""
    if coords.shape[1] not in (3, 4):
        return None
    pairs, group = np.unique(coords[:, map_axes], axis=0, return_inverse=True)
    if len(pairs) * limits.STATION_ROWS > len(coords) or find_grid(pairs) is not None:
        return None  # few rows at each, or pixels of a stack: what is missing there is seen at other times
    if asked is not None:
        if mostly_among(asked[:, map_axes], pairs):
            return None
    return np.asarray(group.ravel(), dtype=np.intp)


def mostly_among(wanted: FloatArray, places: FloatArray) -> bool:
    """Whether most of the wanted places are some of those places."""
    known = cKDTree(distinct(places)[0]).query(wanted)[0] <= 1e-9 * np.ptp(places, axis=0).max()
    return bool(np.mean(known) > 0.5)


def variance_between(groups: IntArray, places: FloatArray) -> float:
    """Share of the variance of places that lies between groups of them: 1 where each group is at one place."""
    codes = np.unique(groups, return_inverse=True)[1].ravel()
    size = np.bincount(codes)
    middles = np.stack([np.bincount(codes, axis) for axis in places.T], axis=1) / size[:, None]
    within = np.sum((places - middles[codes]) ** 2)
    whole = np.sum((places - places.mean(axis=0)) ** 2)
    return 0.0 if whole == 0 else float(1 - within / whole)


def _on_surface(coords: FloatArray, placement: Placement) -> FloatArray | None:
    """Places on the Earth's surface among the rows: on land, or at sea, as the rows are.

    Uniform on the surface, those kept that lie no farther from the nearest row than rows there lie apart.
    """
    rng = generator(0, "places on the surface")
    n_draws, further = limits.SURFACE_DRAWS, [j for j in range(coords.shape[1]) if j not in placement.axes]
    vectors = rng.standard_normal((n_draws, 3))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    drawn = np.empty((n_draws, coords.shape[1]))
    lon, lat = placement.axes
    drawn[:, lon] = np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0]))
    drawn[:, lat] = np.degrees(np.arcsin(vectors[:, 2]))
    drawn[:, further] = coords[rng.integers(len(coords), size=n_draws)][:, further]
    if placement.crs is not None:
        return None  # not longitude and latitude; the rows themselves are the best guide
    sites = np.unique(placement.forward(coords)[:, :3], axis=0)
    if len(sites) <= limits.EARTH_NEIGHBOURS:
        return None
    tree = cKDTree(sites)
    places = placement.forward(drawn)
    away, nearest = tree.query(places[:, :3], workers=n_threads())
    apart = tree.query(sites, k=[limits.EARTH_NEIGHBOURS + 1], workers=n_threads())[0][:, 0]
    kept = places[away <= apart[nearest]]
    return kept if len(kept) >= limits.LEAST_SURFACE_PLACES else None
