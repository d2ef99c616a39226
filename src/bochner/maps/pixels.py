"""Pixels: places of a grid as rows of a model's table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.geo import RasterGrid
from bochner.maps.tables import TableMaker

CORRELATED = 0.6  # correlation that pixels within reach of each other have at least
DIRECTIONS = np.array([(0, 1), (1, 0), (1, 1), (1, -1), (1, 2), (2, 1), (2, -1), (1, -2)])


@dataclass(frozen=True)
class Pixels:
    """How places of a grid, given by row and column, become rows that a model predicts at."""

    maker: TableMaker
    grid: RasterGrid

    @property
    def model(self) -> Any:
        return self.maker.model

    def coords(self, rows: NDArray[Any], cols: NDArray[Any]) -> FloatArray:
        """Coordinates (n, 2) in the model's CRS of places whose row and column are whole at the centres of pixels."""
        a, b, c, d, e, f = self.grid.transform
        col, row = np.asarray(cols) + 0.5, np.asarray(rows) + 0.5
        places = np.column_stack([a * col + b * row + c, d * col + e * row + f])
        return self.maker.in_crs(places, self.grid.crs)

    def table(self, coords: FloatArray, others: Mapping[str, Any]) -> Any:
        """Rows as `predict` takes them."""
        return self.maker.table(coords, others)

    def reach(self, others: Mapping[str, float]) -> float:
        """Pixels over which the field stays correlated: the least, of all directions and parts of the kernel."""
        middle = np.array([self.grid.height, self.grid.width]) / 2 - 0.5
        step = 2.0 ** np.arange(-2, 1 + np.log2(max(self.grid.shape) + 1), 0.25)
        unit = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
        coords = self.coords(*(middle + np.vstack([[0, 0], (step[:, None, None] * unit).reshape(-1, 2)])).T)
        known = np.asarray(np.isfinite(coords).all(axis=1))
        if not known[0]:
            return float("inf")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # these places are no part of the map
            rows, *_ = self.model._new_rows(self.table(coords[known], others), None)
        apart = np.zeros(len(coords), dtype=bool)
        apart[known] = ~_correlated(self.model.kernel_, rows.coords - rows.coords[0])
        found = apart[1:].reshape(len(step), -1).any(axis=1)
        return float(step[found.argmax()]) if found.any() else float("inf")


def _correlated(kernel: Any, lag: FloatArray) -> Any:
    """Whether every stationary part of a kernel still correlates places a lag apart."""
    parts = [leaf for leaf in kernel.leaves() if leaf.stationary]
    zero = np.zeros((1, lag.shape[1]))
    close = [leaf.lag_covariance(lag) >= CORRELATED * leaf.lag_covariance(zero) for leaf in parts]
    return np.all(close, axis=0) if close else np.ones(len(lag), dtype=bool)
