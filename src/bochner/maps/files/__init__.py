"""Files: maps as GeoTIFF, NetCDF and Zarr, complete or not there at all, with where they come from."""
