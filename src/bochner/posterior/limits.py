"""Limits: every threshold of this room.

================  =====  =============================================================================================
name              value  what it bounds, and why
================  =====  =============================================================================================
COVARIANCE_WORK   300    multiplications that one covariance is worth
MEAN_NUMBERS      16     held per place for a mean of waves, which cuts its own blocks: few at once are slow
PLACE_WORK        1e6    multiplications that kriging a place from its neighbours is worth
MAX_JOINT_ROWS    2,000  rows up to which what features miss is drawn jointly: a matrix of 32 MB
NEAR_ROWS         40     nearest rows that a place is kriged from
FAR_ROWS          20     rows beyond them, of each of two thinned sets
DRAWN_ROWS        60     rows and places that a place of a joint draw is given
BOX_GROWTH        1.5    boxes grow by half for places outside
MAX_BOXES         6      times that they do; beyond the largest, the prior
MAX_EXACT_DRAWS   3,000  distinct places up to which draws come from the whole covariance matrix
PRIOR_NEIGHBOURS  60     places that a place is drawn from beyond
STORED_DRAWS      1,000  from which a covariance of places answered from a store is taken
KEPT_TILES        4      of a store, with their rows, that are kept for the next places
WIDEST_TILE       8.0    sides of a tile that rows around it are looked for within
LEAST_TILE_ROWS   3.0    rows in and around a tile, of the neighbours of a place, that suffice for it
PRIOR_JITTER      1e-8   of the variance, added as noise: small systems of a smooth field are singular without
MAX_PATCH_DIM     3      coordinates up to which places are kriged in patches
LEAST_PATCH_ROWS  120    rows below which a place costs no more than its part of a patch, ...
AVERAGED_ROWS     60     ... and below which it does not of several sets of hyperparameters
PATCH_NODES       6      along each side of a patch: 36 in the plane
THIN_POWER        0.33   of a side over the longest, that nodes along it follow: a patch of the globe is thin
LEAST_PATCH       64     places below which they are kriged one by one
PATCH_WORK        6e5    multiplications that a patch is worth beside its places
NEAR_SHARE        2.5    rows that are near a patch, over those that lie in it
PATCH_SHARE       0.5    of the tolerance, that rows which are not near may cost, and errors at checks may be
PATCH_MARGIN      0.1    times the tolerance, in tenfolds, are the meshes around a patch within which a row is near
SYSTEM_ROUNDING   0.5    of the tolerance, estimated rounding of systems in float32; a third of it was found
FORM_ROUNDING     0.05   of the tolerance, rounding of forms in float32, before what nodes make of it
TRIED_PLACES      16     that tell how small variances are
PATCH_CHANCES     2      sizes of patches at which most may fail before places are kriged one by one
SAME_SD           0.6    of the least sd that near rows were found for: those of a lesser one are found again
LEAST_SD          0.5    of the least sd found anywhere, below which none is believed
FLAT_SIDE         1e-9   of the longest side of a patch: one that is shorter has one node
FLAT_METRIC       1e-12  of the trace of a metric: a direction with less is one that it does not see
GROUP_NUMBERS     6e6    numbers of the systems that patches are solved in together
MOMENTS_TOGETHER  2^15   places times sets of hyperparameters whose moments behind the link are found together
ALIKE_GROUPS      8      of components that share correlations in draws for sums over rows: their sd errs by 1 %
ALIKE_ROWS        16     that tell how correlated they are under each component
PLACES_TOGETHER   1,024  places of a patch whose covariances are held together
================  =====  =============================================================================================

Work is counted in multiplications by the clock, on one thread.
"""

from __future__ import annotations

COVARIANCE_WORK = 300
MEAN_NUMBERS = 16
PLACE_WORK = 1e6
MAX_JOINT_ROWS = 2_000
NEAR_ROWS = 40
FAR_ROWS = 20
DRAWN_ROWS = 60
BOX_GROWTH = 1.5
MAX_BOXES = 6
MAX_EXACT_DRAWS = 3_000
PRIOR_NEIGHBOURS = 60
PRIOR_JITTER = 1e-8
STORED_DRAWS = 1_000
KEPT_TILES = 4
WIDEST_TILE = 8.0
LEAST_TILE_ROWS = 3.0
MAX_PATCH_DIM = 3
LEAST_PATCH_ROWS = 120
AVERAGED_ROWS = 60
PATCH_NODES = 6
THIN_POWER = 0.33
LEAST_PATCH = 64
PATCH_WORK = 6e5
NEAR_SHARE = 2.5
PATCH_SHARE = 0.5
PATCH_MARGIN = 0.1
SYSTEM_ROUNDING = 0.5
FORM_ROUNDING = 0.05
TRIED_PLACES = 16
PATCH_CHANCES = 2
SAME_SD = 0.6
LEAST_SD = 0.5
FLAT_SIDE = 1e-9
FLAT_METRIC = 1e-12
GROUP_NUMBERS = 6e6
MOMENTS_TOGETHER = 2**15
ALIKE_GROUPS = 8
ALIKE_ROWS = 16
PLACES_TOGETHER = 1_024
