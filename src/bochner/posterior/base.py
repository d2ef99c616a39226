"""The contract of a posterior: what is known of the latent surface after seeing the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import Rows
from bochner.frequencies import Frequencies
from bochner.posterior import limits


@dataclass(frozen=True)
class Cost:
    """What mean and variance at one place take."""

    numbers: int  # held per place while a block is computed
    work: float  # multiplications
    numbers_of_mean: int | None = None  # held per place where the mean alone is asked for; None: as many

    @classmethod
    def of_dense(cls, size: int) -> Cost:
        """Of a product with a dense matrix, after so many covariances or columns."""
        return cls(3 * size, float(size) ** 2 + limits.COVARIANCE_WORK * size)


class Patches(Protocol):
    """Means and variances of several posteriors at many places, to within a tolerance.

    Attributes
    ----------
    n_evaluated, n_patched : int
        Places, so far, that all rows were asked for, and that were answered from what those told.
    """

    n_evaluated: int
    n_patched: int

    def moments(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Means and variances of every posterior, (k, n) each."""

    def means(self, rows: Rows) -> FloatArray:
        """Means of every posterior, (k, n)."""


class Posterior(ABC):
    """Gaussian law of the latent surface (trend and field, without noise) at any rows.

    Attributes
    ----------
    trend_coef : (q,)
        Mean of the trend coefficients.
    takes_areas : bool
        Whether rows may be means over areas.
    beyond : str
        What places lie outside of where `outside` says so, and what can be done about it.
    evidence_told : str
        What is to be said of the evidence, if it is not exact.
    """

    trend_coef: FloatArray
    takes_areas: ClassVar[bool] = False
    beyond: ClassVar[str] = ""
    evidence_told: ClassVar[str] = ""

    @abstractmethod
    def mean(self, rows: Rows) -> FloatArray:
        """Posterior mean, (n,)."""

    @abstractmethod
    def variance(self, rows: Rows) -> FloatArray:
        """Posterior variance, (n,), never negative."""

    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Both, (n,) each, for less than one after the other where they share work."""
        return self.mean(rows), self.variance(rows)

    @classmethod
    def each_mean(cls, posteriors: Sequence[Posterior], rows: Rows) -> FloatArray:
        """Means of several posteriors of this kind, (k, n), for less than one after the other where they share work."""
        return np.stack([p.mean(rows) for p in posteriors])

    @classmethod
    def each_mean_and_variance(cls, posteriors: Sequence[Posterior], rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Means and variances of several posteriors of this kind, (k, n) each, likewise."""
        means, variances = zip(*(p.mean_and_variance(rows) for p in posteriors), strict=True)
        return np.stack(means), np.stack(variances)

    @classmethod
    def patches(cls, posteriors: Sequence[Posterior], tolerance: float) -> Patches | None:
        """What answers of several posteriors of this kind at many places for less; None if there is nothing."""
        return None

    @abstractmethod
    def covariance(self, rows: Rows) -> FloatArray:
        """Joint posterior covariance, (n, n)."""

    @abstractmethod
    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        """Joint draws of the surface, (n_draws, n)."""

    def moments_and_draw(self, rows: Rows, n_draws: int, rng: Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, variance and joint draws, for less than one after the other where they share work."""
        return *self.mean_and_variance(rows), self.draw(rows, n_draws, rng)

    @abstractmethod
    def trend_covariance(self) -> FloatArray:
        """Covariance of the trend coefficients, (q, q)."""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What mean and variance at one place take."""

    def outside(self, coords: FloatArray) -> NDArray[np.bool_]:
        """Places at which only the trend and the prior are left, (n,)."""
        return np.zeros(len(coords), dtype=bool)

    @property
    def feature_coef(self) -> FloatArray:
        """Coefficients of the features; none where there are no features."""
        return np.zeros(0)

    @property
    def left_out(self) -> float:
        """Variance of the field that the features leave out everywhere, carried as unknown."""
        return 0.0

    @property
    def waves(self) -> Frequencies | None:
        """Frequencies of the waves that the surface is a sum of; None where it is none."""
        return None

    @property
    def row_coef(self) -> FloatArray | None:
        """Weights of the training rows in the mean, where they are all that it is made of."""
        return None


def draw_gaussian(mean: FloatArray, covariance: FloatArray, n_draws: int, rng: Generator) -> FloatArray:
    """Draws from N(mean, covariance), a nearly singular covariance included; (n_draws, n)."""
    draws = rng.standard_normal((n_draws, len(mean))) @ _root(covariance).T
    draws += mean
    return draws


def _root(covariance: FloatArray) -> FloatArray:
    """A matrix whose product with its transpose is the covariance, (n, n)."""
    if not covariance.size:
        return covariance
    tiny = 1e-12 * float(np.max(np.diag(covariance)))
    for jitter in (0.0, tiny, 100 * tiny):  # rounding can leave a nearly singular covariance slightly indefinite
        lifted = covariance.T.copy(order="F")  # as LAPACK wants it, and symmetric
        lifted[np.diag_indices(len(lifted))] += jitter
        root, failed = linalg.lapack.dpotrf(lifted, lower=1, clean=1, overwrite_a=1)
        if not failed:
            return np.asarray(root)
    values, vectors = linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
