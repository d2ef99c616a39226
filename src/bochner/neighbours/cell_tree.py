"""Cells: boxes of a tree of halvings, and the places in each, from coarse to fine.

Boxes are those of the tree, whatever is asked, so a place always lies in the same one. Places are sorted once along a
curve that passes through one box after the other, on which every box of every size is a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray, IntArray
from bochner.neighbours import limits

Small = Callable[[FloatArray, float], NDArray[np.bool_]]


def cells_of(
    places: FloatArray, origin: FloatArray, side: float, small: Small
) -> Iterator[tuple[FloatArray, list[IntArray]]]:
    """Centres (c, dim) of the largest boxes that are small enough, with the places in each, those of a size at a time.

    Parameters
    ----------
    places : array, shape (n, dim)
    origin, side : array, shape (dim,), and float
        Corner and side of the first box; places outside it lie in boxes of the same size beside it.
    small : function
        Of centres (c, dim) and the side of their boxes: which are small enough. After 30 halvings all are.
    """
    unit = (places - origin) / side
    corner = np.floor(unit)
    inside = np.minimum(unit - corner, np.nextafter(1.0, 0.0))
    box, rows = _boxes(corner), np.arange(len(places))
    bits = max(1, min(limits.BITS_AT_ONCE, 62 // max(places.shape[1], 1)))
    for first in range(0, limits.MAX_HALVINGS + 1, bits):
        if not len(rows):
            return
        code = _interleaved(inside[rows], first, bits)
        order = np.lexsort((code, box)) if box[0] != box[-1] or np.any(np.diff(box)) else np.argsort(code)
        rows, box, code = rows[order], box[order], code[order]
        for level in range(first, min(first + bits, limits.MAX_HALVINGS + 1)):
            if not len(rows):
                return
            label, starts = _runs(box, code >> (places.shape[1] * (first + bits - 1 - level)))
            step = side / 2.0**level
            centre = _centres(corner[rows[starts]], inside[rows[starts]], level) * side + origin
            chosen = np.full(len(starts), True) if level == limits.MAX_HALVINGS else small(centre, step)
            if chosen.any():
                ends = np.append(starts[1:], len(rows))
                yield centre[chosen], [rows[a:b] for a, b in zip(starts[chosen], ends[chosen], strict=True)]
            left = ~chosen[label]
            rows, box, code = rows[left], box[left], code[left]
        box = _runs(box, code)[0]


def _boxes(corner: FloatArray) -> IntArray:
    """Number of the first box that each place is in; most are in one."""
    number = np.zeros(len(corner), dtype=np.intp)
    outside = np.any(corner != 0, axis=1)
    if outside.any():
        number[outside] = 1 + np.unique(corner[outside], axis=0, return_inverse=True)[1].ravel()
    return number


def _interleaved(inside: FloatArray, first: int, bits: int) -> IntArray:
    """Sides taken at each halving from `first` on, the axes in turn, the first halving foremost."""
    # halving `level` is bit 2^-level of a place; level 0 is the whole box
    finest = (inside * 2.0 ** (first + bits - 1)).astype(np.int64) & (2**bits - 1)
    dim, spread = inside.shape[1], _spread(inside.shape[1])
    code = np.zeros(len(inside), dtype=np.int64)
    for axis in range(dim):
        code |= spread[finest[:, axis]] << axis
    return code


@cache
def _spread(dim: int) -> IntArray:
    """Numbers with dim - 1 zeros between their bits."""
    number = np.arange(2**limits.BITS_AT_ONCE)
    bits = range(min(limits.BITS_AT_ONCE, max(1, 62 // dim)))
    return np.sum([(number >> bit & 1) << (bit * dim) for bit in bits], axis=0)


def _runs(box: IntArray, code: IntArray) -> tuple[IntArray, IntArray]:
    """Number of the run of equal entries that each entry is in, and where the runs begin."""
    new = np.ones(len(code), dtype=bool)
    new[1:] = (np.diff(code) != 0) | (np.diff(box) != 0)
    return np.cumsum(new) - 1, np.flatnonzero(new)


def _centres(corner: FloatArray, inside: FloatArray, level: int) -> FloatArray:
    """Centres of boxes in units of the first, by a place in each."""
    return np.asarray(corner + (np.floor(inside * 2.0**level) + 0.5) / 2.0**level)
