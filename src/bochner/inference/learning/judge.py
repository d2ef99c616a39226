"""The judge: forms weighed by held-out rows that lie as the prediction locations lie.

Rows that lie among others are for the evidence to weigh. Where prediction locations lie in gaps, the evidence has seen
next to nothing like them: there the forms are stacked (Yao, Vehtari, Simpson & Gelman 2018), by the mean log score of
rows held out in such gaps. Pixels of one gap are nearly one observation, so gaps count, and a prior of equal weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse, special
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.exceptions import InputError
from bochner.features import Grid, find_grid
from bochner.inference.fits.folds import AT_RANDOM, IN_GAPS, Fold, HeldOut, held_out_by_each
from bochner.inference.learning.form import Pair
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Domain
from bochner.inference.observed.task import Task
from bochner.neighbours import empty_sectors, random_order
from bochner.random import generator
from bochner.resources import n_searchers, n_threads, small_systems
from bochner.validation import GapBlocks, crps_mixture
from bochner.validation.gaps import mirrored_gaps, share_in_gaps

MOST_PLACES = 30_000  # prediction locations, and rows, that are looked at
NEIGHBOURS = 8  # the distance to the so-manieth tells how far rows lie apart


def wanted_places(obs: Observations, domain: Domain, seed: int) -> FloatArray:
    """Some of the prediction locations: those asked for, or where a map would be drawn."""
    rng = generator(seed, "wanted places")
    wanted = _everywhere(obs.rows.coords, rng) if domain.wanted is None else domain.wanted
    if len(wanted) > MOST_PLACES:
        wanted = wanted[rng.choice(len(wanted), MOST_PLACES, replace=False)]
    return wanted


@dataclass(frozen=True)
class Geometry:
    """How prediction locations lie among the rows, and rows held out that lie like them.

    Attributes
    ----------
    obs : Observations
        Rows with a weight.
    coords, places : (n, dim), (m, dim)
        Rows and prediction locations; in pixels, where the rows are an image.
    in_gaps : bool
        Whether most of the locations lie in gaps between rows.
    folds : list of (train, test)
    """

    obs: Observations
    coords: FloatArray
    places: FloatArray
    in_gaps: bool
    folds: list[Fold]

    @classmethod
    def of(cls, task: Task) -> Geometry:
        """Of a task; gaps are judged in the plane and in space, where rows have no groups and no times."""
        obs, domain, seed = task.responses.observations().with_weight(), task.domain, task.settings.seed
        groups = None if domain.groups is None else domain.groups[task.responses.weight > 0]
        places, coords = in_pixels(task.grid, wanted_places(obs, domain, seed), obs.rows.coords)
        of_space = groups is None and domain.shared is None and not domain.last_is_time and 1 < task.dim <= 3
        in_gaps = of_space and share_in_gaps(places, coords) >= POLICY.gappy
        if groups is not None and len(np.unique(groups)) >= 5:  # whole groups are held out
            return cls(obs, coords, places, False, _group_folds(coords, groups, seed))
        folds = _in_gaps(coords, places, seed) if in_gaps else []
        return cls(obs, coords, places, bool(folds), folds or _at_random(coords, seed))

    @property
    def share_of_order(self) -> float:
        """Share of the rows, drawn at random, that lie half as far apart as prediction locations from the rows."""
        trees = ((cKDTree(self.coords[train]), self.coords[test]) for train, test in self.folds)
        away = float(np.median(np.concatenate([tree.query(test)[0] for tree, test in trees])))
        apart = float(np.median(cKDTree(self.coords).query(self.coords, k=2, workers=n_threads())[0][:, 1]))
        return float(min(1.0, (2 * apart / max(away, 1e-300)) ** self.coords.shape[1]))


def _in_gaps(coords: FloatArray, places: FloatArray, seed: int) -> list[Fold]:
    """Rows in moved copies of the gaps, and in mirror images of all of them at once, which keep edges at the edge."""
    try:
        folds = list(GapBlocks(places, 3, random_state=seed).split(coords))
    except InputError:  # no shape to move
        return []
    every = np.arange(len(coords))
    masks = mirrored_gaps(places, coords, 3 if len(coords) > 1_000_000 else None)
    return folds + [(every[~mask], every[mask]) for mask in masks]


def _at_random(coords: FloatArray, seed: int) -> list[Fold]:
    """Rows drawn at random, whatever the direction of the axes."""
    rows = random_order(coords, generator(seed, "held-out rows"))
    return [(np.setdiff1d(rows, part), part) for part in np.array_split(rows, 10)[:3]]


def in_pixels(grid: Grid | None, *places: FloatArray) -> tuple[FloatArray, ...]:
    """Places in pixels of a grid, equal distances to the last digit; as they are, where there is none."""
    return places if grid is None else tuple(np.round((some - grid.origin) / grid.step, 2) for some in places)


def gaps_of(coords: FloatArray, held: HeldOut) -> IntArray:
    """Number of the gap that each held-out row lies in: rows of a fold nearer to each other than gaps are wide."""
    labels, first = np.empty(len(held.index), dtype=np.intp), 0
    for fold in np.unique(held.fold):
        here = np.flatnonzero(held.fold == fold)
        places = coords[held.index[here]]
        apart = np.median(cKDTree(places).query(places, k=min(3, len(places)))[0][:, -1]) if len(places) > 1 else 0.0
        near = cKDTree(places).query_pairs(4 * float(apart), output_type="ndarray")
        links = sparse.coo_array((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(len(places),) * 2)
        n, found = sparse.csgraph.connected_components(links, directed=False)
        labels[here] = first + found
        first += n
    return labels


def likeness(coords: FloatArray, folds: Sequence[Fold], held: HeldOut, wanted: FloatArray) -> FloatArray:
    """Weight of each held-out row: how many prediction locations lie as it does, of those that do (n,).

    Two numbers tell how a place lies: its distance to the nearest row, and how many of twelve sectors around it hold
    no row.
    """
    rng = generator(0, "wanted places")
    if len(wanted) > MOST_PLACES // 10:
        wanted = wanted[rng.choice(len(wanted), MOST_PLACES // 10, replace=False)]
    distance, some = _nearest_row(coords, wanted, rng)
    radius = 3.0 * float(np.quantile(distance, 0.9))  # within which a sector is empty or not
    edges = np.unique(np.quantile(distance, (0.25, 0.5, 0.75, 0.9)))
    target = _cells(edges, distance, _empty(wanted, some, radius))
    cell = np.empty(len(held.index), dtype=np.intp)
    for k, (train, _) in enumerate(folds):
        here = np.flatnonzero(held.fold == k)
        if len(here):
            places = coords[held.index[here]]
            away, some = _nearest_row(coords[train], places, rng)
            cell[here] = _cells(edges, away, _empty(places, some, radius))
    n_cells = 1 + max(int(cell.max()), int(target.max()))
    asked, found = (np.bincount(part, minlength=n_cells) / len(part) for part in (target, cell))
    # locations whose like was never held out are lost; no row may stand for too many of the others
    weight = np.clip((asked / np.maximum(found, 1e-12))[cell], 0.0, 5.0)
    return weight if weight.sum() > 0 else np.ones(len(weight))


def _nearest_row(rows: FloatArray, places: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Distance of each place to its nearest row, and some of the rows."""
    distance = np.asarray(cKDTree(rows, balanced_tree=False).query(places, workers=n_threads())[0])
    return distance, rows if len(rows) <= 4_000 else rows[rng.choice(len(rows), 4_000, replace=False)]


