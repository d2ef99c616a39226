"""Evidence: how likely the responses are at given hyperparameters, with gradient and information.

An evidence is a pure function of `Theta`. `Exact`, `Nearest`, `OnLattice` and `Waves` are for Gaussian observations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import special

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import ConvergenceError
from bochner.features import FourierMap, Rows
from bochner.inference.fits.base import LEAST_ROW_VARIANCE
from bochner.inference.fits.exact import ExactEngine, ExactFit, Residual
from bochner.inference.fits.feature_evidence import linear_objective, residual_product
from bochner.inference.fits.laplace import moved_by_waves
from bochner.inference.fits.lattice_evidence import Objective
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.observed.observations import Observations
from bochner.inference.schemes.base import Draw
from bochner.kernels import Kernel
from bochner.neighbours import Vecchia, local_kriging
from bochner.resources import blas_threads

FAILURES = (ConvergenceError, np.linalg.LinAlgError, OverflowError)


@dataclass(frozen=True)
class Theta:
    """Hyperparameters of a model.

    Attributes
    ----------
    kernel : Kernel
    noise : float
        Noise variance; of other families the variance of the effect of each row.
    effects : tuple of float
        Prior variance of the fixed effects, by block of covariates.
    dispersion : float or None
        Of the family, where it is learned.
    trend : array of shape (q,), optional
        Fixed effects, where they maximise the likelihood of a family that is not Gaussian.
    """

    kernel: Kernel
    noise: float
    effects: tuple[float, ...] = ()
    dispersion: float | None = None
    trend: FloatArray | None = None


@dataclass(frozen=True)
class Point:
    """Evidence at given hyperparameters.

    Attributes
    ----------
    value : float
    gradient : array
        In [theta of the kernel, log noise variance, log variances of the effects, log dispersion, trend], the last
        two where they are learned.
    information : array
        About minus the Hessian in the same, never negative.
    scale : float
        Factor of all variances at which the evidence is largest; 1 where none is integrated out.
    """

    value: float
    gradient: FloatArray
    information: FloatArray
    scale: float = 1.0


class Evidence(Protocol):
    """Log evidence at given hyperparameters, as a function of nothing else."""

    def at(self, theta: Theta) -> Point:
        """Value, gradient and information; one of `FAILURES` is raised where there is none."""

    def value(self, theta: Theta) -> tuple[float, float]:
        """Value and scale alone."""

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and sd of the field at some places."""

    @property
    def freedom(self) -> float:
        """Rows less flat effects, copies counted."""


def precision_of(blocks: IntArray, effects: Sequence[float]) -> FloatArray | None:
    """Prior precision of the trend, (q, q); `blocks` has the block of each column, -1 where its prior is flat."""
    if not len(effects):
        return None
    each = np.array([*(1 / v for v in effects), 0.0])
    return np.diag(each[blocks])


def effect_slopes(
    theta: Theta,
    trend: FloatArray,
    blocks: IntArray,
    alpha: FloatArray,
    product: Callable[[FloatArray], FloatArray],
    implicit: FloatArray | None = None,
    known: FloatArray | None = None,
) -> tuple[list[float], list[FloatArray]]:
    """Slopes of the evidence in the log variances of the effects, and how these move the rows.

    `product` multiplies by the precision of the rows, `implicit` is what the mode adds by moving, and `known` a
    precision of the effects beside that of their prior.
    """
    precision, slopes, moved = precision_of(blocks, theta.effects), [], []
    for b, prior in enumerate(theta.effects):
        spread = prior * np.eye(len(blocks))
        if known is not None and precision is not None:
            spread = np.asarray(np.linalg.inv(precision + known), dtype=np.float64)
        columns = trend @ spread[:, blocks == b] / np.sqrt(prior)
        pulled = columns.T @ alpha
        more = pulled if implicit is None else pulled + 2 * columns.T @ implicit
        slopes.append(0.5 * (float(more @ pulled) - sum(float(x @ product(x)) for x in columns.T)))
        moved.append(columns @ pulled)
    return slopes, moved


# ------------------------------------------------------------------------------ Gaussian


