"""The contract of a posterior: what is known of the latent surface after seeing the data."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import Rows


class Posterior:
    """Gaussian law of the latent surface (trend and field, without noise) at any rows."""

    n_stored: int  # numbers that a prediction block needs per row, for the memory budget

    def mean(self, rows: Rows) -> FloatArray:
        """Posterior mean, (n,)."""
        raise NotImplementedError

    def variance(self, rows: Rows) -> FloatArray:
        """Posterior variance, (n,), never negative."""
        raise NotImplementedError

    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Both, (n,) each, for less than one after the other where they share work."""
        return self.mean(rows), self.variance(rows)

    def covariance(self, rows: Rows) -> FloatArray:
        """Joint posterior covariance, (n, n)."""
        raise NotImplementedError

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        """Joint draws of the surface, (n_draws, n)."""
        raise NotImplementedError


def draw_gaussian(mean: FloatArray, covariance: FloatArray, n_draws: int, rng: Generator) -> FloatArray:
    """Draws from N(mean, covariance), a nearly singular covariance included; (n_draws, n)."""
    return np.asarray(mean + rng.standard_normal((n_draws, len(mean))) @ _root(covariance).T)


def _root(covariance: FloatArray) -> FloatArray:
    """A matrix whose product with its transpose is the covariance, (n, n)."""
    tiny = 1e-12 * float(np.max(np.diag(covariance), initial=0.0))
    for jitter in (0.0, tiny, 100 * tiny):  # rounding can leave a nearly singular covariance slightly indefinite
        try:
            return np.asarray(linalg.cholesky(covariance + jitter * np.eye(len(covariance)), lower=True))
        except linalg.LinAlgError:
            continue
    values, vectors = linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
