"""Limits: every threshold of this room.

====================  =====  ===========================================================================================
name                  value  what it bounds, and why
====================  =====  ===========================================================================================
FAR_TOO_LONG          30     times the extent of the rows: a given length scale in metres, not in km
TRIAL_ROWS            200    of the trial that an estimate of time is made from
COVARIANCE_DRAWS      2,000  from which a covariance on the response scale is taken: a standard error of 3 %
MAX_NUMBERS           8      of a long list, shown in a summary
LEAST_SPARE_SD        0.9    sd of the features relative to kriging's, below which they are too small
FLAT_FIELD            0.01   variance of the field relative to the noise, below which a map is flat
LEFT_OUT              0.1    variance of the field that waves leave out, of the noise, that a user should know
MAX_NAMED_ROWS        6      of those that look wrong, by number
ODD_PAIR_SCATTER      2.0    sd of close rows relative to the learned one (or the inverse) that a user should know
LEAST_JUDGED_ROWS     50     rows from which intervals are judged by blocks
FEW_COUNTED_ROWS      75     rows of counts or classes below which a learned field is doubted: of 50 binomial rows the
                             surface lay in 95 % intervals for 88 %, of 100 for 96 % (``benchmarks/calibration.py``)
SEEN_FIELD            0.25   correlation of rows with what the others say of them, below which a learned field is
                             doubted (``benchmarks/hidden_fields.py``), ...
SEEN_ERRORS           4.0    ... or, of many rows, so many of its standard errors
RIVALS                table  of range and variance, in those learned of single trials, of rougher fields that are asked
RIVAL_NATS            3.0    that one of them gains from which on a user should know (``benchmarks/calibration.py``)
MAX_JUDGED_SETS       5      sets of hyperparameters that this is judged by: the heaviest
LEAST_JUDGED_PARTS    8      of them, or of groups: fewer say little
MAX_EXACTLY_JUDGED    2,000  rows up to which all others predict them; beyond, the nearest
MAX_JUDGED_PARTS      40     that are held out
MAX_JUDGED_ROWS       1,000  rows in all of them, about
MAX_PART_ROWS         200    rows of a block
LEAST_COVERAGE        0.9    of 95 % intervals there, that is not worth a word
TOO_MANY_ZEROS        3      sds, by which rows held out are zero more often than expected: those of fields that
                             were simulated without such rows were up to 1.9 ...
ZEROS_OF_PARTS        2      the same, of blocks that are counted as one, ...
ZEROS_TIMES           1.3    ... and so many times as often
GAINED_BY_LOGS        0.2    nats a row, from which on errors are said to be in proportion: of fields simulated on the
                             scale of logs 0.3 to 1.3, of others at most 0.03 (``benchmarks/proportional.py``)
LOW_SHARE             0.05   of the rows held out lie below the least that is predicted on that scale
FAR_TOO_MANY_INSIDE   0.8    of 50 % intervals there, from which on given errors are doubted
SHOWN_FROM            5.0    expected seconds of a fit from which a line tells how it goes
REWEIGHTED_FACTOR     3.0    times the seconds of Gaussian rows, of errors with tails
ONE_KERNEL_SHARE      0.4    of the same, where the kernel is given
FEW_TIMED_ROWS        3,000  rows up to which the kernel is exact
TREND_SECONDS         0.4    of other families, for each fixed effect and ten thousand rows
WIDE_FACTOR           1.3    in three dimensions and more
SOLVED_SHARE          0.3    of a fit that is not learning the kernel
LEAST_LEFT            0.1    of the time so far, that is left at least
PROGRAM_BYTES         10 MB  that a fit of a few rows takes, ...
DENSE_BYTES           130    ... and for each entry of the kernel's matrix, up to FEW_TIMED_ROWS: 165 of 1,000 rows, 107
                             of 2,800
WAVES_BYTES           310 MB that a fit of more rows takes: 342 MB of 6,000, 310 MB of 12,000, 330 MB of 50,000
WAVES_ROW_BYTES       1,000  per row beside that
PART_ROW_BYTES        400    of memory for each row of a part: columns, places, sums on their way (benchmarks/scale)
PART_SHARE            0.25   of a memory limit that a part may take
SAMPLE_ROW_BYTES      2,500  of memory for each row of the sample while it tunes
STORE_PROBES          60     places by which the neighbours that a place needs are counted, ...
LEAST_NEAR_ROWS       40     ... from so many on ...
MOST_NEAR_ROWS        320    ... to so many, ...
NEAR_ENOUGH           0.99   ... until twice as many bring the sd down by less than this
TRIAL_SUM_ROWS        10^5   rows of the trial of sums that an estimate of a fit is made from, ...
TRIAL_DENSE_ROWS      4,096  ... and where the sums are dense
TUNING_SECONDS        60     that tuning on a sample takes, roughly
SOLVE_SECONDS         10     that a factor of 5,000 columns takes, with what goes before
TYPICAL_STEPS         7      passes over the rows of other families than the Gaussian
====================  =====  ===========================================================================================
"""

from __future__ import annotations

FAR_TOO_LONG = 30
TRIAL_ROWS = 200
COVARIANCE_DRAWS = 2_000
MAX_NUMBERS = 8
LEAST_SPARE_SD = 0.9
FLAT_FIELD = 0.01
LEFT_OUT = 0.1
MAX_NAMED_ROWS = 6
ODD_PAIR_SCATTER = 2.0
LEAST_JUDGED_ROWS = 50
FEW_COUNTED_ROWS = 75
SEEN_FIELD = 0.25
SEEN_ERRORS = 4.0
RIVALS = ((1.0, 1.5), (0.6, 2.2))
RIVAL_NATS = 3.0
MAX_JUDGED_SETS = 5
LEAST_JUDGED_PARTS = 8
MAX_EXACTLY_JUDGED = 2_000
MAX_JUDGED_PARTS = 40
MAX_JUDGED_ROWS = 1_000
MAX_PART_ROWS = 200
LEAST_COVERAGE = 0.9
TOO_MANY_ZEROS = 3.0
ZEROS_OF_PARTS = 2.0
ZEROS_TIMES = 1.3
GAINED_BY_LOGS = 0.2
LOW_SHARE = 0.05
FAR_TOO_MANY_INSIDE = 0.8
SHOWN_FROM = 5.0
REWEIGHTED_FACTOR = 3.0
ONE_KERNEL_SHARE = 0.4
FEW_TIMED_ROWS = 3_000
TREND_SECONDS = 0.4
WIDE_FACTOR = 1.3
SOLVED_SHARE = 0.3
LEAST_LEFT = 0.1
PROGRAM_BYTES = 10_000_000
DENSE_BYTES = 130
WAVES_BYTES = 310_000_000
WAVES_ROW_BYTES = 1_000
PART_ROW_BYTES = 400
PART_SHARE = 0.25
SAMPLE_ROW_BYTES = 2_500
TRIAL_SUM_ROWS = 100_000
TRIAL_DENSE_ROWS = 4_096
TUNING_SECONDS = 60.0
SOLVE_SECONDS = 10.0
STORE_PROBES = 60
LEAST_NEAR_ROWS = 40
MOST_NEAR_ROWS = 320
NEAR_ENOUGH = 0.99
TYPICAL_STEPS = 7