@dataclass(frozen=True)
class Exact:
    """Gaussian observations under the exact kernel, O(n^3).

    With `free`, a common factor of all variances is integrated out, its prior flat in the logarithm. Without `reml`,
    the trend maximises the likelihood.
    """

    obs: Observations
    blocks: IntArray
    free: bool = False
    reml: bool = True

    def at(self, theta: Theta) -> Point:
        obs, noise = self._obs(theta), theta.noise
        with blas_threads(len(obs)):
            k, slopes = obs.rows.covariance_and_slopes(theta.kernel)
            floor = LEAST_ROW_VARIANCE * float(np.mean(k.diagonal()))
            fit = ExactEngine(theta.kernel, noise, k).fit(obs)
            value, scale = self._integrated(fit, noise)
            residual = Residual.of(fit.posterior, reml=self.reml)
            alpha = fit.posterior.alpha / np.sqrt(scale)
            g = residual.weights(alpha)
            own, error = np.diag(g), obs.copy_variance(noise) / obs.weight
            added = np.hypot(error, floor)
            by_noise = 0.5 * float(np.sum(own * (noise / obs.weight) * (error / added))) if noise else 0.0
            by_noise += self._scatter_slope(noise, scale)
            np.einsum("ii->i", g)[:] += LEAST_ROW_VARIANCE * float(np.mean(own * (floor / added)))
            by_theta = [0.5 * slope for slope in slopes.traces(g)]
            by_effects, moved_by_effects = self._shrinkage(fit, theta, scale)
            moved = [*slopes.products(alpha), noise / obs.weight * alpha, *moved_by_effects]
            information = residual.between(np.column_stack(moved)) / 2
        p = len(by_theta)
        information[p, p] += 0.5 * float(obs.total - len(obs))
        return Point(value, np.array([*by_theta, by_noise, *by_effects]), information, scale)

    def value(self, theta: Theta) -> tuple[float, float]:
        obs = self._obs(theta)
        with blas_threads(len(obs)):
            return self._integrated(ExactEngine(theta.kernel, theta.noise).fit(obs), theta.noise)

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        fit = ExactEngine(theta.kernel, theta.noise).fit(self._obs(theta))
        return surface_of(fit, places, self._integrated(fit, theta.noise)[1])

    @property
    def freedom(self) -> float:
        return self.obs.total - np.count_nonzero(self.blocks < 0)

    def _obs(self, theta: Theta) -> Observations:
        return replace(self.obs, trend_precision=precision_of(self.blocks, theta.effects))

    def _shrinkage(self, fit: ExactFit, theta: Theta, scale: float) -> tuple[list[float], list[FloatArray]]:
        """Slopes in the log variances of the effects, and how these move the rows: d Sigma alpha."""
        if not theta.effects:
            return [], []
        coef = fit.posterior.trend_coef / np.sqrt(scale)
        variance = np.diag(fit.posterior.schur.solve(np.eye(len(coef))))
        slopes, moved = [], []
        for b, prior in enumerate(theta.effects):
            mine = self.blocks == b
            slopes.append(0.5 * float(np.sum((coef[mine] ** 2 + variance[mine]) / prior - 1)))
            moved.append(self.obs.rows.trend[:, mine] @ coef[mine])
        return slopes, moved

    def _integrated(self, fit: ExactFit, noise: float) -> tuple[float, float]:
        """Log evidence and scale: the quadratic form has so many degrees of freedom, copies counted."""
        value = fit.log_evidence if self.reml else fit.log_likelihood
        if not self.free:
            return value, 1.0
        squares = float(fit.posterior.alpha @ self.obs.y) + float(np.sum(self.obs.scatter)) / noise
        return integrated(value, squares, self.freedom)

    def _scatter_slope(self, noise: float, scale: float) -> float:
        """What copies of rows add to the slope in the log noise variance."""
        obs = self.obs
        if not self.free:
            return obs.replicate_terms(noise)[1] if noise > 0 else 0.0
        return float(-0.5 * np.sum(obs.weight - 1 - obs.scatter / (noise * scale)))


