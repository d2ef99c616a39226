"""Limits: thresholds of the check for variance starvation; the rooms below have tables of their own.

==================  =====  ============================================================================================
name                value  what it bounds, and why
==================  =====  ============================================================================================
STARVATION_PROBES   200    places at which standard deviations are compared: their median ratio is what counts
FEW_NEIGHBOURS      40     that kriging is given as the reference, ...
MANY_NEIGHBOURS     100    ... and more of them, to see whether these suffice
NEIGHBOURS_SUFFICE  0.95   ratio of the two sds, above which they do
MAX_KRIGED_ROWS     1,000  rows up to which the reference is kriging from all of them
==================  =====  ============================================================================================
"""

from __future__ import annotations

STARVATION_PROBES = 200
FEW_NEIGHBOURS = 40
MANY_NEIGHBOURS = 100
NEIGHBOURS_SUFFICE = 0.95
MAX_KRIGED_ROWS = 1_000
