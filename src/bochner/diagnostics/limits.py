"""Limits: every threshold of this room.

====================  ======  ========================================================================================
name                  value   what it bounds, and why
====================  ======  ========================================================================================
SAME_SUMMARY          1e-5    of a standard deviation: two summaries of the same numbers
PIT_BINS              20      of the histogram of probability integral transforms
MIN_RELIABILITY_ROWS  15      of a row of the reliability table
MAX_HELD_OUT_ROWS     2,000   rows up to which every one is held out
SAMPLED_ROWS          1,000   beyond, so many of them: their coverage has a standard error of 0.7 %
N_PARTS               10      in which they are held out
MAX_BLOCKS            40      blocks of neighbouring rows that are held out
MAX_MASK_CELLS        64      along the longer side of the mask
MAX_MASK_ROWS         50,000  rows that the mask is made from
MASK_PROBES           4,000   places at which nearness is measured
WIDEST_ARC            270.0   degrees of longitude that are one region, wherever it lies
VARIOGRAM_BINS        16      distances of a variogram
MAX_VARIOGRAM_ROWS    10,000  rows that a variogram is made from
MAX_ANCHORS           400     of them; every anchor is compared with every row
MIN_PAIRS             30      of a bin that is shown
CLOSE_PAIRS           6,400   closest in time that are taken of rows with a time, where too few are of the same time
ENVELOPE_DRAWS        120     fields of the envelope: its 95 % are known to 2 %
MAX_DRAWN_ROWS        800     rows that fields are drawn at, for the envelope
====================  ======  ========================================================================================
"""

from __future__ import annotations

SAME_SUMMARY = 1e-5
PIT_BINS = 20
MIN_RELIABILITY_ROWS = 15
MAX_HELD_OUT_ROWS = 2_000
SAMPLED_ROWS = 1_000
N_PARTS = 10
MAX_BLOCKS = 40
MAX_MASK_CELLS = 64
MAX_MASK_ROWS = 50_000
MASK_PROBES = 4_000
WIDEST_ARC = 270.0
VARIOGRAM_BINS = 16
MAX_VARIOGRAM_ROWS = 10_000
MAX_ANCHORS = 400
MIN_PAIRS = 30
CLOSE_PAIRS = 6_400
ENVELOPE_DRAWS = 120
MAX_DRAWN_ROWS = 800
