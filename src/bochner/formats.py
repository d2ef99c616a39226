"""Formats: the endings of the files that are read and written, by what they hold. Light: asked before any import."""

TABLES = (".csv", ".parquet")
READ_TABLES = (*TABLES, ".xlsx")
VECTORS = (".gpkg", ".shp", ".geojson", ".json", ".geoparquet")
RASTERS = (".tif", ".tiff")
CUBES = (".nc", ".nc4", ".zarr")
READABLE = (*READ_TABLES, *VECTORS, *RASTERS, *CUBES)
WRITABLE = (*TABLES, *VECTORS)
PARTS = [".csv", ".parquet", ".geoparquet", ".pq", *CUBES, *RASTERS]
"""Endings of files that are read in parts, with those that `register_source` was told of."""
PICTURES = (".png", ".svg", ".pdf", ".jpg")
PAGES = (".html", ".htm")
MAPS = [*RASTERS, *CUBES]
"""Endings that maps are written to, with those that `register_writer` was told of."""
