"""Sheets: what else a workbook holds, for who looks for a column that the first sheet has not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bochner.exceptions import ColumnError, InputError


@contextmanager
def sheets_told(path: Path) -> Iterator[None]:
    """Within: an error about the columns or rows of a workbook names its further sheets, which are not read."""
    try:
        yield
    except (ColumnError, InputError) as error:
        others = _others(path) if path.suffix.lower() == ".xlsx" else []
        if not others:
            raise
        told = ", ".join(map(repr, others))
        raise type(error)(
            f"{error} Only the first sheet of {path.name} is read; it has {told}, too: if the data are there, save "
            f"that sheet as a file of its own, or move it to the front."
        ) from error


def _others(path: Path) -> list[str]:
    """Names of the sheets after the first; none of what cannot be opened."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True)
    except Exception:  # openpyxl's errors share no base; the first error is the one to tell
        return []
    names = [str(name) for name in book.sheetnames[1:]]
    book.close()
    return names
