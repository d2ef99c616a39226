"""Loops over places alone: cells of a box, one place for each that is empty, and sectors without a row; compiled."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from bochner.neighbours.compiled_loops import literal


@literal
def morton(unit, n_levels, code):
    """Cell of each point of the unit box at the finest of some levels, its bits taken in turn from the axes."""
    n, dim = unit.shape
    side = 2.0**n_levels
    for i in range(n):
        c = 0
        for bit in range(n_levels - 1, -1, -1):
            for d in range(dim):
                c = (c << 1) | ((np.int64(min(unit[i, d] * side, side - 1.0)) >> bit) & 1)
        code[i] = c


@literal
def one_per_empty_cell(code, shift, unit, size, waiting, new):
    """In every cell without a chosen point, the point nearest to its centre; `code` is sorted. How many were found."""
    n, dim, found, i = len(code), unit.shape[1], 0, 0
    while i < n:
        cell, best, least, empty = code[i] >> shift, i, np.inf, True
        while i < n and code[i] >> shift == cell:
            empty = empty and waiting[i]
            off = 0.0
            for d in range(dim):
                x = unit[i, d] * size
                off += (x - np.floor(x) - 0.5) ** 2
            if off < least:
                best, least = i, off
            i += 1
        if empty:
            new[found] = best
            found += 1
    return found


@literal
def empty_sectors(places, rows, radius_2, n_sectors, empty):
    """How many of the sectors around each place hold no row within a radius."""
    full = np.empty(n_sectors, dtype=np.bool_)
    for i in range(len(places)):
        full[:] = False
        left = n_sectors
        for j in range(len(rows)):
            x, y = rows[j, 0] - places[i, 0], rows[j, 1] - places[i, 1]
            if x * x + y * y <= radius_2:
                sector = int((np.arctan2(y, x) / (2 * np.pi) + 0.5) * n_sectors) % n_sectors
                if not full[sector]:
                    full[sector] = True
                    left -= 1
                    if left == 0:
                        break
        empty[i] = left
