"""Rows held out as the places to be predicted lie: those asked for, or where a map would be drawn."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.features import Grid, find_grid
from bochner.inference.fits.folds import Fold
from bochner.inference.observed.domain import Domain
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.random import generator
from bochner.resources import n_searchers
from bochner.validation import GapBlocks


def wanted_places(obs: Observations, domain: Domain, seed: int) -> FloatArray:
    """Some of the places to be predicted: those asked for, or where a map would be drawn."""
    rng = generator(seed, "wanted places")
    wanted = _everywhere(obs.rows.coords, rng) if domain.wanted is None else domain.wanted
    if len(wanted) > limits.MAX_WANTED_PLACES:
        wanted = wanted[rng.choice(len(wanted), limits.MAX_WANTED_PLACES, replace=False)]
    return wanted


def task_folds(
    obs: Observations, domain: Domain, seed: int, grid: Grid | None = None, wanted: FloatArray | None = None
) -> list[Fold]:
    """Folds whose test rows lie as the wanted places lie, which may be known already.

    Rows of a group are held out together: the gaps are then cut between the middles of the groups. Gaps of an image are
    cut in pixels, so that they are the same in every unit.
    """
    wanted = wanted_places(obs, domain, seed) if wanted is None else wanted
    wanted, coords = in_pixels(grid, wanted, obs.rows.coords)
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
    """Places where a map would be drawn: the empty nodes of an image; else all over the box, or among the rows.

    A grid that is mostly empty is no image, but a region of any shape. Of rows along lines or on a shore next to
    nothing of the box lies among them, and what lies far off says little of what they are for.
    """
    grid = find_grid(coords)
    at = None if grid is None else grid.positions(coords)
    if grid is None or at is None or len(at) < limits.MOSTLY_FULL * np.prod(grid.shape, dtype=float):
        low, extent = coords.min(axis=0), np.ptp(coords, axis=0)
        drawn = rng.uniform(size=(limits.MAX_WANTED_PLACES // 2, coords.shape[1]))
        near, share = _among((coords - low) / np.where(extent > 0, extent, 1.0), drawn, rng)
        whole = grid is None and share >= limits.LEAST_AMONG
        return np.asarray(low + extent * (drawn if whole else near))
    taken = np.zeros(grid.shape, dtype=bool)
    taken[tuple(at.T)] = True
    empty = np.argwhere(~taken)
    if len(empty) < 0.01 * taken.size:
        empty = np.argwhere(np.ones(grid.shape, dtype=bool))
    return grid.origin + grid.step * empty


def _among(rows: FloatArray, places: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Places no farther from the nearest row than rows there lie apart, in a unit box, and the share of those.

    Where they are next to none, places are drawn around the rows, more where these are sparse.
    """
    some = rows if len(rows) <= limits.MAX_AMONG_ROWS else rows[rng.choice(len(rows), limits.MAX_AMONG_ROWS)]
    sites = np.unique(some, axis=0)
    if len(sites) <= limits.AMONG_NEIGHBOURS:
        return places, 1.0
    tree = cKDTree(sites)
    away, nearest = tree.query(places, workers=n_searchers(len(places)))
    apart = tree.query(sites, k=[limits.AMONG_NEIGHBOURS + 1], workers=n_searchers(len(sites)))[0][:, 0]
    n, dim = places.shape
    near = places[away <= apart[nearest]]
    share = len(near) / n
    if share >= limits.NEXT_TO_NONE:
        return near, share
    about = rng.choice(len(sites), n, p=apart**dim / np.sum(apart**dim))
    step = rng.standard_normal((n, dim))
    step *= (rng.uniform(size=n) ** (1 / dim) / np.linalg.norm(step, axis=1))[:, None]
    return np.asarray(sites[about] + apart[about, None] * step), share
