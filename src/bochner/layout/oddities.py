"""Oddities of a table: rows far from all others, coordinates that look swapped, exact copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.geo import Placement
from bochner.layout import limits
from bochner.layout.row_names import RowName, by_position


@dataclass(frozen=True)
class Oddities:
    """What looks odd: things to warn of, and things to mention when asked."""

    alarms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OddPlaces:
    """Rows that lie far from all others, and those of them that would not with their coordinates exchanged.

    `away` tells how far rows (m, columns) lie from the others, `extent` how large the region of these is.
    """

    far: IntArray
    swapped: IntArray
    away: Callable[[IntArray], FloatArray]
    extent: float


def odd_places(coords: FloatArray, placement: Placement) -> OddPlaces:
    """Rows far from all others, and swapped ones, of coordinates (n, k) as the user has them."""
    n, n_columns = coords.shape
    none = np.empty(0, dtype=int)
    nothing = OddPlaces(none, none, lambda rows: np.zeros(len(rows)), 0.0)
    if n < 10 or n_columns not in (2, 3) or n > limits.LOOKED_AT:
        return nothing
    inside = _central(coords[:, placement.map_axes])
    if inside.all() or inside.sum() < limits.REGION_SHARE**2 * n:
        return nothing
    surface = placement.forward(coords)[:, : placement.dim - (n_columns - 2)]
    region = surface[inside]
    extent = float(np.linalg.norm(region.max(axis=0) - region.min(axis=0)))
    tree = cKDTree(region)
    gap = tree.query(surface[~inside])[0]
    far = np.flatnonzero(~inside)[gap > limits.FAR_GAP * extent]
    if not len(far) or extent == 0:
        return nothing
    swapped = _swapped(coords, far, placement, tree, extent)
    if not len(swapped) and len(far) > max(limits.MOST_FAR_ROWS, limits.FAR_SHARE * n):
        return nothing
    return OddPlaces(np.setdiff1d(far, swapped), swapped, lambda rows: tree.query(surface[rows])[0], extent)


def far_rows(
    coords: FloatArray, placement: Placement, names: tuple[str, ...], row_name: RowName | None = by_position
) -> str | None:
    """What to say of a few rows that lie far from all others, coordinates (n, k) as the user has them.

    Without a `row_name` their coordinates say which they are.
    """
    odd = odd_places(coords, placement)
    told = odd.swapped if len(odd.swapped) else odd.far
    if not len(told):
        return None
    pair, extent = coords[:, placement.map_axes], odd.extent
    first = int(told[0])
    east, north = (names[j] for j in placement.map_axes)
    unit = f" {placement.unit}" if placement.unit else ""
    away = float(odd.away(told[:1])[0])
    named = "" if row_name is None else f" {row_name(first)}"
    which = named.strip() or "a row"
    if len(told) > 1:
        which = f"{len(told):,} rows, the first of them{named}"
    lies = "lies" if len(told) == 1 else "lie"
    at = f"({east} {pair[first, 0]:.6g}, {north} {pair[first, 1]:.6g}){',' if len(told) > 1 else ''}"
    text = f"{which} {at} {lies} {away:,.4g}{unit} from the others, which are all within {extent:,.4g}{unit}"
    if len(odd.swapped):
        they = "it" if len(told) == 1 else "they"
        return f"{text}. Swapped? With {east} and {north} exchanged {they} would lie among them."
    return f"{text}. Check {'its' if len(told) == 1 else 'their'} coordinates: the map will stretch to there."


def _central(pair: FloatArray) -> np.ndarray:
    """Rows in or around the box that holds most of the rows, axis by axis."""
    tail = (1 - limits.REGION_SHARE) / 2
    low, high = np.quantile(pair, [tail, 1 - tail], axis=0)
    side = np.maximum(high - low, 1e-12 * np.abs(high))
    room = np.maximum(side, side.max() / 4)
    return np.all((pair >= low - room) & (pair <= high + room), axis=1)


def _swapped(coords: FloatArray, far: IntArray, placement: Placement, tree: cKDTree, extent: float) -> IntArray:
    """Those of some far rows that would lie among the others with their two coordinates exchanged."""
    a, b = placement.map_axes
    other = coords[far].copy()
    other[:, [a, b]] = other[:, [b, a]]
    valid = np.abs(other[:, b]) <= 90 if placement.in_degrees else np.ones(len(far), dtype=bool)
    near = np.zeros(len(far), dtype=bool)
    if valid.any():
        places = placement.forward(other[valid])[:, : placement.dim - (coords.shape[1] - 2)]
        near[valid] = tree.query(places)[0] <= limits.FAR_GAP * extent
    return far[near]


def n_copies(*columns: FloatArray) -> int:
    """Rows that equal an earlier one in every column."""
    table = np.column_stack(columns)
    if not 1 < len(table) <= limits.LOOKED_AT:
        return 0
    # rows that are equal have equal sums, whatever the weights; few others have, and these alone are compared
    weights = np.random.default_rng(0).uniform(1, 2, (table.shape[1], 1))
    key = (weights * table.T).sum(axis=0)
    order = np.argsort(key)
    same = key[order[1:]] == key[order[:-1]]
    alike = order[np.r_[same, False] | np.r_[False, same]]
    return len(alike) - len(np.unique(table[alike], axis=0))


def copies_text(n: int, n_rows: int) -> str:
    """What to say of exact copies."""
    return (
        f"{n:,} of {n_rows:,} rows are exact copies of others, response included: each counts as a measurement of its "
        f"own. If they are one measurement written twice, drop them (drop_duplicates)."
    )
