"""Limits: every threshold of this room.

=================  ==========  =======================================================================================
name               value       what it bounds, and why
=================  ==========  =======================================================================================
POINTS_OF_AREA     100         points of an area, where neither a number nor a spacing is given
MORE_POINTS        4           times as many points as were asked for, of an area that is narrow or ragged
MOST_POINTS        1,000,000   of an area at a spacing that was asked for; one that gives more is refused
FINEST_CELL        2^-30       of the longer side of an area: finer ones cannot be counted
FIRST_BLOCKS       16          blocks of cells along the longer side of an area, that are looked through first
MAX_RASTER_PIXELS  16,000,000  pixels of a raster that are held at once: 128 MB
STRETCH_TOLERANCE  0.01        error of distances in the user's projection or in an equirectangular plane
WIDE_TOLERANCE     0.02        the same where the alternative costs more: a grid that would no longer be one, or three
                               dimensions
MOSTLY_TEXT        0.5         share of the entries of a text column that are no numbers, above which it is a category;
                               below, it is a column of numbers with misprints, refused by its first bad row
MOST_CODES         20          different whole numbers of a text column that are names of classes; more are numbers
FEW_MISPRINTS      0.2         share of the rows that may have coordinates beyond the Earth and count as misprints; if
                               more have, the coordinates are projected and want a CRS
TURN               400         degrees of longitude of a row, east or west: ocean data may run from 20 to 380
MAP_REACH          540         the same of a pixel: a map may begin west of the antimeridian and go once around
LISTED_ROWS        20          rows that are amiss and named one by one in a message
CUBE_BANDS_HELD    8           variables of NetCDF files that are held as rasters while a map is made: 8 bytes a pixel
PLANE_RADIUS       2000.0      km from the centre, up to which an equal-area plane serves
AROUND_SIDES       1.5         times its longer side that a map has outlines beyond its edge: a frame three times as
                               wide as high is filled by them
AROUND_UNITS       1,000,000   metres of a projection beyond the edge, at most
HEAD_BYTES         4,096       of a file that tell whether it is text
MEASURED_BESIDE    10          values beside a code for missing ones, that tell where measured ones lie
CODE_GAP           2.0         in spreads of all other values: so far from them lies a code
CODE_NINES         3           nines that make a number a code where it occurs once; two, where it occurs again
FILLED_FROM        1e19        size from which a number is what a file is filled with
=================  ==========  =======================================================================================

At 2,000 km from its centre an equal-area plane is 1.3 % off in distance.
"""

from __future__ import annotations

POINTS_OF_AREA = 100
MORE_POINTS = 4
MOST_POINTS = 1_000_000
FINEST_CELL = 2.0**-30
FIRST_BLOCKS = 16
MAX_RASTER_PIXELS = 16_000_000
STRETCH_TOLERANCE = 0.01
WIDE_TOLERANCE = 0.02
MOSTLY_TEXT = 0.5
MOST_CODES = 20
FEW_MISPRINTS = 0.2
TURN = 400.0
MAP_REACH = 540.0
LISTED_ROWS = 20
CUBE_BANDS_HELD = 8
PLANE_RADIUS = 2000.0
AROUND_SIDES = 1.5
AROUND_UNITS = 1e6
HEAD_BYTES = 4_096
MEASURED_BESIDE = 10
CODE_GAP = 2.0
CODE_NINES = 3
FILLED_FROM = 1e19
