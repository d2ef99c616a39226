"""Evidence of a point of a form: value, gradient, and whether it could be computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.fits.exact import ExactEngine, ExactFit, Residual
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.kernels import Kernel


@dataclass(frozen=True)
class Point:
    """Evidence at given hyperparameters.

    Attributes
    ----------
    value : float
    gradient : array
        In [theta, log noise variance].
    information : array
        About minus the Hessian in the same, never negative.
    scale : float
        Factor of kernel and noise variance at which the evidence is largest; 1 where none is integrated out.
    """

    value: float
    gradient: FloatArray
    information: FloatArray
    scale: float = 1.0


class Evidence(Protocol):
    """Log evidence at given hyperparameters, as a function of nothing else."""

    def at(self, kernel: Kernel, noise: float) -> Point:
        """Value and gradient; a LinAlgError or ConvergenceError where there is none."""

    def value(self, kernel: Kernel, noise: float) -> tuple[float, float]:
        """Value and scale alone."""

    def surface(self, kernel: Kernel, noise: float, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and sd of the field at some places."""


@dataclass(frozen=True)
class Exact:
    """Gaussian observations under the exact kernel, O(n^3).

    With `free`, a common factor of kernel and noise variance is integrated out, its prior flat in the logarithm.
    """

    obs: Observations
    free: bool

    def at(self, kernel: Kernel, noise: float) -> Point:
        obs = self.obs
        k, slopes = obs.rows.covariance_and_slopes(kernel)
        fit = ExactEngine(kernel, noise, k).fit(obs)
        value, scale = self._integrated(fit, noise)
        residual, alpha = Residual.of(fit.posterior), fit.posterior.alpha / np.sqrt(scale)
        g = residual.weights(alpha)
        by_theta = [0.5 * slope for slope in slopes.traces(g)]
        by_noise = 0.5 * noise * float(np.sum(np.diag(g) / obs.weight)) + self._scatter_slope(noise, scale)
        moved = np.column_stack([*slopes.products(alpha), noise / obs.weight * alpha])
        information = residual.between(moved) / 2
        information[-1, -1] += 0.5 * float(obs.total - len(obs))
        return Point(value, np.array([*by_theta, by_noise]), information, scale)

    def value(self, kernel: Kernel, noise: float) -> tuple[float, float]:
        return self._integrated(ExactEngine(kernel, noise).fit(self.obs), noise)

    def surface(self, kernel: Kernel, noise: float, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        fit = ExactEngine(kernel, noise).fit(self.obs)
        scale = self._integrated(fit, noise)[1]
        return _surface(fit, places, scale)

    def _integrated(self, fit: ExactFit, noise: float) -> tuple[float, float]:
        """Log evidence and scale: the quadratic form has so many degrees of freedom, copies counted."""
        if not self.free:
            return fit.log_evidence, 1.0
        obs = self.obs
        freedom = obs.total - obs.n_trend
        squares = float(fit.posterior.alpha @ obs.y) + float(np.sum(obs.scatter)) / noise
        return integrated(fit.log_evidence, squares, freedom)

    def _scatter_slope(self, noise: float, scale: float) -> float:
        """What copies of rows add to the slope in the log noise variance."""
        obs = self.obs
        if not self.free:
            return obs.replicate_terms(noise)[1] if noise > 0 else 0.0
        return float(-0.5 * np.sum(obs.weight - 1 - obs.scatter / (noise * scale)))


@dataclass(frozen=True)
class Laplace:
    """Responses of any family, by Laplace's approximation on the exact kernel."""

    objective: InformedLaplace
    data: Responses

    def at(self, kernel: Kernel, noise: float) -> Point:
        information = self.objective.information(kernel, noise)
        value, gradient = self.objective(kernel, noise)
        return Point(value, gradient, information)

    def value(self, kernel: Kernel, noise: float) -> tuple[float, float]:
        return self.objective.value(kernel, noise), 1.0

    def surface(self, kernel: Kernel, noise: float, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        data = replace(self.data, family=self.objective.family)
        mode = ExactBound(kernel, noise, data).mode(data, self.objective.starts[0])
        fit = mode.fit
        assert isinstance(fit, ExactFit)
        return _surface(fit, places, 1.0)


def integrated(value: float, squares: float, freedom: float) -> tuple[float, float]:
    """Log evidence, a common factor of all variances integrated out, and the factor at which it is largest.

    `value` is the log evidence at factor 1, `squares` the quadratic form in it; the prior is flat in the logarithm.
    """
    constant = special.gammaln(freedom / 2) + 0.5 * freedom * (np.log(2) - np.log(squares))
    return value + squares / 2 + float(constant), squares / freedom


def _surface(fit: ExactFit, places: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Mean and sd of the field, without the trend's."""
    posterior, kernel = fit.posterior, fit.engine.kernel
    cross = kernel.covariance(posterior.rows.coords, places)
    half = posterior.sigma.half_solve(cross)
    variance = kernel.variances(places) - np.sum(half**2, axis=0)
    return cross.T @ posterior.alpha, np.sqrt(scale * np.maximum(variance, 0.0))


FAILURES = (ConvergenceError, np.linalg.LinAlgError, OverflowError)