@dataclass(frozen=True)
class Nearest:
    """Gaussian observations, each given its nearest predecessors (Vecchia), O(n)."""

    plan: Vecchia
    obs: Observations
    blocks: IntArray
    reml: bool = True

    def at(self, theta: Theta) -> Point:
        precision = precision_of(self.blocks, theta.effects)
        value, gradient, coef, variance, information = self.plan.evaluate_informed(
            theta.kernel, theta.noise, self.reml, precision
        )
        if not np.isfinite(value):
            raise ConvergenceError("the likelihood of neighbours could not be computed")
        n = len(information)
        whole = np.zeros((n + len(theta.effects),) * 2)
        whole[:n, :n] = information
        slopes = []
        for b, prior in enumerate(theta.effects):
            mine = self.blocks == b
            slopes.append(0.5 * float(np.sum((coef[mine] ** 2 + variance[mine]) / prior - 1)))
            whole[n + b, n + b] = 0.5 * float(np.sum((1 - np.minimum(variance[mine] / prior, 1)) ** 2))
        return Point(value, np.r_[gradient, slopes], whole)

    def value(self, theta: Theta) -> tuple[float, float]:
        precision = precision_of(self.blocks, theta.effects)
        return self.plan.value(theta.kernel, theta.noise, self.reml, precision), 1.0

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        obs = self.obs
        precision = precision_of(self.blocks, theta.effects)
        effects = self.plan.evaluate_with_prior(theta.kernel, theta.noise, self.reml, precision)[2]
        residual = obs.y - obs.rows.trend @ effects
        noise = obs.copy_variance(theta.noise) / obs.weight
        k = min(self.plan.neighbours.shape[1], len(obs))
        mean, variance = local_kriging(theta.kernel, noise, obs.rows.coords, residual, places, k)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    @property
    def freedom(self) -> float:
        return self.obs.total - np.count_nonzero(self.blocks < 0)


@dataclass(frozen=True)
class OnLattice:
    """Gaussian observations on few waves of a lattice, of all rows; O(waves^3), whatever the number of rows.

    The information is that of the nearest rows.
    """

    objective: Objective
    nearest: Nearest

    def at(self, theta: Theta) -> Point:
        value, gradient = self.objective(theta.kernel, theta.noise)
        return Point(value, gradient, self.nearest.at(theta).information)

    def value(self, theta: Theta) -> tuple[float, float]:
        return self.objective(theta.kernel, theta.noise)[0], 1.0

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.nearest.surface(theta, places)

    @property
    def freedom(self) -> float:
        return self.nearest.freedom


@dataclass(frozen=True)
class Waves:
    """Gaussian observations under the frequencies that a rule draws from the kernel, smoothly in its theta."""

    draw: Draw
    obs: Observations
    blocks: IntArray
    reml: bool = True

    def at(self, theta: Theta) -> Point:
        kernel, noise, obs = theta.kernel, theta.noise, self._obs(theta)
        value, gradient = linear_objective(lambda t: self.draw(kernel, t), kernel.theta, obs, noise, reml=self.reml)
        product = residual_product(self._fit(theta), obs)[1]
        alpha = product(obs.y)
        slopes, by_effects = effect_slopes(theta, obs.rows.trend, self.blocks, alpha, product)
        by_theta = moved_by_waves(lambda t: self.draw(kernel, t), kernel.theta, obs.rows.coords, alpha)
        moved = np.column_stack([*by_theta, noise / obs.weight * alpha, *by_effects])
        information = moved.T @ np.column_stack([product(v) for v in moved.T]) / 2
        return Point(value, np.r_[gradient, slopes], (information + information.T) / 2)

    def value(self, theta: Theta) -> tuple[float, float]:
        fit = self._fit(theta)
        return (fit.log_evidence if self.reml else fit.log_likelihood), 1.0

    def _fit(self, theta: Theta) -> LinearFit:
        features = FourierMap(self.draw(theta.kernel, theta.kernel.theta))
        return LinearEngine(features, theta.noise).fit(self._obs(theta))

    def _obs(self, theta: Theta) -> Observations:
        return replace(self.obs, trend_precision=precision_of(self.blocks, theta.effects))

    def surface(self, theta: Theta, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        raise ConvergenceError("features of one's own stay at the mode")

    @property
    def freedom(self) -> float:
        return self.obs.total - np.count_nonzero(self.blocks < 0)


def integrated(value: float, squares: float, freedom: float) -> tuple[float, float]:
    """Log evidence, a common factor of all variances integrated out, and the factor at which it is largest.

    `value` is the log evidence at factor 1, `squares` the quadratic form in it; the prior is flat in the logarithm.
    """
    constant = special.gammaln(freedom / 2) + 0.5 * freedom * (np.log(2) - np.log(squares))
    return value + squares / 2 + float(constant), squares / freedom


def surface_of(fit: ExactFit, places: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Mean and sd of the field, without the trend's."""
    posterior, kernel = fit.posterior, fit.engine.kernel
    cross = posterior.rows.covariance_with(kernel, Rows(places, np.zeros((len(places), 0))))
    half = posterior.sigma.half_solve(cross)
    variance = kernel.variances(places) - np.sum(half**2, axis=0)
    return cross.T @ posterior.alpha, np.sqrt(scale * np.maximum(variance, 0.0))
