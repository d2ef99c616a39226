"""Stacking: several kernels with weights, by how well their mixture predicts rows held out as the wanted places lie.

Weights maximise the mean log score of held-out rows (Yao, Vehtari, Simpson & Gelman 2018). Pixels of one gap are nearly
one observation, so the evidence is counted by independent gaps, beside a prior of equal weights: few gaps hedge, many
decide. Rows count as the wanted places have their like among them: as far from data, and as far surrounded by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.tuning import limits
from bochner.neighbours import empty_sectors
from bochner.random import generator
from bochner.resources import n_threads
from bochner.validation import crps_mixture
from bochner.validation.scores import crps_mixture_rows


@dataclass(frozen=True)
class Judged:
    """What some kernels said of the same held-out rows.

    Attributes
    ----------
    y : (n,)
    means, sds : (k, n)
        Of new observations, by each kernel.
    weight : (n,)
        How much of what is wanted each row stands for.
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

    def of(self, kernels: IntArray) -> Judged:
        """The same of some of the kernels."""
        return replace(self, means=self.means[kernels], sds=self.sds[kernels])

    @property
    def n_gaps(self) -> float:
        """Independent gaps, as many equal ones would be."""
        sizes = np.bincount(self.gap, self.weight)
        return float(sizes.sum() ** 2 / np.sum(sizes**2))

    @property
    def log_densities(self) -> FloatArray:
        """Of each row by each kernel, (k, n)."""
        return -0.5 * ((self.y - self.means) / self.sds) ** 2 - np.log(self.sds)

    def loss(self, mass: FloatArray, other: FloatArray) -> tuple[float, float]:
        """CRPS by which one mixture is worse than another, and its standard error over independent gaps."""
        rows = [crps_mixture_rows(self.y, self.means, self.sds, m) for m in (mass, other)]
        lost, size = np.bincount(self.gap, self.weight * (rows[0] - rows[1])), np.bincount(self.gap, self.weight)
        mean = float(lost.sum() / size.sum())
        return mean, float(np.sqrt(np.sum((lost - mean * size) ** 2)) / size.sum())

    def alike(self, i: int, j: int) -> bool:
        """Whether two kernels say the same, for all that it matters."""
        off = np.average(((self.means[i] - self.means[j]) / self.sds[j]) ** 2, weights=self.weight)
        wider = np.average(np.abs(np.log(self.sds[i] / self.sds[j])), weights=self.weight)
        return bool(off < limits.ALIKE_MEANS**2 and wider < limits.ALIKE_SDS)


def stacking_weights(judged: Judged) -> FloatArray:
    """Weights of the kernels, (k,): zero for those that add nothing; one alone where it is enough."""
    scores = np.array([judged.crps(unit) for unit in np.eye(len(judged.means))])
    order, units = np.argsort(scores, kind="stable"), np.eye(len(scores))
    best = units[order[0]]
    kept = [int(order[0])]
    for i in order[1:]:  # the best of those that say the same
        lost, error = judged.loss(units[i], best)
        if lost <= limits.CLEARLY_WORSE * error and not any(judged.alike(int(i), j) for j in kept):
            kept.append(int(i))
    mass = np.zeros(len(scores))
    mass[kept] = _ascended(judged, kept)
    mass[np.argsort(-mass, kind="stable")[limits.MAX_STACKED :]] = 0.0  # a prediction costs as many
    mass[mass < limits.LEAST_STACKED] = 0.0
    mass /= mass.sum()
    # where the gaps know the best kernel, a hedge may cost next to nothing
    for share in limits.HEDGES:
        found = share * mass + (1 - share) * best
        lost, error = judged.loss(found, best)
        if lost <= max(limits.HEDGE_COST * scores[order[0]], limits.HEDGE_ERRORS * error):
            break
    return best if found.max() > limits.CLEARLY_ENOUGH else found


def _ascended(judged: Judged, kept: Sequence[int]) -> FloatArray:
    """Maximum of the log score of as many rows as there are gaps, and the prior of equal weights, by EM steps."""
    density = judged.log_densities[kept]
    density = np.exp(density - density.max(axis=0))
    weight = judged.n_gaps * judged.weight / judged.weight.sum()
    mass = np.full(len(kept), 1 / len(kept))
    for _ in range(limits.STACKING_STEPS):
        share = mass[:, None] * density
        mass = (share / share.sum(axis=0)) @ weight + limits.EQUAL_WEIGHTS
        mass /= mass.sum()
    return mass


