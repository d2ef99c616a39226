"""Limits: every threshold of this room.

=================  =======  ============================================================================================
name               value    what it bounds, and why
=================  =======  ============================================================================================
COARSE_SHARE       0.25     of the evaluated points: the first of the order, which carry the long scales
CLOSE              0.05     of the usual distance to a neighbour of rank ...
CLOSE_RANK         4        ... four: rows so near to each other are a close pair (0.5 % of rows spread at random)
CLOSE_SAMPLE       100,000  rows that tell what is usual
CLOSE_SHARE        0.1      of the evaluated points: one of a close pair, which tells noise from a short field
CELL_SIZE          0.7      half the diagonal of a cell, of the distance to the n-th neighbour of its centre: at most
CELL_NEIGHBOURS    2.2      neighbours of a cell, as a multiple of those wanted of a place: most of which it then has
CELLS_AT_ONCE      64       cells that a thread takes at a time
MAX_HALVINGS       30       halvings of the box: a cell is then smaller than rounding
BITS_AT_ONCE       8        halvings by which places are sorted at once: 65,536 boxes of the plane
LEAST_NOISE_SHARE  1e-11    of the variance of the field: least noise, below which small systems are singular: ten
                            times what tables of a kernel err by
LIFTS              1e2, 1e4, 1e6  times that, one after another, where rounding has made a system fail
LIKE_UNITS         1.2      ratio of the units of two kernels up to which they share their neighbours
THINNED            (8, 64)  one of so many observations is kept where farther ones are looked for
CACHED_ENTRIES     2^16     of a packed batch: 0.5 MiB, so that its arrays stay in the processor's cache
LARGEST_ENTRIES    2^21     of a packed batch: 16 MiB, whatever the number of neighbours
EFFICIENT_BATCH    128      matrices: fewer leave numpy's inner loops too short
SMALLEST_PIVOT     1e-13    relative to the diagonal entry: smaller ones are rounding
ROUNDED_PIVOT      1.01e-13  the same, with which a system tells that it has failed
COMPILED_FROM      1,000    small systems at once: NumPy does fewer in the time that Numba takes to be imported
COMPILED_ORDER     3,000    rows to be put in order: likewise; so many have their likelihood compiled anyway
N_LOTS             2^32     numbers by which ties are broken
LOT_STEP           2.65e9   their step from one place to the next: 2^32 by the golden ratio (Knuth 1973), so that those
                            of neighbours lie far apart
ROUNDING           1e-12    of a squared distance: what two ways to add it up may differ by
PLACES_OF_LEAF     16       places of a box of a compiled tree, at most: quickest of 6 to 16
PAIRS_OF_SECTORS   2e6      places times rows that a thread looks at for empty sectors at a time, and from which on
                            they are compiled
COMPILED_RUN       256      systems that a thread takes at a time in compiled loops: some milliseconds
LEAST_RUNS         8        of few systems, so that all threads have some
MOST_LANES         16       of them side by side, in the innermost loops: two or four vectors of the processor
PACKED_AT_ONCE     2^15     of all systems side by side: 256 KiB an array, so that all stay in the cache
ROWS_AT_ONCE       2^17     rows whose neighbours are renamed at a time: 20 MB
CROSS_AT_ONCE      2^12     covariances of two sets of places at once: 32 KiB an array
LEAST_PAIRS        20,000   covariances of two sets of places, for which a kernel is made ready for loops
MESH_WIDTH         13       grid points of a bell between places and a grid: see `MESH_FINER` of the features
SHARED_ENTRIES     50,000   of a sparse matrix, that a thread multiplies at a time: some 50 microseconds
CELL_TARGETS_AT_ONCE  256   targets of a cell whitened at once, beside its factor
WAVES_AT_ONCE      2^18     places times waves asked for at once, from which on loops are loaded: half a second
SINGLY_FROM        48       neighbours of a place, from which on systems are solved one at a time, not side by side
VECCHIA_WORK       10       operations of a likelihood with its gradient for every k^3, by which a device is chosen
DEVICE_CELLS       2,000    cells that a device takes at a time
INFORMATION_TARGETS  500    densities whose slopes tell the curvature at the start of a climb
TABLE_ERROR        1e-8     of the correlation: a function that its table misses by more has a kink (others: 1e-11)
=================  =======  ============================================================================================
"""

from __future__ import annotations

COARSE_SHARE = 0.25
CLOSE = 0.05
CLOSE_RANK = 4
CLOSE_SAMPLE = 100_000
CLOSE_SHARE = 0.1
CELL_SIZE = 0.7
CELL_NEIGHBOURS = 2.2
CELLS_AT_ONCE = 64
MAX_HALVINGS = 30
BITS_AT_ONCE = 8
LEAST_NOISE_SHARE = 1e-11
LIFTS = (1e2, 1e4, 1e6)
LIKE_UNITS = 1.2
THINNED = (8, 64)
CACHED_ENTRIES = 2**16
LARGEST_ENTRIES = 2**21
EFFICIENT_BATCH = 128
SMALLEST_PIVOT = 1e-13
ROUNDED_PIVOT = 1.01e-13
COMPILED_FROM = 200
COMPILED_ORDER = 3_000
N_LOTS = 2**32
LOT_STEP = 2_654_435_761
ROUNDING = 1e-12
PLACES_OF_LEAF = 16
PAIRS_OF_SECTORS = 2_000_000
COMPILED_RUN = 256
LEAST_RUNS = 8
MOST_LANES = 16
PACKED_AT_ONCE = 2**15
ROWS_AT_ONCE = 2**17
CROSS_AT_ONCE = 2**12
LEAST_PAIRS = 20_000
MESH_WIDTH = 13
SHARED_ENTRIES = 50_000
CELL_TARGETS_AT_ONCE = 256
WAVES_AT_ONCE = 2**18
SINGLY_FROM = 48
INFORMATION_TARGETS = 500
TABLE_ERROR = 1e-8
VECCHIA_WORK = 10.0
DEVICE_CELLS = 2_000
