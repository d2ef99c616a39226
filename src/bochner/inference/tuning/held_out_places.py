"""Rows held out as the places to be predicted lie: those asked for, or all over the box."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.features import Grid, find_grid
from bochner.inference.fits.folds import Fold
from bochner.inference.observed.domain import Domain
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.random import generator
from bochner.validation import GapBlocks


def wanted_places(obs: Observations, domain: Domain, seed: int) -> FloatArray:
    """Some of the places to be predicted: those asked for, or all over the box."""
    rng = generator(seed, "wanted places")
    wanted = _everywhere(obs.rows.coords, rng) if domain.wanted is None else domain.wanted
    if len(wanted) > limits.MAX_WANTED_PLACES:
        wanted = wanted[rng.choice(len(wanted), limits.MAX_WANTED_PLACES, replace=False)]
    return wanted


def task_folds(obs: Observations, domain: Domain, seed: int, grid: Grid | None = None) -> list[Fold]:
    """Folds whose test rows lie as the wanted places lie; as a map of the whole box would, if none are given.

    Rows of a group are held out together: the gaps are then cut between the middles of the groups. Gaps of an image are
    cut in pixels, so that they are the same in every unit.
    """
    wanted, coords = in_pixels(grid, wanted_places(obs, domain, seed), obs.rows.coords)
    if domain.groups is not None and len(np.unique(domain.groups)) >= limits.LEAST_GROUPS:
        return _group_folds(len(coords), domain.groups, seed)
    try:
        return list(GapBlocks(wanted, limits.N_GAP_FOLDS, random_state=seed).split(coords))
    except InputError:  # no shape to move: hold out single rows
        rows = generator(seed, "held-out rows").permutation(len(coords))
        return [(np.setdiff1d(rows, part), part) for part in np.array_split(rows, 10)[: limits.N_GAP_FOLDS]]


def in_pixels(grid: Grid | None, *places: FloatArray) -> tuple[FloatArray, ...]:
    """Places in pixels of a grid, equal distances to the last digit; as they are, where there is none."""
    return places if grid is None else tuple(np.round((some - grid.origin) / grid.step, 2) for some in places)


def _group_folds(n: int, groups: IntArray, seed: int) -> list[Fold]:
    """Whole groups held out, a tenth of them in each fold; each fold leaves gaps where it held groups out."""
    order = generator(seed, "held-out groups").permutation(np.unique(groups))
    n_parts = min(10, len(order))
    parts = [order[k::n_parts] for k in range(n_parts)]
    # few groups: all of them, so that the calibration does not rest on a handful
    n_folds = limits.N_GAP_FOLDS if len(order) >= limits.MANY_GROUPS else n_parts
    tests = [np.flatnonzero(np.isin(groups, part)) for part in parts[:n_folds]]
    return [(np.setdiff1d(np.arange(n), test), test) for test in tests]


def _everywhere(coords: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Places over the whole box: the empty nodes of a grid, or uniform ones."""
    grid = find_grid(coords)
    if grid is None:
        return rng.uniform(
            coords.min(axis=0), coords.max(axis=0), size=(limits.MAX_WANTED_PLACES // 2, coords.shape[1])
        )
    taken = np.zeros(grid.shape, dtype=bool)
    at = grid.positions(coords)
    assert at is not None
    taken[tuple(at.T)] = True
    empty = np.argwhere(~taken)
    if len(empty) < 0.01 * taken.size:
        empty = np.argwhere(np.ones(grid.shape, dtype=bool))
    return grid.origin + grid.step * empty
