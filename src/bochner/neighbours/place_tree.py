"""A tree over places in an order, compiled: which of them are nearest, of those before a position."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.neighbours import limits
from bochner.neighbours.compiled import in_runs, tree_loops


class PlaceTree:
    """A balanced tree over places (n, dim), in boxes of a few."""

    def __init__(self, places: FloatArray) -> None:
        self.places = np.ascontiguousarray(places)
        n, dim = self.places.shape
        depth = 0
        while n >> depth > limits.PLACES_OF_LEAF:
            depth += 1
        size = 2 ** (depth + 1) - 1
        begins, ends, first = (np.empty(size, dtype=np.int64) for _ in range(3))
        low, high, rows = np.empty((size, dim)), np.empty((size, dim)), np.arange(n)
        tree_loops().grown(self.places, begins, ends, low, high, first, rows)
        self._tree = (rows, self.places[rows], begins, ends, low, high, first)

    def predecessors(self, positions: IntArray, k: int) -> IntArray:
        """The k nearest of the places before some positions, nearest first, ties by lot; -1 for none."""
        rank = np.empty(len(self.places), dtype=np.int64)
        rank[self._tree[0]] = np.arange(len(rank))
        near = np.argsort(rank[positions])  # one after the other as the tree has them: what is read is in the cache
        asked = np.asarray(positions)[near].astype(np.int64)
        found = np.empty((len(asked), k), dtype=np.int64)

        def search(run: slice) -> None:
            tree_loops().nearest_before(self._tree, self.places[asked[run]], asked[run], found[run])

        if k:
            in_runs(search, len(asked))
        out = np.empty((len(asked), k), dtype=np.int32 if len(rank) < 2**31 else np.int64)
        out[near] = found
        return out
