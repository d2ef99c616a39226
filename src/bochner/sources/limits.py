"""Limits: every threshold of this room.

================  ==========  ========================================================================================
name              value       what it bounds, and why
================  ==========  ========================================================================================
PART_ROWS         1,000,000   rows read at once: 24 MB of three columns, about a second of work (benchmarks/scale)
CSV_BYTES         33,554,432  bytes of text that are parsed at once
CSV_HEAD          262,144     bytes at the beginning of a CSV by which its dialect and kinds of columns are told
HELD_ROWS         100,000     rows of the sample that tunes; a source of no more is fitted as a table in memory
MOST_KEPT_LEVELS  1,000       levels of a category of which a row each is kept; the model itself allows fewer
TREE_FAN          8           parts of a pass that are added at once on a cluster
TASK_RETRIES      3           times that a part is read again where it failed, say because a worker died
ROUND_PARTS       4           parts of a worker between two notes of a checkpoint: what a killed client reads again
STORE_DEPTH       60          bits of the Morton number of a row in a store
STORE_CELL_ROWS   20,000      rows of a cell of a store, which are read together
SORTED_ROWS       500,000     rows of a store that are gathered from all parts and written at once
READ_COPIES       4           copies of a part that are alive at once: one computed on, one read ahead, each with
                              temporaries
================  ==========  ========================================================================================
"""

from __future__ import annotations

PART_ROWS = 1_000_000
CSV_BYTES = 2**25
CSV_HEAD = 2**18
HELD_ROWS = 100_000
MOST_KEPT_LEVELS = 1_000
TREE_FAN = 8
TASK_RETRIES = 3
ROUND_PARTS = 4
STORE_DEPTH = 60
STORE_CELL_ROWS = 20_000
SORTED_ROWS = 500_000
READ_COPIES = 4
