"""Geo: tables in and out. Knows no model."""

from bochner.geo.tables import Table, find_coords, read_table, write_table

__all__ = ["Table", "find_coords", "read_table", "write_table"]
