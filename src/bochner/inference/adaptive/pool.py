"""A pool of the kernel's waves, scored by their ridge leverage on the data, and the draw out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.features import FeatureMap, FourierMap, Rows
from bochner.frequencies import Frequencies, leverage_scores, leverage_scores_of_rows, resample, rule_named
from bochner.inference.adaptive import limits
from bochner.inference.fits.linear import row_precision
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.kernels import Kernel, spectral_terms
from bochner.moments import moments_of, prefers_transform
from bochner.random import generator


@dataclass(frozen=True)
class DrawnWaves:
    """Waves drawn by their leverage, and the choice of their number."""

    frequencies: Frequencies
    choice: Choice


def waves_by_leverage(task: Task, kernel: Kernel, noise_variance: float) -> DrawnWaves:
    """Waves drawn out of a pool with probabilities in proportion to their ridge leverage."""
    obs, seed = task.obs, task.settings.seed
    m, given, told = number_of_leverage(task, kernel, noise_variance)
    pool = pool_of(kernel, pool_size(m), task.dim, seed)
    score, n_rows = pool_scores(pool, obs, noise_variance, m / 2, seed)
    drawn = resample(pool, score, m, generator(seed, "frequencies"))
    rows = f"{n_rows:,} rows" if n_rows == len(obs) else f"{n_rows:,} of {len(obs):,} rows"
    reason = (
        f"{told}; drawn out of {pool.n:,} by leverage scores from {rows}; they carry {drawn.total:.3f} of the "
        f"kernel's variance (sd over independent draws {drawn.spread:.2f})"
    )
    return DrawnWaves(drawn.frequencies, Choice("n_frequencies", m, reason, given=given))


def number_of_leverage(task: Task, kernel: Kernel, noise_variance: float) -> tuple[int, bool, str]:
    """Number of waves, whether it was given, and why: twice the degrees of freedom that the kernel spends."""
    if task.settings.n_frequencies != "auto":
        return int(task.settings.n_frequencies), True, "as asked"
    pool = pool_of(kernel, limits.LARGEST_POOL, task.dim, task.settings.seed)
    freedom = float(pool_scores(pool, task.obs, noise_variance, None, task.settings.seed)[0].sum())
    m = int(np.clip(np.ceil(2 * freedom), limits.MIN_LEVERAGE_WAVES, limits.MAX_LEVERAGE_WAVES))
    return m, False, f"twice the {freedom:.0f} degrees of freedom that the kernel spends on the data"


def pool_size(n_frequencies: int) -> int:
    """Frequencies to choose from."""
    return max(
        int(np.clip(limits.POOL_PER_WAVE * n_frequencies, limits.SMALLEST_POOL, limits.LARGEST_POOL)), 2 * n_frequencies
    )


def pool_of(kernel: Kernel, size: int, dim: int, seed: int) -> Frequencies:
    """Frequencies of the kernel, as many of each term of a sum: the scores, not the variances, are to choose."""
    n_terms = len(spectral_terms(kernel))
    shares = [size // n_terms + (j < size % n_terms) for j in range(n_terms)]
    rule = rule_named("quasi" if dim <= 8 else "orthogonal")
    return rule.draw(kernel, size, dim, generator(seed, "pool"), shares=shares)


def pool_scores(
    pool: Frequencies, obs: Observations, noise_variance: float, freedom: float | None = None, seed: int = 0
) -> tuple[FloatArray, int]:
    """Ridge leverage of every frequency of a pool, and the number of rows that it was found from.

    The Gram is taken over all rows where a non-uniform FFT gives it, else over a random part of
    them that stands for all: O(n s^2) for s frequencies.
    """
    features = FourierMap(pool)
    part, stands_for = obs, 1.0
    if len(obs) > limits.SCORE_ROWS and not prefers_transform(features, obs.rows.coords):
        part = obs[np.sort(generator(seed, "rows to score by").choice(len(obs), limits.SCORE_ROWS, replace=False))]
        stands_for = len(obs) / limits.SCORE_ROWS
    precision = row_precision(features, part, noise_variance) * stands_for
    n = len(part)
    if n < features.n_columns:
        columns = features.block(part.rows.coords) * np.sqrt(precision)[:, None]
        return leverage_scores_of_rows(columns, freedom), n
    rows = Rows(part.rows.coords, np.zeros((n, 0)))
    gram = moments_of(features, rows, np.zeros(n), precision).gram
    return leverage_scores(gram, freedom), n


@dataclass(frozen=True)
class Adapted:
    """Features, the noise variance that goes with them, and what was decided on the way."""

    features: FeatureMap
    noise_variance: float
    n_frequencies: int
    choices: tuple[Choice, ...]
    kernel: Kernel | None = None  # where it was changed
