"""Rasters: GeoTIFF files, a strip of pixels at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from bochner.geo.crs import crs_text
from bochner.geo.rasters import dataset_grid, opened_raster, read_band
from bochner.sources import limits
from bochner.sources.base import Columns, Part, Source

ENDINGS = (".tif", ".tiff")


@dataclass(frozen=True)
class RasterPart(Part):
    """Rows of pixels."""

    path: str
    first: int
    last: int
    width: int
    bands: tuple[str, ...]

    @property
    def where(self) -> str:  # type: ignore[override]
        return f"{self.path}, lines {self.first:,} to {self.last:,}"

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return (self.last - self.first) * self.width

    def load(self, names: Sequence[str]) -> Columns:
        found: Columns = {}
        with opened_raster(self.path) as dataset:
            a, b, c, d, e, f = tuple(dataset.transform)[:6]
            cols, rows = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.first, self.last) + 0.5)
            for name in names:
                if name == "x":
                    found[name] = (a * cols + b * rows + c).ravel()
                elif name == "y":
                    found[name] = (d * cols + e * rows + f).ravel()
                else:
                    number = self.bands.index(name) + 1
                    found[name] = read_band(dataset, number, (self.first, self.last, 0, self.width)).ravel()
        return found


class RasterSource(Source):
    """Pixels of a GeoTIFF; those without a value are left out."""

    sparse: ClassVar[bool] = True

    def __init__(self, path: Path, part_rows: int = limits.PART_ROWS) -> None:
        self.path, self.label, self.part_rows = path, str(path), part_rows
        with opened_raster(path) as dataset:
            grid = dataset_grid(dataset)
            self.bands = tuple((text or "").strip() or f"band{i}" for i, text in enumerate(dataset.descriptions, 1))
        self.height, self.width = grid.shape
        self.crs = None if grid.crs is None else crs_text(grid.crs)
        self.coords = ("x", "y")
        self.names = (*self.coords, *self.bands)

    @cached_property
    def parts(self) -> Sequence[Part]:
        step = max(1, self.part_rows // self.width)
        return [
            RasterPart(str(self.path), i, min(i + step, self.height), self.width, self.bands)
            for i in range(0, self.height, step)
        ]
