"""Posterior of more rows than memory holds: waves for the far field, the nearest rows for what they leave.

Waves are known from the sums of all rows. What they leave of the responses is kriged from the nearest rows, which are
read from a store tile by tile. A place belongs to one tile, and a tile has its rows whatever else is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bochner.arrays import FloatArray, IntArray
from bochner.features import Rows
from bochner.frequencies import Frequencies
from bochner.kernels import Kernel
from bochner.neighbours import CellKriging, conditional_draws
from bochner.posterior import limits
from bochner.posterior.base import Cost, Posterior
from bochner.posterior.coefficients import CoefficientPosterior
from bochner.sources.row_store import RowStore


@dataclass(frozen=True)
class StoredPosterior(Posterior):
    """Waves, and kriging of the residuals from the nearest rows of a store.

    Attributes
    ----------
    waves_part : CoefficientPosterior
        From the sums of all rows.
    kernel : Kernel
    store : RowStore
        Rows: place, trend columns, response without offset, error variance.
    n_near : int
        Rows that a place is kriged from.
    """

    waves_part: CoefficientPosterior
    kernel: Kernel
    store: RowStore
    n_near: int
    _cache: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)

    beyond: ClassVar[str] = CoefficientPosterior.beyond

    @property
    def cost(self) -> Cost:
        return Cost(3 * self.n_near, limits.PLACE_WORK)

    @property
    def trend_coef(self) -> FloatArray:  # type: ignore[override]
        return self.waves_part.trend_coef

    @property
    def feature_coef(self) -> FloatArray:
        return self.waves_part.feature_coef

    @property
    def waves(self) -> Frequencies | None:
        return self.waves_part.waves

    def trend_covariance(self) -> FloatArray:
        return self.waves_part.trend_covariance()

    def outside(self, coords: FloatArray) -> NDArray[np.bool_]:
        return self.waves_part.outside(coords)

    def mean(self, rows: Rows) -> FloatArray:
        return self.mean_and_variance(rows)[0]

    def variance(self, rows: Rows) -> FloatArray:
        return self.mean_and_variance(rows)[1]

    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        mean, variance = self.waves_part.mean(rows), np.empty(len(rows))
        for tile, here in self._tiles(rows.coords):
            kriging, residual, _ = self._tile(tile)
            local, variance[here] = kriging.at(rows.coords[here], residual[:, None])
            mean[here] += local[:, 0]
        return mean, variance

    def covariance(self, rows: Rows) -> FloatArray:
        draws = self.draw(rows, limits.STORED_DRAWS, np.random.default_rng(0))
        return np.cov(draws.T).reshape(len(rows), len(rows))

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        draws = np.tile(self.mean(rows), (n_draws, 1))
        for tile, here in self._tiles(rows.coords):
            kriging, _, error = self._tile(tile)
            draws[:, here] += conditional_draws(
                self.kernel, error, kriging.coords, rows.coords[here], n_draws, rng, limits.DRAWN_ROWS
            )
        return draws

    def _tiles(self, coords: FloatArray) -> Iterator[tuple[int, IntArray]]:
        """Tiles with the places that lie in each."""
        cells = self.store.cells
        tile = cells.of(cells.keys(coords))
        order = np.argsort(tile, kind="stable")
        edges = np.flatnonzero(np.diff(tile[order])) + 1
        for part in np.split(order, edges):
            if len(part):
                yield int(tile[part[0]]), part

    def _tile(self, tile: int) -> tuple[CellKriging, FloatArray, FloatArray]:
        """Kriging from the rows in and around a tile, their residuals and error variances; a few tiles are kept."""
        if tile not in self._cache:
            while len(self._cache) >= limits.KEPT_TILES:
                self._cache.pop(next(iter(self._cache)))
            self._cache[tile] = self._made(tile)
        found: tuple[CellKriging, FloatArray, FloatArray] = self._cache[tile]
        return found

    def _made(self, tile: int) -> tuple[CellKriging, FloatArray, FloatArray]:
        low, high = (corner[tile] for corner in self.store.cells.boxes)
        rows, widen = self.store.around(low, high), 0.0
        enough = limits.LEAST_TILE_ROWS * self.n_near
        while True:
            # as far beyond the tile as twice the neighbours of a place at its corner reach
            density = max(len(rows), 1) / float(np.prod((high - low) + 2 * widen * (high - low).max()))
            reach = (2 * self.n_near / density) ** (1 / len(low))
            wider = max(reach / float((high - low).max()), 2 * widen)
            if widen > 0 and (len(rows) >= enough or widen > limits.WIDEST_TILE):
                break
            widen = min(wider, limits.WIDEST_TILE * 1.01)
            more = widen * (high - low).max()
            rows = self.store.around(low - more, high + more)
        dim = len(low)
        coords, y, error = rows[:, :dim], rows[:, -2], rows[:, -1]
        residual = y - self.waves_part.mean(Rows(coords, rows[:, dim:-2]))
        return CellKriging(self.kernel, error, coords, self.n_near), residual, error
