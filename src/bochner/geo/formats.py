"""Formats: the suffixes of the files that are read and written, by what they hold."""

TABLES = (".csv", ".parquet")
READ_TABLES = (*TABLES, ".xlsx")
VECTORS = (".gpkg", ".shp", ".geojson", ".json", ".geoparquet")
RASTERS = (".tif", ".tiff")
CUBES = (".nc", ".nc4", ".zarr")
