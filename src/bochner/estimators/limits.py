"""Limits: every threshold of this room.

==================  =====  =============================================================================================
name                value  what it bounds, and why
==================  =====  =============================================================================================
TRIAL_ROWS          200    of the trial that an estimate of time is made from
COVARIANCE_DRAWS    2,000  from which a covariance on the response scale is taken: a standard error of 3 %
MAX_NUMBERS         8      of a long list, shown in a summary
LEAST_SPARE_SD      0.9    sd of the features relative to kriging's, below which they are too small
FLAT_FIELD          0.01   variance of the field relative to the noise, below which a map is flat
SERVE_BETTER        0.95   RMSE of boosted trees relative to the field's, below which a user should know
MAX_NAMED_ROWS      6      of those that look wrong, by number
ODD_PAIR_SCATTER    2.0    sd of close rows relative to the learned one (or the other way round) that a user should know
LEAST_JUDGED_ROWS   50     rows from which intervals are judged by blocks
LEAST_JUDGED_PARTS  8      of them, or of groups: fewer say little
MAX_EXACTLY_JUDGED  2,000  rows up to which all others predict them; beyond, the nearest
MAX_JUDGED_PARTS    40     that are held out
MAX_JUDGED_ROWS     1,000  rows in all of them, about
MAX_PART_ROWS       200    rows of a block
LEAST_COVERAGE      0.9    of 95 % intervals there, that is not worth a word
SHOWN_FROM          5.0    expected seconds of a fit from which a line tells how it goes
FEW_TIMED_ROWS      3,000  rows up to which the kernel is exact: ...
FEW_SECONDS         12.0   ... so many seconds for all of them (``benchmarks/zoo.py``, one core), less for fewer
GAUSSIAN_SECONDS    22.0   for every further ten thousand rows, ...
OTHER_SECONDS       25.0   ... of other families, ...
TREND_SECONDS       3.5    ... and for each of their fixed effects
WIDE_FACTOR         1.3    in three dimensions and more
LATER_SHARE         0.1    of the same, beyond thirty thousand rows
SOLVED_SHARE        0.3    of a fit that is not learning the kernel
LEAST_LEFT          0.1    of the time so far, that is left at least
==================  =====  =============================================================================================
"""

from __future__ import annotations

TRIAL_ROWS = 200
COVARIANCE_DRAWS = 2_000
MAX_NUMBERS = 8
LEAST_SPARE_SD = 0.9
FLAT_FIELD = 0.01
SERVE_BETTER = 0.95
MAX_NAMED_ROWS = 6
ODD_PAIR_SCATTER = 2.0
LEAST_JUDGED_ROWS = 50
LEAST_JUDGED_PARTS = 8
MAX_EXACTLY_JUDGED = 2_000
MAX_JUDGED_PARTS = 40
MAX_JUDGED_ROWS = 1_000
MAX_PART_ROWS = 200
LEAST_COVERAGE = 0.9
SHOWN_FROM = 5.0
FEW_TIMED_ROWS = 3_000
FEW_SECONDS = 12.0
GAUSSIAN_SECONDS = 22.0
OTHER_SECONDS = 25.0
TREND_SECONDS = 3.5
WIDE_FACTOR = 1.3
LATER_SHARE = 0.1
SOLVED_SHARE = 0.3
LEAST_LEFT = 0.1
