"""Evidence of a point of a form: value, gradient, and whether it could be computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import linalg, special

from bochner.arrays import BoolArray, FloatArray
from bochner.exceptions import ConvergenceError
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.fits.exact import ExactEngine, ExactFit, Residual
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.kernels import Kernel


@dataclass(frozen=True)
class Theta:
    """Everything that is learned.

    Attributes
    ----------
    kernel : Kernel
    noise : float
        Noise variance.
    effects : float
        Prior variance of each effect of the covariates that are shrunk together.
    """

    kernel: Kernel
    noise: float
    effects: float = np.inf


@dataclass(frozen=True)
class Point:
    """Evidence at given hyperparameters.

    Attributes
    ----------
    value : float
    gradient : array
        In [theta of the kernel, log noise variance, log variance of the effects].
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

    def at(self, theta: Theta) -> Point:
        """Value and gradient; a LinAlgError or ConvergenceError where there is none."""

    def value(self, theta: Theta) -> tuple[float, float]:
        """Value and scale alone."""

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and sd of the field at some places."""

    @property
    def freedom(self) -> float:
        """Rows less flat effects, copies counted."""

    def precision(self, variance: float) -> FloatArray | None:
        """Prior precision of the trend, (q, q), at a variance of the effects; None where all of it is flat."""


@dataclass(frozen=True)
class Exact:
    """Gaussian observations under the exact kernel, O(n^3).

    With `free`, a common factor of kernel and noise variance is integrated out, its prior flat in the logarithm.
    """

    obs: Observations
    free: bool
    shrunk: BoolArray  # columns of the trend whose effects have a learned prior variance

    def at(self, theta: Theta) -> Point:
        obs, noise = self._obs(theta), theta.noise
        k, slopes = obs.rows.covariance_and_slopes(theta.kernel)
        fit = ExactEngine(theta.kernel, noise, k).fit(obs)
        value, scale = self._integrated(fit, noise)
        residual, alpha = Residual.of(fit.posterior), fit.posterior.alpha / np.sqrt(scale)
        g = residual.weights(alpha)
        by_theta = [0.5 * slope for slope in slopes.traces(g)]
        by_noise = 0.5 * noise * float(np.sum(np.diag(g) / obs.weight)) + self._scatter_slope(noise, scale)
        by_effects, effects = self._shrinkage(fit, theta, scale)
        moved = np.column_stack([*slopes.products(alpha), noise / obs.weight * alpha, effects])
        information = residual.between(moved) / 2
        information[-2, -2] += 0.5 * float(obs.total - len(obs))
        return Point(value, np.array([*by_theta, by_noise, by_effects]), information, scale)

    def value(self, theta: Theta) -> tuple[float, float]:
        return self._integrated(ExactEngine(theta.kernel, theta.noise).fit(self._obs(theta)), theta.noise)

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        fit = ExactEngine(theta.kernel, theta.noise).fit(self._obs(theta))
        return _surface(fit, places, self._integrated(fit, theta.noise)[1])

    @property
    def freedom(self) -> float:
        return self.obs.total - np.count_nonzero(~self.shrunk)

    def precision(self, variance: float) -> FloatArray | None:
        return np.diag(self.shrunk / variance) if self.shrunk.any() else None

    def _obs(self, theta: Theta) -> Observations:
        return replace(self.obs, trend_precision=self.precision(theta.effects)) if self.shrunk.any() else self.obs

    def _shrinkage(self, fit: ExactFit, theta: Theta, scale: float) -> tuple[float, FloatArray]:
        """Slope in the log variance of the effects, and how that moves the rows: d Sigma alpha."""
        if not self.shrunk.any():
            return 0.0, np.zeros(len(self.obs))
        coef = fit.posterior.trend_coef[self.shrunk] / np.sqrt(scale)
        unsure = np.diag(fit.posterior.schur.solve(np.eye(len(self.shrunk))))[self.shrunk]
        slope = 0.5 * float(np.sum((coef**2 + unsure) / theta.effects - 1))
        return slope, self.obs.rows.trend[:, self.shrunk] @ coef

    def _integrated(self, fit: ExactFit, noise: float) -> tuple[float, float]:
        """Log evidence and scale: the quadratic form has so many degrees of freedom, copies counted."""
        if not self.free:
            return fit.log_evidence, 1.0
        obs = self.obs
        squares = float(fit.posterior.alpha @ obs.y) + float(np.sum(obs.scatter)) / noise
        return integrated(fit.log_evidence, squares, self.freedom)

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

    @property
    def freedom(self) -> float:
        return float(self.data.weight.sum()) - self.data.rows.trend.shape[1]

    def precision(self, variance: float) -> FloatArray | None:
        return self.data.trend_precision

    def at(self, theta: Theta) -> Point:
        information = self.objective.information(theta.kernel, theta.noise)
        value, gradient = self.objective(theta.kernel, theta.noise)
        return Point(value, np.r_[gradient, 0.0], linalg.block_diag(information, 0.0))

    def value(self, theta: Theta) -> tuple[float, float]:
        return self.objective.value(theta.kernel, theta.noise), 1.0

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        data = replace(self.data, family=self.objective.family)
        mode = ExactBound(theta.kernel, theta.noise, data).mode(data, self.objective.starts[0])
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
