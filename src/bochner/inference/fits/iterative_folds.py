"""Cross-validation of very many rows: held-out blocks by conjugate gradients side by side, without a new model each.

All folds share the products with the covariance: the system of a fold is that of all rows with its test rows masked, so
many folds are columns of one iteration. Their variances come from neighbours among the rows that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray
from bochner.features import CovarianceOperator, covariance_operator
from bochner.inference.fits import limits
from bochner.inference.fits.companion import companion
from bochner.inference.fits.exact import leave_out_exact
from bochner.inference.fits.folds import Fold, HeldOut, one_by_one
from bochner.inference.fits.iterative_system import preconditioner_root, row_box, row_noise, solve_system
from bochner.inference.fits.local_folds import held_out_locally
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, total_variance
from bochner.solvers import cholesky_factor, conjugate_gradient


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
    waves = companion(kernel, obs, noise_variance, box)
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
