"""Gaussian inference with the exact kernel: the dual solve, O(n^3 / 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.features import Rows
from bochner.inference.fits.base import LEAST_ROW_VARIANCE, Engine, GaussianFit
from bochner.inference.fits.folds import (
    Fold,
    HeldOut,
    block_root,
    each_fold,
    held_out_locally,
    one_by_one,
    with_a_trend,
)
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel
from bochner.posterior import KrigingPosterior
from bochner.solvers import CholeskyFactor, cholesky_factor


@dataclass(frozen=True)
class ExactEngine(Engine):
    """The exact kernel; its matrix is made once for rows that are fitted again and again.

    Attributes
    ----------
    kernel : Kernel
    noise_variance : float
    covariance : array of shape (n, n), optional
        Of the rows that will be fitted, where it is there already.
    """

    kernel: Kernel
    noise_variance: float
    covariance: FloatArray | None = None

    def of(self, rows: Rows) -> ExactEngine:
        """The same, with the covariance of these rows made once."""
        return ExactEngine(self.kernel, self.noise_variance, rows.covariance_within(self.kernel))

    def fit(self, obs: Observations) -> ExactFit:
        k = obs.rows.covariance_within(self.kernel) if self.covariance is None else self.covariance
        return _solved(self, obs, k)


@dataclass(frozen=True)
class ExactFit(GaussianFit):
    """Universal kriging, solved in the rows."""

    engine: ExactEngine
    posterior: KrigingPosterior
    log_evidence: float
    log_likelihood: float
    whitened_trend: FloatArray  # L^-1 X

    repeats: ClassVar[bool] = True

    @property
    def solver(self) -> Choice:  # type: ignore[override]
        n = len(self.posterior.rows)
        return Choice("solver", "dual", f"Cholesky of the {n:,} rows")

    def row_weights(self, obs: Observations) -> FloatArray:
        return self.posterior.alpha

    def repeated(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        sigma, Xw = self.posterior.sigma, self.whitened_trend
        yw = linalg.blas.dtrsv(sigma.root, y * sigma.scale, lower=1)
        return _weights(sigma, self.posterior.schur, Xw, yw)[:2]

    def leave_out(self, obs: Observations, folds: Iterable[Fold] | None) -> HeldOut:
        return leave_out_exact(self.engine.kernel, obs, self.engine.noise_variance, folds)

    def leave_out_quickly(self, obs: Observations, folds: Sequence[Fold]) -> HeldOut:
        return held_out_locally(self.engine.kernel, obs, self.engine.noise_variance, folds)


def leave_out_exact(kernel: Kernel, obs: Observations, noise_variance: float, folds: Iterable[Fold] | None) -> HeldOut:
    """Leave-one-out (folds None) or leave-block-out predictions of the exact kernel.

    With Pi = Sigma^-1 - Sigma^-1 X S^-1 X'Sigma^-1, a block B left out has the residual
    Pi_BB^-1 (Pi y)_B and the observation covariance Pi_BB^-1 (Dubrule 1983).
    """
    posterior = ExactEngine(kernel, noise_variance).fit(obs).posterior
    n = len(obs)
    inverse = posterior.sigma.solve(np.eye(n))
    b = inverse @ obs.rows.trend
    pi = inverse - b @ posterior.schur.solve(b.T) if obs.n_trend else inverse
    alpha = posterior.alpha
    noise = obs.copy_variance(noise_variance) / obs.weight
    if folds is None:
        variance = 1 / np.maximum(np.diag(pi), 1e-300)
        return one_by_one(obs, obs.y - variance * alpha, np.maximum(variance - noise, 0.0))

    def refit(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
        root = block_root(pi[np.ix_(out, out)], n)
        residual = linalg.cho_solve((root, True), alpha[out])
        half = linalg.solve_triangular(root, np.eye(len(out))[:, keep], lower=True)
        variance = np.sum(half**2, axis=0) - noise[out][keep]
        return (obs.y[out] - residual)[keep], np.maximum(variance, 0.0)

    return each_fold(folds, n, with_a_trend(refit, obs))


def inverse_of(sigma: CholeskyFactor) -> FloatArray:
    """Inverse of a factored matrix."""
    inverse, _ = linalg.lapack.dpotri(sigma.root, lower=1)
    diagonal = np.diag(inverse).copy()
    whole = inverse + inverse.T  # LAPACK makes one triangle, and leaves the other as it was in the root: zero
    whole[np.diag_indices_from(whole)] = diagonal
    whole *= sigma.scale
    whole *= sigma.scale[:, None]
    return np.asarray(whole)


@dataclass(frozen=True)
class Residual:
    """Pi = Sigma^-1 - C C': the precision of the rows without what the trend explains.

    Attributes
    ----------
    sigma : CholeskyFactor
    half : (n, n)
        L^-1, whose Gram matrix is Sigma^-1.
    explained : (n, q)
        C; without columns, where the trend is held.
    """

    sigma: CholeskyFactor
    half: FloatArray
    explained: FloatArray

    @classmethod
    def of(cls, posterior: KrigingPosterior, *, reml: bool = True) -> Residual:
        sigma, trend = posterior.sigma, posterior.rows.trend
        half = sigma.half_inverse()
        if not (reml and trend.shape[1]):
            return cls(sigma, half, np.zeros((len(half), 0)))
        return cls(sigma, half, posterior.schur.half_solve(sigma.solve(trend).T).T)

    @cached_property
    def diagonal(self) -> FloatArray:
        """Of Pi, (n,)."""
        return np.asarray(np.einsum("ij,ij->j", self.half, self.half) - np.sum(self.explained**2, axis=1))

    def product(self, v: FloatArray) -> FloatArray:
        """Pi v, (n,)."""
        return np.asarray(self.sigma.solve(v) - self.explained @ (self.explained.T @ v))

    def between(self, columns: FloatArray) -> FloatArray:
        """columns' Pi columns, for (n, k)."""
        half, lost = self.sigma.half_solve(columns), self.explained.T @ columns
        return np.asarray(half.T @ half - lost.T @ lost)

    def weights(self, alpha: FloatArray, implicit: FloatArray | None = None) -> FloatArray:
        """alpha alpha' - Pi as an upper triangle: twice what is beside the diagonal.

        Half its sum with dSigma is the change of the log evidence. Under Laplace's approximation b alpha' + alpha b' is
        added, `implicit` being b.
        """
        moved = alpha if implicit is None else alpha + implicit  # (alpha + b)(alpha + b)' - b b'
        columns = np.column_stack([moved, self.explained])
        diagonal = moved**2 - self.diagonal
        inverse, _ = linalg.lapack.dlauum(self.half, lower=1)  # one triangle, and zeros as they were in the other
        folded = linalg.blas.dsyrk(2.0, columns, beta=-2.0, c=inverse, lower=1, overwrite_c=1)
        if implicit is not None:
            diagonal -= implicit**2
            folded = linalg.blas.dsyr(-2.0, implicit, lower=1, a=folded, overwrite_a=1)
        np.einsum("ii->i", folded)[:] = diagonal
        return np.asarray(folded.T)


