"""Limits: every threshold of this room.

================  =====  =============================================================================================
name              value  what it bounds, and why
================  =====  =============================================================================================
TRIAL_ROWS        200    of the trial that an estimate of time is made from
COVARIANCE_DRAWS  2,000  from which a covariance on the response scale is taken: a standard error of 3 %
MAX_NUMBERS       8      of a long list, shown in a summary
LEAST_SPARE_SD    0.9    sd of the features relative to kriging's, below which they are too small
FLAT_FIELD        0.01   variance of the field relative to the noise, below which a map is flat
SERVE_BETTER      0.95   RMSE of boosted trees relative to the field's, below which a user should know
LEFT_OUT          0.1    variance of the field that waves leave out, of the noise, that a user should know
MAX_NAMED_ROWS    6      of those that look wrong, by number
ODD_PAIR_SCATTER  2.0    sd of close rows relative to the learned one (or the other way round) that a user should know
================  =====  =============================================================================================
"""

from __future__ import annotations

TRIAL_ROWS = 200
COVARIANCE_DRAWS = 2_000
MAX_NUMBERS = 8
LEAST_SPARE_SD = 0.9
FLAT_FIELD = 0.01
SERVE_BETTER = 0.95
LEFT_OUT = 0.1
MAX_NAMED_ROWS = 6
ODD_PAIR_SCATTER = 2.0
