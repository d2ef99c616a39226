"""Posterior through the training rows: the dual view, with the exact kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import Rows
from bochner.kernels import Kernel
from bochner.posterior import limits
from bochner.posterior.base import Cost, Patches, Posterior, draw_gaussian
from bochner.posterior.patches import PatchKriging, can_be_patched, unit_kernel
from bochner.solvers import CholeskyFactor


@dataclass(frozen=True)
class KrigingPosterior(Posterior):
    """Universal kriging: weights alpha on the training rows and a trend with a flat prior.

    alpha = Sigma^-1 (y - X beta), with Sigma = K + noise; S = X'Sigma^-1 X.
    """

    kernel: Kernel
    rows: Rows
    alpha: FloatArray
    trend_coef: FloatArray
    sigma: CholeskyFactor
    schur: CholeskyFactor

    takes_areas: ClassVar[bool] = True

    @property
    def cost(self) -> Cost:
        return Cost.of_dense(len(self.rows))

    @property
    def row_coef(self) -> FloatArray:
        return self.alpha

    def trend_covariance(self) -> FloatArray:
        return self.schur.solve(np.eye(len(self.trend_coef)))

    def mean(self, rows: Rows) -> FloatArray:
        return self._mean(self.rows.covariance_with(self.kernel, rows), rows)

    def variance(self, rows: Rows) -> FloatArray:
        return self.mean_and_variance(rows)[1]

    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        return self._moments(self.rows.covariance_with(self.kernel, rows), rows, rows.variance(self.kernel))

    @classmethod
    def each_mean(cls, posteriors: Sequence[Posterior], rows: Rows) -> FloatArray:
        return np.stack([p._mean(cross, rows) for p, cross, _, _ in _crosses(posteriors, rows)])

    @classmethod
    def each_mean_and_variance(cls, posteriors: Sequence[Posterior], rows: Rows) -> tuple[FloatArray, FloatArray]:
        units = list(dict.fromkeys(unit_kernel(p.kernel)[0] for p in posteriors if isinstance(p, KrigingPosterior)))
        prior = dict(zip(units, rows.variances(units), strict=True))
        found = (
            p._moments(cross, rows, variance * prior[unit]) for p, cross, unit, variance in _crosses(posteriors, rows)
        )
        means, variances = zip(*found, strict=True)
        return np.stack(means), np.stack(variances)

    @classmethod
    def patches(cls, posteriors: Sequence[Posterior], tolerance: float) -> Patches | None:
        own = [p for p in posteriors if isinstance(p, KrigingPosterior)]
        rows, dim = own[0].rows, own[0].rows.coords.shape[1]
        least = limits.LEAST_PATCH_ROWS if len(own) == 1 else limits.AVERAGED_ROWS
        if rows.has_areas or dim > limits.MAX_PATCH_DIM or len(rows) < least:
            return None
        if not all(can_be_patched(p.kernel, dim) for p in own):
            return None
        return PatchKriging(own, tolerance)

    def covariance(self, rows: Rows) -> FloatArray:
        return self._covariance(self.rows.covariance_with(self.kernel, rows), rows)

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        return self.moments_and_draw(rows, n_draws, rng)[2]

    def moments_and_draw(self, rows: Rows, n_draws: int, rng: Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        cross = self.rows.covariance_with(self.kernel, rows)
        mean, covariance = self._mean(cross, rows), self._covariance(cross, rows)
        return mean, np.maximum(covariance.diagonal(), 0.0), draw_gaussian(mean, covariance, n_draws, rng)

    def _covariance(self, cross: FloatArray, rows: Rows) -> FloatArray:
        whitened, drift = self._whitened(rows, cross)
        covariance = rows.covariance_within(self.kernel)
        if not covariance.size:
            return covariance
        # in place, of a symmetric matrix: as BLAS sees it, it lies by columns
        for sign, columns in ((-1.0, whitened.T), (1.0, drift.T)):
            if columns.size:
                covariance = linalg.blas.dgemm(sign, columns, columns, 1.0, covariance.T, trans_b=1, overwrite_c=1).T
        return np.asarray(covariance)

    def _mean(self, cross: FloatArray, rows: Rows) -> FloatArray:
        return np.asarray(self.alpha @ cross + rows.trend @ self.trend_coef)

    def _moments(self, cross: FloatArray, rows: Rows, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        whitened, drift = self._whitened(rows, cross)
        explained = np.einsum("ij,ij->j", whitened, whitened)
        unsure = np.einsum("ij,ij->j", drift, drift)
        return self._mean(cross, rows), np.maximum(prior - explained, 0.0) + unsure

    def _whitened(self, rows: Rows, cross: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        # L^-1 k(X, x), and the trend left to be learned at x: S^-1/2 (t - X'Sigma^-1 k)
        cross = self.rows.covariance_with(self.kernel, rows) if cross is None else cross
        whitened = self.sigma.half_solve(cross)
        if not self.rows.trend.shape[1]:
            return whitened, np.zeros((0, len(rows)))
        left = rows.trend.T - self._whitened_trend.T @ whitened
        return whitened, self.schur.half_solve(left)

    @cached_property
    def _whitened_trend(self) -> FloatArray:
        """L^-1 X."""
        return self.sigma.half_solve(self.rows.trend)


def _crosses(
    posteriors: Sequence[Posterior], rows: Rows
) -> Iterator[tuple[KrigingPosterior, FloatArray, Kernel, float]]:
    """Posteriors with the covariance of their rows and some others; their kernels of unit variance, and variances.

    Of neighbours that differ in variance alone the covariance is made once.
    """
    shape: Kernel | None = None
    for p in posteriors:
        assert isinstance(p, KrigingPosterior)
        unit, variance = unit_kernel(p.kernel)
        if shape is None or unit != shape:
            shape, correlation = unit, p.rows.covariance_with(unit, rows)
        yield p, correlation if variance == 1.0 else variance * correlation, unit, variance
