"""Estimate: memory and time of a map, before the work."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.geo import RasterGrid, Window, mask_within
from bochner.maps import limits
from bochner.maps.grids.gridmap import GridMap
from bochner.random import generator


@dataclass(frozen=True)
class MapEstimate:
    """What a map will take.

    Attributes
    ----------
    n_pixels : int
    memory_bytes : int
        Peak of the process.
    seconds : float
        Time to compute and write it.
    file_bytes : int
        Size of the file before compression.
    covered : float
        Share of the pixels that lie within the polygons of the map, and have a value.
    """

    n_pixels: int
    memory_bytes: int
    seconds: float
    file_bytes: int
    covered: float = 1.0

    def __str__(self) -> str:
        return (
            f"{self.n_pixels:,} pixels: about {_duration(self.seconds)}, {_size(self.memory_bytes)} of memory, "
            f"a file of at most {_size(self.file_bytes)}"
        )


def estimate(work: GridMap) -> MapEstimate:
    """Cost of a map, from a trial on small windows spread over it."""
    covered = _covered(work)
    begin, tally = time.perf_counter(), work.tally
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for window in _trials(work.grid, covered):
            work.compute(window)
            if time.perf_counter() - begin > limits.MAX_TRIAL_TIME:
                break
    n_done = tally.n_predicted + tally.n_missing + tally.n_observed
    rate = (time.perf_counter() - begin) / max(n_done, 1)
    n_pixels, n_bands = work.grid.n_pixels, len(work.bands)
    seconds = n_pixels * (rate * covered.mean() + limits.WRITING_TIME * n_bands)
    memory, n_bytes = work.memory_bytes + limits.LIBRARY_BYTES, 4 * n_pixels * n_bands
    return MapEstimate(n_pixels, memory, float(seconds), n_bytes, float(covered.mean()))


def _covered(work: GridMap) -> NDArray[np.bool_]:
    """Which parts of the map lie within its polygons, on a coarse grid."""
    height, width = (min(limits.COVERAGE_CELLS, side) for side in work.grid.shape)
    if work.areas is None:
        return np.ones((height, width), dtype=bool)
    down, along = work.grid.height / height, work.grid.width / width
    a, b, c, d, e, f = work.grid.transform
    coarse = RasterGrid((a * along, b * down, c, d * along, e * down, f), height, width, work.grid.crs)
    return mask_within(coarse, work.areas)


def _trials(grid: RasterGrid, covered: NDArray[np.bool_]) -> list[Window]:
    """Small windows around random places that are part of the map."""
    cells = np.argwhere(covered)
    if not len(cells):
        return []
    rng = generator(0, "trial windows")
    centres = (cells[rng.choice(len(cells), limits.N_TRIALS)] + 0.5) / covered.shape * grid.shape
    tall, wide = min(limits.TRIAL_SIDE, grid.height), min(limits.TRIAL_SIDE, grid.width)
    corners = np.clip(np.round(centres - (tall / 2, wide / 2)), 0, (grid.height - tall, grid.width - wide)).astype(int)
    return [(int(r), int(r) + tall, int(c), int(c) + wide) for r, c in np.unique(corners, axis=0)]


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:,.1f} GB"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s"
    minutes = seconds / 60
    return f"{np.round(minutes):,.0f} min" if minutes < 100 else f"{minutes / 60:,.1f} h"
