"""Mending: single rows of a table put right, in a copy that stands beside the file as it was dropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.geo import READ_TABLES, read_table
from bochner.geo.vectors import is_geoparquet
from bochner.outputs import complete_files
from bochner.studio.projects import unused


def mended(path: Path, coords: Sequence[str], swap: Sequence[int], drop: Sequence[int]) -> dict[str, Any]:
    """Write `NAME-mended.csv`: rows by their position, coordinates of some exchanged, others left out."""
    if path.suffix.lower() not in READ_TABLES or is_geoparquet(path):
        raise InputError(f"{path.name} is no table; rows can be mended in CSV, Excel and Parquet files only.")
    frame = read_table(path).arrow.to_pandas()
    beyond = [row for row in [*swap, *drop] if not 0 <= row < len(frame)]
    if beyond:
        raise InputError(f"there is no row {beyond[0]} in {path.name}; it has {len(frame):,}.")
    if swap:
        east, north = coords[:2]
        at = frame.index[list(swap)]
        frame.loc[at, [east, north]] = frame.loc[at, [north, east]].to_numpy()
    frame = frame.drop(index=frame.index[list(drop)])
    if frame.empty:
        raise InputError(f"every row of {path.name} was to be left out; keep some.")
    target = unused(path.with_name(f"{path.stem.removesuffix('-mended')}-mended.csv"))
    with complete_files(target) as partial:
        frame.to_csv(partial, index=False)
    return {"file": target.name, "swapped": len(swap), "left_out": len(drop)}