def _empty(places: FloatArray, rows: FloatArray, radius: float) -> IntArray:
    """How many sectors around each place hold no row within a radius; zero but in the plane."""
    if places.shape[1] != 2:
        return np.zeros(len(places), dtype=np.intp)
    return empty_sectors(places, rows, radius, 12)  # sectors


def _cells(edges: FloatArray, distance: FloatArray, empty: IntArray) -> IntArray:
    """Cell of a table by distance and by how far a place is surrounded: hardly, partly or all around."""
    return np.asarray(np.digitize(distance, edges) * 3 + np.digitize(empty, (1, 4)))


def _group_folds(coords: FloatArray, groups: IntArray, seed: int) -> list[Fold]:
    """Whole groups held out, a tenth of them in each fold, whatever their names."""
    names, number = np.unique(groups, return_inverse=True)
    count = np.bincount(number)
    middles = np.column_stack([np.bincount(number, axis) / count for axis in coords.T])
    order = random_order(middles, generator(seed, "held-out groups"))
    n_folds = min(10, len(names))
    tests = [np.flatnonzero(np.isin(number, order[k::n_folds])) for k in range(n_folds)]
    return [(np.setdiff1d(np.arange(len(coords)), test), test) for test in tests]


def _everywhere(coords: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Where a map would be drawn: the empty nodes of an image; else anywhere among the rows."""
    grid = find_grid(coords)
    at = None if grid is None else grid.positions(coords)
    # a grid of which 0.35 of the nodes hold a row is an image
    if grid is not None and at is not None and len(at) >= 0.35 * np.prod(grid.shape, dtype=float):
        taken = np.zeros(grid.shape, dtype=bool)
        taken[tuple(at.T)] = True
        empty = np.argwhere(~taken)
        if len(empty) < 0.01 * taken.size:
            empty = np.argwhere(np.ones(grid.shape, dtype=bool))
        return grid.origin + grid.step * empty
    low, extent = coords.min(axis=0), np.ptp(coords, axis=0)
    unit = np.where(extent > 0, extent, 1.0)
    drawn = rng.uniform(size=(MOST_PLACES // 2, coords.shape[1]))
    return np.asarray(low + extent * _among((coords - low) / unit, drawn, rng))


def _among(rows: FloatArray, places: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Places no farther from the nearest row than rows there lie apart, in a unit box."""
    some = rows if len(rows) <= MOST_PLACES else rows[rng.choice(len(rows), MOST_PLACES)]
    sites = np.unique(some, axis=0)
    if len(sites) <= NEIGHBOURS:
        return places
    tree = cKDTree(sites)
    away, nearest = tree.query(places, workers=n_searchers(len(places)))
    apart = tree.query(sites, k=[NEIGHBOURS + 1], workers=n_searchers(len(sites)))[0][:, 0]
    n, dim = places.shape
    near = places[away <= apart[nearest]]
    if len(near) >= 0.02 * n:
        return near
    about = rng.choice(len(sites), n, p=apart**dim / np.sum(apart**dim))
    step = rng.standard_normal((n, dim))
    step *= (rng.uniform(size=n) ** (1 / dim) / np.linalg.norm(step, axis=1))[:, None]
    return np.asarray(sites[about] + apart[about, None] * step)


@dataclass(frozen=True)
class HeldOutScores:
    """What some candidates said of the same held-out rows.

    Attributes
    ----------
    y : (n,)
    means, sds : (k, n)
        Of new observations, by each candidate.
    weight : (n,)
        How many prediction locations each row stands for.
    gap : (n,)
        Number of the gap that each row lies in.
    """

    y: FloatArray
    means: FloatArray
    sds: FloatArray
    weight: FloatArray
    gap: IntArray

    def crps(self, mass: FloatArray) -> float:
        """Continuous ranked probability score of the mixture with these weights."""
        return crps_mixture(self.y, self.means, self.sds, mass, sample_weight=self.weight)

    def moments(self, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and sd of the mixture."""
        mean = mass @ self.means
        return mean, np.sqrt(mass @ (self.sds**2 + (self.means - mean) ** 2))

    @property
    def n_gaps(self) -> float:
        """Independent gaps, as many equal ones would be."""
        sizes = np.bincount(self.gap, self.weight)
        return float(sizes.sum() ** 2 / np.sum(sizes**2))

    def stacked(self) -> FloatArray:
        """Weights that maximise the log score of as many rows as there are gaps, beside a prior of equal weights."""
        kept = self._unlike
        density = -0.5 * ((self.y - self.means[kept]) / self.sds[kept]) ** 2 - np.log(self.sds[kept])
        density = np.exp(density - density.max(axis=0))
        weight = self.n_gaps * self.weight / self.weight.sum()
        found = np.full(len(kept), 1 / len(kept))
        for _ in range(60):
            share = found[:, None] * density
            found = (share / share.sum(axis=0)) @ weight + 1.0
            found /= found.sum()
        mass = np.zeros(len(self.means))
        mass[kept] = found
        # candidates of less weight than 0.1 are left out
        mass[mass < max(0.1, np.sort(mass)[-min(2, len(mass))])] = 0.0  # a prediction costs as many
        return mass / mass.sum()

    @property
    def _unlike(self) -> list[int]:
        """Candidates, the best of those that say the same."""
        scores = [self.crps(unit) for unit in np.eye(len(self.means))]
        kept: list[int] = []
        for i in (int(i) for i in np.argsort(scores, kind="stable")):
            off = [np.average(((self.means[i] - self.means[j]) / self.sds[j]) ** 2, weights=self.weight) for j in kept]
            # of two candidates whose means differ by less than 0.2 sds, one is enough
            if all(one > 0.2**2 for one in off):
                kept.append(i)
        return kept


@dataclass(frozen=True)
class Verdict:
    """Weights of the candidates, a factor on their variances, and what is said of it."""

    mass: FloatArray
    factor: float
    choice: Choice


@small_systems()
def judge(geometry: Geometry, names: Sequence[str], pairs: Sequence[Pair], odds: FloatArray) -> Verdict:
    """Weights of candidates; where locations lie among rows, `odds` by the evidence are kept."""
    obs, coords, in_gaps = geometry.obs, geometry.coords, geometry.in_gaps
    held = held_out_by_each(pairs, obs, geometry.folds, nearest=IN_GAPS if in_gaps else AT_RANDOM)
    index = held[0].index
    sds = [np.sqrt(h.variance + obs.copy_variance(s2)[index]) for (_, s2), h in zip(pairs, held, strict=True)]
    like = likeness(coords, geometry.folds, held[0], geometry.places) if in_gaps else 1.0
    weight = obs.weight[index] * like
    means = np.stack([h.mean for h in held])
    scores = HeldOutScores(obs.y[index], means, np.stack(sds), weight, gaps_of(coords, held[0]))
    mass = scores.stacked() if in_gaps else odds
    factor = variance_factor(scores.y, *scores.moments(mass), weight)
    each = "; ".join(f"{n} {scores.crps(unit):.4g}" for n, unit in zip(names, np.eye(len(mass)), strict=True))
    how = f"stacked by {scores.n_gaps:.0f} independent gaps" if in_gaps else "weighed by the evidence"
    text = f"{how}; CRPS of held-out rows: {each}"
    if factor != 1.0:
        text += f"; variances scaled by {factor:.2f} to reach 95 % coverage of held-out rows"
    return Verdict(mass, factor, Choice("judge", "stacked" if in_gaps else "evidence", text=text))


def variance_factor(y: FloatArray, mean: FloatArray, sd: FloatArray, weight: FloatArray) -> float:
    """Factor on all variances by which held-out rows are predicted best; 1, if it is within a tenth of that.

    Best by CRPS, among the factors whose 95 % intervals hold 94 to 96 % of the rows: of errors with heavy tails, wider
    intervals would hold more of the tails and cost all other rows.
    """
    off = np.abs(y - mean) / sd
    order = np.argsort(off)
    share = np.cumsum(weight[order]) / weight.sum()
    at = off[order][np.minimum(np.searchsorted(share, (0.94, 0.96)), len(off) - 1)]
    low, high = np.log(np.maximum((at / special.ndtri(0.975)) ** 2, 1e-12))

    def loss(log_factor: float) -> float:
        return float(np.average(_crps(y - mean, sd * np.exp(log_factor / 2)), weights=weight))

    best = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded").x if high > low else low
    factor = float(np.clip(np.exp(best), *POLICY.calibration))
    return factor if abs(factor - 1) > 0.1 else 1.0


def _crps(off: FloatArray, sd: FloatArray) -> FloatArray:
    """Continuous ranked probability score of normal laws, by how far the mean is off."""
    z = off / sd
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.asarray(sd * (z * (2 * special.ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi)))
