"""Thresholds of Gaussian fits.

=========================  ========  =========================================================  ======================
name                       value     what it costs, or why                                      measured by
=========================  ========  =========================================================  ======================
EXACT_JITTER               1e-10     of the variance: least error variance of a row, so that    tests/laws
                                     an interpolating fit can be factored
LEAST_ROW_VARIANCE         1e-10     of the prior variance: the same for features               tests/laws
NOISE_ACCURACY             0.05      of the log noise variance that holds what waves leave out  benchmarks/dependent
NOISE_AT_END               0.1       a bounded search never looks at its very ends: within so   benchmarks/dependent
                                     much of one, the end is taken
MAX_NEWTON_STEPS           60        after which there is no mode                               tests/agreement
SMALLEST_NEWTON_STEP       2.0**-20  share of a full step, by halving                           tests/agreement
SETTLED_MODE               0.01      of the root of Newton's tolerance: length of a step, in     tests/inference
                                     curvatures, at which a mode is found
REPEATED_WORTH             0.3       of the last: length of a step by a factor that is there;   benchmarks/speed
                                     if longer, another factor is made, ...
MAX_REPEATED_STEPS         20        ... as after so many of them                               benchmarks/speed
FAR_PREDICTOR              30        of a response bounded by its size: logits beyond which     tests/estimators
                                     Newton's method runs to infinity
LEAST_INFORMATION          1e-6      about a coefficient, relative to that of rows taken one    tests/estimators
                                     by one: less is separation
SEPARATED_SD               2.5       of the prior of a fixed effect without a finite estimate:  benchmarks/presence
                                     on the link, for two values or two sd of a covariate
                                     (Gelman, Jakulin, Pittau & Su 2008)
GLM_RIDGE                  1e-8      of the information at the rows' own best predictors, so    tests/estimators
                                     that a fit without field can be had where covariates
                                     separate
MAX_SAMPLED_ROWS           3,000     joint draws of more rows and places need too much memory   tests/agreement
PRECONDITIONER_NEIGHBOURS  20        predecessors of a row in the inverse root: 10 to 40        benchmarks/fields
                                     iterations
BOX_ROOM                   0.01      of the rows' box, on every side: others like them are        benchmarks/speed
                                     nearly all within, and have the products of the fit
CG_PROBES                  1,000     places at which conjugate gradients are watched            benchmarks/fields
LEAST_CG_NOISE             1e-9      of the variance, in the system of all rows; neighbours     benchmarks/fields
                                     put right what it smooths
CG_TOLERANCE               1e-5      change of the predictions at probes, relative to their     benchmarks/agreement
                                     spread
MANY_CG_ROWS               200,000   rows beyond which a part of the sd of the surface is all    benchmarks/images
                                     the accuracy there need be: ...
CG_UNKNOWN                 0.005     ... the change of predictions at probes, relative to it    benchmarks/images
CG_LEAST_KNOWN             1e-4      of a row's error variance: what is left of the surface's   tests/inference
                                     own at the row, at least
CG_TREND_UNKNOWN           0.02      the same of what the trend's columns explain, times the    benchmarks/images
                                     coefficients beside their first guess: near data it
                                     hardly matters, and is slow to settle
CG_TREND_TOLERANCE         0.02      ... and relative to it, at most                            benchmarks/images
CG_DRAFT_TOLERANCE         1e-3      the same in a Newton step                                  benchmarks/families
CG_WORK_PER_ROW            1e6       operations of a solution for each row, by which a device   benchmarks/gpu
                                     is chosen or not
CG_ITERATIONS              600       of conjugate gradients: fields in fewer dimensions than the  tests/inference
                                     rows, which neighbours do not see, take hundreds
FEW_CG_ITERATIONS          60        of few rows: beyond, their matrix is factored               tests/inference
CG_TOLERATED               0.05      of the sd of the surface: change of predictions with which  tests/inference
                                     a solution that did not settle still counts
CG_FALLEN                  1e-2      and the residual that it has fallen to                      tests/inference
CG_RESIDUAL                1e-8      fall of the residual at which iteration ends whatever the  benchmarks/agreement
                                     predictions do
DENSE_DRAFT_RESIDUAL       1e-5      the same by the matrix in a Newton step                    benchmarks/zoo
DENSE_SHARE                0.4       of the memory that may be taken, for that matrix           benchmarks/memory
DENSE_COLUMNS              3         columns of a product from which the matrix of few rows is  benchmarks/zoo
                                     quicker than transforms, in such a step
TREND_ROWS                 6,000     rows, whitened by neighbours, that tell the effects of a    tests/inference
                                     trend beside a field ...
TREND_NEIGHBOURS           20        ... by so many of them, ...                                tests/inference
TREND_STEPS                10        ... with a prior about plain least squares: sds of what    tests/inference
                                     is left, by which an effect moves a row
MAX_SOLVED_FOLDS           20        folds by conjugate gradients; of more, means come from     benchmarks/competition
                                     neighbours
MAX_FACTORED_ROWS          6,000     rows up to which a dense factor answers for all folds      tests/estimators
WELL_POSED_NOISE           1e-6      of the variance: noise with which it may                   tests/estimators
FOLD_COLUMNS               24        columns of conjugate gradients solved side by side         benchmarks/competition
FOLD_PROBES                2,000     rows at which they are watched                             benchmarks/competition
LOCAL_NEIGHBOURS           36        nearest rows that a held-out row is kriged from while      benchmarks/competition
                                     tuning
LOCAL_FAR                  12        and rows beyond them, of each of two thinned sets          benchmarks/competition
RANDOM_NEIGHBOURS          16        nearest rows that one held out at random is kriged from:    benchmarks/stacking
                                     others lie all around it
MAX_LOCAL_TARGETS          1,500     held-out rows of a fold: enough to rank kernels            benchmarks/competition
FOLD_BYTES                 300       of a row in a fold: its copy, its place in trees           benchmarks/memory
FOLD_ROOM                  0.1       of the memory that may be taken: folds that take more are  benchmarks/memory
                                     kriged one after the other
MANY_ROUNDS                4         folds and kernels for each thread, from which on each      benchmarks/speed
                                     takes its own, whether or not some have one more
MAX_COMPANION_WAVES        2,500     5,000 columns: a factor of 200 MB in some seconds          benchmarks/agreement
MAX_COMPANION_DIMENSIONS   3         of a lattice                                               benchmarks/agreement
COMPANION_NOISE            1e-3      of the variance: noise below which neighbours tell all     benchmarks/agreement
COMPANION_UNSEEN           0.01      of the variance of the surface: what the waves should      benchmarks/agreement
                                     leave out at most
COMPANION_TOLERATED        0.05      and may                                                    benchmarks/agreement
COMPANION_SHARED           0.08      truncated variance times rows per resolved wavelength,     benchmarks/agreement
                                     relative to the noise variance
SURFACE_PROBES             200       rows at which the variance of the surface is looked at     benchmarks/agreement
SURFACE_NEIGHBOURS         40        nearest rows for that                                      benchmarks/agreement
SURFACE_FAR                20        and rows beyond them, of each of two thinned sets          benchmarks/agreement
BYTES_PER_ROW              210       of any fit, and 24 for every coordinate                    benchmarks/memory
EXACT_MATRICES             5         matrices of n^2 doubles alive in an exact fit              benchmarks/memory
COLUMN_MATRICES            4         matrices of p^2 doubles alive in a fit of p columns        benchmarks/memory
CG_BYTES_PER_ROW           by dim    of conjugate gradients                                     benchmarks/memory
CG_BYTES                   by dim    and beside the rows                                        benchmarks/memory
GRID_BYTES_PER_ROW         900       the same on a regular grid, ...                            benchmarks/images
GRID_BYTES_PER_NODE        40        ... for every node of the torus around it, ...             benchmarks/images
GRID_BYTES                 5e7       ... and beside them                                        benchmarks/images
NEAREST_BYTES_PER_ROW      1,300     of kriging from the nearest rows                           benchmarks/images
SPARE_MEMORY               0.75      share of a memory limit that one thing may take: others    benchmarks/memory
                                     are alive beside it
=========================  ========  =========================================================  ======================
"""

