"""Pixels: places of a grid as rows of a fitted model, and what the model says there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.estimators import Fitted
from bochner.features import Rows
from bochner.geo import RasterGrid
from bochner.kernels import Kernel
from bochner.maps import limits
from bochner.maps.grids.inputs import Known, offset_of, size_of
from bochner.posterior import Latent, Patches
from bochner.posterior.response import Response

DIRECTIONS = np.array([(0, 1), (1, 0), (1, 1), (1, -1), (1, 2), (2, 1), (2, -1), (1, -2)])


@dataclass(frozen=True)
class Pixels:
    """How places of a grid, given by row and column, become rows that a model answers at.

    Attributes
    ----------
    fitted : Fitted
    grid : RasterGrid
    new : bool
        Whether new observations are asked for, not the surface.
    """

    fitted: Fitted
    grid: RasterGrid
    new: bool = False

    def coords(self, rows: NDArray[Any], cols: NDArray[Any]) -> FloatArray:
        """Coordinates (n, 2) in the model's CRS of places whose row and column are whole at the centres of pixels."""
        a, b, c, d, e, f = self.grid.transform
        col, row = np.asarray(cols) + 0.5, np.asarray(rows) + 0.5
        places = np.column_stack([a * col + b * row + c, d * col + e * row + f])
        return self.fitted.layout.to_crs(places, self.grid.crs)

    def rows(self, coords: FloatArray, known: Known) -> Rows:
        """Rows of the model, from coordinates (n, 2) in its CRS and what is known there."""
        return self.fitted.check_rows(self.fitted.layout.map_rows(coords, known))

    def latent(self, coords: FloatArray, known: Known, patches: Patches | None = None) -> Latent:
        """Linear predictor there, without the offset; by patches to within their tolerance."""
        return self.fitted.latent(self.rows(coords, known), new=self.new, patches=patches)

    def law(self, coords: FloatArray, known: Known, patches: Patches | None = None) -> Response:
        """Law of the response there: of counts, where trials or exposure are among what is known."""
        size, rows = size_of(known, len(coords)), self.rows(coords, known)
        return self.fitted.law(rows, offset=offset_of(known), size=size, new=self.new, patches=patches)

    def reach(self, known: Mapping[str, float]) -> float:
        """Pixels over which the field stays correlated: the least, of all directions and parts of the kernel.

        Infinity where it does as far as the grid reaches.
        """
        middle = np.array([self.grid.height, self.grid.width]) / 2 - 0.5
        step = 2.0 ** np.arange(-2, 1 + np.log2(max(self.grid.shape) + 1), 0.25)
        unit = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
        offset = np.vstack([[0, 0], (step[:, None, None] * unit).reshape(-1, 2)])
        coords = self.coords(*(middle + offset).T)
        valid = np.isfinite(coords).all(axis=1) & (np.abs(offset) <= middle + 0.5).all(axis=1)
        if not valid[0]:
            return float("inf")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # these places are no part of the map
            places = self.rows(coords[valid], known).coords
        apart = np.zeros(len(coords), dtype=bool)
        apart[valid] = ~_correlated(self.fitted.model.kernel, places - places[0])
        found = apart[1:].reshape(len(step), -1).any(axis=1)
        return float(step[found.argmax()]) if found.any() else float("inf")


def _correlated(kernel: Kernel, lag: FloatArray) -> NDArray[np.bool_]:
    """Whether every stationary part of a kernel still correlates places a lag apart."""
    parts = [leaf for leaf in kernel.leaves() if leaf.stationary]
    zero = np.zeros((1, lag.shape[1]))
    close = [leaf.lag_covariance(lag) >= limits.REACH_CORRELATION * leaf.lag_covariance(zero) for leaf in parts]
    return np.all(close, axis=0) if close else np.ones(len(lag), dtype=bool)
