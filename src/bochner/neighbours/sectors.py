"""Sectors around a place that hold no row: how far it is surrounded."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.neighbours import limits
from bochner.neighbours.compiled import has_compiler, place_loops
from bochner.resources import in_threads


def empty_sectors(places: FloatArray, rows: FloatArray, radius: float, n_sectors: int) -> IntArray:
    """How many of the sectors around each place of the plane hold no row within a radius, (n,)."""
    quick = len(places) * len(rows) >= limits.PAIRS_OF_SECTORS and has_compiler()
    empty = np.empty(len(places), dtype=np.int64)
    size = max(1, limits.PAIRS_OF_SECTORS // max(len(rows), 1))
    places, rows = np.ascontiguousarray(places), np.ascontiguousarray(rows)

    def fill(start: int) -> None:
        part = slice(start, start + size)
        if quick:
            place_loops().empty_sectors(places[part], rows, radius**2, n_sectors, empty[part])
        else:
            empty[part] = _empty(places[part], rows, radius**2, n_sectors)

    list(in_threads(fill, range(0, len(places), size)))
    return empty


def _empty(places: FloatArray, rows: FloatArray, radius_2: float, n_sectors: int) -> IntArray:
    lag = rows[None] - places[:, None]
    at = np.nonzero(lag[..., 0] ** 2 + lag[..., 1] ** 2 <= radius_2)
    x, y = lag[at].T
    sector = ((np.arctan2(y, x) / (2 * np.pi) + 0.5) * n_sectors).astype(np.intp) % n_sectors
    full = np.zeros((len(lag), n_sectors), dtype=bool)
    full[at[0], sector] = True
    return np.asarray(n_sectors - full.sum(axis=1))
