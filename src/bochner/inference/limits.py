"""Limits: thresholds of the checks of a fit; the rooms below have tables of their own.

===================  =====  ============================================================================================
name                 value  what it bounds, and why
===================  =====  ============================================================================================
EXTREME_LENGTH       1e50   times the extent of the data, or one over it: longer and shorter ranges of a given kernel
                            overflow in powers up to the dimension
EXTREME_VARIANCE     1e100  times the variance of the responses, or one over it: the same for a given variance
STARVATION_PROBES    200    places at which standard deviations are compared: their median ratio is what counts
FEW_NEIGHBOURS       40     that kriging is given as the reference, ...
MANY_NEIGHBOURS      100    ... and more of them, to see whether these suffice
NEIGHBOURS_SUFFICE   0.95   ratio of the two sds, above which they do
MAX_KRIGED_ROWS      1,000  rows up to which the reference is kriging from all of them
MIN_CHECKED_ROWS     50     rows from which outliers and close pairs are looked for
MAX_CHECKED_ROWS     10^5   rows of which it is asked whether they are outliers, 2 s: of more, a sample
OUTLIER_NEIGHBOURS   12     that a row is predicted from
OUTLIER              6.0    robust standard deviations from that prediction: an outlier, if ...
OUTLIER_OF_MODEL     3.0    ... so many of the model's own, which outliers have widened
OUTLIER_OF_NEAR      5.0    ... and so many of the rows around it, which it spoils: along fronts all are far off
OUTLIER_AROUND       40     rows around it
MAX_OUTLIERS         1,000  that are kept by number
MIN_PAIRS            30     close pairs from which their scatter says something
PAIR_SHARE           0.9    of the close pairs, by the least of which their scatter is measured: outliers do not count
PAIR_NOISE           0.5    of what close pairs may scatter: below this share the learned noise is not what they judge
MAX_EFFECT_STEPS     60     Newton steps for the effect that a row has of its own, in one pass over the rows
LONGEST_EFFECT       3.0    of one of them, on the scale of the link: none overshoots by more
SETTLED_EFFECT       1e-11  change of that effect at which it is found
MAX_CURVATURE_ROWS   1,200  rows up to which all are asked together whether a covariate's effect bends, 1 s
CURVATURE_PART_ROWS  600    else in cells of at most so many, ...
CURVATURE_PARTS      16     ... so many of them: 3 s
CURVATURE_ROUNDS     3      times that it is asked, each with the noise that the bends of the last one leave
WEAK_EFFECT_SD       30.0   prior sd of the coefficients in a part that may not tell of all, in sds of the response
COLLINEAR_EFFECT     1e-6   relative size below which a direction of the trend counts as absent when bends are asked for
===================  =====  ============================================================================================
"""

from __future__ import annotations

EXTREME_LENGTH = 1e50
EXTREME_VARIANCE = 1e100
STARVATION_PROBES = 200
FEW_NEIGHBOURS = 40
MANY_NEIGHBOURS = 100
NEIGHBOURS_SUFFICE = 0.95
MAX_KRIGED_ROWS = 1_000
MIN_CHECKED_ROWS = 50
MAX_CHECKED_ROWS = 100_000
OUTLIER_NEIGHBOURS = 12
OUTLIER = 6.0
OUTLIER_OF_MODEL = 3.0
OUTLIER_OF_NEAR = 5.0
OUTLIER_AROUND = 40
MAX_OUTLIERS = 1_000
MIN_PAIRS = 30
PAIR_SHARE = 0.9
PAIR_NOISE = 0.5
MAX_EFFECT_STEPS = 60
LONGEST_EFFECT = 3.0
SETTLED_EFFECT = 1e-11
MAX_CURVATURE_ROWS = 1_200
CURVATURE_PART_ROWS = 600
CURVATURE_PARTS = 16
CURVATURE_ROUNDS = 3
WEAK_EFFECT_SD = 30.0
COLLINEAR_EFFECT = 1e-6
