"""Orders that go from coarse to fine, and the nearest predecessors in them."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.neighbours import limits
from bochner.neighbours.close_pairs import close_pairs
from bochner.neighbours.compiled import has_compiler, place_loops
from bochner.neighbours.lots import lots
from bochner.neighbours.place_tree import PlaceTree
from bochner.random import generator
from bochner.resources import block_bytes, n_searchers


def maximin_order(coords: FloatArray, seed: int = 0) -> IntArray:
    """Approximate maximin order: every prefix is spread evenly over the data.

    Cells are halved again and again; at each level every cell that holds no chosen point yet
    gives its point nearest to the centre. A prefix that fills a level leaves no point farther than
    a cell's diagonal from it. This is approximate: the exact order takes at each step the
    point farthest from those before. Repeated places come last.

    Parameters
    ----------
    coords : array, shape (n, dim)
        Coordinates, in one unit for all axes.
    seed : int
        Decides the order within a level.

    Returns
    -------
    array of int, shape (n,)
        Rows in order. Cost n log n (0.2 s for 100,000 points).
    """
    rng = generator(seed, "maximin order")
    n, dim = coords.shape
    n_levels = max(62 // max(dim, 1), 1)
    unit = (coords - coords.min(axis=0)) / max(float(np.ptp(coords, axis=0).max()), 1e-300)
    quick = n >= limits.COMPILED_ORDER and has_compiler()
    code = (_compiled_morton if quick else _morton)(unit, n_levels)
    rows = np.argsort(code, kind="stable")
    code, unit = code[rows], np.ascontiguousarray(unit[rows])
    waiting = np.ones(n, dtype=bool)
    # a rank of each row, drawn once: a row more or less at one level leaves the order of the others as it is
    rank = rng.permutation(n)[rows]
    chosen: list[IntArray] = []
    for level in range(n_levels + 1):
        shift = dim * (n_levels - level)
        if quick:
            some = np.empty(n, dtype=np.int64)
            new = some[: place_loops().one_per_empty_cell(code, shift, unit, 2.0**level, waiting, some)]
        else:
            new = _one_per_empty_cell(code >> shift, unit * 2.0**level, waiting)
        waiting[new] = False
        chosen.append(new[np.argsort(rank[new])])
        if not waiting.any():
            break
    last = np.flatnonzero(waiting)
    chosen.append(last[np.argsort(rank[last])])
    return rows[np.concatenate(chosen)]


def random_order(coords: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rows in random order, which does not depend on their numbers or on the direction of the axes.

    They are drawn by their rank in the distance from the centroid.
    """
    away = np.sum((coords - coords.mean(axis=0)) ** 2, axis=1)
    return np.argsort(np.round(away / max(float(away.max()), 1e-300), 9), kind="stable")[rng.permutation(len(away))]


class CoarseToFine:
    """Places in an order, each prefix spread over all; what is asked of it more than once is made once."""

    def __init__(self, places: FloatArray, seed: int = 0) -> None:
        self.places, self.seed = places, seed

    @cached_property
    def order(self) -> IntArray:
        """Rows in `random_order`."""
        return random_order(self.places, generator(self.seed, "order"))

    @cached_property
    def close(self) -> IntArray:
        """Positions in the order of the later points of close pairs, the closest first."""
        position = np.empty(len(self.order), dtype=np.intp)
        position[self.order] = np.arange(len(self.order))
        later = position[close_pairs(self.places)].max(axis=1)
        return np.asarray(later[np.sort(np.unique(later, return_index=True)[1])])

    def predecessors(self, n_neighbours: int, positions: IntArray | None = None) -> IntArray:
        """Nearest predecessors, as `predecessors` finds them."""
        return predecessors(self.places, self.order, n_neighbours, positions, self._tree)

    @cached_property
    def _tree(self) -> PlaceTree | None:
        return _tree_of(self.places[self.order])


class SharedOrder:
    """Room for the order of some places, for all who plan with the same ones; of several threads, one makes it."""

    def __init__(self) -> None:
        self._made: CoarseToFine | None = None
        self._lock = Lock()

    def of(self, places: FloatArray, seed: int) -> CoarseToFine:
        """The order made last, if it is of these places; else a new one."""
        with self._lock:
            made = self._made
            if made is None or made.seed != seed or not np.array_equal(made.places, places):
                made = self._made = CoarseToFine(places, seed)
            made.order  # noqa: B018 - the others wait for it, too
            return made