def _solved(engine: ExactEngine, obs: Observations, k: FloatArray) -> ExactFit:
    """Solve (K + noise) alpha = y - X beta."""
    noise = obs.copy_variance(engine.noise_variance) / obs.weight
    floor = LEAST_ROW_VARIANCE * float(np.mean(k.diagonal()))
    sigma = cholesky_factor(k, added=np.hypot(noise, floor))  # the larger, without a kink
    X, y, q = obs.rows.trend, obs.y, obs.n_trend
    whitened, _ = linalg.lapack.dtrtrs(sigma.root, np.column_stack([X, y]) * sigma.scale[:, None], lower=1)
    Xw, yw = whitened[:, :q], whitened[:, q]
    schur = cholesky_factor(Xw.T @ Xw + obs.trend_prior, q)
    alpha, beta, residual = _weights(sigma, schur, Xw, yw)
    replicate = obs.replicate_terms(float(np.hypot(engine.noise_variance, floor)))[0]
    misfit = residual @ residual + beta @ obs.trend_prior @ beta
    fit = -0.5 * (sigma.logdet() + misfit) + replicate
    n = len(obs)
    log_likelihood = fit - 0.5 * n * np.log(2 * np.pi)
    log_evidence = fit - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * schur.logdet() + obs.trend_constant
    posterior = KrigingPosterior(engine.kernel, obs.rows, alpha, beta, sigma, schur)
    # the matrix is not kept with the fit
    return ExactFit(
        ExactEngine(engine.kernel, engine.noise_variance), posterior, float(log_evidence), float(log_likelihood), Xw
    )


def _weights(
    sigma: CholeskyFactor, schur: CholeskyFactor, Xw: FloatArray, yw: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights of the rows, coefficients of the trend and whitened residuals, from what L^-1 makes of trend and y."""
    beta = schur.solve(Xw.T @ yw) if Xw.shape[1] else np.zeros(0)
    residual = yw - Xw @ beta
    return linalg.blas.dtrsv(sigma.root, residual, lower=1, trans=1) * sigma.scale, beta, residual
