"""Posterior averaged over hyperparameters: a mixture of Gaussian posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from bochner.arrays import FloatArray, IntArray
from bochner.features import Rows
from bochner.posterior import limits
from bochner.posterior.base import Patches, Posterior

Alike = Sequence[tuple[int, IntArray]]
"""Groups of components: the one that stands for the others, and all of them."""


@dataclass(frozen=True)
class Mixture:
    """Posteriors with their masses (summing to 1) and noise variances; the first has the best hyperparameters.

    One component is the plain posterior at fixed hyperparameters. The first may have no mass: then it stands for the
    best values alone, and the others for all that they may be.
    """

    components: Sequence[Posterior]
    mass: FloatArray
    noise_variance: FloatArray

    @property
    def n_averaged(self) -> int:
        """Sets of hyperparameters that are averaged over."""
        return int(np.count_nonzero(self.mass))

    @property
    def averaged(self) -> tuple[Sequence[Posterior], FloatArray, FloatArray]:
        """Components that have mass, with their masses and noise variances."""
        counted = np.flatnonzero(self.mass)
        return [self.components[int(i)] for i in counted], self.mass[counted], self.noise_variance[counted]

    def latent(self, rows: Rows, *, spread: bool = True, new: bool = False, patches: Patches | None = None) -> Latent:
        """Means and variances of every component with mass at some rows; without `spread` the means alone.

        `new`: with the noise variance of an observation, or of an effect of its own; `patches`: within its tolerance.
        """
        components, mass, noise = self.averaged
        kind = _kind(components)
        if not spread:
            means = kind.each_mean(components, rows) if patches is None else patches.means(rows)
            return Latent(means, np.zeros_like(means), mass)
        means, variances = kind.each_mean_and_variance(components, rows) if patches is None else patches.moments(rows)
        return Latent(means, variances + noise[:, None] if new else variances, mass)

    def patches(self, tolerance: float) -> Patches | None:
        """What answers at many places for less, to within so many standard deviations; None if there is nothing."""
        components = self.averaged[0]
        return _kind(components).patches(components, tolerance)

    def covariance(self, rows: Rows) -> FloatArray:
        """Joint covariance of the latent surface, the spread of the means included."""
        means = np.stack([c.mean(rows) for c in self.components])
        centred = means - self.mass @ means
        within = sum(m * c.covariance(rows) for m, c in zip(self.mass, self.components, strict=True) if m > 0)
        return np.asarray(within + (centred.T * self.mass) @ centred)

    def draw(self, rows: Rows, n_draws: int, rng: Generator, *, new: bool = False) -> FloatArray:
        """Joint draws, (n_draws, n); `new`: of new observations."""
        counts = rng.multinomial(n_draws, self.mass)
        draws = []
        for count, component, s2 in zip(counts, self.components, self.noise_variance, strict=True):
            if not count:
                continue
            eta = component.draw(rows, int(count), rng)
            if new:
                eta = eta + np.sqrt(s2) * rng.standard_normal(eta.shape)
            draws.append(eta)
        return np.asarray(rng.permutation(np.concatenate(draws)))

    def joint(self, rows: Rows, n_draws: int, rng: Generator) -> tuple[Latent, FloatArray]:
        """Law of every row, and joint draws, (n_draws, n)."""
        components, mass, _ = self.averaged
        counts = self._counts(n_draws, rng)
        found = [c.moments_and_draw(rows, int(n), rng) for c, n in zip(components, counts, strict=True)]
        means, variances, draws = zip(*found, strict=True)
        return Latent(np.stack(means), np.stack(variances), mass), rng.permutation(np.concatenate(draws))

    def joint_alike(self, rows: Rows, eta: Latent, alike: Alike, n_draws: int, rng: Generator) -> FloatArray:
        """Joint draws, (n_draws, n), for sums over rows that lie together and of which `latent` says `eta`.

        Every component has its own means and variances. Those that are alike share correlations, which differ less
        and cost more: they are solved for once in a group.
        """
        components, counts, parts = self.averaged[0], self._counts(n_draws, rng), []
        sd = np.sqrt(eta.variances)
        for typical, group in alike:
            mean, variance, draws = components[typical].moments_and_draw(rows, int(counts[group].sum()), rng)
            z = (draws - mean) / np.sqrt(np.maximum(variance, 1e-300))
            of = np.repeat(group, counts[group])
            parts.append(eta.means[of] + sd[of] * z)
        return np.asarray(rng.permutation(np.concatenate(parts)))

    def _counts(self, n_draws: int, rng: Generator) -> IntArray:
        """Draws of every component with mass: as near to its share as whole numbers come."""
        shares = np.append(0.0, np.cumsum(self.averaged[1])) * n_draws
        counts = np.diff(np.floor(shares + rng.uniform()).astype(int))
        counts[-1] += n_draws - counts.sum()
        return counts

    def alike(self, parts: Sequence[Rows]) -> Alike | None:
        """Groups of components that correlate the rows of each part alike; None of few components.

        Of each group the typical component, and all.
        """
        components, mass, _ = self.averaged
        if len(components) <= limits.ALIKE_GROUPS:
            return None
        parts = [rows[np.linspace(0, len(rows) - 1, limits.ALIKE_ROWS).astype(int)] for rows in parts]
        found = np.mean([[_scatter(c.covariance(some)) for some in parts] for c in components], axis=1)
        together, share = found[:, 0], mass * found[:, 1] / (mass @ found[:, 1])  # of the variance that is to be right
        order = np.argsort(together, kind="stable")
        at = (np.cumsum(share[order]) - 0.5 * share[order]) * limits.ALIKE_GROUPS
        number = np.minimum(at, limits.ALIKE_GROUPS - 1).astype(int)
        groups = [order[number == i] for i in np.unique(number)]
        middles = [np.average(together[group], weights=share[group]) for group in groups]
        return [(int(g[np.argmin(np.abs(together[g] - m))]), g) for g, m in zip(groups, middles, strict=True)]

    def heaviest(self, n: int) -> Mixture:
        """The n components of most mass, as if there were no others."""
        counted = np.sort(np.argsort(-self.mass, kind="stable")[:n])
        counted = counted[self.mass[counted] > 0]
        mass = self.mass[counted] / self.mass[counted].sum()
        return Mixture([self.components[int(i)] for i in counted], mass, self.noise_variance[counted])


def _scatter(covariance: FloatArray) -> tuple[float, float]:
    """Mean correlation of some rows, and their mean variance."""
    sd = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
    return float(np.mean(covariance / np.outer(sd, sd))), float(np.mean(sd**2))


def _kind(components: Sequence[Posterior]) -> type[Posterior]:
    """Class of the components, if they have one in common."""
    kinds = {type(component) for component in components}
    return kinds.pop() if len(kinds) == 1 else Posterior


@dataclass(frozen=True)
class Latent:
    """Linear predictor at n rows, row by row: Gaussian mixtures with common masses.

    Attributes
    ----------
    means, variances : (components, n)
    mass : (components,)
    """

    means: FloatArray
    variances: FloatArray
    mass: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Latent]) -> Latent:
        """Rows of several, one after the other."""
        means, variances = (
            np.concatenate([getattr(p, name) for p in parts], axis=1) for name in ("means", "variances")
        )
        return cls(means, variances, parts[0].mass)

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.mass @ self.means)

    @property
    def variance(self) -> FloatArray:
        return np.asarray(self.mass @ (self.variances + (self.means - self.mean) ** 2))

    @property
    def sd(self) -> FloatArray:
        return np.sqrt(self.variance)

    def cdf(self, value: FloatArray | float) -> FloatArray:
        """Probability of a value not above `value` (a number, or one per row)."""
        sd = np.sqrt(np.maximum(self.variances, 1e-300))
        # masses sum to 1 up to rounding only
        return np.minimum(self.mass @ special.ndtr((value - self.means) / sd), 1.0)

    def log_density(self, value: FloatArray) -> FloatArray:
        """Log density of one value per row."""
        sd = np.sqrt(np.maximum(self.variances, 1e-300))
        each = -0.5 * ((value - self.means) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
        return np.asarray(special.logsumexp(each, axis=0, b=self.mass[:, None]))

    def quantile(self, q: float) -> FloatArray:
        """Quantile of each row: closed form for one component, else by Newton's steps between the components'."""
        each = self.means + special.ndtri(q) * np.sqrt(self.variances)
        low, high = each.min(axis=0), each.max(axis=0)
        x = np.asarray(self.mass @ each)
        open_rows = np.flatnonzero(high > low)
        for _ in range(60 if len(self.mass) > 1 else 0):
            if not len(open_rows):
                break
            part, at = self.at(open_rows), x[open_rows]
            excess = part.cdf(at) - q
            low[open_rows] = np.where(excess < 0, at, low[open_rows])
            high[open_rows] = np.where(excess < 0, high[open_rows], at)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = at - excess * np.exp(-part.log_density(at))
            left, right = low[open_rows], high[open_rows]
            # a step out of what is known to hold the quantile is none: halve instead
            x[open_rows] = np.where((step >= left) & (step <= right), step, (left + right) / 2)
            settled = np.abs(x[open_rows] - at) <= 1e-14 * (np.abs(at) + right - left)
            open_rows = open_rows[~(settled | (np.abs(excess) < 1e-15))]
        return x

    def shifted(self, offset: FloatArray | float) -> Latent:
        """With a known part added to the linear predictor."""
        return Latent(self.means + offset, self.variances, self.mass)

    def widened(self, variances: FloatArray, mass: FloatArray) -> Latent:
        """With independent noise added, itself a mixture of Gaussians (k,): every component with every part."""
        means = np.repeat(self.means, len(mass), axis=0)
        wider = self.variances[:, None, :] + variances[:, None]
        return Latent(means, wider.reshape(means.shape), np.outer(self.mass, mass).ravel())

    def at(self, rows: NDArray[Any]) -> Latent:
        """Some of the rows: indices or a mask."""
        return Latent(self.means[:, rows], self.variances[:, rows], self.mass)
