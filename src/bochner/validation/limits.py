"""Limits: every threshold of this room.

===============  =====  ==============================================================================================
name             value  what it bounds, and why
===============  =====  ==============================================================================================
BLOCKS_PER_FOLD  6      blocks aimed at for every fold when the library chooses their size
CLOSEST          1e-12  of the extent: rows nearer than this are at one place
MAX_COPIES       200    copies of the shape tried for one fold
FULL_ENOUGH      0.8    share of the rows wanted at which a fold is full
MAX_KEPT_PLACES  1e6    rows and wanted places whose gaps are kept for those who ask again: 30 MB
GRID_OF_SUMS     3      steps of the log of a sum of two variances, for each of one of them: scores are good to 1e-6
MIRRORED_SHARES  .01-.5 share of the rows under a mirror image of the gaps that makes a fold
===============  =====  ==============================================================================================
"""

from __future__ import annotations

BLOCKS_PER_FOLD = 6
CLOSEST = 1e-12
MAX_COPIES = 200
FULL_ENOUGH = 0.8
MAX_KEPT_PLACES = 1_000_000
GRID_OF_SUMS = 3
MIRRORED_SHARES = (0.01, 0.5)
