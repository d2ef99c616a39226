"""Gaussian inference with the exact kernel: dual solve, evidence and its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import covariance_and_gradient_of, covariance_between
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel
from bochner.posterior import KrigingPosterior
from bochner.solvers import CholeskyFactor, cholesky_factor

JITTER = 1e-10  # of the variance: what keeps an interpolating fit factorable


@dataclass(frozen=True)
class ExactFit:
    """Posterior of a Gaussian field with a given kernel and noise, and how likely the data are."""

    posterior: KrigingPosterior
    log_evidence: float  # trend integrated out (REML)
    log_likelihood: float  # trend at its maximum (ML)


def fit_exact(kernel: Kernel, obs: Observations, noise_variance: float) -> ExactFit:
    """Solve (K + noise) alpha = y - X beta; O(n^3 / 3)."""
    return fit_exact_of(kernel, obs, noise_variance, covariance_between(kernel, obs.rows, obs.rows))


def exact_objective(
    kernel: Kernel, obs: Observations, noise_variance: float, *, reml: bool
) -> tuple[float, FloatArray]:
    """Log evidence (or likelihood) and its gradient in [theta, log noise variance]; O(n^3)."""
    k, gradients = covariance_and_gradient_of(kernel, obs.rows)
    fit = fit_exact_of(kernel, obs, noise_variance, k)
    post = fit.posterior
    inverse = inverse_of(post.sigma)
    if reml and obs.n_trend:
        b = inverse @ obs.rows.trend
        inverse -= b @ post.schur.solve(b.T)
    # dL = 1/2 tr[(alpha alpha' - Pi) dSigma]
    g = np.outer(post.alpha, post.alpha) - inverse
    slopes = [0.5 * np.vdot(g, dk) for dk in gradients]
    noise_slope = 0.0  # an interpolator has no noise to learn
    if noise_variance > 0:
        noise_slope = 0.5 * noise_variance * np.sum(np.diag(g) / obs.weight) + obs.replicate_terms(noise_variance)[1]
    value = fit.log_evidence if reml else fit.log_likelihood
    return value, np.array([*slopes, noise_slope])


def fit_exact_of(kernel: Kernel, obs: Observations, noise_variance: float, k: FloatArray) -> ExactFit:
    """`fit_exact` for a covariance matrix of the rows that is there already."""
    noise = obs.copy_variance(noise_variance) / obs.weight
    floor = JITTER * float(np.mean(np.diag(k)))
    sigma = cholesky_factor(k + np.diag(np.maximum(noise, floor)))
    X, y, q = obs.rows.trend, obs.y, obs.n_trend
    whitened = linalg.solve_triangular(sigma.root, np.column_stack([X, y]) * sigma.scale[:, None], lower=True)
    Xw, yw = whitened[:, :q], whitened[:, q]
    schur = cholesky_factor(Xw.T @ Xw, q)
    beta = schur.solve(Xw.T @ yw) if q else np.zeros(0)
    residual = yw - Xw @ beta
    alpha = linalg.solve_triangular(sigma.root, residual, lower=True, trans="T") * sigma.scale
    replicate = obs.replicate_terms(max(noise_variance, floor))[0]
    fit = -0.5 * (sigma.logdet() + residual @ residual) + replicate
    n = len(obs)
    log_likelihood = fit - 0.5 * n * np.log(2 * np.pi)
    log_evidence = fit - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * schur.logdet()
    posterior = KrigingPosterior(kernel, obs.rows, alpha, beta, sigma, schur)
    return ExactFit(posterior, float(log_evidence), float(log_likelihood))


def inverse_of(sigma: CholeskyFactor) -> FloatArray:
    """Inverse of a factored matrix."""
    inverse, _ = linalg.lapack.dpotri(sigma.root, lower=1)
    upper = np.triu_indices_from(inverse, 1)
    inverse[upper] = inverse.T[upper]
    return np.asarray(inverse * sigma.scale * sigma.scale[:, None])
