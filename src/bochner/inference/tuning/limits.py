"""Thresholds of tuning.

======================  ==============  =========================================================  ====================
name                    value           what it costs, or why                                      measured by
======================  ==============  =========================================================  ====================
MAX_EXACT_TUNING_ROWS   1,000           an exact evidence with gradient takes about 0.1 s          benchmarks/references
MAX_EXACT_ENDING_ROWS   1,500           the same, where a climb begins on parts and ends on all    benchmarks/families
MAX_AVERAGING_ROWS      500             below, intervals average over hyperparameters              benchmarks/coverage
VECCHIA_POINTS          6,000           conditional densities of the fine likelihood               benchmarks/fields
COARSE_POINTS           2,000           of the first, coarse climbs                                benchmarks/fields
COARSE_NEIGHBOURS       12              predecessors of a point, coarse                            benchmarks/fields
FINE_NEIGHBOURS         20              and fine                                                   benchmarks/fields
COARSE_PARTS            4, 150, 300     clusters, rows in each, rows from everywhere: composite    benchmarks/families
FINE_PARTS              12, 200, 600    evidence of other families, coarse and fine                benchmarks/families
LEAST_NOISE             1e-8            of the variance: least noise that is searched              tests/inference
LARGEST_NOISE           10              of the variance: largest noise that is searched            tests/inference
LEAST_LOCAL_NOISE       1e-12           the same where each row is given few others                benchmarks/fields
NO_OWN_EFFECT           1e-3            of the variance: effect of single rows that is none        benchmarks/references
======================  ==============  =========================================================  ====================
"""

MAX_EXACT_TUNING_ROWS = 1_000
MAX_EXACT_ENDING_ROWS = 1_500
MAX_AVERAGING_ROWS = 500
VECCHIA_POINTS = 6_000
COARSE_POINTS = 2_000
COARSE_NEIGHBOURS = 12
FINE_NEIGHBOURS = 20
COARSE_PARTS = (4, 150, 300)
FINE_PARTS = (12, 200, 600)
LEAST_NOISE = 1e-8
LARGEST_NOISE = 10.0
LEAST_LOCAL_NOISE = 1e-12
NO_OWN_EFFECT = 1e-3
