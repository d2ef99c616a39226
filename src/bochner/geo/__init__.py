"""Geo: tables, rasters, CRS, places on the Earth and grids, in and out. Knows no model.

Libraries for geographic files (geopandas, rasterio, xarray, pyproj) are imported by the functions that need them.
"""

from bochner.formats import READ_TABLES, READABLE, TABLES, WRITABLE
from bochner.geo.areas import area_points
from bochner.geo.crs import agreed_crs, as_crs, crs_name, crs_text, is_geographic, same_crs, transform
from bochner.geo.frames import attributes, frame_coords, is_geoframe, like_frame
from bochner.geo.grids import (
    RasterGrid,
    Resolution,
    Window,
    bounds_of,
    grid_over,
    parse_resolution,
)
from bochner.geo.lonlat import is_lonlat
from bochner.geo.masks import areas_bounds, areas_in, mask_within
from bochner.geo.placement import Placement, choose_placement
from bochner.geo.places import Places
from bochner.geo.rasters import raster_at, sample_raster
from bochner.geo.reading import read_places
from bochner.geo.tables import Table, find_coords, read_table, write_table
from bochner.geo.templates import grid_like
from bochner.geo.vectors import checked_areas, read_areas, read_vector
from bochner.geo.writing import as_geoframe, write_places, write_vector

__all__ = [
    "READABLE",
    "READ_TABLES",
    "TABLES",
    "WRITABLE",
    "Placement",
    "Places",
    "RasterGrid",
    "Resolution",
    "Table",
    "Window",
    "agreed_crs",
    "area_points",
    "areas_bounds",
    "areas_in",
    "as_crs",
    "as_geoframe",
    "attributes",
    "bounds_of",
    "checked_areas",
    "choose_placement",
    "crs_name",
    "crs_text",
    "find_coords",
    "frame_coords",
    "grid_like",
    "grid_over",
    "is_geoframe",
    "is_geographic",
    "is_lonlat",
    "like_frame",
    "mask_within",
    "parse_resolution",
    "raster_at",
    "read_areas",
    "read_places",
    "read_table",
    "read_vector",
    "same_crs",
    "sample_raster",
    "transform",
    "write_places",
    "write_table",
    "write_vector",
]
