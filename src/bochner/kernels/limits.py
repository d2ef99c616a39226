"""Limits: every threshold of this room.

===============  =====  ==============================================================================================
name             value  what it bounds, and why
===============  =====  ==============================================================================================
SQUARED          1e150  largest length, and one over the least: squares of others are no doubles
SHORTEST_RANGE   0.3    least length scale, in spacings of the places
LONGEST_RANGE    10.0   largest one, in extents
PRIOR_TAIL       0.05   probability that priors leave beyond the values they are set by
LARGE_SD         5.0    sd of the field, in those of the data, that is exceeded with that probability
LOWEST_NU        0.4    smoothness below which, however many the rows are, ...
HIGHEST_NU       2.0    ... and above which there is a prior against it, ...
UNUSUAL_SD       0.5    ... of such an sd in its log: 20 has to gain eleven nats
UNLIKE_AXES      3.0    longest unit of the shortest, up to which axes of one measure are taken as they are
SAME_AXES        1e-6   cosine of the angle between axes of two kernels, up to which they are told along the same
FALLEN           0.6    of the variance: the lag at which the covariance has fallen to it is the unit
N_SHIFTS         1,024  quasi Monte Carlo points of a convolution: an error of 1 % of the largest density
DENSITY_ROWS     2^19   frequencies and shifts whose density is held at once: 4 MB a column
LEAST_LINES      1e-9   of the variance: spectral lines that together carry less are left out
LEAST_SHIFTS     1e-6   of the variance: shifts that together carry less are left out of a convolution
LEAST_HARMONICS  1e-12  of the variance: harmonics that together carry less are left out
MAX_HARMONICS    10^7   of one axis, looked at before those are left out: 80 MB; a length scale of 1e-6 periods or less
OVERSAMPLING     4      frequencies looked at per independent one
MAX_MODES        2^18   of a periodogram, all axes together: 4 MB of powers
LINES_PER_PEAK   5      frequencies of the grid that one peak takes
N_ROUNDS         40     of a mixture fitted to a periodogram
COSINES_AT_ONCE  2^22   held at once: 32 MiB
FIRST_OCTAVE     -68    of squared scaled distances in tables for compiled loops: nearer places are one place
LAST_OCTAVE      64     of the same: a distance of 4e9 length scales; farther ones count as that
OCTAVE_NODES     16     places of an octave at which a function is asked for, where its table serves once
OCTAVE_ERROR     1e-10  of the correlation: one that such a table misses by more is asked for at more places
===============  =====  ==============================================================================================
"""

from __future__ import annotations

SQUARED = 1e150
SHORTEST_RANGE = 0.3
LONGEST_RANGE = 10.0
PRIOR_TAIL = 0.05
LARGE_SD = 5.0
LOWEST_NU = 0.4
HIGHEST_NU = 2.0
UNUSUAL_SD = 0.5
UNLIKE_AXES = 3.0
SAME_AXES = 1e-6
FALLEN = 0.6
N_SHIFTS = 1024
DENSITY_ROWS = 2**19
LEAST_LINES = 1e-9
LEAST_SHIFTS = 1e-6
LEAST_HARMONICS = 1e-12
MAX_HARMONICS = 10**7
OVERSAMPLING = 4
MAX_MODES = 2**18
LINES_PER_PEAK = 5
N_ROUNDS = 40
COSINES_AT_ONCE = 2**22
FIRST_OCTAVE = -68
LAST_OCTAVE = 64
OCTAVE_NODES = 16
OCTAVE_ERROR = 1e-10
