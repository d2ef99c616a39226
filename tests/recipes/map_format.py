"""A map format of one's own: a line of JSON, and an array."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bochner.arrays import FloatArray
from bochner.geo import RasterGrid, Window
from bochner.maps import register_writer
from bochner.maps.files.base import Writer
from bochner.maps.grids.bands import Band


class NumbersWriter(Writer):
    """All bands in memory, then one file."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        self.path, self.names = path, [band.name for band in bands]
        self.values = np.full((len(bands), *grid.shape), np.nan, dtype)

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        self.values[:, row0:row1, col0:col1] = values

    def close(self, attributes: Mapping[str, str]) -> None:
        with open(self.path, "wb") as file:
            file.write(json.dumps({"bands": self.names, **attributes}).encode() + b"\n")
            np.save(file, self.values)


register_writer(NumbersWriter, ".numbers")
