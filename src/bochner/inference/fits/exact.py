"""Gaussian inference with the exact kernel: the dual solve, O(n^3 / 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.features import Rows
from bochner.inference.fits import limits
from bochner.inference.fits.base import Engine, GaussianFit
from bochner.inference.fits.folds import Fold, HeldOut, block_root, each_fold
from bochner.inference.fits.local_folds import held_out_locally
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

    @property
    def solver(self) -> Choice:  # type: ignore[override]
        n = len(self.posterior.rows)
        return Choice("solver", "dual", f"Cholesky of the {n:,} rows")

    def row_weights(self, obs: Observations) -> FloatArray:
        return self.posterior.alpha

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
        variance = 1 / np.diag(pi)
        return HeldOut(np.arange(n), np.arange(n), obs.y - variance * alpha, np.maximum(variance - noise, 0.0))

    def refit(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
        root = block_root(pi[np.ix_(out, out)], n)
        residual = linalg.cho_solve((root, True), alpha[out])
        half = linalg.solve_triangular(root, np.eye(len(out))[:, keep], lower=True)
        variance = np.sum(half**2, axis=0) - noise[out][keep]
        return (obs.y[out] - residual)[keep], np.maximum(variance, 0.0)

    return each_fold(folds, n, refit)


def inverse_of(sigma: CholeskyFactor) -> FloatArray:
    """Inverse of a factored matrix."""
    inverse, _ = linalg.lapack.dpotri(sigma.root, lower=1)
    diagonal = np.diag(inverse).copy()
    whole = inverse + inverse.T  # LAPACK makes one triangle, and leaves the other as it was in the root: zero
    whole[np.diag_indices_from(whole)] = diagonal
    whole *= sigma.scale
    whole *= sigma.scale[:, None]
    return np.asarray(whole)


def residual_precision(posterior: KrigingPosterior) -> FloatArray:
    """Pi = Sigma^-1 without what the trend explains, (n, n)."""
    pi = inverse_of(posterior.sigma)
    trend = posterior.rows.trend
    if trend.shape[1]:
        explained = pi @ trend
        pi -= explained @ posterior.schur.solve(explained.T)
    return pi


def evidence_weights(posterior: KrigingPosterior, *, reml: bool) -> FloatArray:
    """alpha alpha' - Pi, or with Sigma^-1 in the place of Pi, as an upper triangle: twice what is beside the diagonal.

    Half its sum with dSigma is the change of the log evidence (of the log likelihood). One triangle is all that LAPACK
    makes of an inverse.
    """
    sigma, trend = posterior.sigma, posterior.rows.trend
    inverse, _ = linalg.lapack.dpotri(sigma.root, lower=1)
    inverse *= sigma.scale
    inverse *= sigma.scale[:, None]
    columns = posterior.alpha[:, None]
    if reml and trend.shape[1]:
        columns = np.column_stack([columns, posterior.schur.half_solve(sigma.solve(trend).T).T])
    diagonal = np.sum(columns**2, axis=1) - np.diag(inverse)
    folded = linalg.blas.dsyrk(2.0, columns, beta=-2.0, c=inverse, lower=1, overwrite_c=1)
    folded[np.diag_indices_from(folded)] = diagonal
    return np.asarray(folded.T)


def _solved(engine: ExactEngine, obs: Observations, k: FloatArray) -> ExactFit:
    """Solve (K + noise) alpha = y - X beta."""
    noise = obs.copy_variance(engine.noise_variance) / obs.weight
    floor = limits.EXACT_JITTER * float(np.mean(k.diagonal()))
    sigma = cholesky_factor(k, added=np.maximum(noise, floor))
    X, y, q = obs.rows.trend, obs.y, obs.n_trend
    whitened, _ = linalg.lapack.dtrtrs(sigma.root, np.column_stack([X, y]) * sigma.scale[:, None], lower=1)
    Xw, yw = whitened[:, :q], whitened[:, q]
    schur = cholesky_factor(Xw.T @ Xw + obs.trend_prior, q)
    beta = schur.solve(Xw.T @ yw) if q else np.zeros(0)
    residual = yw - Xw @ beta
    alpha = linalg.lapack.dtrtrs(sigma.root, residual, lower=1, trans=1)[0] * sigma.scale
    replicate = obs.replicate_terms(max(engine.noise_variance, floor))[0]
    misfit = residual @ residual + beta @ obs.trend_prior @ beta
    fit = -0.5 * (sigma.logdet() + misfit) + replicate
    n = len(obs)
    log_likelihood = fit - 0.5 * n * np.log(2 * np.pi)
    log_evidence = fit - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * schur.logdet() + obs.trend_constant
    posterior = KrigingPosterior(engine.kernel, obs.rows, alpha, beta, sigma, schur)
    # the matrix is not kept with the fit
    return ExactFit(
        ExactEngine(engine.kernel, engine.noise_variance), posterior, float(log_evidence), float(log_likelihood)
    )
