"""Loops between places and a grid around them: bells added up on the grid, and read from it; compiled.

A bell is `WIDTH` grid points wide along each axis. The grid holds two real numbers a point, side by side.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from bochner.neighbours import limits
from bochner.neighbours.compiled_loops import compiled

WIDTH = limits.MESH_WIDTH


@compiled
def spread(order, start, taps, strides, columns, grid):
    """Add columns (n, 2) of the rows in `order` times their bells to a flat grid.

    Place p begins at grid point start[p]; taps (n, dim, WIDTH) are its bell along each axis, and a step along the
    first axes is as many points as `strides` (2,) says.
    """
    dim, line = taps.shape[1], np.empty(2 * WIDTH)
    n_sheets, n_lines = WIDTH if dim > 2 else 1, WIDTH if dim > 1 else 1
    for p in range(len(start)):
        first, second = columns[order[p], 0], columns[order[p], 1]
        for k in range(WIDTH):
            line[2 * k] = taps[p, dim - 1, k] * first
            line[2 * k + 1] = taps[p, dim - 1, k] * second
        for i in range(n_sheets):
            sheet = taps[p, 0, i] if dim > 2 else 1.0
            for j in range(n_lines):
                height = sheet * taps[p, dim - 2, j] if dim > 1 else sheet
                at = 2 * (start[p] + i * strides[0] + j * strides[1])
                here = grid[at : at + 2 * WIDTH]
                for k in range(2 * WIDTH):
                    here[k] += height * line[k]


@compiled
def gather(order, start, taps, strides, grid, out):
    """The transpose: sums over the bells of places, into the rows of `out` (n, 2) in `order`."""
    dim, line = taps.shape[1], np.empty(2 * WIDTH)
    n_sheets, n_lines = WIDTH if dim > 2 else 1, WIDTH if dim > 1 else 1
    for p in range(len(start)):
        line[:] = 0.0
        for i in range(n_sheets):
            sheet = taps[p, 0, i] if dim > 2 else 1.0
            for j in range(n_lines):
                height = sheet * taps[p, dim - 2, j] if dim > 1 else sheet
                at = 2 * (start[p] + i * strides[0] + j * strides[1])
                here = grid[at : at + 2 * WIDTH]
                for k in range(2 * WIDTH):
                    line[k] += height * here[k]
        first, second = 0.0, 0.0
        for k in range(WIDTH):
            first += taps[p, dim - 1, k] * line[2 * k]
            second += taps[p, dim - 1, k] * line[2 * k + 1]
        out[order[p], 0], out[order[p], 1] = first, second
