"""A posterior of one's own, the engine that ends in it, and the scheme by which a fit gets there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.features import Rows
from bochner.inference import Fold, HeldOut, Observations, register_scheme
from bochner.inference.fits.base import Engine, GaussianFit
from bochner.inference.fits.folds import each_fold
from bochner.inference.fits.newton import find_mode
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme, Solved, double_precision
from bochner.kernels import Kernel
from bochner.posterior import Cost, Posterior, draw_gaussian


@dataclass(frozen=True)
class InversePosterior(Posterior):
    """Universal kriging with an explicit inverse: the textbook's formulas, for who wants to read them in code."""

    kernel: Kernel
    rows: Rows
    alpha: FloatArray
    trend_coef: FloatArray
    inverse: FloatArray  # Sigma^-1, (n, n)
    trend_inverse: FloatArray  # (X'Sigma^-1 X)^-1, (q, q)

    takes_areas: ClassVar[bool] = True

    @property
    def cost(self) -> Cost:
        return Cost.of_dense(len(self.rows))

    @property
    def row_coef(self) -> FloatArray:
        return self.alpha

    def trend_covariance(self) -> FloatArray:
        return self.trend_inverse

    def mean(self, rows: Rows) -> FloatArray:
        return rows.covariance_with(self.kernel, self.rows) @ self.alpha + rows.trend @ self.trend_coef

    def variance(self, rows: Rows) -> FloatArray:
        return np.diag(self.covariance(rows)).copy()

    def covariance(self, rows: Rows) -> FloatArray:
        cross = self.rows.covariance_with(self.kernel, rows)
        drift = rows.trend.T - self.rows.trend.T @ self.inverse @ cross
        prior = rows.covariance_with(self.kernel, rows)
        return prior - cross.T @ self.inverse @ cross + drift.T @ self.trend_inverse @ drift

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        return draw_gaussian(self.mean(rows), self.covariance(rows), n_draws, rng)


@dataclass(frozen=True)
class InverseFit(GaussianFit):
    """What the engine below makes of observations."""

    engine: InverseEngine
    posterior: InversePosterior
    log_evidence: float
    log_likelihood: float
    solver: Choice

    def row_weights(self, obs: Observations) -> FloatArray:
        return self.posterior.alpha

    def leave_out(self, obs: Observations, folds: Iterable[Fold] | None) -> HeldOut:
        n = len(obs)
        every = [(np.delete(np.arange(n), i), np.array([i])) for i in range(n)] if folds is None else folds

        def refit(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
            rest = self.engine.fit(obs[np.setdiff1d(np.arange(n), out)])
            return rest.posterior.mean_and_variance(obs[out[keep]].rows)

        return each_fold(every, n, refit)


@dataclass(frozen=True)
class InverseEngine(Engine):
    """The exact kernel, inverted; O(n^3)."""

    kernel: Kernel
    noise_variance: float

    def fit(self, obs: Observations) -> InverseFit:
        X, y, (n, q) = obs.rows.trend, obs.y, obs.rows.trend.shape
        sigma = obs.rows.covariance_with(self.kernel, obs.rows)
        sigma[np.diag_indices(n)] += obs.copy_variance(self.noise_variance) / obs.weight
        inverse = np.linalg.inv(sigma)
        trend_precision = X.T @ inverse @ X
        beta = np.linalg.solve(trend_precision, X.T @ inverse @ y)
        alpha = inverse @ (y - X @ beta)
        fit = obs.replicate_terms(self.noise_variance)[0] - 0.5 * (np.linalg.slogdet(sigma)[1] + alpha @ sigma @ alpha)
        evidence = fit - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(trend_precision)[1]
        posterior = InversePosterior(self.kernel, obs.rows, alpha, beta, inverse, np.linalg.inv(trend_precision))
        solver = Choice("solver", "inverse", "as a textbook has it")
        return InverseFit(self, posterior, float(evidence), float(fit - 0.5 * n * np.log(2 * np.pi)), solver)


class Inverse(Scheme):
    """Kriging by an explicit inverse."""

    name = "inverse"
    exact: ClassVar[bool] = True
    saves: ClassVar[tuple[type, ...]] = (InversePosterior,)

    def solve(self, task: Task, learned: Average) -> Solved:
        modes = [find_mode(task.data, InverseEngine(kernel, noise)) for kernel, noise in learned.pairs]
        double = double_precision(task, "the matrix is inverted in float64")
        return Solved(self.name, modes, (*double, modes[0].solver))


register_scheme(Inverse())
