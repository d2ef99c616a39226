"""Geo: tables in and out. Knows no model."""

from bochner.geo.tables import FORMATS, Table, check_writable, find_coords, read_table, write_table

__all__ = ["FORMATS", "Table", "check_writable", "find_coords", "read_table", "write_table"]
