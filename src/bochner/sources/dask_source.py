"""Dask: data frames and arrays whose partitions are computed where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from bochner.exceptions import InputError
from bochner.sources.base import Columns, Part, Source
from bochner.sources.batch_source import columns_of


@dataclass(frozen=True)
class PartitionPart(Part):
    """A partition of a Dask data frame, as a task that has not run."""

    task: Any
    number: int
    n_rows: int | None = None

    @property
    def where(self) -> str:  # type: ignore[override]
        return f"partition {self.number} of the Dask data frame"

    def load(self, names: Sequence[str]) -> Columns:
        frame = self.task.compute(scheduler="synchronous")  # here, on whatever machine this is
        missing = [n for n in names if n not in frame.columns]
        if missing:
            raise InputError(f"{self.where} has no column {missing[0]!r}, which the frame has; mend it.")
        return columns_of(frame, names)


class DaskSource(Source):
    """A Dask data frame; nothing of it is computed before it is read."""

    def __init__(self, frame: Any, label: str = "the Dask data frame") -> None:
        self.frame, self.label = frame, label
        self.names = tuple(str(name) for name in frame.columns)

    @property
    def identity(self) -> str:
        return str(import_module("dask.base").tokenize(self.frame))

    @cached_property
    def parts(self) -> Sequence[Part]:
        return [PartitionPart(task, i) for i, task in enumerate(self.frame.to_delayed())]
