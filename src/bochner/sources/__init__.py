"""Sources: rows that are read in parts, as often as it takes, from files and objects larger than memory.

A `Source` names its columns and gives its `parts`; a pass adds one value per part, in this process or on a cluster.

==================================  ==========================================================================
kind                                a part is
==================================  ==========================================================================
Parquet, GeoParquet, a folder       some row groups of a file
CSV, a folder                       some megabytes of lines
NetCDF, Zarr, xarray                a block of pixels
GeoTIFF                             a strip of pixels
NumPy memmap, arrays                some rows
Dask data frame or array            a partition
`Batches`: a function, a list       a record batch, a data frame, a mapping of arrays
==================================  ==========================================================================
"""

from bochner.sources.array_source import ArraySource
from bochner.sources.base import Columns, Part, Reading, Source
from bochner.sources.batch_source import Batches
from bochner.sources.cluster import Cluster, cluster_at, current_cluster
from bochner.sources.dask_source import DaskSource
from bochner.sources.opening import is_source, open_source, register_source
from bochner.sources.passes import Local, Runner
from bochner.sources.sketch import Sketch, share_held, sketch
from bochner.sources.wanted import Usable, Wanted

__all__ = [
    "ArraySource",
    "Batches",
    "Cluster",
    "Columns",
    "DaskSource",
    "Local",
    "Part",
    "Reading",
    "Runner",
    "Sketch",
    "Source",
    "Usable",
    "Wanted",
    "cluster_at",
    "current_cluster",
    "is_source",
    "open_source",
    "register_source",
    "share_held",
    "sketch",
]