from __future__ import annotations

EXACT_JITTER = 1e-10
LEAST_ROW_VARIANCE = 1e-10
NOISE_ACCURACY = 0.05
NOISE_AT_END = 0.1
MAX_NEWTON_STEPS = 60
SMALLEST_NEWTON_STEP = 2.0**-20
SETTLED_MODE = 0.01
REPEATED_WORTH = 0.3
MAX_REPEATED_STEPS = 20
FAR_PREDICTOR = 30
LEAST_INFORMATION = 1e-6
SEPARATED_SD = 2.5
GLM_RIDGE = 1e-8
MAX_SAMPLED_ROWS = 3_000
PRECONDITIONER_NEIGHBOURS = 20
BOX_ROOM = 0.01
CG_PROBES = 1_000
LEAST_CG_NOISE = 1e-9
CG_TOLERANCE = 1e-5
MANY_CG_ROWS = 200_000
CG_UNKNOWN = 0.005
CG_LEAST_KNOWN = 1e-4
CG_TREND_UNKNOWN = 0.02
CG_TREND_TOLERANCE = 0.02
CG_DRAFT_TOLERANCE = 1e-3
CG_WORK_PER_ROW = 1e6
CG_ITERATIONS = 600
FEW_CG_ITERATIONS = 60
CG_TOLERATED = 0.05
CG_FALLEN = 1e-2
CG_RESIDUAL = 1e-8
DENSE_DRAFT_RESIDUAL = 1e-5
DENSE_SHARE = 0.4
DENSE_COLUMNS = 3
TREND_ROWS = 6_000
TREND_NEIGHBOURS = 20
TREND_STEPS = 10.0
MAX_SOLVED_FOLDS = 20
MAX_FACTORED_ROWS = 6_000
WELL_POSED_NOISE = 1e-6
FOLD_COLUMNS = 24
FOLD_PROBES = 2_000
LOCAL_NEIGHBOURS = 36
LOCAL_FAR = 12
RANDOM_NEIGHBOURS = 16
MAX_LOCAL_TARGETS = 1_500
FOLD_BYTES = 300
FOLD_ROOM = 0.1
MANY_ROUNDS = 4
MAX_COMPANION_WAVES = 2_500
MAX_COMPANION_DIMENSIONS = 3
COMPANION_NOISE = 1e-3
COMPANION_UNSEEN = 0.01
COMPANION_TOLERATED = 0.05
COMPANION_SHARED = 0.08
SURFACE_PROBES = 200
SURFACE_NEIGHBOURS = 40
SURFACE_FAR = 20
BYTES_PER_ROW = 210
EXACT_MATRICES = 5
COLUMN_MATRICES = 4
CG_BYTES_PER_ROW = {1: 2_500, 2: 4_500, 3: 36_000}
CG_BYTES = {1: 2e7, 2: 2e7, 3: 2e8}
GRID_BYTES_PER_ROW = 900
GRID_BYTES_PER_NODE = 40
GRID_BYTES = 5e7
NEAREST_BYTES_PER_ROW = 1_300
SPARE_MEMORY = 0.75
