"""Thresholds of adaptive features.

=======================  ========================  =============================================  ====================
name                     value                     what it costs, or why                          measured by
=======================  ========================  =============================================  ====================
ASCENT_ROUND             5                         iterations between two looks at the rows held  benchmarks/dependent
                                                   out
ASCENT_PATIENCE          6                         looks without improvement after which an       benchmarks/dependent
                                                   ascent ends
ASCENT_ITERATIONS        200                       at most                                        benchmarks/dependent
MAX_WATCHED_ROWS         2,000                     rows held out to watch an ascent               benchmarks/dependent
LEARNING_WORK            2e12                      multiplications that one ascent may take:      benchmarks/dependent
                                                   minutes
NOISE_WORK               2e9                       multiplications that one look at a noise       benchmarks/dependent
                                                   variance may take
FAILED_ASCENT            1e25                      minus the evidence where there is none         tests/inference
SMALLEST_POOL            256                       frequencies to choose from by leverage, at     benchmarks/dependent
                                                   least
LARGEST_POOL             768                       and at most                                    benchmarks/dependent
POOL_PER_WAVE            8                         and for every wave wanted                      benchmarks/dependent
SCORE_ROWS               4,000                     rows that are enough to know the scores,       benchmarks/dependent
                                                   where the Gram is taken by blocks
MIN_LEVERAGE_WAVES       32                        when their number is chosen                    benchmarks/dependent
MAX_LEVERAGE_WAVES       1,024                     likewise                                       benchmarks/dependent
MIN_LEARNING_ROWS        40                        with fewer none can be spared to be held out   benchmarks/dependent
MIN_LEARNED_WAVES        10                        when their number is chosen                    benchmarks/dependent
MAX_LEARNED_WAVES        300                       likewise                                       benchmarks/dependent
ROWS_PER_NUMBER          10                        rows for every number to be learned            benchmarks/dependent
MAX_PEAKS                10                        of the empirical spectrum, to start from       benchmarks/dependent
PEAK_SHARE               0.8                       of the variance, given to those peaks at       benchmarks/dependent
                                                   first
SURE                     1.0                       standard errors that a gain on held-out rows   benchmarks/dependent
                                                   must exceed, as it was chosen among many
PARTED                   0.2                       of the gain on the rows learned from, that     benchmarks/dependent
                                                   rows held out should gain at least
MASS_SD                  2.0                       prior of a log mass about its start            benchmarks/dependent
STRETCH_SD               1.0                       prior of the log length scale of a field that  benchmarks/dependent
                                                   is not stationary
SWELL_SD                 0.7                       and of its log variance                        benchmarks/dependent
SURFACE_LANDMARKS        {1: 8, 2: 16, 3: 27}      of the surfaces of log length scale and log    benchmarks/dependent
                                                   variance, by dimension
SURFACE_REACH            0.4                       length scale of these surfaces, in extents     benchmarks/dependent
LEARNING_WAVES           {1: 200, 2: 600, 3: 600}  waves while they are learned, by dimension     benchmarks/dependent
LEARNING_ROWS            1,000                     rows likewise                                  benchmarks/dependent
VARYING_ITERATIONS       40                        with rows held out                             benchmarks/dependent
VARYING_LAST_ITERATIONS  25                        and with all of them                           benchmarks/dependent
MAX_VARYING_WAVES        1,500                     of the final fit                               benchmarks/dependent
VARYING_UNSEEN           2e-3                      of the variance, that these may leave out      benchmarks/dependent
SHORTEST_STRETCH         0.4                       of the length scale, for which waves are       benchmarks/dependent
                                                   chosen before anything is learned
VARYING_SMOOTHNESS       (1.5, 2.5)                tried where no kernel is given, if smoother    benchmarks/dependent
                                                   than the stationary one
=======================  ========================  =============================================  ====================
"""

from __future__ import annotations

ASCENT_ROUND = 5
ASCENT_PATIENCE = 6
ASCENT_ITERATIONS = 200
MAX_WATCHED_ROWS = 2_000
LEARNING_WORK = 2e12
NOISE_WORK = 2e9
FAILED_ASCENT = 1e25
SMALLEST_POOL = 256
LARGEST_POOL = 768
POOL_PER_WAVE = 8
SCORE_ROWS = 4_000
MIN_LEVERAGE_WAVES = 32
MAX_LEVERAGE_WAVES = 1_024
MIN_LEARNING_ROWS = 40
MIN_LEARNED_WAVES = 10
MAX_LEARNED_WAVES = 300
ROWS_PER_NUMBER = 10
MAX_PEAKS = 10
PEAK_SHARE = 0.8
SURE = 1.0
PARTED = 0.2
MASS_SD = 2.0
STRETCH_SD = 1.0
SWELL_SD = 0.7
SURFACE_LANDMARKS = {1: 8, 2: 16, 3: 27}
SURFACE_REACH = 0.4
LEARNING_WAVES = {1: 200, 2: 600, 3: 600}
LEARNING_ROWS = 1_000
VARYING_ITERATIONS = 40
VARYING_LAST_ITERATIONS = 25
MAX_VARYING_WAVES = 1_500
VARYING_UNSEEN = 2e-3
SHORTEST_STRETCH = 0.4
VARYING_SMOOTHNESS = (1.5, 2.5)
