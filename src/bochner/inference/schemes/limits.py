"""Thresholds of the schemes.

=======================  =======  ==============================================================  ====================
name                     value    what it costs, or why                                           measured by
=======================  =======  ==============================================================  ====================
MAX_EXACT_ROWS           3,000    a dense factor of so many rows takes about a second             benchmarks/agreement
MAX_EXACT_ROWS_BEYOND    5,000    the same beyond three dimensions, where no lattice is cheaper   benchmarks/schemes
MAX_RULE_WAVES           2,048    4,096 columns: a Gram of 134 MB, a factor in a few seconds      benchmarks/dense
MAX_LANDMARKS            1,000    landmarks of Nystroem features                                  benchmarks/coverage
MAX_LATTICE_WAVES        2,500    5,000 columns: a factor of 200 MB in some seconds               benchmarks/lattice
MAX_LAPLACE_CG_ROWS      300,000  rows of other families than the Gaussian that conjugate         benchmarks/lattice
                                  gradients take: each Newton step is a fit
MAX_FURTHER_ROWS         300,000  rows beyond three dimensions that are kriged from their nearest   benchmarks/dependent
UNSEEN                   1e-4     truncated variance, of the noise: error of the mean 1 % of sd   benchmarks/agreement
UNSEEN_BY_LAPLACE        1e-2     the same where Laplace's approximation itself errs by more      benchmarks/families
UNTOLD_SHARE             0.003    variance that rows of other families could explain on waves     benchmarks/presence
                                  left out, of what stays unexplained
MANY_ROWS                200,000  rows whose surface is known far better than any observation     benchmarks/lattice
MANY_COUNTS              20,000   the same of other families, where each Newton step is a fit     benchmarks/families
MANY_ROWS_NOISE          0.05     truncated variance, of the noise, allowed beyond MANY_ROWS      benchmarks/lattice
MANY_COUNTS_NOISE        0.015    the same beyond MANY_COUNTS                                     benchmarks/families
MANY_ROWS_VARIANCE       0.01     and of the field's variance, in both                            benchmarks/lattice
UNSEEN_SURFACE           0.03     and of the variance of the surface given the rows: 1.5 % of     benchmarks/images
                                  its sd
FEW_WAVES                30       fewer waves (lines of a periodic kernel) are judged as so many  tests/inference
FEW_WAVE_ROWS            10,000   rows up to which float32 waves gain nothing                     benchmarks/dense
MAX_FEATURE_TUNING_WORK  2e10     multiplications in one evaluation of a feature model's          benchmarks/schemes
                                  evidence
LEFT_OF_UNKNOWN          4        variance that waves may leave out, of what the nearest rows       tests/inference
                                  leave unknown: an sd twice theirs
MAX_COMPARED_ROWS        1,000    rows held out to compare waves with the nearest rows            benchmarks/dependent
MAX_COMPARING_ROWS       30,000   rows that both are given then: a trial of more would cost more  benchmarks/dependent
                                  than it is worth
=======================  =======  ==============================================================  ====================
"""

from __future__ import annotations

MAX_EXACT_ROWS = 3_000
MAX_EXACT_ROWS_BEYOND = 5_000
MAX_RULE_WAVES = 2_048
MAX_LANDMARKS = 1_000
MAX_LATTICE_WAVES = 2_500
MAX_LAPLACE_CG_ROWS = 300_000
MAX_FURTHER_ROWS = 300_000
UNSEEN = 1e-4
UNSEEN_BY_LAPLACE = 1e-2
UNTOLD_SHARE = 0.003
MANY_ROWS = 200_000
MANY_COUNTS = 20_000
MANY_ROWS_NOISE = 0.05
MANY_COUNTS_NOISE = 0.015
MANY_ROWS_VARIANCE = 0.01
UNSEEN_SURFACE = 0.03
FEW_WAVES = 30
FEW_WAVE_ROWS = 10_000
MAX_FEATURE_TUNING_WORK = 2e10
LEFT_OF_UNKNOWN = 4.0
MAX_COMPARED_ROWS = 1_000
MAX_COMPARING_ROWS = 30_000
