"""Limits: every threshold of this room.

===================  ==========  =====================================================================================
name                 value       what it bounds, and why
===================  ==========  =====================================================================================
PARTIAL_ROWS         4,096       rows summed in the precision of the waves before they join the float64 total: beside
                                 the rounding of the waves, no loss (``benchmarks/dense.py``)
BYTE_STEPS           127         of a byte between zero and one: three bytes make a number of 22 bits
INTEGER_ROWS         65,536      rows whose products of bytes are summed in 32 bits: 127^2 times as many stay below 2^31
MAX_FREQUENCY_PAIRS  20,000,000  sums and differences of frequencies that a transform may be asked for
MAX_GRID_POINTS      50,000,000  of the fine grid of a transform: below a gigabyte
CHUNK_ROWS           4,000,000   rows transformed at once: what a transform needs beside them stays below a gigabyte
SUMS_EPS             1e-10       relative error of the transforms that make a Gram
===================  ==========  =====================================================================================
"""

from __future__ import annotations

PARTIAL_ROWS = 4_096
BYTE_STEPS = 127.0
INTEGER_ROWS = 65_536
MAX_FREQUENCY_PAIRS = 20_000_000
MAX_GRID_POINTS = 50_000_000
CHUNK_ROWS = 4_000_000
SUMS_EPS = 1e-10
