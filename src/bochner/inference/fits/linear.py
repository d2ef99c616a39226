"""Gaussian inference on a feature map: the primal solve, or Woodbury's in the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg, optimize

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.device import DeviceMatrix
from bochner.exceptions import CollinearityWarning, warn
from bochner.features import FeatureMap
from bochner.inference.fits.base import LEAST_ROW_VARIANCE, Engine, GaussianFit
from bochner.inference.fits.folds import Fold, HeldOut, Refit, block_root, each_fold, one_by_one, with_a_trend
from bochner.inference.observed.observations import Observations
from bochner.moments import DenseMoments, moments_of
from bochner.posterior import CoefficientPosterior
from bochner.solvers import Primal, Solution, cholesky_factor, choose_solver, least_squares


@dataclass(frozen=True)
class LinearEngine(Engine):
    """A linear model with prior N(0, I) on the coefficients of its features."""

    features: FeatureMap
    noise_variance: float

    def fit(self, obs: Observations) -> LinearFit:
        """Posterior of the coefficients, by the solver that suits their number and that of the rows."""
        system = _System(self, obs)
        solver, choice = choose_solver(system.n_rows, system.n_columns)
        log_precision = float(np.sum(np.log(system.precision)))
        copies = system.copies
        fit = self._finished(solver.solve(system), len(obs), log_precision, copies, obs.n_trend, choice)
        return replace(fit, log_evidence=fit.log_evidence + obs.trend_constant)

    def moments(self, obs: Observations) -> DenseMoments:
        """All that a fit needs to know of the rows; parts of them add."""
        return _System(self, obs).moments

    def fit_moments(self, moments: DenseMoments, n_trend: int) -> LinearFit:
        """Fit from moments alone: nothing else of the rows is needed."""
        solution = Primal().solve_moments(moments, self.features.n_columns)
        choice = Choice("solver", "primal", text="solved in the columns (primal), from moments of the rows")
        return self._finished(solution, moments.n_rows, moments.log_weight, moments.copies, n_trend, choice)

    def _finished(
        self, solution: Solution, n: int, log_precision: float, copies: float, n_trend: int, solver: Choice
    ) -> LinearFit:
        factor = solution.factor
        fit = -0.5 * (solution.misfit - log_precision) + copies
        log_evidence = fit - 0.5 * (n - n_trend) * np.log(2 * np.pi) - 0.5 * factor.logdet()
        log_likelihood = fit - 0.5 * n * np.log(2 * np.pi) - 0.5 * (factor.logdet() - factor.trend_logdet())
        posterior = CoefficientPosterior(self.features, solution.coef, factor)
        return LinearFit(self, posterior, float(log_evidence), float(log_likelihood), solver)


class _System:
    """A linear model and its rows; what solvers ask for is made once."""

    def __init__(self, engine: LinearEngine, obs: Observations) -> None:
        self.engine, self.obs = engine, obs
        self.n_rows, self.n_columns, self.n_trend = len(obs), engine.features.n_columns, obs.n_trend
        self.trend, self.y, self.trend_precision = obs.rows.trend, obs.y, obs.trend_prior

    @cached_property
    def precision(self) -> FloatArray:
        return row_precision(self.engine.features, self.obs, self.engine.noise_variance)

    @cached_property
    def moments(self) -> DenseMoments:
        return _with_prior(
            moments_of(self.engine.features, self.obs.rows, self.y, self.precision, self.copies), self.obs
        )

    @cached_property
    def phi(self) -> FloatArray:
        return np.asarray(self.engine.features.block(self.obs.rows.coords), dtype=np.float64)

    @cached_property
    def copies(self) -> float:
        """What merging equal rows took out of the log density."""
        prior = float(np.mean(self.engine.features.prior_variance(self.obs.rows.coords[:1])))
        return self.obs.replicate_terms(max(self.engine.noise_variance, LEAST_ROW_VARIANCE * prior))[0]


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
        return each_fold(folds, n, with_a_trend(refit, obs))

    def _leave_one_out(self, obs: Observations, precision: FloatArray, missing: FloatArray) -> HeldOut:
        posterior, n = self.posterior, len(obs)
        mean, variance = np.empty(n), np.empty(n)
        for i in posterior.features.slices(n):
            columns = posterior.columns(obs.rows[i])
            v = posterior.factor.quadratic_form(columns)
            share = np.maximum(1 - v * precision[i], 1e-12)
            mean[i] = obs.y[i] - (obs.y[i] - columns @ posterior.coef) / share
            variance[i] = v / share + missing[i]
        return one_by_one(obs, mean, variance)

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
        whole = _with_prior(moments_of(features, obs.rows, obs.y, precision), obs)

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


def _with_prior(moments: DenseMoments, obs: Observations) -> DenseMoments:
    """Moments whose Gram holds the prior precision of the fixed effects."""
    if obs.trend_precision is None or not obs.n_trend:
        return moments
    if isinstance(moments.gram, DeviceMatrix):
        moments.gram.with_last(obs.trend_precision)
    else:
        moments.gram[-obs.n_trend :, -obs.n_trend :] += obs.trend_precision
    return moments


def row_precision(features: FeatureMap, obs: Observations, noise_variance: float) -> FloatArray:
    """Precision of each row about the carried surface: copies over noise, known error and missing variance."""
    missing = features.missing_variance(obs.rows.coords)
    floor = LEAST_ROW_VARIANCE * float(np.mean(features.prior_variance(obs.rows.coords[:1])))
    # copies share the missing part of the field, so it does not shrink with their number
    return 1 / np.maximum(missing + obs.copy_variance(noise_variance) / obs.weight, floor)


def fit_ordinary(features: FeatureMap, obs: Observations) -> LinearFit:
    """Least squares by QR, or by SVD where columns are collinear; O(n p^2)."""
    root = np.sqrt(obs.weight)
    columns = np.column_stack([np.asarray(features.block(obs.rows.coords), dtype=float), obs.rows.trend])
    result = least_squares(columns * root[:, None], obs.y * root)
    n, p = columns.shape
    # merged rows have left out their scatter about the mean, and count as often as there were copies
    misfit, spare = result.residual_variance * (n - result.rank) + obs.scatter.sum(), obs.total - result.rank
    result = replace(result, residual_variance=float(misfit / spare) if spare > 0 else 0.0)
    text = f"ordinary least squares by {result.report.method.upper()}: noise_variance=0 without tuning"
    if result.rank < p:
        text += f"; rank {result.rank} of {p} columns, the minimum-norm answer is taken"
    if result.rank < min(n, p):  # more columns than rows are no surprise, dependent ones are
        warn(
            f"the {p} columns of the least-squares fit are collinear: only {result.rank} directions can be told apart. "
            f"The coefficients of least norm are taken; use fewer frequencies, or a noise_variance > 0 (ridge).",
            CollinearityWarning,
        )
    engine = LinearEngine(features, result.residual_variance)
    solver = Choice("solver", "least squares", text=text)
    return LinearFit(engine, CoefficientPosterior(features, result.coef, result), np.nan, np.nan, solver)


def fit_truncated(
    features: FeatureMap, obs: Observations, noise_variance: float, variance: float, *, reml: bool
) -> LinearFit:
    """Fit with the noise variance of maximum evidence, never below the given one nor above the field's `variance`.

    Field variance that is not modelled must be absorbed by the noise, or intervals are too narrow. Rows without known
    errors: their moments are summed once, and every noise variance only divides them.
    """
    moments = LinearEngine(features, noise_variance).moments(obs)

    def fit(log_noise: float) -> LinearFit:
        noise = float(np.exp(log_noise))
        scaled = moments.scaled(1.0, noise / noise_variance, obs.replicate_terms(noise)[0])
        return LinearEngine(features, noise).fit_moments(scaled, obs.n_trend)

    def negative(log_noise: float) -> float:
        found = fit(log_noise)
        return -(found.log_evidence if reml else found.log_likelihood)

    low, high = np.log(noise_variance), np.log(max(variance, 2 * noise_variance))
    options = {"xatol": 0.05}
    best = float(optimize.minimize_scalar(negative, bounds=(low, high), method="bounded", options=options).x)
    return fit(low if best < low + 0.1 else best)  # the search never looks at its very ends
