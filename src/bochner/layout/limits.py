"""Thresholds of the layout: each with what it costs to be wrong."""

# Levels of a category: each is a fixed effect of its own, so more of them than this is rather a name than a category.
MOST_LEVELS = 200

# Rows that may be called far from all others: more of them are a region of their own.
MOST_FAR_ROWS = 3
FAR_SHARE = 0.005

# A row is far where the gap to its nearest neighbour is more than this share of the extent of all other rows.
FAR_GAP = 0.5

# Share of the rows that define the region in which swapped coordinates would lie; the rest may be errors themselves.
REGION_SHARE = 0.9

# Rows on which far places and copies are looked for; beyond, a sample of that size from everywhere (about 0.1 s).
LOOKED_AT = 200_000

# Rows that a place must have, on average, for places to be stations that report at many times.
STATION_ROWS = 5

# Places drawn on the sphere to stand for a map; the neighbour of a row that says how far apart rows lie there (a place
# farther off than that is at sea, where rows are on land); and the least number of places that say anything.
SURFACE_DRAWS = 40_000
SURFACE_NEIGHBOURS = 8
LEAST_SURFACE_PLACES = 200
