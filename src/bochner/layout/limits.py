"""Limits: every threshold of this room.

====================  =======  =======================================================================================
name                  value    what it bounds, and why
====================  =======  =======================================================================================
MAX_EXTENT            1e150    of the coordinates: squares of longer distances are no doubles
COLLINEAR             1e-9     relative singular value below which a direction of the trend counts as absent
LEAST_DESIGN_ROWS     50       of the table on which a saved design is built again: enough for any polynomial or spline
POINTS_PER_AREA       60       that stand for a polygon
MOST_LEVELS           200      of a category, each a fixed effect of its own: with more it is rather a name
MOST_FAR_ROWS         3        that may be called far from all others: more are a region of their own ...
FAR_SHARE             0.005    ... or this share of the rows
FAR_GAP               0.5      gap to the nearest other row, in extents of all others, from which a row is far
REGION_SHARE          0.9      of the rows that define where the others are; the rest may be errors themselves
LOOKED_AT             200,000  rows up to which far places and copies are looked for: about 0.1 s
LARGE_WEIGHT          20       mean from which weights, none of them 1 or less, are no numbers of copies
COPIED_SHARE          0.1      copies beside the rows, of their number, from which they tell what the noise is ...
NO_NOISE              1e-6     ... and the noise that is none, of the variance of the responses
BLOCKED_SITES         10       from which on blocks of rows with a time are blocks of space: two for each of five folds
STATION_ROWS          5        that a place must have, on average, for places to be stations
SURFACE_DRAWS         40,000   places drawn on the sphere to stand for a map
EARTH_NEIGHBOURS      8        of a row, that say how far apart rows lie there: farther off is at sea, or on land
LEAST_SURFACE_PLACES  200      that say anything
OUTER_KNOTS           0.01     share of the rows beyond the outer knots of a curve, where it goes on straight
LEAST_KNOT_GAP        1e-3     between knots, in standard deviations: closer ones are one
MOST_CURVE_COLUMNS    6        beside the straight line of a covariate
ROWS_PER_CURVE        15       that each of the columns offered needs
LEAST_CURVE_SHARE     0.05     of a column's size that is its own, beside the linear trend; less cannot be told apart
LEAST_DEGREES         1.0      reach of the coordinates from which they may be degrees, though nothing says so; within
                               it lie unit squares
FIRST_YEAR            1800     whole number that looks like a year where days since the first date are asked for ...
LAST_YEAR             2200     ... up to this one
====================  =======  =======================================================================================
"""

from __future__ import annotations

MAX_EXTENT = 1e150
COLLINEAR = 1e-9
LEAST_DESIGN_ROWS = 50
POINTS_PER_AREA = 60
MOST_LEVELS = 200
MOST_FAR_ROWS = 3
FAR_SHARE = 0.005
FAR_GAP = 0.5
REGION_SHARE = 0.9
LOOKED_AT = 200_000
LARGE_WEIGHT = 20
COPIED_SHARE = 0.1
NO_NOISE = 1e-6
BLOCKED_SITES = 10
STATION_ROWS = 5
SURFACE_DRAWS = 40_000
EARTH_NEIGHBOURS = 8
LEAST_SURFACE_PLACES = 200
OUTER_KNOTS = 0.01
LEAST_KNOT_GAP = 1e-3
MOST_CURVE_COLUMNS = 6
ROWS_PER_CURVE = 15
LEAST_CURVE_SHARE = 0.05
FIRST_YEAR = 1800
LAST_YEAR = 2200
LEAST_DEGREES = 1.0
