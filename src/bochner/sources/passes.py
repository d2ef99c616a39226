"""Passes: one value out of all parts of a source, each part's added to that of the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from bochner.exceptions import InputError
from bochner.sources.base import Reading, Source

logger = logging.getLogger("bochner")

T = TypeVar("T")
Work = Callable[[Reading], Any]
Keep = Callable[[int, Any], None]
"""Called with the number of parts done and their sum, after each."""


class Runner(Protocol):
    """Where the parts of a pass are computed."""

    def total(
        self,
        source: Source,
        names: tuple[str, ...],
        work: Work,
        *,
        start: int = 0,
        begun: Any = None,
        keep: Keep | None = None,
    ) -> Any:
        """Sum of `work` over the parts from `start` on, added to what was `begun`."""
        ...


class Local:
    """Parts one after the other in this process; the next one is read while one is computed on."""

    def total(
        self,
        source: Source,
        names: tuple[str, ...],
        work: Work,
        *,
        start: int = 0,
        begun: Any = None,
        keep: Keep | None = None,
    ) -> Any:
        total = begun
        for reading in source.read(names, start):
            part = work(reading)
            total = part if total is None else total + part
            logger.info("part %d of %s: %s", reading.number + 1, source.n_parts or "?", reading.where)
            if keep is not None:
                keep(reading.number + 1, total)
        if total is None:
            raise InputError(f"{source.label} has no rows; check how it was written.")
        return total
