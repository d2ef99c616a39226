"""Thresholds of tuning.

=====================  ===================================  ==================================  ======================
name                   value                                what it costs, or why               measured by
=====================  ===================================  ==================================  ======================
MAX_EXACT_TUNING_ROWS  1,000                                an exact evidence with gradient     benchmarks/references
                                                            takes about 0.1 s
MAX_EXACT_ENDING_ROWS  1,500                                the same, where a climb begins on   benchmarks/families
                                                            parts and ends on all
MAX_AVERAGING_ROWS     500                                  below, intervals average over       benchmarks/coverage
                                                            hyperparameters
VECCHIA_POINTS         6,000                                conditional densities of the fine   benchmarks/fields
                                                            likelihood
COARSE_POINTS          2,000                                of the first, coarse climbs         benchmarks/fields
COARSE_NEIGHBOURS      12                                   predecessors of a point, coarse     benchmarks/fields
FINE_NEIGHBOURS        20                                   and fine                            benchmarks/fields
COARSE_PARTS           (4, 150, 300)                        clusters, rows in each, rows from   benchmarks/families
                                                            everywhere: composite
FINE_PARTS             (12, 200, 600)                       evidence of other families, coarse  benchmarks/families
                                                            and fine
SHARED_ROWS            50                                   rows' worth of the fixed effects of  benchmarks/presence
                                                            all rows, that a part is told
SHARED_SHARE           0.1                                  of the information of all rows: so   benchmarks/presence
                                                            much at most
LATTICE_WAVES          600                                  waves that the evidence of 10,000   benchmarks/presence
                                                            rows may take, as many of few and
                                                            twice of many: a factor of
                                                            1,200 columns, some tenths of a
                                                            second
LATTICE_ROUNDS         5                                    plans of a climb on waves           benchmarks/presence
LATTICE_ITERATIONS     12                                   of each                             benchmarks/presence
LATTICE_SETTLED        0.01                                 log evidence of a step that ends it benchmarks/presence
SETTLED_NATS           0.3                                  gain that calls for another round:  benchmarks/presence
                                                            plans differ by about as much
SMOOTHER_TOLL          2.0                                  log evidence of all rows that a     benchmarks/presence
                                                            smoother field than the roughest
                                                            must gain, where smoothness is then
                                                            averaged over; else half of log n
LEAST_RIVAL            0.05                                 odds of another smoothness that is  benchmarks/presence
                                                            worth a solve
NO_FIELD               1e-8                                 of a kernel's variance: evidence    benchmarks/presence
                                                            that a field is compared with
SPLIT_STEP             0.3                                  in logs of length scales: where     benchmarks/presence
                                                            slopes are compared before axes
                                                            are given their own
SPLIT_DOUBT            0.3                                  of the price: expected gain below   benchmarks/presence
                                                            which no climb is made
PLANNED_REACH          0.5                                  in theta: kernels that one plan     benchmarks/presence
                                                            serves
SAME_PLAN              0.2                                  and after a smaller move no other   benchmarks/presence
                                                            is made
MAX_DENSE_ENDING_ROWS  2,500                                rows of other families up to which  benchmarks/presence
                                                            a climb ends with the exact kernel
                                                            where waves do not hold it
DENSE_ENDING           12                                   iterations of that: some seconds    benchmarks/presence
                                                            each
TAIL_POWER             0.4                                  power of the smoothness by which    benchmarks/presence
                                                            ranges of Matern kernels alike in
                                                            their evidence differ
LEAST_NOISE            1e-8                                 of the variance: least noise that   tests/inference
                                                            is searched
LARGEST_NOISE          10.0                                 of the variance: largest noise      tests/inference
                                                            that is searched
LEAST_LOCAL_NOISE      1e-12                                the same where each row is given    benchmarks/fields
                                                            few others
NO_OWN_EFFECT          1e-3                                 of the variance: effect of single   benchmarks/references
                                                            rows that is none
START_REACHES          (0.05, 0.15, 0.4, 1.2)               ranges to start from, in extents    benchmarks/references
START_NOISES           (0.05, 0.4)                          noise to start from, of the         benchmarks/references
                                                            variance of the data
SMALL_FIELD            0.1                                  field to start from, of the         benchmarks/references
                                                            variance left, where known errors
                                                            may explain most of it
KNOWN_ERRORS           0.2                                  of the variance: typical known      benchmarks/references
                                                            error from which on that is tried
STAGGER                4.0                                  ratio of starting ranges of the     tests/estimators
                                                            parts of a sum: symmetric starts
                                                            are saddle points
N_PERIODS              3                                    waves that a period is sought       tests/estimators
                                                            among
MAX_PEAK_ROWS          100,000                              rows of the empirical spectrum      tests/estimators
PEAK_REACHES           (0.1, 0.5)                           of the extent, for what else has a  tests/estimators
                                                            range
FAILED_SEARCH          -1e25                                value of an objective where there   tests/inference
                                                            is none
SELECTED_SMOOTHNESS    (1.5, 0.5, 2.5)                      smoothness that is tried where no   benchmarks/coverage
                                                            kernel is given, for few rows
WIDEST                 1.5                                  largest sd, on the log scale, of a  benchmarks/coverage
                                                            direction that the data leave flat
OPEN_SD                0.15                                 of the log of the surface's sd: as  benchmarks/missed_
                                                            much left open by 500 rows or more  fields
                                                            calls for an average
OPEN_NODE              1.5                                  sds of the exact evidence from the  benchmarks/missed_
                                                            mode to its nodes                   fields
OPEN_TRIALS            3                                    of a node that lies where the       benchmarks/missed_
                                                            evidence has not fallen too far     fields
OPEN_SHORTEST          0.25                                 of a step: the next trial is no     benchmarks/missed_
                                                            shorter                             fields
MAX_OPEN_ROWS          1,500                                up to which it weighs the nodes:    benchmarks/missed_
                                                            0.1 s each                          fields
LEAST_OPEN_MASS        0.02                                 of a node that is worth a solve     benchmarks/missed_
                                                                                                fields
GLIMPSED               (200, 100)                           rows, and places between them, to   benchmarks/missed_
                                                            judge that by: a few ms             fields
GLIMPSED_LEAST         1e-10                                of a variance: rounding             tests/inference
ONE_SIDED_STEP         1e-4                                 in theta, of a difference of slopes tests/laws/test_answers
                                                            of the exact evidence, ...
CENTRAL_STEP           1e-3                                 ... and of others, to both sides    tests/laws/test_answers
DESIGN_REACH           1.1                                  distance of the points, in sd       benchmarks/coverage
                                                            sqrt(k), as in Rue, Martino &
                                                            Chopin (2009)
ALIKE_FALL             1.33                                 of what the objective falls to them benchmarks/coverage
                                                            to what the information foretells:
                                                            else they are moved
LEAST_FREEDOM          3                                    rows beyond the trend's columns     tests/estimators
                                                            from which on variances are
                                                            integrated over
SMOOTHNESS_PRIOR       0.46, 0.27, 0.27                     of nu = 0.5, 1.5, 2.5 before the    benchmarks/latent_
                                                            data                                coverage
SHARE_LOGITS           (-6.0, 16.0)                         logits of the field's share of the  benchmarks/latent_
                                                            variance                            coverage
SHARE_STEP             0.5                                  between them; O(n) each             benchmarks/latent_
                                                                                                coverage
SHARE_PRIOR            (1.0, 0.65)                          Beta law of the share before the    benchmarks/latent_
                                                            data: uniform, but for data         coverage
                                                            without noise
NOISE_LOGITS           (-8.0, ..., 0.5)                     logs of the noise, of the           tests/estimators
                                                            variance, where errors of the rows
                                                            are known
NOISE_DEPTH            7.0                                  log evidence below the best at      tests/estimators
                                                            which a level of noise is left out
LEAST_RANGE            0.02                                 of the extent, or the spacing if    benchmarks/latent_
                                                            less                                coverage
LARGEST_RANGE          4.0                                  of the extent                       benchmarks/latent_
                                                                                                coverage
RANGE_STEP             0.66                                 of the first grid of ranges, in     benchmarks/latent_
                                                            logs; one tridiagonal form each     coverage
RANGE_REFINEMENTS      6                                    halvings of the step, at most       benchmarks/latent_
                                                                                                coverage
VALLEY_NATS            10.0                                 below the best: ranges beyond it    benchmarks/latent_
                                                            are not evaluated                   coverage
HOPELESS_NATS          30.0                                 below the best, from which on no    tests/inference/
                                                            range of a branch is looked at but  tuning
                                                            the one that it begins with
HEAVY_RANGE            0.35                                 share of the mass at one range      benchmarks/latent_
                                                            that asks for finer steps           coverage
SHORT_RANGE            0.1                                  c of the range's prior density      benchmarks/latent_
                                                            l^-(1 + p) exp(-c / l), in          coverage
                                                            extents; two spacings if less
RANGE_POWER            0.8                                  and p                               benchmarks/latent_
                                                                                                coverage
LEAST_MASS             5e-4                                 of a range: less is left out        benchmarks/latent_
                                                                                                coverage
FULL_MASS              0.02                                 of a range, from which on it has    benchmarks/latent_
                                                            all the nodes along the share       coverage
REFINED_MASS           2e-3                                 of a branch, from which on its      benchmarks/latent_
                                                            ranges are halved: a peak between   coverage
                                                            two of the first may hold ten times
                                                            what they do
SHARE_NODES            2                                    nodes of the Gauss rule along the   benchmarks/latent_
                                                            share: widths within 1 %            coverage
FEW_SHARE_NODES        1                                    and where there is little mass      benchmarks/latent_
                                                                                                coverage
FACTOR_NUMBERS         2,000,000                            numbers in the factors of all       benchmarks/latent_
                                                            sets: 16 MB of a model file         coverage
THRIFTY_ROWS           250                                  from which on stretches about the   benchmarks/latent_
                                                            learned one have one smoothness ... coverage
THRIFTY_NATS           (7.0, 8.0)                           ... the two depths above are less,  benchmarks/latent_
                                                            ...                                 coverage
HOPELESS_CLIMB         6.0                                  ... a smoothness has no part if its benchmarks/latent_
                                                            climb has fallen so far short, ...  coverage
BESIDE_STEP            1.3                                  ... sds of the range of the best    benchmarks/latent_
                                                            smoothness, at which others are     coverage
                                                            looked at, ...
BESIDE_WIDEST          0.4                                  ... for a parabola, if the log of   benchmarks/latent_
                                                            their range has a lesser sd, ...    coverage
SAME_RANGE             1e-9                                 ... are one if their logs are as    tests/inference/
                                                            near, ...                           tuning
BESIDE_SHARPEST        50.0                                 ... and falls by no more nats on    tests/inference/
                                                            both sides together, ...            tuning
BESIDE_MOVES           4                                    ... moved so often, if their peak   benchmarks/latent_
                                                            lies elsewhere, ...                 coverage
FOLLOWED_NODES         3                                    ... and so many ranges, of the      benchmarks/latent_
                                                            Gauss rule in the middle            coverage
LINE_STEP              1.2                                  ... sds along the share of the      benchmarks/latent_
                                                            field, at which three factors take  coverage
                                                            the place of a tridiagonal form,
                                                            ...
LINE_WIDEST            0.6                                  ... if its logit has a lesser sd,   benchmarks/latent_
                                                            ...                                 coverage
LINE_SD                0.3                                  ... which the first is taken to     benchmarks/latent_
                                                            have, ...                           coverage
LINE_NEAR              1.5                                  ... and is then expected as those   benchmarks/speed
                                                            of ranges so near let it be, ...
LINE_UNLIKE            1.5                                  ... and once more, where it was     benchmarks/latent_
                                                            taken for so many times more or     coverage
                                                            less, ...
LINE_TRIALS            3                                    ... at most, ...                    benchmarks/latent_
                                                                                                coverage
LINE_MISSES            2                                    ... until so many in a row could    tests/inference/
                                                            not be, ...                         tuning
LINE_NOISELESS         10.0                                 ... and none where the best logit   tests/inference/
                                                            is larger: the share then has no    tuning
                                                            peak, ...
LINE_ENDS              3.0                                  ... for a normal law that ends at   benchmarks/latent_
                                                            so many sds ...                     coverage
LINE_POINTS            13                                   ... and has so many points          benchmarks/latent_
                                                                                                coverage
FALL_RATIO             16.0                                 of what the evidence falls by to    tests/inference/
                                                            what the information foretells, at  tuning
                                                            most, either way
INTEGRATION_NODES      (9, 40)                              least and most sets: widths within  benchmarks/latent_
                                                            1 % of those of 400                 coverage
MAX_LAPLACE_GRID_ROWS  200                                  rows of other families up to which  benchmarks/calibration
                                                            the Laplace evidence is laid on a
                                                            grid: 1 to 4 s
FIELD_LOGS             -7 to 2.5, 10 of them                logs of the field's variance on     benchmarks/calibration
                                                            it, in the square of ...
FIELD_SD               1.0                                  ... the mean sd a priori, in sds    benchmarks/calibration
                                                            of the data on the link
EFFECT_LOGS            -8, -5, -3, -1.5, 0                  the same of effects of single       benchmarks/calibration
                                                            rows, ...
EFFECT_SD              0.5                                  ... and theirs                      benchmarks/calibration
RULED_OUT              5.5                                  log density below the best from     benchmarks/calibration
                                                            which on the grid ends
FORESEEN_BELOW         1.0                                  ... and by how much more two        tests/inference
                                                            places in a line must foresee it
                                                            for a third not to be tried
GRID_STEP              1e-3                                 of Newton's method, at which a set  tests/inference
                                                            is settled: to some 1e-3 nats
SETS_AT_ONCE           16                                   of the grid, side by side: 5 MB     benchmarks/speed
RATIO_SD               0.7                                  prior sd of contrasts of log        tests/estimators
                                                            length scales: ratios of e
STRETCHED_PRIOR        0.25                                 probability of a length scale per   tests/estimators
                                                            axis before the data
HOPEFUL_STRETCH        0.15                                 mass to be expected of them by      tests/inference/
                                                            those in the best ratios, from      tuning
                                                            which on others are tried
RULED_OUT_SMOOTHNESS   5.0                                  nats below the best of those, from  tests/inference/
                                                            which on a smoothness is not tried  tuning
                                                            in other ratios
WORTH_STRETCHING       1.0                                  log evidence below the best from    tests/estimators
                                                            which on it is not tried
REFINEMENT_ITERATIONS  20                                   on the evidence of all rows         benchmarks/fields
SLOPED_SHARE           0.7                                  of the variance that a surface of   benchmarks/missed_
                                                            the second order explains: then a   fields
                                                            near field is sought beside it,
                                                            ...
FOLLOWS_SLOPE          0.2                                  extents that one field then reaches benchmarks/missed_
                                                            at least; one of less has found     fields
                                                            what is near (sums gained where it
                                                            reached 0.3 to 4.5 alone)
DRIFT_REACH            2.0                                  ... which begins so many extents    benchmarks/missed_
                                                            long, ...                           fields
DRIFT_VARIANCE         4.0                                  ... of so many times the variance   benchmarks/missed_
                                                            of the data, ...                    fields
DRIFT_SMOOTHNESS       2.5                                  ... and is so smooth                benchmarks/missed_
                                                                                                fields
NEAR_SMOOTHNESS        (0.5, 1.5)                           of the near field, ...              benchmarks/missed_
                                                                                                fields
NEAR_REACH             0.1                                  ... extents that it begins with,    benchmarks/missed_
                                                            and ...                             fields
NEAR_PART              0.7                                  ... its part of what slopes leave   benchmarks/missed_
                                                                                                fields
WORTH_NEAR             1.0                                  nats by which both must be likelier benchmarks/missed_
                                                            than one field, a prior counted; of fields
                                                            more rows, log n: Schwarz's of two
ROWS_PER_SLOPE         4                                    rows for each column of the         tests/inference/
                                                            surface, at least                   tuning
MUCH_NOISE             0.5                                  of the variance of the data, from   benchmarks/missed_
                                                            which on fields of several reaches  fields
                                                            are begun from, ...
WEAK_REACHES           (0.1, 0.3, 1.0)                      ... so many extents long, ...       benchmarks/missed_
                                                                                                fields
WEAK_SHARES            (0.3, 0.1, 0.03)                     ... of such parts of the variance   benchmarks/missed_
                                                                                                fields
WEAK_GAIN              0.5                                  nats by which one of them is        benchmarks/missed_
                                                            preferred to what neighbours found  fields
JUDGING_ROWS           2,000                                by which it is told, where waves    benchmarks/missed_
                                                            do not hold the latter              fields
CAREFUL_REACH          0.3                                  in theta, of a climb whose first    benchmarks/calibration
                                                            long step the waves did not hold
SETTLED                1e-6                                 relative gain in log likelihood     benchmarks/fields
                                                            that no prediction shows
SCORED                 1e-7                                 nats that the last step of scoring  benchmarks/speed
                                                            gains
MIN_GUIDED_ROWS        400                                  rows from which climbs of the exact benchmarks/speed
                                                            evidence begin by Vecchia's, ...
GUIDED_ASTRAY          5.0                                  ... where from its peaks on the     benchmarks/speed
                                                            exact one would gain fewer nats,
                                                            ...
GUIDED_LOST            10.0                                 ... or fewer than so many and its   tests/inference/
                                                            peak is better than the start, ...  tuning
GUIDED_DOUBT           2.0                                  ... of which so many may be missed  benchmarks/speed
                                                            ...
GUIDED_SHARE           0.2                                  ... with so much of what it finds   benchmarks/speed
                                                            between two kernels, ...
GUIDED_SURE            10.0                                 ... which are not compared by the   benchmarks/speed
                                                            exact one from so many nats on,
                                                            ...
GUIDED_NEAR            0.1                                  ... and in theta to so much where   benchmarks/speed
                                                            two may be one
GUIDED_ENOUGH          0.1                                  nats that the last step of a climb  benchmarks/speed
                                                            of Vecchia's gains there, ...
CHOSEN_ENOUGH          1e-3                                 ... of the exact one where a kernel benchmarks/speed
                                                            is chosen, ...
AVERAGED_ENOUGH        0.02                                 ... and averaged about              benchmarks/speed
FADED                  0.05                                 nats of slope in the log of a        benchmarks/speed
                                                            variance that is next to nothing,
                                                            if ...
FADING                 3.0                                  ... its curvature is at most so     benchmarks/speed
                                                            many slopes: about one, by rights
SAME_PEAK              0.5                                  nats below a peak by the curvature: benchmarks/speed
                                                            a climb that comes so near leads
                                                            there
SCATTERED              0.3                                  dispersion from which on a rough    benchmarks/calibration
                                                            field is tried in its place
BACK_SHARE             0.8                                  of the first dispersion: where that benchmarks/speed
                                                            rough field has come back to it ...
BACK_NATS              10.0                                 ... and lies so near in evidence,   benchmarks/speed
                                                            it is the first peak again
SEEN_SPACINGS          4.0                                  of all rows: a field that reaches   benchmarks/speed
                                                            farther is seen by some of them,
                                                            which then tell of such a peak
LAST_HOPE              0.5                                  nats that a climb still expects to  benchmarks/speed
                                                            gain, below which it ends ...
HOPED_TIMES            10.0                                 ... if so many times as much would  benchmarks/speed
                                                            not make it the better one
FIRST_DAMPING          0.01                                 of the information's diagonal,      benchmarks/speed
                                                            added to it at the start
DAMPING_STEP           4.0                                  by which the damping changes        benchmarks/speed
LARGEST_DAMPING        1e6                                  at which no step is left to take    tests/inference
AS_EXPECTED            (0.25, 0.75)                         shares of the gain expected: below  benchmarks/speed
                                                            more, above less damping
LONGEST_STEP           2.0                                  of scoring, in logs                 benchmarks/speed
LEAST_CURVATURE        1e-9                                 that everything has: none would be  benchmarks/speed
                                                            no step
LEAST_BEND             1e-10                                cosine of step and fall of the      tests/inference
                                                            gradient that is believed
CLIMBED                1e-11                                relative gain that ends a climb on  tests/inference
                                                            exact evidence: below, rounding
                                                            leads line searches astray (289
                                                            evaluations of 949 rows, for 176)
MIN_THINNED_ROWS       300                                  of counts or classes, from which on benchmarks/speed
                                                            climbs begin on some of the rows
                                                            ...
THINNED_SHARE          0.4                                  ... as many of them, ...            benchmarks/speed
THINNED_ROWS           (120, 300)                           ... no fewer and no more            benchmarks/speed
DRAFTED                1e-5                                 the same of a climb that is a draft benchmarks/speed
                                                            unless it is the best
MAX_TOLD_SMOOTHNESS    3.0                                  nu beyond which likelihoods of      benchmarks/fields
                                                            neighbours hardly change
LEAST_MODULATED_ROWS   2,000                                rows from which an amplitude that   benchmarks/stacking
                                                            varies in space is sought
MAX_MODULATING_ROWS    4,000                                errors that it is found by          benchmarks/stacking
AMPLITUDE_NODES        (9, 36, 120)                         places that it is given at          benchmarks/stacking
LARGEST_LOG_AMPLITUDE  1.6                                  largest, and the inverse least:     benchmarks/stacking
                                                            a factor of five
N_AMPLITUDES           33                                   that are tried between              benchmarks/stacking
LOG_AMPLITUDE_SD       0.5                                  of its prior                        benchmarks/stacking
CLEARLY_LIKELIER       3.0                                  standard errors by which unseen     tests/inference
                                                            errors must be more likely
WORTH_AMPLITUDE        0.01                                 of the CRPS in gaps: what it must   benchmarks/stacking
                                                            gain
N_GAP_FOLDS            3                                    sets of rows held out as the        benchmarks/competition
                                                            wanted places lie
MAX_WANTED_PLACES      30,000                               that shape them                     benchmarks/competition
MOSTLY_FULL            0.35                                 of the nodes of a grid: its empty   benchmarks/missed_fields
                                                            ones are then wanted; else places
                                                            among the rows, ...
AMONG_NEIGHBOURS       8                                    ... no farther from one than that   benchmarks/missed_fields
                                                            from so many others
LEAST_AMONG            0.2                                  of the box: if less of it lies      benchmarks/missed_fields
                                                            among the rows, that is wanted; ...
NEXT_TO_NONE           0.02                                 ... and less than this is drawn     benchmarks/missed_fields
                                                            around them
MAX_AMONG_ROWS         30,000                               that tell how far rows lie apart    benchmarks/speed
WORTH_CRPS             0.005                                of the CRPS: what a richer kernel   benchmarks/competition
                                                            must gain
TURNED_START           1.4                                  ratio to the mean of the length     benchmarks/zoo
                                                            scales that turned axes start from
TURNED_ANGLES          0, 45, 90, 135 degrees               and their directions                benchmarks/zoo
TURNED_LEAST           0.2                                  sine of twice the angle: nearer to  benchmarks/zoo
                                                            an axis, it is that axis
HARDLY_STRETCHED       3.0                                  ratio of length scales from which   benchmarks/missed_
                                                            on neighbours are sought anew       fields
UNLIKE_EXTENTS         3.0                                  ratio of longest to shortest axis   benchmarks/dependent
                                                            above which axes are taken to have
                                                            different units
UNLIKE_UNITS           30.0                                 ratio of principal sds of the       tests/inference/
                                                            coordinates above which few rows    tuning
                                                            are not learned by one metric
AXIS_STARTS            (0.03, 0.3)                          of the extent: length scales to     benchmarks/dependent
                                                            start from along axes of their own
COARSE_ITERATIONS      40                                   of a climb on the coarse            benchmarks/competition
                                                            likelihood
FINE_ITERATIONS        15                                   on the fine one, from where the     benchmarks/competition
                                                            coarse one ended
CALIBRATION_CHANCE     0.1                                  calibration factors within 10 % of  benchmarks/competition
                                                            1 are sampling noise and not
                                                            applied
SUM_SMOOTHNESS         (1.5, 0.5, 1.5)                      of the short, the middle and the    benchmarks/competition
                                                            long field
SUM_STARTS             ((0.15, 1.0, 2.0), (0.5, 2.0, 0.5))  lengths: of short and middle in     benchmarks/competition
                                                            those of the single field, of long
                                                            in extents
SUM_SHARES             (0.15, 0.2, 4.0)                     variances to start from, of the     benchmarks/competition
                                                            single field's
SUM_COARSE_POINTS      2,000                                points of the coarse likelihood of  benchmarks/competition
                                                            a sum
SUM_MATCHED_POINTS     8,000                                and of the one that is matched to   benchmarks/competition
                                                            the wanted places
MIN_MATCHED_ORDER      3,000                                first points of the order that it   benchmarks/competition
                                                            looks at, at least
SUM_ITERATIONS         40                                   of a climb                          benchmarks/competition
SUM_LEDGE              5.0                                  nats below the single field, from   benchmarks/zoo
                                                            which on a climb of a sum that
                                                            hardly gains is not ended
WORTH_LIKELIHOOD       4.0                                  log likelihood that a sum must      benchmarks/competition
                                                            gain on the coarse points: one for
                                                            each further parameter
FORESEEN_SHARE         0.25                                 of it: what slopes at the single     benchmarks/foreseen_
                                                            field must foretell for a sum to be  sums
                                                            tried at all
SMOOTH_ENOUGH          0.4                                  smoothness from which on they do: a  benchmarks/foreseen_
                                                            rougher field may be two             sums
SHORTER_ASKED          (0.02, 0.04, 0.08)                   of the extent: lengths for which     benchmarks/foreseen_
                                                            slopes are asked, too, where starts  sums
                                                            are longer
NEAR_PEAK              0.1                                  nats: where slopes are asked, a      tests/inference
                                                            climb would gain no more
NEXT_TO_NO_VARIANCE    1e-4                                 of a start's: variance at which      tests/inference
                                                            slopes are those at none
WORTH_IN_GAPS          1.0                                  or, where gaps judge both, at least benchmarks/stacking
MIN_SUM_ROWS           3,000                                rows from which a sum of a short    benchmarks/zoo
                                                            and a long field is tried, of other
                                                            families than the Gaussian: fewer
                                                            than the parts hold
SHORT_START            1/20                                 of the extent: length scales of the benchmarks/zoo
                                                            short field, at most, ...
LONG_START             1/4                                  ... and of the long one, that the   benchmarks/zoo
                                                            climb begins from
SUMMED_SHARE           0.1                                  of the variance that a second field benchmarks/presence
                                                            is given; unless that gains
                                                            already, no climb is made
WORTH_SUM              3.0                                  log evidence of the parts that it   benchmarks/presence
                                                            must gain: two parameters
LEAST_GROUPS           5                                    groups from which whole ones are    benchmarks/stations
                                                            held
                                                            out; of fewer, rows are
MANY_GROUPS            300                                  groups from which three tenths      benchmarks/stations
                                                            suffice
MAX_GAP_DIMENSIONS     3                                    in which gaps have a shape to be    tests/estimators
                                                            moved
GAPPY                  0.5                                  share of the wanted places in gaps  benchmarks/stacking
                                                            from which kernels are stacked
ISOTROPIC_SMOOTHNESS   0.5                                  of the plain candidate              benchmarks/stacking
ROUGH_SUM              (0.5, 0.5)                           smoothness of a sum without smooth  benchmarks/stacking
                                                            parts: it extrapolates no slopes
ROUGH_STARTS           ((0.3, 1.0), (1.0, 3.0))             its lengths, in those of the single benchmarks/stacking
                                                            field
ROUGH_SHARES           (0.3, 1.0)                           and variances                       benchmarks/stacking
MAX_STRETCH            12.0                                 ratio of rotated length scales:     benchmarks/stacking
                                                            beyond, they may follow the
                                                            sampling, and must predict better
MAX_FIELD_VARIANCE     25.0                                 of the data's: what a field of a    benchmarks/stacking
                                                            sum may have, its slopes kept
MANY_MIRRORED_ROWS     1,000,000                            rows: beyond, one fold has gaps     benchmarks/images
                                                            enough, and ...
ENOUGH_MIRRORS         3                                    ... so many mirror images serve     benchmarks/images
ALIKE_MEANS            0.1                                  sds that two kernels differ by      benchmarks/stacking
                                                            which say the same ...
ALIKE_SDS              0.05                                 ... and the log of their sds        benchmarks/stacking
CLEARLY_WORSE          1.0                                  standard errors, over gaps, of the  benchmarks/stacking
                                                            CRPS by which a kernel loses
NESTED_ERRORS          2.0                                  and of that by which a sum loses to benchmarks/stacking
                                                            one field, its special case
LEAST_STACKED          0.1                                  weight of a kernel worth its cost   benchmarks/stacking
MAX_STACKED            2                                    kernels of a mixture: each costs a  benchmarks/stacking
                                                            solve, and a prediction
HEDGES                 1, .75, .5, .25, 0                   shares of the weights, the rest for benchmarks/stacking
                                                            the best kernel: the first that ...
HEDGE_COST             0.002                                ... costs at most so much CRPS      benchmarks/stacking
HEDGE_ERRORS           0.2                                  ... or of its standard errors, over benchmarks/stacking
                                                            gaps
CLEARLY_ENOUGH         0.85                                 weight with which one is alone      benchmarks/stacking
EQUAL_WEIGHTS          1.0                                  gaps that each kernel is given in   benchmarks/stacking
                                                            advance
STACKING_STEPS         60                                   of EM                               benchmarks/stacking
ONE_GAP                4.0                                  typical distances of held-out rows  benchmarks/stacking
                                                            that link them to one gap
MAX_LIKE_PLACES        3,000                                wanted places that held-out rows    benchmarks/stacking
                                                            are weighted by
SURROUNDED             3.0                                  radius in which rows surround a     benchmarks/stacking
                                                            place, in distances to the nearest
EMPTY_SECTORS          1, 4                                 of twelve: how far a place is not   benchmarks/stacking
                                                            surrounded
MAX_SURROUNDING        4,000                                rows that are looked at for that    benchmarks/stacking
MAX_LIKENESS           5.0                                  weight of a held-out row            benchmarks/stacking
CALIBRATED_COVERAGE    0.94, 0.96                           of held-out rows, by 95 % intervals benchmarks/zoo
                                                            after calibration
CALIBRATION_RANGE      0.5, 2.0                             factor that held-out rows may put   benchmarks/fields
                                                            on
                                                            all variances
ARD_COARSE_ROWS        700                                  rows by which length scales of many benchmarks/zoo
                                                            axes are found (0.1 s an evaluation)
ARD_FINE_ROWS          1,500                                rows by which they are improved     benchmarks/zoo
                                                            (0.5 s)
ARD_COARSE_ITERATIONS  60                                   steps of the one                    benchmarks/zoo
ARD_FINE_ITERATIONS    15                                   and of the other                    benchmarks/zoo
ARD_NEIGHBOURS         30                                   predecessors in scaled coordinates  benchmarks/zoo
ARD_VECCHIA_POINTS     4,000                                points of that likelihood           benchmarks/zoo
ARD_HELD_OUT           1,500                                rows held out to judge by           benchmarks/zoo
TREES_DIMENSIONS       5                                    from which boosted trees are tried  benchmarks/zoo
                                                            too
TREES_ROWS             20,000                               rows that they learn from, about 1  benchmarks/zoo
                                                            s
SPACE_TIME_SMOOTHNESS  0.5, 1.5                             in space, of products with time     benchmarks/stations
USUAL_SCATTER          2.0                                  robust sds up to which rows count   tests/estimators
                                                            alike where outliers are expected
REWEIGHTING_ROUNDS     3                                    kernels learned in turn with the    tests/estimators
                                                            precisions of rows
MAX_REWEIGHTINGS       20                                   steps between precisions and the    tests/estimators
                                                            law of the surface
SETTLED_PRECISION      0.02                                 change of log weights at which      tests/estimators
                                                            these end, ...
SETTLED_ROUND          0.1                                  ... and the rounds, ...             tests/estimators
WATCHED_SHARE          0.98                                 ... in such a share of the rows     tests/estimators
REWEIGHTING_NEIGHBOURS 12                                   rows that a row is compared with,   tests/estimators
                                                            where they are many
WORTH_LASTING          4.0                                  log likelihood that a field which   benchmarks/stations
                                                            lasts
                                                            must add: two hyperparameters
WORTH_APART            2.0                                  nats by which fields that tell time  benchmarks/missed_
                                                            from space must be likelier than    fields
                                                            one, a prior counted; of more rows
                                                            Schwarz's price
APART_SMOOTHNESS       (1.5, 0.5)                           of these fields, each in space and  benchmarks/missed_
                                                            in time                             fields
APART_ROWS             200                                  rows that find them, about 0.5 s;   benchmarks/missed_
                                                            all, of fewer                       fields
APART_ENOUGH           0.01                                 nats that the last step of a climb  benchmarks/missed_
                                                            of theirs gains                     fields
APART_REACH            20.0                                 nats below other forms from which   benchmarks/missed_
                                                            on smoothness is not asked for      fields
APART_DOUBT            4.0                                  nats that some rows may find them   benchmarks/missed_
                                                            less worth, and all are asked       fields
CLEARLY_APART          5.0                                  nats from which on some rows have   benchmarks/missed_
                                                            the last word, if on one field or   fields
                                                            on another form
MOST_APART             2                                    forms that all rows are asked       benchmarks/missed_
                                                            about                               fields
APART_LEFT             3.0                                  nats below the best within which    benchmarks/missed_
                                                            another form is averaged with it    fields
PASSING_SHARE          0.1                                  of the variance that a further part benchmarks/missed_
                                                            begins with                         fields
=====================  ===================================  ==================================  ======================
"""

