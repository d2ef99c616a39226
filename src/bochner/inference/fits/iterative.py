"""Gaussian inference on very many rows: exact kriging means by conjugate gradients, sd from neighbours and waves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.exceptions import ApproximationWarning, warn
from bochner.features import covariance_operator
from bochner.features.limits import MAX_DENSE_ROWS
from bochner.features.operators import CovarianceOperator, DenseOperator
from bochner.inference.fits import limits
from bochner.inference.fits.base import Engine, GaussianFit
from bochner.inference.fits.companion import companion
from bochner.inference.fits.exact import ExactEngine, ExactFit, leave_out_exact
from bochner.inference.fits.folds import Fold, HeldOut, one_by_one
from bochner.inference.fits.iterative_system import (
    SolvedSystem,
    can_be_factored,
    nearest_system,
    noise_floor,
    preconditioner_root,
    row_box,
    row_noise,
    row_operator,
    solve_system,
)
from bochner.inference.fits.local_folds import held_out_locally
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, total_variance
from bochner.posterior import CoefficientPosterior, OperatorPosterior
from bochner.resources import current
from bochner.solvers import cholesky_factor, conjugate_gradient


@dataclass(frozen=True)
class IterativeEngine(Engine):
    """The exact kernel, known by its products; linear in the number of rows, apart from FFTs."""

    kernel: Kernel
    noise_variance: float
    newton_tolerance: ClassVar[float] = 1e-6
    _drafts: _Drafts = field(default_factory=lambda: _Drafts(), init=False, repr=False, compare=False)

    def fit(self, obs: Observations) -> IterativeFit | ExactFit:
        system = self._solved(obs, limits.CG_TOLERANCE)
        self._drafts.forget()
        if isinstance(system, ExactFit):
            return system
        self._warn_unless_settled(system, obs)
        waves = companion(self.kernel, obs, self.noise_variance)
        return self._finished(system, obs, None if waves is None else waves.posterior)

    def draft(self, obs: Observations) -> IterativeFit | ExactFit:
        operator = self._drafts.operator(self.kernel, obs)
        system = self._solved(obs, limits.CG_DRAFT_TOLERANCE, operator)
        if isinstance(system, ExactFit):
            return system
        self._drafts.keep(obs, system)
        return self._finished(system, obs, None)

    def _solved(
        self, obs: Observations, tolerance: float, operator: CovarianceOperator | None = None
    ) -> SolvedSystem | ExactFit:
        """The system of all rows; where it does not settle and rows are few, a fit by the factor of their matrix."""
        exact = self._drafts.exact(obs)
        if exact is None:
            system = self.system(obs, tolerance, self._drafts.last(obs), operator)
            if system.settled or system.report.method == "nearest rows" or not can_be_factored(len(obs)):
                return system
            exact = ExactEngine(self.kernel, self.noise_variance).of(obs.rows)
            self._drafts.keep_exact(obs, exact)
        return exact.fit(obs)

    def system(
        self,
        obs: Observations,
        tolerance: float,
        near: SolvedSystem | None = None,
        operator: CovarianceOperator | None = None,
    ) -> SolvedSystem:
        """The kriging system of all rows, solved."""
        dense = isinstance(operator, DenseOperator)
        return solve_system(self.kernel, obs, self.noise_variance, tolerance, operator, near, unwatched=dense)

    def _finished(self, system: SolvedSystem, obs: Observations, waves: CoefficientPosterior | None) -> IterativeFit:
        n, q = len(obs), obs.n_trend
        posterior = OperatorPosterior(
            kernel=self.kernel,
            rows=obs.rows,
            noise=obs.copy_variance(self.noise_variance) / obs.weight,
            lifted=system.noise,
            alpha=system.alpha,
            trend_coef=system.trend_coef,
            trend_weights=system.trend_weights,
            schur=system.schur,
            box=row_box(obs.rows.coords),
            report=system.report,
            y=obs.y,
            companion=waves,
            _cache={"operator": system.operator},
        )
        copies = obs.replicate_terms(max(self.noise_variance, noise_floor(self.kernel)))[0]
        fit = -0.5 * (system.log_det + system.quadratic) + copies
        log_likelihood = fit - 0.5 * n * np.log(2 * np.pi)
        log_evidence = fit - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * system.schur.logdet() + obs.trend_constant
        return IterativeFit(self, posterior, float(log_evidence), float(log_likelihood), _solver(system))

    def _warn_unless_settled(self, system: SolvedSystem, obs: Observations) -> None:
        # without noise the nearest rows interpolate as well
        nearly_singular = float(np.median(obs.copy_variance(self.noise_variance))) < noise_floor(self.kernel)
        if system.settled or not system.operator.faithful or nearly_singular:
            return
        details = system.report.details
        warn(
            f"conjugate gradients stopped unsettled after {details['iterations']} iterations "
            f"(residual {details['residual']:.1e}); "
            f"means are taken from the nearest rows instead. A larger noise_variance makes the system easier.",
            ApproximationWarning,
        )


class _Drafts:
    """What the steps to a mode share: the same rows have the same operator, and solutions that come ever closer."""

    def __init__(self) -> None:
        self._system: tuple[FloatArray, SolvedSystem] | None = None
        self._operator: tuple[FloatArray, CovarianceOperator] | None = None
        self._exact: tuple[FloatArray, ExactEngine] | None = None

    def operator(self, kernel: Kernel, obs: Observations) -> CovarianceOperator:
        """Products with the covariance; of few rows and several columns by the matrix, which is read once for all."""
        coords = obs.rows.coords
        if self._operator is None or self._operator[0] is not coords:
            few = len(obs) <= MAX_DENSE_ROWS and 8.0 * len(obs) ** 2 <= limits.DENSE_SHARE * current().room
            dense = few and obs.n_trend + 1 >= limits.DENSE_COLUMNS
            box = row_box(coords)
            self._operator = coords, DenseOperator(kernel, coords, box) if dense else row_operator(kernel, obs)
        return self._operator[1]

    def last(self, obs: Observations) -> SolvedSystem | None:
        """The last solution of the same rows."""
        return None if self._system is None or self._system[0] is not obs.rows.coords else self._system[1]

    def keep(self, obs: Observations, system: SolvedSystem) -> None:
        """A solution to begin from the next time."""
        self._system = obs.rows.coords, system

    def exact(self, obs: Observations) -> ExactEngine | None:
        """What fits the same rows, once it is known that conjugate gradients do not settle on them."""
        return None if self._exact is None or self._exact[0] is not obs.rows.coords else self._exact[1]

    def keep_exact(self, obs: Observations, engine: ExactEngine) -> None:
        """An engine with the matrix of these rows."""
        self._exact = obs.rows.coords, engine

    def forget(self) -> None:
        """The way is at its end."""
        self._system = self._operator = self._exact = None


@dataclass(frozen=True)
class NearestEngine(IterativeEngine):
    """The same without iteration: every place is kriged from its nearest rows."""

    def system(
        self,
        obs: Observations,
        tolerance: float,
        near: SolvedSystem | None = None,
        operator: CovarianceOperator | None = None,
    ) -> SolvedSystem:
        return nearest_system(self.kernel, obs, self.noise_variance)

    def _warn_unless_settled(self, system: SolvedSystem, obs: Observations) -> None:
        """Nothing was to settle."""


@dataclass(frozen=True)
class IterativeFit(GaussianFit):
    """Posterior by conjugate gradients, and how likely the data are (log determinant by Vecchia)."""

    engine: IterativeEngine
    posterior: OperatorPosterior
    log_evidence: float
    log_likelihood: float
    solver: Choice

    def row_weights(self, obs: Observations) -> FloatArray:
        return self.posterior.alpha

    def leave_out(self, obs: Observations, folds: Iterable[Fold] | None) -> HeldOut:
        return leave_out_iterative(self.engine.kernel, obs, self.engine.noise_variance, folds)

    def leave_out_quickly(self, obs: Observations, folds: Sequence[Fold]) -> HeldOut:
        return held_out_locally(self.engine.kernel, obs, self.engine.noise_variance, folds)


def _solver(system: SolvedSystem) -> Choice:
    operator, report = system.operator, system.report
    if not operator.faithful or not system.settled:
        asked = "as asked" if report.method == "nearest rows" else "conjugate gradients on all of them do not settle"
        why = asked if operator.faithful else operator.reason
        return Choice("solver", "nearest rows", text=f"kriging from the nearest of {report.size:,} rows: {why}")
    return Choice(
        "solver",
        "conjugate gradients",
        text=f"conjugate gradients on {report.size:,} rows: {report.details['iterations']} iterations, residual "
        f"{report.details['residual']:.0e}{_settled(system)}, {operator.how}",
    )


def _settled(system: SolvedSystem) -> str:
    """What is left open of the predictions of very many rows, where the residual did not end the iteration."""
    accuracy, left = system.report.details["accuracy"], system.report.details.get("left")
    if left is not None:
        return f", stopped while predictions changed by {left:.1%} of the sd of the surface"
    if system.report.details.get("bounded"):
        return f", predictions within {limits.CG_UNKNOWN:.1%} of the sd of the surface"
    few = len(system.alpha) <= limits.MANY_CG_ROWS
    return "" if few or not np.isfinite(accuracy) else f", predictions settled to {accuracy:.0e} of their size"


def leave_out_iterative(
    kernel: Kernel, obs: Observations, noise_variance: float, folds: Iterable[Fold] | None
) -> HeldOut:
    """Held-out predictions: one row at a time from the sparse inverse, blocks by solving without them.

    Up to 6,000 rows that have some noise a dense factor gives both, exactly. Of more rows, up to 20 folds have the
    means that a new fit without their test rows would give. Means of more folds, and all variances, are those of
    kriging from the nearest rows left and some farther ones, or of the heaviest waves where these know more.
    """
    least = float(np.min(obs.copy_variance(noise_variance) / obs.weight))
    if len(obs) <= limits.MAX_FACTORED_ROWS and least >= limits.WELL_POSED_NOISE * total_variance(kernel):
        return leave_out_exact(kernel, obs, noise_variance, folds)
    if folds is None:
        return _leave_one_out(kernel, obs, noise_variance)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in folds]
    box = row_box(obs.rows.coords)
    held = held_out_locally(kernel, obs, noise_variance, folds, most=len(obs))
    mean, variance, solved = held.mean, held.variance, np.zeros(len(held.mean), dtype=bool)
    if len(folds) <= limits.MAX_SOLVED_FOLDS:
        operator = covariance_operator(kernel, obs.rows.coords, box)
        if operator.faithful:
            size = max(1, limits.FOLD_COLUMNS // (obs.n_trend + 1))
            parts = [_solve(operator, obs, noise_variance, folds[i : i + size]) for i in range(0, len(folds), size)]
            means, drifts = (np.concatenate([part[j] for part in parts]) for j in range(2))
            solved = np.isfinite(means)
            mean, variance = np.where(solved, means, mean), variance + drifts
    waves = companion(kernel, obs, noise_variance)
    if waves is not None:
        seen = waves.leave_out(obs, folds)
        mean = np.where(~solved & (seen.variance < variance), seen.mean, mean)
        variance = np.minimum(variance, seen.variance)
    return HeldOut(held.index, held.fold, mean, variance)


def _leave_one_out(kernel: Kernel, obs: Observations, noise_variance: float) -> HeldOut:
    system = solve_system(kernel, obs, noise_variance, limits.CG_TOLERANCE)
    share = system.leverage - np.sum(system.schur.half_solve(system.trend_weights.T) ** 2, axis=0)
    variance = 1 / np.maximum(share, 1e-300)
    mean = obs.y - variance * system.alpha
    return one_by_one(obs, mean, np.maximum(variance - system.noise, 0.0))


def _solve(
    operator: CovarianceOperator, obs: Observations, noise_variance: float, folds: Sequence[tuple[IntArray, IntArray]]
) -> tuple[FloatArray, FloatArray]:
    """Means at the test rows of each fold, and the variance of the trend there; NaN where it did not converge."""
    noise, q, n = row_noise(operator.kernel, obs, noise_variance), obs.n_trend, len(obs)
    trend = obs.rows.trend
    start = np.linalg.lstsq(trend, obs.y, rcond=None)[0] if q else np.zeros(0)
    residual = obs.y - trend @ start
    kept = np.zeros((n, len(folds) * (q + 1)), dtype=bool)
    for k, (train, _) in enumerate(folds):
        kept[train, k * (q + 1) : (k + 1) * (q + 1)] = True
    columns = np.where(kept, np.tile(np.column_stack([trend, residual]), len(folds)), 0.0)
    probes = np.random.default_rng(0).choice(n, min(limits.FOLD_PROBES, n), replace=False)
    solution, report = conjugate_gradient(
        lambda v: np.where(kept, operator.apply(v) + noise[:, None] * v, 0.0),
        _Preconditioner(operator.kernel, obs, noise, [train for train, _ in folds], q + 1),
        columns,
        probe=lambda v: operator.apply(v)[probes],
        tolerance=limits.CG_TOLERANCE,
    )
    field = operator.apply(solution)
    means, drifts = [], []
    for k, (_, test) in enumerate(folds):
        part = slice(k * (q + 1), (k + 1) * (q + 1))
        weights = solution[:, part][:, :q]
        schur = cholesky_factor(trend.T @ weights + obs.trend_prior, q)
        beta = schur.solve(weights.T @ residual - obs.trend_prior @ start) if q else np.zeros(0)
        at = field[test][:, part]
        means.append(trend[test] @ (start + beta) + at[:, q] - at[:, :q] @ beta)
        drifts.append(np.sum(schur.half_solve((trend[test] - at[:, :q]).T) ** 2, axis=0) if q else np.zeros(len(test)))
        if not report.details["converged"]:
            means[-1] = np.full(len(test), np.nan)
    return np.concatenate(means), np.concatenate(drifts)


class _Preconditioner:
    """Vecchia's inverse of each fold's training rows, on the columns of the fold."""

    def __init__(
        self, kernel: Kernel, obs: Observations, noise: FloatArray, trains: Sequence[IntArray], width: int
    ) -> None:
        self.trains, self.width = trains, width
        self.roots: list[sparse.csr_array] = []
        for train in trains:
            self.roots.append(preconditioner_root(kernel, noise[train], obs.rows.coords[train]))

    def __call__(self, v: FloatArray) -> FloatArray:
        out = np.zeros_like(v)
        for k, (train, root) in enumerate(zip(self.trains, self.roots, strict=True)):
            part = slice(k * self.width, (k + 1) * self.width)
            out[train, part] = root.T @ (root @ v[train, part])
        return out
