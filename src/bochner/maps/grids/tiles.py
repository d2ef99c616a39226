"""Tiles: a window of pixels filled from few evaluations, refined until the error is as small as was asked.

A predicted surface is smooth over many pixels, except next to the data. A tile of it is therefore interpolated from the
36 nodes of a Chebyshev grid, and the interpolation is compared with the surface itself in the middle of each of the 25
meshes between them: a kink at a row of the data lies in one of the meshes, and shows there. Where the two differ by
more than is tolerated the tile is cut in four; small tiles are evaluated pixel by pixel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.maps import limits
from bochner.posterior.chebyshev import interpolation, middles, nodes

N_CHECKS = (limits.TILE_NODES - 1) ** 2
N_EVALUATIONS = limits.TILE_NODES**2 + N_CHECKS

Tile = tuple[int, int, int, int]  # row0, row1, col0, col1
Mask = NDArray[np.bool_]
Values = Callable[[FloatArray, FloatArray], FloatArray]
"""(rows, cols), whole at the centres of pixels, to k values of each place, (n, k); NaN where there are none."""
Errors = Callable[[FloatArray, FloatArray], FloatArray]
"""Interpolated and true values, (n, k), to the error of each place, (n,), in units of what is tolerated."""


@dataclass
class Interpolation:
    """Fills windows with a surface of `n_values` per pixel, and learns which sizes of tiles are worth a trial.

    Parameters
    ----------
    surface, errors : callable
        The surface, and the measure of error; at most 1 is good enough.
    n_values : int
        Values of a pixel, k.
    largest : int
        Longest side of a tile, in pixels. The surface must not do anything much narrower unseen: let it be no longer
        than a length scale.

    Attributes
    ----------
    n_evaluated : int
        Places at which the surface was evaluated so far.
    n_interpolated : int
        Pixels that were interpolated so far.
    """

    surface: Values
    errors: Errors
    n_values: int
    largest: int
    n_evaluated: int = 0
    n_interpolated: int = 0
    _tried: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _taken: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def fill(self, window: Tile, wanted: Mask) -> FloatArray:
        """Values (k, height, width) of the wanted pixels of a window; NaN elsewhere."""
        self._forget()
        canvas = _Canvas(window, wanted, self.n_values)
        pending, single = [window], []
        while pending:
            worth: list[Tile] = []
            rest: list[Tile] = []
            for tile in pending:
                n_wanted = canvas.count(tile)
                if 0 < n_wanted < limits.LEAST_GAIN * N_EVALUATIONS:
                    single.append(tile)
                elif n_wanted:
                    (worth if self._promising(tile) else rest).append(tile)
            failed = self._try(worth, canvas)
            pending = [part for tile in rest + failed for part in quarters(tile)]
        self._evaluate(single, canvas)
        return canvas.masked()

    def _try(self, tiles: Sequence[Tile], canvas: _Canvas) -> list[Tile]:
        """Interpolate tiles, a few of them first: if these tell that it is no use, the others are spared."""
        step = max(1, len(tiles) // limits.JUDGED_TILES)
        failed = self._interpolate(tiles[::step], canvas)
        hopeful: list[Tile] = []
        for tile in (tile for i, tile in enumerate(tiles) if i % step):
            (hopeful if self._promising(tile) else failed).append(tile)
        return failed + self._interpolate(hopeful, canvas)

    def _interpolate(self, tiles: Sequence[Tile], canvas: _Canvas) -> list[Tile]:
        """Draw the tiles that can be interpolated; returns those that cannot."""
        if not tiles:
            return []
        corner = np.array([(t[0], t[2]) for t in tiles], dtype=float)
        size = np.array([(t[1] - t[0] - 1, t[3] - t[2] - 1) for t in tiles], dtype=float)
        inside = np.concatenate([_node_pairs(), _checks()])
        places = corner[:, None] + size[:, None] * inside
        values = self._values(places.reshape(-1, 2)).reshape(len(tiles), N_EVALUATIONS, -1)
        known, true = values[:, : limits.TILE_NODES**2], values[:, limits.TILE_NODES**2 :]
        guess = np.einsum("cn,tnk->tck", _check_matrix(), known)
        error = self.errors(guess.reshape(-1, self.n_values), true.reshape(-1, self.n_values))
        good = error.reshape(len(tiles), N_CHECKS).max(axis=1) <= 1 / limits.TILE_SAFETY  # False for NaN
        for tile, ok in zip(tiles, good, strict=True):
            self._tried[_level(tile)] += 1
            self._taken[_level(tile)] += ok
        taken = [t for t, ok in zip(tiles, good, strict=True) if ok]
        canvas.draw(taken, known[good])
        self.n_interpolated += sum(canvas.count(t) for t in taken)
        return [t for t, ok in zip(tiles, good, strict=True) if not ok]

    def _evaluate(self, tiles: Sequence[Tile], canvas: _Canvas) -> None:
        pixels = canvas.pixels(tiles)
        if len(pixels):
            canvas.put(pixels, self._values(pixels.astype(float)))

    def _values(self, places: FloatArray) -> FloatArray:
        self.n_evaluated += len(places)
        parts = [places[i : i + limits.PLACES_AT_ONCE] for i in range(0, len(places), limits.PLACES_AT_ONCE)]
        return np.concatenate([self.surface(part[:, 0], part[:, 1]) for part in parts])

    def _promising(self, tile: Tile) -> bool:
        """Whether tiles of this size can be, and mostly are, interpolated: else they are cut at once."""
        if max(tile[1] - tile[0], tile[3] - tile[2]) > self.largest:
            return False
        level = _level(tile)
        return (
            self._tried[level] < limits.JUDGED_TILES
            or self._taken[level] / self._tried[level] * 2**level > N_EVALUATIONS
        )

    def _forget(self) -> None:
        # so that a size that failed in one part of the map is tried again in another
        for level in self._tried:
            self._tried[level] /= 2
            self._taken[level] /= 2


class _Canvas:
    """Values of a window on their way to completion."""

    def __init__(self, window: Tile, wanted: Mask, n_values: int) -> None:
        self.origin = np.array([window[0], window[2]])
        self.wanted = wanted
        self.values = np.full((n_values, *wanted.shape), np.nan)
        self.whole = bool(wanted.all())

    def count(self, tile: Tile) -> int:
        """Wanted pixels of a tile."""
        return (tile[1] - tile[0]) * (tile[3] - tile[2]) if self.whole else int(self.wanted[self._slices(tile)].sum())

    def pixels(self, tiles: Sequence[Tile]) -> NDArray[np.intp]:
        """Wanted pixels (row, col) of some tiles."""
        found = [np.argwhere(self.wanted[self._slices(t)]) + np.array([t[0], t[2]]) for t in tiles]
        return np.concatenate(found) if found else np.zeros((0, 2), dtype=np.intp)

    def put(self, pixels: NDArray[np.intp], values: FloatArray) -> None:
        i, j = (pixels - self.origin).T
        self.values[:, i, j] = values.T

    def draw(self, tiles: Sequence[Tile], known: FloatArray) -> None:
        """Interpolate tiles from their nodes, (n, nodes, k)."""
        square = known.reshape(len(tiles), limits.TILE_NODES, limits.TILE_NODES, len(self.values)).transpose(0, 3, 1, 2)
        for tile, value in zip(tiles, square, strict=True):
            down, along = _pixel_matrix(tile[1] - tile[0]), _pixel_matrix(tile[3] - tile[2])
            self.values[(slice(None), *self._slices(tile))] = down @ (value @ along.T)

    def masked(self) -> FloatArray:
        """Values of the wanted pixels, NaN elsewhere."""
        if not self.whole:
            self.values[:, ~self.wanted] = np.nan
        return self.values

    def _slices(self, tile: Tile) -> tuple[slice, slice]:
        row, col = self.origin
        return slice(tile[0] - row, tile[1] - row), slice(tile[2] - col, tile[3] - col)


def quarters(tile: Tile) -> list[Tile]:
    """A tile cut in four, or in two if it is long and narrow."""
    row0, row1, col0, col1 = tile
    height, width = row1 - row0, col1 - col0
    rows = [(row0, row1)] if 2 * height < width else [(row0, row0 + height // 2), (row0 + height // 2, row1)]
    cols = [(col0, col1)] if 2 * width < height else [(col0, col0 + width // 2), (col0 + width // 2, col1)]
    return [(a, b, c, d) for a, b in rows for c, d in cols if b > a and d > c]


def _level(tile: Tile) -> int:
    return round(np.log2((tile[1] - tile[0]) * (tile[3] - tile[2])))


@lru_cache
def _node_pairs() -> FloatArray:
    at = nodes(limits.TILE_NODES)
    return np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 2)


@lru_cache
def _checks() -> FloatArray:
    """Middles of the meshes between the nodes, where interpolation is checked."""
    at = middles(limits.TILE_NODES)
    return np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 2)


@lru_cache
def _check_matrix() -> FloatArray:
    down, along = (interpolation(side, limits.TILE_NODES) for side in _checks().T)
    return (down[:, :, None] * along[:, None, :]).reshape(N_CHECKS, -1)


@lru_cache(maxsize=512)
def _pixel_matrix(n: int) -> FloatArray:
    """From the nodes to the n pixels along the side of a tile, (n, nodes)."""
    return interpolation(np.arange(n) / max(n - 1, 1), limits.TILE_NODES)
