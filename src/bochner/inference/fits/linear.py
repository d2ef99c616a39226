"""Gaussian inference on a feature map: the primal solve, or Woodbury's in the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.features import FeatureMap
from bochner.inference.fits import limits
from bochner.inference.fits.base import Engine, GaussianFit
from bochner.inference.fits.folds import Fold, HeldOut, Refit, block_root, each_fold
from bochner.inference.observed.observations import Observations
from bochner.moments import DenseMoments, moments_of
from bochner.posterior import CoefficientPosterior
from bochner.solvers import Factor, cholesky_factor, woodbury_factor


@dataclass(frozen=True)
class LinearEngine(Engine):
    """A linear model with prior N(0, I) on the coefficients of its features."""

    features: FeatureMap
    noise_variance: float

    def fit(self, obs: Observations) -> LinearFit:
        """Posterior of the coefficients, in the smaller of the two spaces."""
        if len(obs) < self.features.n_columns:
            return self._in_rows(obs)
        return self.fit_moments(self.moments(obs), obs.n_trend)

    def moments(self, obs: Observations) -> DenseMoments:
        """All that a fit needs to know of the rows; parts of them add."""
        precision = row_precision(self.features, obs, self.noise_variance)
        copies = obs.replicate_terms(max(self.noise_variance, self._floor(obs)))[0]
        return moments_of(self.features, obs.rows, obs.y, precision, copies)

    def fit_moments(self, moments: DenseMoments, n_trend: int) -> LinearFit:
        """Primal solve: (Phi'N Phi + I) c = Phi'N y; O(p^3 / 3), whatever the number of rows."""
        p = self.features.n_columns
        system = moments.gram.copy(order="F")
        system[np.arange(p), np.arange(p)] += 1.0
        factor = cholesky_factor(system, n_trend)
        coef = factor.solve(moments.projection)
        misfit = float(moments.energy - moments.projection @ coef)
        solver = Choice(
            "solver", "primal", text=f"{p} columns <= {moments.n_rows} rows: solved in the columns (primal)"
        )
        return self._finished(moments.n_rows, moments.log_weight, moments.copies, factor, coef, misfit, n_trend, solver)

    def _in_rows(self, obs: Observations) -> LinearFit:
        """Solve in the rows: O(n^2 p); for fewer rows than columns."""
        precision = row_precision(self.features, obs, self.noise_variance)
        phi = np.asarray(self.features.block(obs.rows.coords), dtype=np.float64)
        factor = woodbury_factor(phi, obs.rows.trend, precision)
        # c = Phi'alpha and misfit = r'alpha: no difference of large numbers, so it holds for tiny noise too
        beta = factor.schur.solve(obs.rows.trend.T @ factor.rows.solve(obs.y))
        residual = obs.y - obs.rows.trend @ beta
        alpha = factor.rows.solve(residual)
        coef, misfit = np.r_[phi.T @ alpha, beta], float(residual @ alpha)
        n, p = phi.shape
        solver = Choice("solver", "woodbury", text=f"{n} rows < {p} columns: solved in the rows (Woodbury)")
        copies = obs.replicate_terms(max(self.noise_variance, self._floor(obs)))[0]
        log_precision = float(np.sum(np.log(precision)))
        return self._finished(n, log_precision, copies, factor, coef, misfit, obs.n_trend, solver)

    def _finished(
        self,
        n: int,
        log_precision: float,
        copies: float,
        factor: Factor,
        coef: FloatArray,
        misfit: float,
        n_trend: int,
        solver: Choice,
    ) -> LinearFit:
        fit = -0.5 * (misfit - log_precision) + copies
        log_evidence = fit - 0.5 * (n - n_trend) * np.log(2 * np.pi) - 0.5 * factor.logdet()
        log_likelihood = fit - 0.5 * n * np.log(2 * np.pi) - 0.5 * (factor.logdet() - factor.trend_logdet())
        posterior = CoefficientPosterior(self.features, coef, factor)
        return LinearFit(self, posterior, float(log_evidence), float(log_likelihood), solver)

    def _floor(self, obs: Observations) -> float:
        return limits.LEAST_ROW_VARIANCE * float(np.mean(self.features.prior_variance(obs.rows.coords[:1])))


@dataclass(frozen=True)
class LinearFit(GaussianFit):
    """Posterior of the coefficients of a linear model."""

    engine: LinearEngine
    posterior: CoefficientPosterior
    log_evidence: float
    log_likelihood: float
    solver: Choice
    forgets_rows: ClassVar[bool] = True

    def row_weights(self, obs: Observations) -> FloatArray:
        precision = row_precision(self.engine.features, obs, self.noise_variance)
        return np.asarray(precision * (obs.y - self.posterior.mean(obs.rows)))

    def leave_out(self, obs: Observations, folds: Iterable[Fold] | None) -> HeldOut:
        """Leave-one-out (folds None) or leave-block-out predictions.

        With V the posterior covariance of the surface at B and N its precision, the refit has residual
        (I - V N)^-1 r and covariance V (I - N V)^-1. Blocks larger than the number of
        columns are taken out of the moments instead.
        """
        n, features = len(obs), self.engine.features
        precision = row_precision(features, obs, self.noise_variance)
        missing = features.missing_variance(obs.rows.coords)
        if folds is None:
            return self._leave_one_out(obs, precision, missing)
        folds = list(folds)
        largest = max(n - len(train) for train, _ in folds)
        by_moments = largest > len(self.posterior.coef)
        refit = (self._without_moments if by_moments else self._without_block)(obs, precision, missing)
        return each_fold(folds, n, refit)

    def _leave_one_out(self, obs: Observations, precision: FloatArray, missing: FloatArray) -> HeldOut:
        posterior, n = self.posterior, len(obs)
        mean, variance = np.empty(n), np.empty(n)
        for i in posterior.features.slices(n):
            columns = posterior.columns(obs.rows[i])
            v = posterior.factor.quadratic_form(columns)
            share = np.maximum(1 - v * precision[i], 1e-12)
            mean[i] = obs.y[i] - (obs.y[i] - columns @ posterior.coef) / share
            variance[i] = v / share + missing[i]
        return HeldOut(np.arange(n), np.arange(n), mean, variance)

    def _without_block(self, obs: Observations, precision: FloatArray, missing: FloatArray) -> Refit:
        posterior, n = self.posterior, len(obs)

        def refit(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
            rows, root = obs.rows[out], np.sqrt(precision[out])
            v = posterior.carried_covariance(rows) * root * root[:, None]
            m = block_root(np.eye(len(out)) - v, n)
            residual = linalg.cho_solve((m, True), root * (obs.y[out] - posterior.mean(rows))) / root
            half = linalg.solve_triangular(m, np.eye(len(out))[:, keep], lower=True)
            variance = (np.sum(half**2, axis=0) - 1) / precision[out][keep] + missing[out][keep]
            return (obs.y[out] - residual)[keep], np.maximum(variance, 0.0)

        return refit

    def _without_moments(self, obs: Observations, precision: FloatArray, missing: FloatArray) -> Refit:
        posterior, features = self.posterior, self.engine.features
        p = features.n_columns
        whole = moments_of(features, obs.rows, obs.y, precision)

        def refit(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
            part = moments_of(features, obs.rows[out], obs.y[out], precision[out])
            system = whole.gram - part.gram
            system[np.arange(p), np.arange(p)] += posterior.factor.prior_precision
            factor = cholesky_factor(system, obs.n_trend)
            coef = factor.solve(whole.projection - part.projection)
            test = out[keep]
            mean, variance = np.empty(len(test)), np.empty(len(test))
            for i in features.slices(len(test)):
                columns = posterior.columns(obs.rows[test[i]])
                mean[i] = columns @ coef
                variance[i] = factor.quadratic_form(columns) + missing[test[i]]
            return mean, variance

        return refit


def row_precision(features: FeatureMap, obs: Observations, noise_variance: float) -> FloatArray:
    """Precision of each row about the carried surface: copies over noise, known error and missing variance."""
    missing = features.missing_variance(obs.rows.coords)
    floor = limits.LEAST_ROW_VARIANCE * float(np.mean(features.prior_variance(obs.rows.coords[:1])))
    # copies share the missing part of the field, so it does not shrink with their number
    return 1 / np.maximum(missing + obs.copy_variance(noise_variance) / obs.weight, floor)
