"""Limits: every threshold of this room.

===============  =====  ==============================================================================================
name             value  what it bounds, and why
===============  =====  ==============================================================================================
WAVE_COSINES     2^22   cosines held at once: 32 MiB
LARGEST_BOX      2^22   lattice points looked at when the heaviest are sought: 100 MB
FEWEST_WAVES     32     waves that a search for enough of them begins with
RADIAL_UP_TO     3      dimensions up to which "radial" errs less than "sobol" for nearly every kernel
STRUCTURED_FROM  16     dimensions from which structured blocks are unbiased; Haar blocks below
FADING_STEPS     24     grid steps beyond the largest lag, in which the kernel fades out
SPARED_STEPS     8      of them, before it begins to: the taper mixes neighbouring steps
FLAT_TAPER       0.4    share of the highest frequency up to which the taper leaves the waves alone
SERIES_EPS       1e-9   relative error of the transforms of a series: far below its own
PARTS_OF_CELL    16     along each axis of the cell at zero, of whose densities the mean is taken where that at zero is
                        infinite: by even so many none lies at it
===============  =====  ==============================================================================================

Below 16 dimensions sign flips reach too few directions: structured blocks bias the kernel by 0.23 in 2, 0.14 in 4 and
0.03 in 8 dimensions (``bochner.paper.structured``).
"""

from __future__ import annotations

WAVE_COSINES = 2**22
LARGEST_BOX = 2**22
FEWEST_WAVES = 32
RADIAL_UP_TO = 3
STRUCTURED_FROM = 16
FADING_STEPS = 24
SPARED_STEPS = 8
FLAT_TAPER = 0.4
SERIES_EPS = 1e-9
PARTS_OF_CELL = 16
