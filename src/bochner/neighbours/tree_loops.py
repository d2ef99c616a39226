"""Loops over a balanced tree of places: its boxes, and the nearest places before a position; compiled.

Node i has children 2 i + 1 and 2 i + 2, and the places from begins[i] to ends[i] of the tree's own order.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from bochner.neighbours import limits
from bochner.neighbours.compiled_loops import literal

LOT_STEP, N_LOTS = limits.LOT_STEP, limits.N_LOTS


@literal
def grown(places, begins, ends, low, high, first, rows):
    """Fill a tree of places (n, dim): of every node its run of `rows`, its box, and its first place in their order."""
    n, dim = places.shape
    n_nodes = len(begins)
    begins[0], ends[0] = 0, n
    for node in range(n_nodes):
        begin, end = begins[node], ends[node]
        low[node], high[node], first[node] = np.inf, -np.inf, n
        for i in range(begin, end):
            row = rows[i]
            first[node] = min(first[node], row)
            for d in range(dim):
                low[node, d] = min(low[node, d], places[row, d])
                high[node, d] = max(high[node, d], places[row, d])
        if 2 * node + 2 < n_nodes:
            axis = 0
            for d in range(1, dim):
                if high[node, d] - low[node, d] > high[node, axis] - low[node, axis]:
                    axis = d
            middle = (begin + end) // 2
            _parted(places, axis, rows, begin, end - 1, middle)
            begins[2 * node + 1], ends[2 * node + 1] = begin, middle
            begins[2 * node + 2], ends[2 * node + 2] = middle, end


@literal
def _parted(places, axis, rows, low, high, middle):
    """Put the row that belongs at `middle` there, lower ones before it (Hoare 1961)."""
    while low < high:
        pivot = places[rows[(low + high) // 2], axis]
        i, j = low, high
        while i <= j:
            while places[rows[i], axis] < pivot:
                i += 1
            while places[rows[j], axis] > pivot:
                j -= 1
            if i <= j:
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@literal
def nearest_before(tree, targets, before, found):
    """The nearest places to each target (m, dim) that lie before a position, into rows of `found`; -1 for none.

    Of places as far off as each other that of the smaller lot is nearer.
    """
    rows, places, begins, ends, low, high, first = tree
    m, dim = targets.shape
    n_nodes, k = len(begins), found.shape[1]
    waiting, away = np.empty(64, np.int64), np.empty(64)
    square, who = np.empty(k), np.empty(k, np.int64)
    for t in range(m):
        n, worst = 0, np.inf
        waiting[0], away[0], left = 0, 0.0, 1
        while left > 0:
            left -= 1
            node = waiting[left]
            if away[left] > worst:
                continue
            while 2 * node + 2 < n_nodes:
                near, far = 2 * node + 1, 2 * node + 2
                to_near = _to_box(targets[t], low[near], high[near]) if first[near] < before[t] else np.inf
                to_far = _to_box(targets[t], low[far], high[far]) if first[far] < before[t] else np.inf
                if to_far < to_near:
                    near, far, to_near, to_far = far, near, to_far, to_near
                if to_far < np.inf and to_far <= worst:
                    waiting[left], away[left] = far, to_far
                    left += 1
                node = near
                if to_near == np.inf or to_near > worst:
                    node = n_nodes
            if node == n_nodes:
                continue
            for i in range(begins[node], ends[node]):
                row = rows[i]
                if row >= before[t]:
                    continue
                s = 0.0
                for d in range(dim):
                    lag = places[i, d] - targets[t, d]
                    s += lag * lag
                if n < k:
                    n += 1
                elif s > worst or (s == worst and lot(row) > lot(who[k - 1])):
                    continue
                j = n - 1
                while j > 0 and (square[j - 1] > s or (square[j - 1] == s and lot(who[j - 1]) > lot(row))):
                    square[j], who[j] = square[j - 1], who[j - 1]
                    j -= 1
                square[j], who[j] = s, row
                if n == k:
                    worst = square[k - 1]
        for j in range(n):
            found[t, j] = who[j]
        for j in range(n, k):
            found[t, j] = -1


@literal
def lot(position):
    """As `lots` draws it."""
    return (position * LOT_STEP) % N_LOTS


@literal
def _to_box(target, low, high):
    """Square of the distance to a box."""
    s = 0.0
    for d in range(len(target)):
        lag = max(low[d] - target[d], target[d] - high[d], 0.0)
        s += lag * lag
    return s
