"""Figure: a chart with all that stands around it on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A chart with its caption, its legend (style and words) and its numbers as a table."""

    title: str
    svg: str
    caption: str
    legend: Sequence[tuple[str, str]] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
