"""Thresholds of the evidence.

=========================  ===========  =======================================================  =====================
name                       value        what it costs, or why                                    measured by
=========================  ===========  =======================================================  =====================
EVIDENCE_NEWTON_TOLERANCE  1e-11        a gradient needs the mode to more digits than a          tests/inference
                                        prediction
FOURTH_STEP                1e-3         difference of linear predictors for a fourth derivative  tests/inference
VALUE_TOLERANCE            1e-6         one more step of Newton's is within 1e-10 of the value   tests/inference
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