# --------------------------------------------------------------------------- rows as the wanted places lie


def gaps_of(coords: FloatArray, held: HeldOut) -> IntArray:
    """Number of the gap that each held-out row lies in: rows of a fold that are nearer to each other than the gap is
    wide are one.
    """
    labels = np.empty(len(held.index), dtype=np.intp)
    first = 0
    for fold in np.unique(held.fold):
        here = np.flatnonzero(held.fold == fold)
        places = coords[held.index[here]]
        # of a sample of the rows, those of one gap lie about so far apart
        apart = np.median(cKDTree(places).query(places, k=min(3, len(places)))[0][:, -1]) if len(places) > 1 else 0.0
        near = cKDTree(places).query_pairs(limits.ONE_GAP * float(apart), output_type="ndarray")
        links = sparse.coo_array((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(len(places),) * 2)
        n, found = sparse.csgraph.connected_components(links, directed=False)
        labels[here] = first + found
        first += n
    return labels


def likeness(coords: FloatArray, folds: Sequence[Fold], held: HeldOut, wanted: FloatArray) -> FloatArray:
    """Weight of each held-out row: how many wanted places lie as it does, of those that do (n,)."""
    rng = generator(0, "wanted places")
    if len(wanted) > limits.MAX_LIKE_PLACES:
        wanted = wanted[rng.choice(len(wanted), limits.MAX_LIKE_PLACES, replace=False)]
    asked = _surroundings(coords, wanted, rng)
    radius = limits.SURROUNDED * float(np.quantile(asked[0], 0.9))
    edges = np.unique(np.quantile(asked[0], (0.25, 0.5, 0.75, 0.9)))
    target = _cells(edges, asked[0], _empty_sectors(*asked[1:], radius))
    weight = np.zeros(len(held.index))
    cell = np.empty(len(held.index), dtype=np.intp)
    for k, (train, _) in enumerate(folds):
        here = np.flatnonzero(held.fold == k)
        if len(here):
            seen = _surroundings(coords[train], coords[held.index[here]], rng)
            cell[here] = _cells(edges, seen[0], _empty_sectors(*seen[1:], radius))
    n_cells = 1 + max(int(cell.max()), int(target.max()))
    wanted_share = np.bincount(target, minlength=n_cells) / len(target)
    held_share = np.bincount(cell, minlength=n_cells) / len(cell)
    weight = (wanted_share / np.maximum(held_share, 1e-12))[cell]
    # places whose like was never held out are lost; none of the others may stand for too many
    weight = np.clip(weight, 0.0, limits.MAX_LIKENESS)
    return weight if weight.sum() > 0 else np.ones(len(weight))


def _surroundings(
    rows: FloatArray, places: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distance of each place to its nearest row; the places, and some rows that surround them."""
    # a tree that is quicker to build serves as well where distances alone are asked for
    tree = cKDTree(rows, balanced_tree=False, compact_nodes=False)
    distance = np.asarray(tree.query(places, workers=n_threads())[0])
    some = rows if len(rows) <= limits.MAX_SURROUNDING else rows[rng.choice(len(rows), limits.MAX_SURROUNDING, False)]
    return distance, places, some


def _empty_sectors(places: FloatArray, rows: FloatArray, radius: float) -> IntArray:
    """How many of twelve sectors around each place hold no row within a radius; none to speak of but in the plane."""
    if places.shape[1] != 2:
        return np.zeros(len(places), dtype=np.intp)
    return empty_sectors(places, rows, radius, 12)


def _cells(edges: FloatArray, distance: FloatArray, empty: IntArray) -> IntArray:
    """Cell of a table by distance and by how far a place is surrounded."""
    open_side = np.digitize(empty, limits.EMPTY_SECTORS)
    return np.asarray(np.digitize(distance, edges) * (len(limits.EMPTY_SECTORS) + 1) + open_side)
