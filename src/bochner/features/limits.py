"""Limits: every threshold of this room, and what it bounds.

=======================  =========  ===================================================================================
name                     value      what it bounds
=======================  =========  ===================================================================================
`STRIPE_BYTES`           512 KiB    float64 phases held at once: every pass over them stays in the cache of one core
`TRANSFORM_WORK`         5e5        waves x places, beyond which a transform is quicker than blocks
`WAVE_WORK`              50         operations of a cosine and its product, by which a device is chosen or not
`TRANSFORM_ROWS`         2e6        places of one transform: 32 MB of values per column
`MAX_TRANSFORM_GRID`     2^24       points of its grid: 256 MB; few waves far apart on a wide one are left to blocks
`MAX_WAVE_DIMENSIONS`    3          dimensions of a non-uniform FFT: no back end has more
`MAX_DENSE_ROWS`         8,000      rows whose covariance matrix is held: half a gigabyte
`DENSE_PLACES`           1,000      distinct places of a part of a sum, up to which its matrix is quicker than waves
`MIN_COEFFICIENTS`       2^18       of the series on a torus; four times as many in 3-D
`MAX_COEFFICIENTS`       2^27       of the same: 2 GB, of some twenty million rows
`COEFFICIENTS_PER_ROW`   6          between the two: finer waves leave a shorter, sparser remainder
`NEAR_RADIUS`            5 steps    of the series: reach of the remainder, which has fallen to about a hundredth there
`MAX_SPLIT_ERROR`        6e-5       of the variance: RMS error of the series beyond that radius, up to which a split is
                                    faithful (``tests/features/test_kinks.py``)
`MAX_AXIS_RATIO`         3          longest to shortest side of the box, in lengths of the kernel, up to which the steps
                                    are the same along all axes
`MESH_FINER`             1.25       points of the torus to a wave of the series on each axis: with a bell of 13 points
                                    products are right to 1e-9 (``tests/features/test_mesh.py``)
`MESH_BLOCK`             2^16       points of it that a thread transforms at a time: 1 MiB
`MESH_PLACES`            1,000      places of a band: threads add up every other at a time
`GRID_NODES`             16, 8      per step of the series, by dimensions (1, 2: 16; 3: 8): a table of it near lag zero
`LEAST_TABLED_PAIRS`     20,000     pairs of places that are worth one; in 3-D, as many as it has nodes
`TARGETS_AT_ONCE`        2^10       places, or pairs, that a thread takes at a time
`PAIRS_AT_ONCE`          4e6        pairs of places whose covariance is held: 32 MB
`MAX_NEAR_PAIRS`         4e7, 5e7   pairs of rows of the remainder (by tables: more): beyond, the nearest rows answer
`BYTES_PER_NEAR_PAIR`    70, 26     while it is made, measured on 60,000 rows of the sphere, and by tables
`COUNTED_ROWS`           500        rows that they are counted by
`NUMBERS_OF_AREAS`       2^19       covariances with the points of several areas that are held at once: 4 MiB
`SPLIT_PAIRS`            4,000      pairs of rows by which the split is measured
`SPLIT_PRODUCT_ERROR`               of the spread of a product: error of the split in 1, 2 and 3 dimensions, most for a
                                    rough kernel in 3-D (``tests/laws/test_operators.py``)
=======================  =========  ===================================================================================

At 8,000 rows in 2-D one product with the matrix took 0.13 s and one of the transforms 0.18 s, on one thread (Matern
1/2, two columns); at 3,100 rows 0.02 s and 0.17 s.
"""

STRIPE_BYTES = 2**19
TRANSFORM_WORK = 500_000
WAVE_WORK = 50.0
TRANSFORM_ROWS = 2_000_000
MAX_TRANSFORM_GRID = 2**24
MAX_WAVE_DIMENSIONS = 3
MAX_DENSE_ROWS = 8_000
DENSE_PLACES = 1_000
MIN_COEFFICIENTS = 2**18
MAX_COEFFICIENTS = 2**27
COEFFICIENTS_PER_ROW = 6
NEAR_RADIUS = 5.0
MAX_SPLIT_ERROR = 6e-5
NUMBERS_OF_AREAS = 2**19
MAX_NEAR_PAIRS = (4e7, 5e7)
BYTES_PER_NEAR_PAIR = (70, 26)
COUNTED_ROWS = 500
MAX_AXIS_RATIO = 3.0
PAIRS_AT_ONCE = 4_000_000
MESH_FINER = 1.25
MESH_BLOCK = 2**16
MESH_PLACES = 1_000
GRID_NODES = {1: 16, 2: 16, 3: 8}
LEAST_TABLED_PAIRS = 20_000
TARGETS_AT_ONCE = 2**10
SPLIT_PRODUCT_ERROR = {1: 5e-4, 2: 5e-3, 3: 3e-2}
SPLIT_PAIRS = 4_000
