"""Gaussian inference on very many rows: exact kriging means by conjugate gradients, sd from neighbours and waves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ApproximationWarning, KernelError, warn
from bochner.features import FourierMap
from bochner.features.limits import MAX_WAVE_DIMENSIONS
from bochner.features.operators import CovarianceOperator, DenseOperator
from bochner.frequencies import lattice_frequencies
from bochner.inference.fits.base import Engine, GaussianFit, max_columns
from bochner.inference.fits.exact import ExactEngine, ExactFit, leave_out_exact
from bochner.inference.fits.folds import Fold, HeldOut, held_out_locally, one_by_one
from bochner.inference.fits.iterative_system import (
    CG_TOLERANCE,
    CG_UNKNOWN,
    MANY_CG_ROWS,
    SolvedSystem,
    can_be_factored,
    nearest_system,
    noise_floor,
    preconditioner_root,
    right_hand_sides,
    row_box,
    row_noise,
    row_operator,
    solve_system,
)
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import covered_box
from bochner.kernels import Kernel, axis_units, total_variance
from bochner.neighbours import local_kriging
from bochner.posterior import CoefficientPosterior, OperatorPosterior
from bochner.random import generator
from bochner.resources import current
from bochner.solvers import cholesky_factor, conjugate_gradient


@dataclass
class _Drafts:
    """What the steps to a mode share: rows, operator and last solution; of few rows, the engine with their matrix."""

    coords: FloatArray | None = None
    operator: CovarianceOperator | None = None
    system: SolvedSystem | None = None
    exact: ExactEngine | None = None

    def forget(self, coords: FloatArray | None = None) -> None:
        """Other rows, or the end of the way."""
        self.coords, self.operator, self.system, self.exact = coords, None, None, None


@dataclass(frozen=True)
class IterativeEngine(Engine):
    """The exact kernel, known by its products; linear in the number of rows, apart from FFTs."""

    kernel: Kernel
    noise_variance: float
    newton_tolerance: ClassVar[float] = 1e-6
    _drafts: _Drafts = field(default_factory=_Drafts, init=False, repr=False, compare=False)

    def fit(self, obs: Observations) -> IterativeFit | ExactFit:
        system = self._solved(obs, draft=False)
        self._drafts.forget()
        if isinstance(system, ExactFit):
            return system
        self._warn_unless_settled(system, obs)
        waves = companion(self.kernel, obs, self.noise_variance)
        return self._finished(system, obs, None if waves is None else waves.posterior)

    def draft(self, obs: Observations) -> IterativeFit | ExactFit:
        system = self._solved(obs, draft=True)
        return system if isinstance(system, ExactFit) else self._finished(system, obs, None)

    def _solved(self, obs: Observations, *, draft: bool) -> SolvedSystem | ExactFit:
        """The system of all rows; where it does not settle and rows are few, a fit by the factor of their matrix."""
        drafts, coords, few = self._drafts, obs.rows.coords, can_be_factored(len(obs))
        if drafts.coords is not coords:
            drafts.forget(coords)
        if drafts.exact is None:
            if draft and drafts.operator is None:
                # of few rows and several columns the matrix is quicker than transforms
                dense = DenseOperator(self.kernel, coords, row_box(coords)) if few and obs.n_trend > 3 else None
                drafts.operator = dense or row_operator(self.kernel, obs)
            system = self.system(obs, drafts.operator if draft else None, drafts.system, draft)
            if system.settled or system.report.method == "nearest rows" or not few:
                drafts.system = system
                return system
            drafts.exact = ExactEngine(self.kernel, self.noise_variance).of(obs.rows)
        return drafts.exact.fit(obs)

    def system(
        self, obs: Observations, operator: CovarianceOperator | None, near: SolvedSystem | None, draft: bool
    ) -> SolvedSystem:
        """The kriging system of all rows, solved."""
        return solve_system(self.kernel, obs, self.noise_variance, operator, near, draft)

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


@dataclass(frozen=True)
class NearestEngine(IterativeEngine):
    """The same without iteration: every place is kriged from its nearest rows."""

    def system(
        self, obs: Observations, operator: CovarianceOperator | None, near: SolvedSystem | None, draft: bool
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
        return f", predictions within {CG_UNKNOWN:.1%} of the sd of the surface"
    few = len(system.alpha) <= MANY_CG_ROWS
    return "" if few or not np.isfinite(accuracy) else f", predictions settled to {accuracy:.0e} of their size"


def leave_out_iterative(
    kernel: Kernel,
    obs: Observations,
    noise_variance: float,
    folds: Iterable[Fold] | None,
    most_factored: int = 6_000,
    most_columns: int = 24,
) -> HeldOut:
    """Held-out predictions: one row at a time from the sparse inverse, blocks by solving without them.

    Up to `most_factored` rows that have some noise a dense factor gives both, exactly. Of more rows, up to 20 folds
    have the means that a new fit without their test rows would give, `most_columns` solved side by side. Means of more
    folds, and all variances, are those of kriging from the nearest rows left and some farther ones, or of the heaviest
    waves where these know more.
    """
    least = float(np.min(obs.copy_variance(noise_variance) / obs.weight))
    if len(obs) <= most_factored and least >= 1e-6 * total_variance(kernel):
        return leave_out_exact(kernel, obs, noise_variance, folds)
    if folds is None:
        return _leave_one_out(kernel, obs, noise_variance)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in folds]
    held = held_out_locally(kernel, obs, noise_variance, folds, most=len(obs))
    mean, variance, solved = held.mean, held.variance, np.zeros(len(held.mean), dtype=bool)
    if len(folds) <= 20:
        operator = row_operator(kernel, obs)
        if operator.faithful:
            size = max(1, most_columns // (obs.n_trend + 1))
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
    system = solve_system(kernel, obs, noise_variance)
    share = system.leverage - np.sum(system.schur.half_solve(system.trend_weights.T) ** 2, axis=0)
    variance = 1 / np.maximum(share, 1e-300)
    mean = obs.y - variance * system.alpha
    return one_by_one(obs, mean, np.maximum(variance - system.noise, 0.0))


def _solve(
    operator: CovarianceOperator, obs: Observations, noise_variance: float, folds: Sequence[Fold]
) -> tuple[FloatArray, FloatArray]:
    """Means at the test rows of each fold, and the variance of the trend there; NaN where it did not converge."""
    noise, q, n = row_noise(operator.kernel, obs, noise_variance), obs.n_trend, len(obs)
    trend = obs.rows.trend
    both, start = right_hand_sides(obs)
    part_of = [slice(k * (q + 1), (k + 1) * (q + 1)) for k in range(len(folds))]
    kept = np.zeros((n, len(folds) * (q + 1)), dtype=bool)
    for (train, _), part in zip(folds, part_of, strict=True):
        kept[train, part] = True
    roots = [preconditioner_root(operator.kernel, noise[train], obs.rows.coords[train]) for train, _ in folds]

    def precondition(v: FloatArray) -> FloatArray:
        """Vecchia's inverse of each fold's training rows, on the columns of the fold."""
        out = np.zeros_like(v)
        for (train, _), part, root in zip(folds, part_of, roots, strict=True):
            out[train, part] = root.T @ (root @ v[train, part])
        return out

    probes = np.random.default_rng(0).choice(n, min(2_000, n), replace=False)
    solution, report = conjugate_gradient(
        lambda v: np.where(kept, operator.apply(v) + noise[:, None] * v, 0.0),
        precondition,
        np.where(kept, np.tile(both, len(folds)), 0.0),
        probe=lambda v: operator.apply(v)[probes],
        tolerance=CG_TOLERANCE,
    )
    field = operator.apply(solution)
    means, drifts = [], []
    for (_, test), part in zip(folds, part_of, strict=True):
        weights = solution[:, part][:, :q]
        schur = cholesky_factor(trend.T @ weights + obs.trend_prior, q)
        beta = schur.solve(weights.T @ both[:, q] - obs.trend_prior @ start) if q else np.zeros(0)
        at = field[test][:, part]
        means.append(trend[test] @ (start + beta) + at[:, q] - at[:, :q] @ beta)
        drifts.append(np.sum(schur.half_solve((trend[test] - at[:, :q]).T) ** 2, axis=0) if q else np.zeros(len(test)))
    mean = np.concatenate(means)
    return mean if report.details["converged"] else np.full(len(mean), np.nan), np.concatenate(drifts)


def companion(kernel: Kernel, obs: Observations, noise_variance: float) -> LinearFit | None:
    """The heaviest waves, which see all rows at once: where they hold all but a small part of what is unknown.

    Where the noise is small, neighbours tell all. 2,500 waves have a factor of 200 MB, in some seconds.
    """
    variance = total_variance(kernel)
    typical = noise_variance + float(np.median(obs.error))
    if typical < 1e-3 * variance or obs.rows.coords.shape[1] > MAX_WAVE_DIMENSIONS:
        return None
    surface, noise = _surface_variance(kernel, obs, noise_variance), 0.08 * typical
    box = covered_box(obs.rows.coords, None)
    most = max_columns(current().memory_limit, 5_000) // 2
    try:
        waves = lattice_frequencies(
            kernel, box[1] - box[0], missing=min(0.01 * surface, noise) / variance, maximum=most
        )
    except KernelError:  # no lattice holds it: the neighbours do alone
        return None
    missing = max(variance - float(waves.mass.sum()), 0.0)
    # rows within the shortest wavelength share what is missing
    if missing > 0.05 * surface or missing * max(1.0, len(obs) / waves.n) > noise:
        return None
    return LinearEngine(FourierMap(waves, np.float64, missing, box), noise_variance).fit(obs)


def _surface_variance(kernel: Kernel, obs: Observations, noise_variance: float) -> float:
    """Typical variance of the surface at the rows, from their neighbours: somewhat more than it is."""
    coords = obs.rows.coords
    some = generator(0, "surface").choice(len(obs), min(200, len(obs)), replace=False)
    noise = obs.copy_variance(noise_variance) / obs.weight
    units = axis_units(kernel, np.ptp(coords, axis=0))
    found = local_kriging(kernel, noise, coords, obs.y, coords[some], 40, units, 20, n_systems=len(obs))
    return float(np.median(found[1]))