def predecessors(
    coords: FloatArray,
    order: IntArray,
    n_neighbours: int,
    positions: IntArray | None = None,
    tree: PlaceTree | None = None,
) -> IntArray:
    """Nearest points among those that come earlier in an order.

    Parameters
    ----------
    coords : array, shape (n, dim)
        Coordinates.
    order : array of int, shape (n,)
        Rows of `coords` in order.
    n_neighbours : int
        How many predecessors at most.
    positions : array of int, optional
        Places in the order that are asked for (default: all).
    tree : PlaceTree, optional
        Over the places in order, where there is one already.

    Returns
    -------
    array of int, shape (len(positions), n_neighbours)
        Rows of `coords`, nearest first, ties by lot; -1 where there are fewer predecessors. Exact, by a tree: n log n.
    """
    n = len(order)
    asked = np.arange(n) if positions is None else np.asarray(positions)
    k, ordered = min(n_neighbours, max(n - 1, 0)), coords[order]
    tree = _tree_of(ordered) if tree is None else tree
    found = _by_doubling(ordered, asked, k) if tree is None else tree.predecessors(asked, k)
    rows = order.astype(found.dtype)
    for part in np.array_split(found, max(1, len(found) // limits.ROWS_AT_ONCE)):  # views
        np.copyto(part, rows[part], where=part >= 0)
    return found


def _tree_of(ordered: FloatArray) -> PlaceTree | None:
    """A compiled tree over places; None of few, or where nothing is compiled."""
    return PlaceTree(ordered) if len(ordered) >= limits.COMPILED_ORDER and has_compiler() else None


def _by_doubling(ordered: FloatArray, asked: IntArray, k: int) -> IntArray:
    """Positions of the predecessors, by one KD-tree for each doubling of the order."""
    n, begin, end = len(ordered), 0, min(len(ordered), 64)
    found = np.full((len(asked), k), -1, dtype=np.int32 if n < 2**31 else np.int64)
    while begin < n:
        inside = np.flatnonzero((asked >= begin) & (asked < end))
        if len(inside):
            found[inside] = _earlier(cKDTree(ordered[:end]), ordered[:end], asked[inside], k)
        begin, end = end, min(n, 2 * end)
    return found


def _morton(unit: FloatArray, n_levels: int) -> IntArray:
    """Cell of each point at the finest level; the first bits are its cell at coarser ones."""
    cell = np.minimum(unit * 2.0**n_levels, 2.0**n_levels - 1).astype(np.int64)
    code = np.zeros(len(unit), dtype=np.int64)
    for bit in reversed(range(n_levels)):
        for axis in range(unit.shape[1]):
            code = (code << 1) | ((cell[:, axis] >> bit) & 1)
    return code


def _compiled_morton(unit: FloatArray, n_levels: int) -> IntArray:
    code = np.empty(len(unit), dtype=np.int64)
    place_loops().morton(np.ascontiguousarray(unit), n_levels, code)
    return code


def _one_per_empty_cell(cell: IntArray, unit: FloatArray, waiting: NDArray[np.bool_]) -> IntArray:
    """In every cell without a chosen point, the point nearest to its centre; `cell` is sorted."""
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    sizes = np.diff(np.r_[starts, len(cell)])
    empty = np.repeat(np.logical_and.reduceat(waiting, starts), sizes)
    off_centre = np.sum((unit % 1.0 - 0.5) ** 2, axis=1)
    nearest = empty & (off_centre == np.repeat(np.minimum.reduceat(off_centre, starts), sizes))
    candidates = np.flatnonzero(nearest)
    return candidates[np.unique(cell[candidates], return_index=True)[1]]


def _earlier(tree: cKDTree, ordered: FloatArray, asked: IntArray, k: int) -> IntArray:
    """The k nearest of the points before each asked position; -1 where there are fewer."""
    found = np.full((len(asked), k), -1, dtype=np.int32 if len(ordered) < 2**31 else np.int64)
    open_rows = np.arange(len(asked))
    width = 2 * k + 8  # half or more of the neighbours precede, since the tree at most doubles the prefix
    while len(open_rows):
        width = min(width, len(ordered))
        size = max(256, block_bytes() // (24 * width))  # distances, indices and their order
        parts = [open_rows[i : i + size] for i in range(0, len(open_rows), size)]
        short = np.concatenate([_first_before(tree, ordered, asked, k, width, part, found) for part in parts])
        open_rows = open_rows[short] if width < len(ordered) else open_rows[:0]
        width *= 2
    return found


def _first_before(
    tree: cKDTree, ordered: FloatArray, asked: IntArray, k: int, width: int, rows: IntArray, found: IntArray
) -> NDArray[np.bool_]:
    """Write the nearest predecessors among `width` neighbours into `found`; which rows want more neighbours."""
    position = asked[rows]
    near = tree.query(ordered[position], k=np.arange(1, width + 1), workers=n_searchers(len(rows)))[1]
    there = np.minimum(near, len(ordered) - 1)  # of places whose distances are no numbers there are fewer
    square = sum((axis[there] - axis[position][:, None]) ** 2 for axis in ordered.T)
    before = near < position[:, None]
    away = np.where(before, square, np.inf)
    first = np.lexsort((lots(near), away), axis=1)[:, :k]
    taken = np.take_along_axis(near, first, axis=1)
    taken[~np.take_along_axis(before, first, axis=1)] = -1
    found[rows, : taken.shape[1]] = taken
    few = before.sum(axis=1) < np.minimum(k, position)
    last = np.take_along_axis(away, first, axis=1).max(axis=1, initial=0.0)
    # or beside others that are as far off, up to the rounding of either
    return np.asarray(few | (np.isfinite(last) & (last >= (1 - limits.ROUNDING) * square.max(axis=1))))
