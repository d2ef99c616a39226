"""Limits: every threshold of this room.

================  =======  ============================================================================================
name              value    what it bounds, and why
================  =======  ============================================================================================
WORTH_DEVICE      1e12     operations from which ``device="auto"`` leaves the processor: PyTorch and CUDA take three
                           seconds to start, as many as 16 cores need for so much (``benchmarks/gpu.py``)
BLOCK_SHARE_FREE  0.25     of the device's free memory that a block and its temporaries may take
LEAST_WORK        1e8      operations below which any device waits longer for its numbers than the processor computes
SMALLEST_ROWS     256      rows of a block below which memory that runs out is the end
================  =======  ============================================================================================
"""

from __future__ import annotations

WORTH_DEVICE = 1e12
BLOCK_SHARE_FREE = 0.25
LEAST_WORK = 1e8
SMALLEST_ROWS = 256
