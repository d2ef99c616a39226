"""Thresholds of the evidence.

=========================  ===========  =======================================================  =====================
name                       value        what it costs, or why                                    measured by
=========================  ===========  =======================================================  =====================
EVIDENCE_NEWTON_TOLERANCE  1e-11        a gradient needs the mode to more digits than a          tests/inference
                                        prediction
FOURTH_STEP                1e-3         difference of linear predictors for a fourth derivative  tests/inference
VALUE_TOLERANCE            1e-6         one more step of Newton's is within 1e-10 of the value   tests/inference
BATCH_ROUNDS               8            factors for a mode, beyond which a line search is needed  tests/inference
DISPERSION_RANGE           (1e-4, 1e3)  range of a dispersion that is searched                   benchmarks/references
SETTLED_DISPERSION         1e-8         nats that a better dispersion would gain, at the end     tests/inference
SETTLED_TINY               1e-12        the same of a tiny one: differences of gradients are     tests/inference
                                        taken
SAME_LOG                   1e-12        difference of logs of dispersions that are the same      tests/inference
COMPARED_NATS              0.1          the same where values are compared, that gain foreseen   tests/inference
RANKED_NATS                0.5          the same where starts of climbs are ranked               benchmarks/speed
FIRST_BEND                 0.25         of the rows: curvature in the log dispersion, to begin   benchmarks/speed
                                        with
DISPERSION_STEP            1.0          longest step of the log dispersion                       benchmarks/speed
MAX_DISPERSION_STEPS       15           of them; then by BFGS                                    benchmarks/speed
TINY_DISPERSION            0.01         below which a dispersion adds in proportion to itself    tests/inference
TOLD_SLOPE                 0.1          slope in its logarithm to which a tiny one is raised, ... tests/inference
FIRST_TOLD                 0.05         ... but not beyond this                                  tests/inference
NO_EVIDENCE                1e25         minus the evidence where there is none                   tests/inference
ASTRAY_SLOPE               0.1          slope of the evidence at which a search cannot have      benchmarks/references
                                        ended well
MAX_EVIDENCE_WAVES         800          a factor and an inverse of 1,600 columns: some tenths    benchmarks/fields
                                        of a second
ROWS_PER_EVIDENCE_WAVE     8            with fewer a likelihood of neighbours knows as much      benchmarks/fields
LEAST_EVIDENCE_NOISE       3e-3         of the variance: with less the margin would have to be   benchmarks/fields
                                        immense
EVIDENCE_UNSEEN            0.01         truncated variance, of the noise, at the start           benchmarks/fields
EVIDENCE_MAX_UNSEEN        0.03         and during the climb                                     benchmarks/fields
EVIDENCE_SHARED            1.0          the same times rows per resolved wavelength              benchmarks/fields
EVIDENCE_MARGIN            1e-3         correlation that ends the margin around the rows         benchmarks/fields
TRUNCATION_SAFETY          3.0          on the truncation tolerance, because length scales       benchmarks/fields
                                        change during optimisation
REFLECTIONS                16           Householder reflections that LAPACK applies at once      tests/estimators
STUDENT_QUANTILE           0.975        at which a Gaussian takes the place of Student's t       tests/estimators
UNTOLD_NATS                0.01         of the evidence of other families, that waves left out   benchmarks/presence
                                        may hold
UNTOLD_AT_MOST             1.0          and may, where they would be too many                    benchmarks/presence
PLAN_MISSING               1e-4         variance that the waves looked at may leave out          benchmarks/presence
PLANNED_WAVES              4,000        waves looked at when a plan is made                      benchmarks/presence
PLAN_MARGIN                3e-3         correlation that ends the margin around the rows         benchmarks/presence
LEAST_PLAN_WAVES           60           so that shorter ranges can be tried                      benchmarks/presence
VARIANCE_EPS               1e-7         relative error of the variances of rows                  tests/inference
MASS_STEP                  1e-4         in theta, of the difference quotients of masses          tests/inference
=========================  ===========  =======================================================  =====================
"""

from __future__ import annotations

EVIDENCE_NEWTON_TOLERANCE = 1e-11
FOURTH_STEP = 1e-3
VALUE_TOLERANCE = 1e-6
BATCH_ROUNDS = 8
DISPERSION_RANGE = (1e-4, 1e3)
SETTLED_DISPERSION = 1e-8
SETTLED_TINY = 1e-12
SAME_LOG = 1e-12
COMPARED_NATS = 0.1
RANKED_NATS = 0.5
FIRST_BEND = 0.25
DISPERSION_STEP = 1.0
MAX_DISPERSION_STEPS = 15
TINY_DISPERSION = 0.01
TOLD_SLOPE = 0.1
FIRST_TOLD = 0.05
NO_EVIDENCE = 1e25
ASTRAY_SLOPE = 0.1
MAX_EVIDENCE_WAVES = 800
ROWS_PER_EVIDENCE_WAVE = 8
LEAST_EVIDENCE_NOISE = 3e-3
EVIDENCE_UNSEEN = 0.01
EVIDENCE_MAX_UNSEEN = 0.03
EVIDENCE_SHARED = 1.0
EVIDENCE_MARGIN = 1e-3
TRUNCATION_SAFETY = 3.0
UNTOLD_NATS = 0.01
UNTOLD_AT_MOST = 1.0
PLAN_MISSING = 1e-4
PLANNED_WAVES = 4_000
PLAN_MARGIN = 3e-3
LEAST_PLAN_WAVES = 60
VARIANCE_EPS = 1e-7
MASS_STEP = 1e-4
REFLECTIONS = 16
STUDENT_QUANTILE = 0.975