from __future__ import annotations

MAX_EXACT_TUNING_ROWS = 1_000
MAX_EXACT_ENDING_ROWS = 1_500
MAX_AVERAGING_ROWS = 500
VECCHIA_POINTS = 6_000
COARSE_POINTS = 2_000
COARSE_NEIGHBOURS = 12
FINE_NEIGHBOURS = 20
COARSE_PARTS = (4, 150, 300)
FINE_PARTS = (12, 200, 600)
SHARED_ROWS = 50
SHARED_SHARE = 0.1
LATTICE_WAVES = 600
LATTICE_ROUNDS = 5
LATTICE_ITERATIONS = 12
LATTICE_SETTLED = 0.01
SMOOTHER_TOLL = 2.0
LEAST_RIVAL = 0.05
NO_FIELD = 1e-8
SPLIT_STEP = 0.3
SPLIT_DOUBT = 0.3
SETTLED_NATS = 0.3
PLANNED_REACH = 0.5
SAME_PLAN = 0.2
MAX_DENSE_ENDING_ROWS = 2_500
DENSE_ENDING = 12
TAIL_POWER = 0.4
LEAST_NOISE = 1e-8
LARGEST_NOISE = 10.0
LEAST_LOCAL_NOISE = 1e-12
NO_OWN_EFFECT = 1e-3
START_REACHES = (0.05, 0.15, 0.4, 1.2)
START_NOISES = (0.05, 0.4)
SMALL_FIELD = 0.1
KNOWN_ERRORS = 0.2
STAGGER = 4.0
N_PERIODS = 3
MAX_PEAK_ROWS = 100_000
PEAK_REACHES = (0.1, 0.5)
FAILED_SEARCH = -1e25
SELECTED_SMOOTHNESS = (1.5, 0.5, 2.5)
WIDEST = 1.5
OPEN_SD = 0.15
OPEN_NODE = 1.5
OPEN_TRIALS = 3
OPEN_SHORTEST = 0.25
MAX_OPEN_ROWS = 1_500
LEAST_OPEN_MASS = 0.02
GLIMPSED = (200, 100)
GLIMPSED_LEAST = 1e-10
ONE_SIDED_STEP = 1e-4
CENTRAL_STEP = 1e-3
DESIGN_REACH = 1.1
ALIKE_FALL = 1.33
LEAST_FREEDOM = 3
SMOOTHNESS_PRIOR = {0.5: 0.46, 1.5: 0.27, 2.5: 0.27}
SHARE_LOGITS = (-6.0, 16.0)
SHARE_STEP = 0.5
SHARE_PRIOR = (1.0, 0.65)
NOISE_LOGITS = (-8.0, -5.5, -4.0, -2.5, -1.0, 0.5)
NOISE_DEPTH = 7.0
LEAST_RANGE = 0.02
LARGEST_RANGE = 4.0
RANGE_STEP = 0.66
RANGE_REFINEMENTS = 6
VALLEY_NATS = 10.0
HOPELESS_NATS = 30.0
HEAVY_RANGE = 0.35
SHORT_RANGE = 0.1
RANGE_POWER = 0.8
LEAST_MASS = 5e-4
FULL_MASS = 0.02
REFINED_MASS = 2e-3
SHARE_NODES = 2
FEW_SHARE_NODES = 1
FACTOR_NUMBERS = 2_000_000
THRIFTY_ROWS = 250
THRIFTY_NATS = (7.0, 8.0)
HOPELESS_CLIMB = 6.0
BESIDE_STEP = 1.3
BESIDE_WIDEST = 0.4
SAME_RANGE = 1e-9
BESIDE_SHARPEST = 50.0
BESIDE_MOVES = 4
FOLLOWED_NODES = 3
LINE_STEP = 1.2
LINE_WIDEST = 0.6
LINE_SD = 0.3
LINE_NEAR = 1.5
LINE_UNLIKE = 1.5
LINE_TRIALS = 3
LINE_MISSES = 2
LINE_NOISELESS = 10.0
LINE_ENDS = 3.0
LINE_POINTS = 13
FALL_RATIO = 16.0
INTEGRATION_NODES = (9, 40)
MAX_LAPLACE_GRID_ROWS = 200
FIELD_LOGS = (-7.0, -5.0, -3.5, -2.5, -1.5, -0.75, 0.0, 0.75, 1.5, 2.5)
FIELD_SD = 1.0
EFFECT_LOGS = (-8.0, -5.0, -3.0, -1.5, 0.0)
EFFECT_SD = 0.5
RULED_OUT = 5.5
FORESEEN_BELOW = 1.0
GRID_STEP = 1e-3
SETS_AT_ONCE = 16
RATIO_SD = 0.7
STRETCHED_PRIOR = 0.25
HOPEFUL_STRETCH = 0.15
RULED_OUT_SMOOTHNESS = 5.0
WORTH_STRETCHING = 1.0
REFINEMENT_ITERATIONS = 20
CAREFUL_REACH = 0.3
SLOPED_SHARE = 0.7
FOLLOWS_SLOPE = 0.2
DRIFT_REACH = 2.0
DRIFT_VARIANCE = 4.0
DRIFT_SMOOTHNESS = 2.5
NEAR_SMOOTHNESS = (0.5, 1.5)
NEAR_REACH = 0.1
NEAR_PART = 0.7
WORTH_NEAR = 1.0
ROWS_PER_SLOPE = 4
MUCH_NOISE = 0.5
WEAK_REACHES = (0.1, 0.3, 1.0)
WEAK_SHARES = (0.3, 0.1, 0.03)
WEAK_GAIN = 0.5
JUDGING_ROWS = 2_000
SETTLED = 1e-6
SCORED = 1e-7
MIN_GUIDED_ROWS = 400
GUIDED_ASTRAY = 5.0
GUIDED_LOST = 10.0
GUIDED_DOUBT = 2.0
GUIDED_SHARE = 0.2
GUIDED_SURE = 10.0
GUIDED_NEAR = 0.1
GUIDED_ENOUGH = 0.1
CHOSEN_ENOUGH = 1e-3
AVERAGED_ENOUGH = 0.02
SAME_PEAK = 0.5
FADED = 0.05
FADING = 3.0
SCATTERED = 0.3
BACK_SHARE = 0.8
BACK_NATS = 10.0
SEEN_SPACINGS = 4.0
LAST_HOPE = 0.5
HOPED_TIMES = 10.0
FIRST_DAMPING = 0.01
DAMPING_STEP = 4.0
LARGEST_DAMPING = 1e6
AS_EXPECTED = (0.25, 0.75)
LONGEST_STEP = 2.0
LEAST_CURVATURE = 1e-9
LEAST_BEND = 1e-10
CLIMBED = 1e-11
MIN_THINNED_ROWS = 300
THINNED_SHARE = 0.4
THINNED_ROWS = (120, 300)
DRAFTED = 1e-5
MAX_TOLD_SMOOTHNESS = 3.0
LEAST_MODULATED_ROWS = 2_000
MAX_MODULATING_ROWS = 4_000
AMPLITUDE_NODES = (9, 36, 120)
LARGEST_LOG_AMPLITUDE = 1.6
N_AMPLITUDES = 33
LOG_AMPLITUDE_SD = 0.5
CLEARLY_LIKELIER = 3.0
WORTH_AMPLITUDE = 0.01
N_GAP_FOLDS = 3
MAX_WANTED_PLACES = 30_000
MOSTLY_FULL = 0.35
AMONG_NEIGHBOURS = 8
LEAST_AMONG = 0.2
NEXT_TO_NONE = 0.02
MAX_AMONG_ROWS = 30_000
WORTH_CRPS = 0.005
TURNED_LEAST = 0.2
TURNED_START = 1.4
TURNED_ANGLES = (0.0, 0.785, 1.571, 2.356)
HARDLY_STRETCHED = 3.0
UNLIKE_EXTENTS = 3.0
UNLIKE_UNITS = 30.0
AXIS_STARTS = (0.03, 0.3)
COARSE_ITERATIONS = 40
FINE_ITERATIONS = 15
CALIBRATION_CHANCE = 0.1
SUM_SMOOTHNESS = (1.5, 0.5, 1.5)
SUM_STARTS = ((0.15, 1.0, 2.0), (0.5, 2.0, 0.5))
SUM_SHARES = (0.15, 0.2, 4.0)
SUM_COARSE_POINTS = 2_000
SUM_MATCHED_POINTS = 8_000
MIN_MATCHED_ORDER = 3_000
SUM_ITERATIONS = 40
SUM_LEDGE = 5.0
WORTH_LIKELIHOOD = 4.0
FORESEEN_SHARE = 0.25
SMOOTH_ENOUGH = 0.4
SHORTER_ASKED = (0.02, 0.04, 0.08)
NEAR_PEAK = 0.1
NEXT_TO_NO_VARIANCE = 1e-4
WORTH_IN_GAPS = 1.0
MIN_SUM_ROWS = 3_000
SHORT_START = 1 / 20
LONG_START = 1 / 4
SUMMED_SHARE = 0.1
WORTH_SUM = 3.0
LEAST_GROUPS = 5
MANY_GROUPS = 300
MAX_GAP_DIMENSIONS = 3
GAPPY = 0.5
ISOTROPIC_SMOOTHNESS = 0.5
ROUGH_SUM = (0.5, 0.5)
ROUGH_STARTS = ((0.3, 1.0), (1.0, 3.0))
ROUGH_SHARES = (0.3, 1.0)
MAX_STRETCH = 12.0
MAX_FIELD_VARIANCE = 25.0
MANY_MIRRORED_ROWS = 1_000_000
ENOUGH_MIRRORS = 3
ALIKE_MEANS = 0.1
ALIKE_SDS = 0.05
CLEARLY_WORSE = 1.0
NESTED_ERRORS = 2.0
LEAST_STACKED = 0.1
MAX_STACKED = 2
HEDGES = (1.0, 0.75, 0.5, 0.25, 0.0)
HEDGE_COST = 0.002
HEDGE_ERRORS = 0.2
CLEARLY_ENOUGH = 0.85
EQUAL_WEIGHTS = 1.0
STACKING_STEPS = 60
ONE_GAP = 4.0
MAX_LIKE_PLACES = 3_000
SURROUNDED = 3.0
EMPTY_SECTORS = (1, 4)
MAX_SURROUNDING = 4_000
MAX_LIKENESS = 5.0
CALIBRATED_COVERAGE = (0.94, 0.96)
CALIBRATION_RANGE = (0.5, 2.0)
ARD_COARSE_ROWS = 700
ARD_FINE_ROWS = 1_500
ARD_COARSE_ITERATIONS = 60
ARD_FINE_ITERATIONS = 15
ARD_NEIGHBOURS = 30
ARD_VECCHIA_POINTS = 4_000
ARD_HELD_OUT = 1_500
TREES_DIMENSIONS = 5
TREES_ROWS = 20_000
SPACE_TIME_SMOOTHNESS = (0.5, 1.5)
USUAL_SCATTER = 2.0
REWEIGHTING_ROUNDS = 3
MAX_REWEIGHTINGS = 20
SETTLED_PRECISION = 0.02
SETTLED_ROUND = 0.1
WATCHED_SHARE = 0.98
REWEIGHTING_NEIGHBOURS = 12
WORTH_LASTING = 4.0
WORTH_APART = 2.0
APART_SMOOTHNESS = (1.5, 0.5)
APART_ROWS = 200
APART_ENOUGH = 0.01
APART_REACH = 20.0
APART_DOUBT = 4.0
CLEARLY_APART = 5.0
MOST_APART = 2
APART_LEFT = 3.0
PASSING_SHARE = 0.1
