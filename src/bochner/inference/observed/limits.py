"""Thresholds of what is observed.

==================  =======  ===========================================================  ============================
name                value    what it costs, or why                                        measured by
==================  =======  ===========================================================  ============================
MAX_MERGED_ROWS     50,000   equal rows are merged up to so many: more cost more to sort  benchmarks/lattice
                             than they save
COVERED_ROOM        0.15     of the extent, kept free on every side for places outside    benchmarks/agreement
                             the data
MIN_CURVATURE       1e-10    of a row that says next to nothing                           tests/laws
FLAT_CURVATURE      1e-7     of a row whose log density is a line: no counts under the    tests/agreement
                             identity link
FIRST_DISPERSION    0.5      from which a dispersion is learned                           benchmarks/coverage_families
ORDINARY_SIZES      1e-50,   size of a response, about its level, for which its squares   tests/estimators
                    1e50     and theirs are doubles: others are divided by a unit
HELD_SIZES          1e-151,  size whose variance, and noise far below it, are doubles     tests/estimators
                    1e151
MAX_SPACING_PLACES  100,000  places that are enough to know the spacing                   benchmarks/lattice
TREE_DIMENSIONS     5        coordinates up to which a tree finds neighbours quickly: in  benchmarks/speed
                             16, 10,000 searches took 4 s
SPACED_ROWS         500      ... rows whose nearest are sought beyond                     benchmarks/speed
NOTHING_LEFT        1e-12    share of an effect of the trend that is rounding: the rows    tests/estimators
                             that were left out held all of it
CROWD_CELLS         2,500    cells of a box in which rows may crowd                       benchmarks/presence
==================  =======  ===========================================================  ============================
"""

from __future__ import annotations

MAX_MERGED_ROWS = 50_000
COVERED_ROOM = 0.15
MIN_CURVATURE = 1e-10
FLAT_CURVATURE = 1e-7
FIRST_DISPERSION = 0.5
ORDINARY_SIZES = (1e-50, 1e50)
HELD_SIZES = (1e-151, 1e151)
MAX_SPACING_PLACES = 100_000
TREE_DIMENSIONS = 5
SPACED_ROWS = 500
NOTHING_LEFT = 1e-12
CROWD_CELLS = 2_500
