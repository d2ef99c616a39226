"""Evidence of the exact kernel, its gradient and its curvature, O(n^3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.fits import limits
from bochner.inference.fits.exact import ExactEngine, ExactFit, Residual
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, Slopes


@dataclass(frozen=True)
class ExactEvidence:
    """Log evidence (with `reml`) or log likelihood of observations under the exact kernel; the last fit is kept.

    A climb asks for gradient and information where it begins, and so may have done who began it.
    """

    obs: Observations
    reml: bool
    last: dict[tuple[Kernel, float], Any] = field(default_factory=dict, repr=False, compare=False)

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        """Without its gradient: a quarter of the work."""
        fit = ExactEngine(kernel, noise_variance).fit(self.obs)
        return fit.log_evidence if self.reml else fit.log_likelihood

    def __call__(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """With its gradient in [theta, log noise variance]."""
        kept = self._kept(kernel, noise_variance)
        if "sloped" not in kept:
            kept["sloped"] = self._sloped(kernel, noise_variance)
        value, gradient = kept["sloped"]
        return value, gradient.copy()

    def _sloped(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        obs = self.obs
        fit, slopes, floor = self._fit(kernel, noise_variance)
        # dL = 1/2 tr[(alpha alpha' - Pi) dSigma]
        g = Residual.of(fit.posterior, reml=self.reml).weights(fit.posterior.alpha)
        own, error = np.diag(g), obs.copy_variance(noise_variance) / obs.weight
        added = np.hypot(error, floor)  # which moves with theta, too
        by_noise = 0.0  # an interpolator has no noise to learn
        if noise_variance > 0:
            least = float(np.hypot(noise_variance, floor))
            by_noise = 0.5 * noise_variance * np.sum(own / obs.weight * (error / added))
            by_noise += obs.replicate_terms(least)[1] * (noise_variance / least) ** 2
        np.einsum("ii->i", g)[:] += limits.EXACT_JITTER * float(np.mean(own * (floor / added)))
        by_theta = [0.5 * slope for slope in slopes.traces(g)]
        return fit.log_evidence if self.reml else fit.log_likelihood, np.array([*by_theta, by_noise])

    def information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """1/2 alpha' dSigma Pi dSigma alpha for each pair of [theta, log noise variance].

        The mean of the observed and the expected information (Gilmour, Thompson & Cullis 1995): minus the Hessian,
        nearly, and never negative. Scatter among copies of a row adds what it expects to tell of the noise.
        """
        kept = self._kept(kernel, noise_variance)
        if "bend" not in kept:
            kept["bend"] = self._information(kernel, noise_variance)
        found: FloatArray = kept["bend"]
        return found.copy()

    def _information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        obs = self.obs
        fit, slopes, _ = self._fit(kernel, noise_variance)
        posterior = fit.posterior
        alpha, sigma, trend = posterior.alpha, posterior.sigma, posterior.rows.trend
        moved = np.column_stack([*slopes.products(alpha), noise_variance / obs.weight * alpha])
        half = sigma.half_solve(moved)
        information = half.T @ half
        if trend.shape[1]:
            drift = posterior.schur.half_solve(trend.T @ sigma.solve(moved))
            information -= drift.T @ drift
        information /= 2
        information[-1, -1] += 0.5 * float(obs.total - len(obs))
        return np.asarray(information)

    def _fit(self, kernel: Kernel, noise_variance: float) -> tuple[ExactFit, Slopes, float]:
        """Fit, slopes of its covariance, and the least error variance of a row."""
        kept = self._kept(kernel, noise_variance)
        if "fit" not in kept:
            k, slopes = self.obs.rows.covariance_and_slopes(kernel)
            floor = limits.EXACT_JITTER * float(np.mean(k.diagonal()))
            kept["fit"] = ExactEngine(kernel, noise_variance, k).fit(self.obs), slopes, floor
        found: tuple[ExactFit, Slopes, float] = kept["fit"]
        return found

    def _kept(self, kernel: Kernel, noise_variance: float) -> dict[str, Any]:
        """What is known of one set of hyperparameters, the last."""
        key = (kernel, noise_variance)
        if key not in self.last:
            self.last.clear()
        found: dict[str, Any] = self.last.setdefault(key, {})
        return found
