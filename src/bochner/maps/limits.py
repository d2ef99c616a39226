"""Limits: every threshold of this room.

==================  =====================  ===========================================================================
name                value                  what it bounds, and why
==================  =====================  ===========================================================================
FINER_POINTS        4                      times as many points for the mean of an area as for its draws
FINER_SETS          3                      sets of hyperparameters, at most, that tell what these add: the heaviest
ALIKE_AREAS         4                      areas that tell which sets of hyperparameters correlate points alike
MAX_POINTS_ERROR    0.1                    error of the points, in standard deviations of the mean, that is worth a
                                           warning
AREA_TOLERANCE      5e-3                   standard deviations that the mean at a point of an area may err by; means of
                                           many points err by a tenth of that
ASKED_POINTS        25                     points of an area that tell whether data inform it
AREAS_TOGETHER      50                     areas whose laws are asked for at once, where they are exact
LEAST_HALVED        8                      points of an area, from which half of them are asked whether all suffice
PRIOR_SHARE         0.95                   of the prior's variance, above which an area is said to know nothing
MAX_DATASET_PIXELS  50,000,000             of a Dataset in memory
FILE_BLOCK          512                    side of the tiles of a file, in pixels
GDAL_CACHE_MB       96                     megabytes that GDAL may keep
TRIAL_SIDE          256                    of the windows of a trial, in pixels
N_TRIALS            4                      windows of a trial
MAX_TRIAL_TIME      2.0                    seconds after which no further window is tried
COVERAGE_CELLS      100                    along a side, for the share of the map that polygons cover
LIBRARY_BYTES       250 x 2^20             of the interpreter with what a map imports
WRITING_TIME        5e-8                   seconds per pixel and band, for compression and overviews
MARGIN              0.02                   around the data, as a share of their extent
DEFAULT_PIXELS      200                    along the longer side, where no resolution is given
WINDOW_BYTES        400 x 2^20             that a window may take, where no limit is given
WINDOW_SIDES        (1024, 512, 256, 128)  of a window, in pixels, the largest that fits first
VERIFIED_PIXELS     24                     random pixels of every window that are computed twice
INPUT_PIXELS        2,000                  random pixels that show what inputs are like
MAX_TILE_REACHES    3.0                    longest side of an interpolated tile, in reaches of the field
CHECKED_PLACES      100                    at which the form of the surface is checked
REACH_CORRELATION   0.6                    correlation that pixels within reach of each other have at least
TILE_NODES          6                      along each side of a tile: polynomials of degree five
TILE_SAFETY         3.0                    factor on the error at the checks: the worst of all pixels may err more
                                           than the worst of those
LEAST_GAIN          1.5                    pixels of a tile per evaluation; below, pixel by pixel is as good
PLACES_AT_ONCE      100,000                places evaluated at once
JUDGED_TILES        60                     tiles of a size before their success is judged
FIGURE_TOLERANCE    0.01                   standard deviations that a pixel of a figure may err by: no colour shows it
TRIMMED_PIXELS      0.005                  share of the pixels at either end that colours do not stretch for
DRAWN_FREQUENCIES   16,384                 that stand for the kernel in a figure of its spectrum
SHOWN_VARIANCE      0.998                  share of the variance that the frequency axis spans, where no waves go
                                           beyond
ANISOTROPIC         0.02                   of the sill: directions that differ less are drawn as one
==================  =====================  ===========================================================================
"""

from __future__ import annotations

FINER_POINTS = 4
FINER_SETS = 3
ALIKE_AREAS = 4
MAX_POINTS_ERROR = 0.1
AREA_TOLERANCE = 5e-3
ASKED_POINTS = 25
AREAS_TOGETHER = 50
LEAST_HALVED = 8
PRIOR_SHARE = 0.95
MAX_DATASET_PIXELS = 50_000_000
FILE_BLOCK = 512
GDAL_CACHE_MB = 96
TRIAL_SIDE = 256
N_TRIALS = 4
MAX_TRIAL_TIME = 2.0
COVERAGE_CELLS = 100
LIBRARY_BYTES = 250 * 2**20
WRITING_TIME = 5e-8
MARGIN = 0.02
DEFAULT_PIXELS = 200
WINDOW_BYTES = 400 * 2**20
WINDOW_SIDES = (1024, 512, 256, 128)
VERIFIED_PIXELS = 24
INPUT_PIXELS = 2_000
MAX_TILE_REACHES = 3.0
CHECKED_PLACES = 100
REACH_CORRELATION = 0.6
TILE_NODES = 6
TILE_SAFETY = 3.0
LEAST_GAIN = 1.5
PLACES_AT_ONCE = 100_000
JUDGED_TILES = 60
FIGURE_TOLERANCE = 0.01
TRIMMED_PIXELS = 0.005
DRAWN_FREQUENCIES = 16_384
SHOWN_VARIANCE = 0.998
ANISOTROPIC = 0.02
