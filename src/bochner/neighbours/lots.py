"""Lots: which of two places that are as far off as each other is taken for the nearer.

The first in an order from coarse to fine would favour those on the lines of a coarse grid, and with them some
directions; a lot favours none, and is the same whoever draws it.
"""

from __future__ import annotations

import numpy as np

from bochner.arrays import IntArray
from bochner.neighbours import limits


def lots(positions: IntArray) -> IntArray:
    """A number in [0, 2^32) for each position of an order, no two alike below 2^32."""
    return (positions.astype(np.int64) * limits.LOT_STEP) % limits.N_LOTS
