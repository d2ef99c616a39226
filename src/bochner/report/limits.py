"""Limits: every threshold of this room.

================  =========  =========================================================================================
name              value      what it bounds, and why
================  =========  =========================================================================================
MAX_DOTS          1,500      of a scatter plot
MAX_PAGE_PIXELS   300 x 300  of the map of a page
MIN_PAGE_PIXELS   70 x 70    of the same, however long a pixel takes
MAX_MAP_WORK      1.5e10     multiplications that a map may take
MAP_TOLERANCE     1e-3       standard deviations that a pixel may err by
FRINGE            0.2        of nearness: a rim of pixels beyond the outline, to draw it smoothly
LONGEST_SIDE      400        pixels of a map that was handed in; larger ones are thinned
MAX_OBSERVATIONS  5,000      that a page holds
LINK_NODES        32         of the quadrature over the link, in the browser
LINK_PROBES       400        places at which it is checked
CERTAIN           0.9        probability from which an area is said to be above the threshold
OUTLINE_STEPS     900        of the longer side of the map that outlines of areas are simplified to: a pixel of a screen
TOTAL_POINTS      1,500      that represent all areas together in the draws of their total
CARD_PIXELS       56         along the longer side of the small map in a notebook
ISOTROPIC         0.03       of the variance: curves closer than this are one
CURVE_PLACES      80         values of a covariate that the line of its curved effect goes through
CURVE_LINES       7          of them in the table of numbers
================  =========  =========================================================================================
"""

from __future__ import annotations

MAX_DOTS = 1_500
MAX_PAGE_PIXELS = 300 * 300
MIN_PAGE_PIXELS = 70 * 70
MAX_MAP_WORK = 1.5e10
MAP_TOLERANCE = 1e-3
FRINGE = 0.2
LONGEST_SIDE = 400
MAX_OBSERVATIONS = 5_000
LINK_NODES = 32
LINK_PROBES = 400
CERTAIN = 0.9
OUTLINE_STEPS = 900
TOTAL_POINTS = 1_500
CARD_PIXELS = 56
ISOTROPIC = 0.03
CURVE_PLACES = 80
CURVE_LINES = 7
