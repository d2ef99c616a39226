"""Limits: every threshold of this room.

==============  =====  ===============================================================================================
name            value  what it bounds, and why
==============  =====  ===============================================================================================
COARSEST        0.1    largest error that may be asked for
LARGEST_GRID    2^30   points of the fine grid: 17 GB in complex128, and what 32-bit indices of the built-in back end
                       address
COARSEST_TYPE3  1e-3   largest error that type 3 of ducc0 is asked for
SINGLE_TYPE3    1e-5   smallest one in single precision: it finds no kernel for 1e-6 in 3-D, and raises
KEPT_PLANS      4      plans of FINUFFT that are kept: one serves one type, one sign and one number of vectors
MODES_PER_PLACE 2      modes for each place, from which FINUFFT refines their grid by 1.5 instead of 2: its FFT
                       is what takes long
FINEST_COARSE   1e-10  smallest error for which it does so: at 1e-12 the widest kernel would not do
CHUNK_ENTRIES   2^18   of one chunk's matrix: small enough for the cache, large enough to hide the interpreter
FEW_PLACES      1e5    places and modes up to which one thread transforms: 1 ms, where two on a busy machine took 60
ADDED_AT_ONCE   2^17   places whose waves one thread adds up, if a back end's threads would add in any order; ...
ADDED_PER_MODE  2      ... at least so many for each mode: the transform of a run's grid takes little of its time
WORK_PER_PLACE  1e4    operations of a transform for each place, by which a device is chosen or not
KEPT_BYTES      2^28   of matrices kept for the next call, all together
==============  =====  ===============================================================================================

Type 3 of ducc0 0.42 misses coarse tolerances: up to 11 times from 2e-3 on, and from 0.02 (1-D), 0.05 (2-D) and 0.1
(3-D) on it is silently wrong altogether. Of 20,000 random transforms at 1e-3 and finer none erred by over 2.4 eps.
"""

from __future__ import annotations

COARSEST = 0.1
LARGEST_GRID = 2**30
COARSEST_TYPE3 = 1e-3
SINGLE_TYPE3 = 1e-5
KEPT_PLANS = 4
MODES_PER_PLACE = 2
FINEST_COARSE = 1e-10
CHUNK_ENTRIES = 2**18
FEW_PLACES = 100_000
ADDED_AT_ONCE = 2**17
ADDED_PER_MODE = 2
WORK_PER_PLACE = 1e4
KEPT_BYTES = 2**28
