"""Leverage: frequencies drawn by how much the data can tell of them, out of a pool that the kernel gave.

Most waves of a smooth kernel are alike over the data's box, and one of them could stand for many. The ridge leverage of
a frequency says how much of it the others cannot replace (Li et al., 2019); drawing in proportion to it, with
masses divided by the probability, leaves the kernel unbiased and spends fewer waves on what is known already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import linalg, optimize

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.frequencies.base import Frequencies


@dataclass(frozen=True)
class Resampled:
    """Frequencies drawn out of a pool, and what the draw did to the variance."""

    frequencies: Frequencies
    index: IntArray  # positions in the pool
    inclusion: FloatArray  # probability with which each of the pool is taken
    total: float  # variance that the drawn waves carry, relative to that of the pool
    spread: float  # standard deviation of `total` over draws, if the draws were independent


def leverage_scores(gram: FloatArray, freedom: float | None = None) -> FloatArray:
    """Ridge leverage of each of s frequencies, in [0, 2], from the Gram matrix (2 s, 2 s) of their columns.

    The Gram G is Phi'N Phi of the columns [cos, sin] with their masses, N the precision of the rows. The score of
    a frequency is the sum of its two diagonal entries of G (G + ridge I)^-1; all scores together are the degrees of
    freedom that the kernel spends on the data. The ridge is 1, or larger: such that no more than `freedom` degrees of
    freedom are spent. A few waves cannot hold them all, and should not be spent on the finest. O(s^3).
    """
    n = len(gram)
    if gram.shape != (n, n) or n % 2:
        raise InputError(f"gram has shape {gram.shape}; needed is (2 s, 2 s): a cosine and a sine for each frequency.")
    ridge = 1.0 if freedom is None else _ridge(linalg.eigvalsh(gram, check_finite=False), freedom)
    ridged = gram.copy()
    ridged[np.diag_indices(n)] += ridge
    # G (G + ridge I)^-1 = I - ridge (G + ridge I)^-1
    root = linalg.cholesky(ridged, lower=True, overwrite_a=True, check_finite=False)
    inverse, _ = linalg.lapack.dpotri(root, lower=1)
    return _of_pairs(1 - ridge * np.diag(inverse))


def leverage_scores_of_rows(columns: FloatArray, freedom: float | None = None) -> FloatArray:
    """The same from the columns N^(1/2) Phi themselves, (n, 2 s), for fewer rows than columns: O(n^2 s)."""
    values, vectors = linalg.eigh(columns @ columns.T, check_finite=False)
    values = np.maximum(values, 0.0)
    ridge = 1.0 if freedom is None else _ridge(values, freedom)
    return _of_pairs(np.sum((vectors.T @ columns) ** 2 / (values + ridge)[:, None], axis=0))


def resample(pool: Frequencies, score: FloatArray, n_frequencies: int, rng: Generator) -> Resampled:
    """Frequencies of a pool, none twice, each with a probability in proportion to its score.

    A frequency that is taken with probability pi gets mass / pi, so that the expected covariance is the pool's. The
    draw is systematic: along the order of the pool, in even steps of probability. Frequencies whose share would exceed
    1 are taken for certain.
    """
    if not 1 <= n_frequencies <= pool.n:
        raise InputError(
            f"{n_frequencies} frequencies were asked for out of a pool of {pool.n}; ask for 1 to {pool.n}, or draw a "
            f"larger pool."
        )
    inclusion = inclusion_probabilities(score, n_frequencies)
    index = _systematic(inclusion, n_frequencies, rng)
    mass = pool.mass[index] / inclusion[index]
    total = float(pool.mass.sum())
    spread = float(np.sqrt(np.sum(pool.mass**2 * (1 / inclusion - 1)))) / total
    return Resampled(Frequencies(pool.omega[index], mass), index, inclusion, float(mass.sum()) / total, spread)


def inclusion_probabilities(score: FloatArray, n: int) -> FloatArray:
    """Probabilities in proportion to the scores, at most 1, that sum to n."""
    score = np.maximum(np.asarray(score, dtype=float), 1e-12 * np.max(score))
    certain = np.zeros(len(score), dtype=bool)
    while True:
        share = np.ones(len(score))
        share[~certain] = (n - certain.sum()) * score[~certain] / score[~certain].sum()
        over = share > 1
        if not over.any():
            return share
        certain |= over


def _systematic(inclusion: FloatArray, n: int, rng: Generator) -> IntArray:
    marks = rng.random() + np.arange(n)
    edges = np.cumsum(inclusion)
    edges[-1] = max(edges[-1], float(n))  # against rounding
    return np.minimum(np.searchsorted(edges, marks, side="right"), len(inclusion) - 1)


def _of_pairs(score: FloatArray) -> FloatArray:
    """Scores of frequencies from those of their cosines and sines."""
    half = len(score) // 2
    return np.asarray(np.clip(score[:half] + score[half:], 1e-12, 2.0))


def _ridge(values: FloatArray, freedom: float | None) -> float:
    """Smallest ridge >= 1 at which eigenvalues spend no more than so many degrees of freedom."""
    values = np.maximum(values, 0.0)

    def spent(log_ridge: float) -> float:
        return float(np.sum(values / (values + np.exp(log_ridge))))

    if freedom is None or spent(0.0) <= freedom:
        return 1.0
    low, high = 0.0, float(np.log(values.sum() / freedom)) + 1.0
    return float(np.exp(optimize.brentq(lambda log_ridge: spent(log_ridge) - freedom, low, high)))
