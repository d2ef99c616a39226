"""Evidence of the exact kernel and its gradient, O(n^3)."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.fits.exact import ExactEngine, inverse_of, residual_precision
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel


def exact_objective(
    kernel: Kernel, obs: Observations, noise_variance: float, *, reml: bool
) -> tuple[float, FloatArray]:
    """Log evidence (or likelihood) and its gradient in [theta, log noise variance]."""
    k, traces = obs.rows.covariance_and_slopes(kernel)
    fit = ExactEngine(kernel, noise_variance, k).fit(obs)
    post = fit.posterior
    # dL = 1/2 tr[(alpha alpha' - Pi) dSigma]
    g = np.outer(post.alpha, post.alpha) - (residual_precision(post) if reml else inverse_of(post.sigma))
    slopes = [0.5 * slope for slope in traces(g)]
    noise_slope = 0.0  # an interpolator has no noise to learn
    if noise_variance > 0:
        noise_slope = 0.5 * noise_variance * np.sum(np.diag(g) / obs.weight) + obs.replicate_terms(noise_variance)[1]
    value = fit.log_evidence if reml else fit.log_likelihood
    return value, np.array([*slopes, noise_slope])
