"""Waves that look at the data before they are chosen: by leverage, learned, or with a spectrum that varies in space."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.features import FourierMap, Rows
from bochner.frequencies import Frequencies, leverage_scores, leverage_scores_of_rows, resample, rule_named
from bochner.inference.fits.linear import row_precision
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.ascent import noise_of_few_waves
from bochner.inference.schemes.base import (
    Case,
    Scheme,
    Solved,
    double_precision,
    linear_mode,
    raised_noise,
    wave_precision,
)
from bochner.inference.schemes.learned_spectra import Adapted, learned_waves, varying_waves
from bochner.kernels import Kernel, spectral_terms, total_variance
from bochner.moments import moments_of, prefers_transform
from bochner.random import generator

Adapt = Callable[[Task, Kernel, float], Adapted]
POOL = 768  # waves at most, out of which those of leverage are drawn; more, if half of them do not suffice


class AdaptiveScheme(Scheme):
    """A linear model on features that were made for the data, started from a tuned kernel."""

    adaptive: ClassVar[bool] = True
    adapt: ClassVar[Adapt]

    def refuse(self, case: Case) -> None:
        spectral_terms(case.kernel)

    def solve(self, task: Task, learned: Average) -> Solved:
        adapted = [type(self).adapt(task, k, s2) for k, s2 in learned.pairs]
        modes = [linear_mode(task, one.features, one.noise_variance) for one in adapted]
        first = adapted[0]
        double = double_precision(task, "waves that are learned need float64") if self.fixed_features else ()
        choices = (*first.choices, *double, modes[0].solver)
        return Solved(self.name, modes, choices, first.n_frequencies, kernel=first.kernel)


def by_leverage(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Waves of the kernel, drawn by their ridge leverage on the data."""
    waves, choice = waves_by_leverage(task, kernel, noise_variance)
    dtype, precision = wave_precision(task, kernel, noise_variance)
    features, noise, s = FourierMap(waves, dtype), noise_variance, task.settings
    if s.learns_noise and noise > 0:
        variance = total_variance(kernel)
        noise = noise_of_few_waves(features, task.data, noise, variance, reml=s.reml, seed=s.seed)
    return Adapted(features, noise, waves.n, (choice, precision, *raised_noise(noise, noise_variance)))


def waves_by_leverage(task: Task, kernel: Kernel, noise_variance: float) -> tuple[Frequencies, Choice]:
    """Waves drawn out of a pool with probabilities in proportion to their ridge leverage, and the choice of their
    number: twice the degrees of freedom that the kernel spends.
    """
    obs, seed, asked = task.obs, task.settings.seed, task.settings.n_frequencies
    given, told = asked != "auto", "as asked"
    if given:
        m = int(asked)
    else:
        freedom = float(pool_scores(pool_of(kernel, POOL, task.dim, seed), obs, noise_variance, None, seed)[0].sum())
        m = int(np.clip(np.ceil(2 * freedom), 32, 1_024))
        told = f"twice the {freedom:.0f} degrees of freedom that the kernel spends on the data"
    pool = pool_of(kernel, pool_size(m), task.dim, seed)
    score, n_rows = pool_scores(pool, obs, noise_variance, m / 2, seed)
    drawn = resample(pool, score, m, generator(seed, "frequencies"))
    rows = f"{n_rows:,} rows" if n_rows == len(obs) else f"{n_rows:,} of {len(obs):,} rows"
    reason = (
        f"{told}; drawn out of {pool.n:,} by leverage scores from {rows}; they carry {drawn.total:.3f} of the "
        f"kernel's variance (sd over independent draws {drawn.spread:.2f})"
    )
    return drawn.frequencies, Choice("n_frequencies", m, reason, given=given)


def pool_size(n_frequencies: int) -> int:
    """Frequencies to choose from: eight for each that is wanted, within bounds, and never less than two."""
    return max(int(np.clip(8 * n_frequencies, 256, POOL)), 2 * n_frequencies)


def pool_of(kernel: Kernel, size: int, dim: int, seed: int) -> Frequencies:
    """Frequencies of the kernel, as many of each term of a sum: the scores, not the variances, are to choose."""
    n_terms = len(spectral_terms(kernel))
    shares = [size // n_terms + (j < size % n_terms) for j in range(n_terms)]
    rule = rule_named("quasi" if dim <= 8 else "orthogonal")
    return rule.draw(kernel, size, dim, generator(seed, "pool"), shares=shares)


def pool_scores(
    pool: Frequencies,
    obs: Observations,
    noise_variance: float,
    freedom: float | None = None,
    seed: int = 0,
    most: int = 4_000,
) -> tuple[FloatArray, int]:
    """Ridge leverage of every frequency of a pool, and the number of rows that it was found from.

    The Gram is taken over all rows where a non-uniform FFT gives it, else over a random part, `most` of them,
    that stands for all: O(n s^2) for s frequencies.
    """
    features = FourierMap(pool)
    part, stands_for = obs, 1.0
    if len(obs) > most and not prefers_transform(features, obs.rows.coords):
        part = obs[np.sort(generator(seed, "rows to score by").choice(len(obs), most, replace=False))]
        stands_for = len(obs) / most
    precision = row_precision(features, part, noise_variance) * stands_for
    n = len(part)
    if n < features.n_columns:
        columns = features.block(part.rows.coords) * np.sqrt(precision)[:, None]
        return leverage_scores_of_rows(columns, freedom), n
    rows = Rows(part.rows.coords, np.zeros((n, 0)))
    gram = moments_of(features, rows, np.zeros(n), precision).gram
    return leverage_scores(gram, freedom), n


class Leverage(AdaptiveScheme):
    """Waves drawn by leverage."""

    name = "leverage"
    may_starve: ClassVar[bool] = True
    adapt: ClassVar[Adapt] = staticmethod(by_leverage)


class Learned(AdaptiveScheme):
    """Sparse spectrum: waves as hyperparameters."""

    name = "learned"
    fixed_features: ClassVar[bool] = True
    adapt: ClassVar[Adapt] = staticmethod(learned_waves)


class Nonstationary(AdaptiveScheme):
    """A spectrum that varies in space."""

    name = "nonstationary"
    fixed_features: ClassVar[bool] = True
    adapt: ClassVar[Adapt] = staticmethod(varying_waves)
