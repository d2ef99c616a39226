"""The judge: forms weighed by held-out rows that lie as the prediction locations lie.

Rows that lie among others are for the evidence to weigh. Where prediction locations lie in gaps, the evidence has seen
next to nothing like them: there the forms are stacked (Yao, Vehtari, Simpson & Gelman 2018), by the mean log score of
rows held out in such gaps. Pixels of one gap are nearly one observation, so gaps count, and a prior of equal weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.inference.fits.folds import AT_RANDOM, IN_GAPS, held_out_by_each
from bochner.inference.learning.form import Pair
from bochner.inference.learning.held_out import Geometry, gaps_of, likeness
from bochner.inference.learning.policy import POLICY
from bochner.resources import small_systems
from bochner.validation import crps_mixture

STEPS = 60  # of the ascent to the weights
LEAST = 0.1  # weight below which a candidate is left out
ALIKE = 0.2  # sds by which the means of two candidates differ, below which one of them is enough


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
        for _ in range(STEPS):
            share = found[:, None] * density
            found = (share / share.sum(axis=0)) @ weight + 1.0
            found /= found.sum()
        mass = np.zeros(len(self.means))
        mass[kept] = found
        mass[mass < max(LEAST, np.sort(mass)[-min(2, len(mass))])] = 0.0  # a prediction costs as many
        return mass / mass.sum()

    @property
    def _unlike(self) -> list[int]:
        """Candidates, the best of those that say the same."""
        scores = [self.crps(unit) for unit in np.eye(len(self.means))]
        kept: list[int] = []
        for i in (int(i) for i in np.argsort(scores, kind="stable")):
            off = [np.average(((self.means[i] - self.means[j]) / self.sds[j]) ** 2, weights=self.weight) for j in kept]
            if all(one > ALIKE**2 for one in off):
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
