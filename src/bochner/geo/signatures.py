"""Signatures: what a file is by its first bytes, where its name says that it is a table."""

from __future__ import annotations

from pathlib import Path

from bochner.exceptions import InputError
from bochner.geo import limits

KNOWN = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or a workbook (.xlsx)"),
    (b"\xd0\xcf\x11\xe0", "a workbook or document of an old Office (.xls, .doc)"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x89HDF", "an HDF5 or NetCDF file"),
    (b"CDF\x01", "a NetCDF file"),
    (b"CDF\x02", "a NetCDF file"),
    (b"SQLite format 3", "a GeoPackage or another SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
)
PAGES = (b"<!doctype", b"<html", b"<?xml")
WRITTEN = {9, 10, 12, 13, 27}  # bytes below 32 that texts hold


def check_text(path: Path, encoding: str) -> None:
    """Refuse a file that is no text, by what it is."""
    with open(path, "rb") as file:
        head = file.read(limits.HEAD_BYTES)
    found = next((what for mark, what in KNOWN if head.startswith(mark)), None)
    if found is None and head.lstrip().lower().startswith(PAGES):
        found = "a web page or XML, as a download that asks for a password first"
    if found is None and not encoding.startswith("utf-16") and any(b < 32 and b not in WRITTEN for b in head):
        found = "binary data"
    if found is not None:
        raise InputError(
            f"{path.name} is named like a table of text but is {found}; give it the ending it should have if that can "
            f"be read, or save the table as CSV."
        )
