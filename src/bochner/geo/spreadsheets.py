"""Spreadsheets: cells of text that a spreadsheet would run as formulas, made plain text on request."""

from __future__ import annotations

from typing import Any

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def plain_cells(frame: Any) -> Any:
    """A data frame whose text, names of columns included, begins with an apostrophe where it would begin a formula."""
    from pandas.api import types

    texts = {
        name: frame[name].map(_plain, na_action="ignore")
        for name in frame.columns
        if types.is_object_dtype(frame[name]) or types.is_string_dtype(frame[name])
    }
    return frame.assign(**texts).rename(columns={name: _plain(name) for name in frame.columns})


def _plain(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(STARTS) else value
