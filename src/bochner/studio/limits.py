"""Limits: every threshold of this room.

=================  ==============  ====================================================================================
name               value           what it bounds, and why
=================  ==============  ====================================================================================
MAX_UPLOAD_BYTES   1 GiB           of one file; larger ones are fitted from the command line, in parts
SPARE_DISK_BYTES   64 MiB          that an upload leaves free on the disk
DRAINED_BYTES      4 MiB           of a refused body that are read to its end, so that the sender hears why
DRAIN_SECONDS      2               at most, for that
MAX_BODY_BYTES     1 MiB           of the JSON of a request; a spec of 1,000 columns has 50 kB
MAX_QUEUED         10              jobs of a lane that wait; more are refused in words
MAX_PROJECTS       1,000           folders that are listed
LONGEST_NAME       80              characters of a name of a project or a file
MOST_TEXT          500             characters of a column name or an option
MOST_NAMES         1,000           columns or rasters that a spec names
PREVIEW_ROWS       20              of the data, as text
SHOWN_POINTS       5,000           places that the page draws
LISTED_PROBLEMS    200             wrong rows that are listed
FEWEST_ROWS        5               that a map is learned from; fewer are refused
FEW_ROWS           30              below which the page says that they tell little of the range
LISTED_LEVELS      12              of a column of categories that are named
LOG_LINES          40              of a worker that are shown
LOG_TAIL_BYTES     200,000         of its log that are read for them
POLL_SECONDS       0.4             between two looks at a job, for the page's stream of events
HEARTBEAT_SECONDS  15              between two signs of life on a quiet stream
KEPT_SECONDS       600             that a quiet connection stays open: longer than browsers and clients keep it, so that
                                   none sends a request into one that is just being closed
GRACE_SECONDS      3               that a worker has to end after it was asked to, before it is made to
VIEW_SECONDS       300             that one view of a model may take
MAP_SIDE           1,000           pixels along the longer side of a map in the page
MEAN_NODES         12              of the quadrature over the link, for the difference of two maps
RANGE_BINS         30              of the chart of the range
SHORT_END          0.02            of the extent, on that chart at least
LONG_END           4.0             of the extent, on that chart at least
BUSY_FACTOR        1.5             by which other work lengthens a fit, from which the page says so
PICTURE_SIDE       400             pixels along a side of an image as it was dropped
IMAGE_SIDE         64              pixels of the example image: learned in some 5 s of one core
=================  ==============  ====================================================================================
"""

from __future__ import annotations

MAX_UPLOAD_BYTES = 1024**3
SPARE_DISK_BYTES = 64 * 1024**2
DRAINED_BYTES = 4 * 1024**2
DRAIN_SECONDS = 2.0
MAX_BODY_BYTES = 1024**2
MAX_QUEUED = 10
MAX_PROJECTS = 1_000
LONGEST_NAME = 80
MOST_TEXT = 500
MOST_NAMES = 1_000
PREVIEW_ROWS = 20
SHOWN_POINTS = 5_000
LISTED_PROBLEMS = 200
FEWEST_ROWS = 5
FEW_ROWS = 30
LISTED_LEVELS = 12
LOG_LINES = 40
LOG_TAIL_BYTES = 200_000
POLL_SECONDS = 0.4
HEARTBEAT_SECONDS = 15
KEPT_SECONDS = 600
GRACE_SECONDS = 3
VIEW_SECONDS = 300
MAP_SIDE = 1_000
MEAN_NODES = 12
RANGE_BINS = 30
BUSY_FACTOR = 1.5
PICTURE_SIDE = 400
IMAGE_SIDE = 64
SHORT_END = 0.02
LONG_END = 4.0
