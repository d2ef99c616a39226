"""Limits: every threshold of this room.

=============  =====  ================================================================================================
name           value  what it bounds, and why
=============  =====  ================================================================================================
FACTOR_JITTER  1e-9   added to the unit diagonal of a scaled matrix that has no factor: rounding of a singular one
DIVERGED       1e3    growth of the residual that no positive definite system shows
FAST_FALL      0.4    of the squared error that a step leaves, at most, for what is left to be known from the last ones
INVERTED_ROWS  64     of a triangle that LAPACK inverts at once; larger ones by halves (400 rows: 2.3 ms for 4.1)
INVERSE_FROM   0.125  rows asked at once for their variance, of the columns of a factor, from which on its inverse pays
INVERTED_COLUMNS  4,096  of a factor whose inverse is kept beside it: 128 MiB
=============  =====  ================================================================================================
"""

from __future__ import annotations

FACTOR_JITTER = 1e-9
DIVERGED = 1e3
FAST_FALL = 0.4
INVERTED_ROWS = 64
INVERSE_FROM = 0.125
INVERTED_COLUMNS = 4_096
