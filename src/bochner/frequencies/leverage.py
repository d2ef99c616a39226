"""Leverage: frequencies drawn by how much the data can tell of them, out of a pool that the kernel gave.

Most waves of a smooth kernel are alike over the data's box, and one of them could stand for many. The ridge leverage of
a frequency says how much of it the others cannot replace (Li et al., 2019); drawing in proportion to it, with
masses divided by the probability, leaves the kernel unbiased and spends fewer waves on what is known already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import linalg, optimize

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.frequencies.base import Frequencies

BoolArray = NDArray[np.bool_]


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
    draw is spread out: neighbours compete, so that of nearly equal frequencies about as many are taken as should be.
    Frequencies whose share would exceed 1 are taken for certain. O(s^2) for s frequencies.
    """
    if not 1 <= n_frequencies <= pool.n:
        raise InputError(
            f"{n_frequencies} frequencies were asked for out of a pool of {pool.n}; ask for 1 to {pool.n}, or draw a "
            f"larger pool."
        )
    inclusion = inclusion_probabilities(score, n_frequencies)
    index = _spread_out(pool.omega, inclusion, rng)
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


def _spread_out(omega: FloatArray, inclusion: FloatArray, rng: Generator) -> IntArray:
    """Positions drawn with given probabilities by the local pivotal method (Grafstroem et al., 2012).

    Of two neighbours one hands its probability to the other, by a fair draw, until all are 0 or 1.
    """
    unit = np.median(np.abs(omega), axis=0)
    waves = omega / np.where(unit > 0, unit, 1.0)
    squares = np.sum(waves**2, axis=1)
    chance, undecided = inclusion.copy(), _between(inclusion)
    while len(open_ := np.flatnonzero(undecided)) > 1:
        a = open_[rng.integers(len(open_))]
        # omega and -omega are the same wave: |w - v|^2 or |w + v|^2, whichever is less
        distance = np.where(undecided, squares - 2 * np.abs(waves @ waves[a]), np.inf)
        distance[a] = np.inf
        pair = np.array([a, np.argmin(distance)])
        chance[pair] = _duel(chance[pair[0]], chance[pair[1]], float(rng.random()))
        undecided[pair] = _between(chance[pair])
    return np.flatnonzero(chance > 0.5)  # the last one is left at 0 or 1, but for rounding


def _between(chance: FloatArray) -> BoolArray:
    return np.asarray((chance > 1e-9) & (chance < 1 - 1e-9))


def _duel(first: float, second: float, u: float) -> tuple[float, float]:
    """Probabilities of two after one of them got 0 or 1, their expectations as before."""
    total = first + second
    if total < 1:
        return (0.0, total) if u * total < second else (total, 0.0)
    return (1.0, total - 1) if u * (2 - total) < 1 - second else (total - 1, 1.0)


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
