"""Cross-validation without refit: what the model would have said of rows it had not seen.

The hyperparameters are held. For a Gaussian model the answer is exact: removing rows from a
linear model is a small update of its posterior.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError
from bochner.inference.fits.exact import fit_exact
from bochner.inference.fits.linear import LinearFit, row_precision
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel
from bochner.moments import moments_of
from bochner.solvers import LeastSquares, cholesky_factor

Fold = tuple[IntArray, IntArray]  # training rows, test rows


@dataclass(frozen=True)
class HeldOut:
    """Predictions at test rows by a model that was not given them: latent mean and variance."""

    index: IntArray
    fold: IntArray
    mean: FloatArray
    variance: FloatArray


def with_weight(weight: FloatArray, folds: Iterable[Fold] | None) -> tuple[list[Fold] | None, IntArray]:
    """Folds of the rows with a positive weight, and which rows those are: a row without weight is not there."""
    kept = np.flatnonzero(weight > 0)
    if folds is None or len(kept) == len(weight):
        return None if folds is None else list(folds), kept
    position = np.cumsum(weight > 0) - 1
    parts = [tuple(position[rows[weight[rows] > 0]] for rows in fold) for fold in folds]
    return [(train, test) for train, test in parts if len(test)], kept


def leave_out_exact(kernel: Kernel, obs: Observations, noise_variance: float, folds: Iterable[Fold] | None) -> HeldOut:
    """Leave-one-out (folds None) or leave-block-out predictions of the exact kernel.

    With Pi = Sigma^-1 - Sigma^-1 X S^-1 X'Sigma^-1, a block B left out has the residual
    Pi_BB^-1 (Pi y)_B and the observation covariance Pi_BB^-1 (Dubrule 1983).
    """
    posterior = fit_exact(kernel, obs, noise_variance).posterior
    n = len(obs)
    inverse = posterior.sigma.solve(np.eye(n))
    b = inverse @ obs.rows.trend
    pi = inverse - b @ posterior.schur.solve(b.T) if obs.n_trend else inverse
    alpha = posterior.alpha
    noise = obs.copy_variance(noise_variance) / obs.weight
    if folds is None:
        variance = 1 / np.diag(pi)
        return HeldOut(np.arange(n), np.arange(n), obs.y - variance * alpha, np.maximum(variance - noise, 0.0))

    def one(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
        root = _root(pi[np.ix_(out, out)], out, n)
        residual = linalg.cho_solve((root, True), alpha[out])
        half = linalg.solve_triangular(root, np.eye(len(out))[:, keep], lower=True)
        variance = np.sum(half**2, axis=0) - noise[out][keep]
        return (obs.y[out] - residual)[keep], np.maximum(variance, 0.0)

    return _gather(folds, n, one)


def leave_out_linear(fit: LinearFit, obs: Observations, noise_variance: float, folds: Iterable[Fold] | None) -> HeldOut:
    """Leave-one-out (folds None) or leave-block-out predictions of a feature model.

    With V the posterior covariance of the surface at B and N its precision, the refit has residual
    (I - V N)^-1 r and covariance V (I - N V)^-1. Blocks larger than the number of
    columns are taken out of the moments instead.
    """
    posterior, n = fit.posterior, len(obs)
    features = posterior.features
    precision = row_precision(features, obs, noise_variance)
    missing = features.missing_variance(obs.rows.coords)
    if folds is None:
        return _leave_one_out(fit, obs, precision, missing)
    folds = list(folds)
    largest = max(n - len(train) for train, _ in folds)
    if largest > len(posterior.coef):
        return _gather(folds, n, _by_moments(fit, obs, precision, missing))

    def one(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
        rows, root = obs.rows[out], np.sqrt(precision[out])
        v = posterior.carried_covariance(rows) * root * root[:, None]
        m = _root(np.eye(len(out)) - v, out, n)
        residual = linalg.cho_solve((m, True), root * (obs.y[out] - posterior.mean(rows))) / root
        half = linalg.solve_triangular(m, np.eye(len(out))[:, keep], lower=True)
        variance = (np.sum(half**2, axis=0) - 1) / precision[out][keep] + missing[out][keep]
        return (obs.y[out] - residual)[keep], np.maximum(variance, 0.0)

    return _gather(folds, n, one)


def _leave_one_out(fit: LinearFit, obs: Observations, precision: FloatArray, missing: FloatArray) -> HeldOut:
    posterior, n = fit.posterior, len(obs)
    mean, variance = np.empty(n), np.empty(n)
    for i in posterior.features.slices(n):
        columns = posterior.columns(obs.rows[i])
        v = posterior.factor.quadratic_form(columns)
        share = np.maximum(1 - v * precision[i], 1e-12)
        mean[i] = obs.y[i] - (obs.y[i] - columns @ posterior.coef) / share
        variance[i] = v / share + missing[i]
    return HeldOut(np.arange(n), np.arange(n), mean, variance)


def _by_moments(fit: LinearFit, obs: Observations, precision: FloatArray, missing: FloatArray):  # type: ignore[no-untyped-def]
    posterior = fit.posterior
    features = posterior.features
    p = features.n_columns
    prior = 0.0 if isinstance(posterior.factor, LeastSquares) else 1.0
    whole = moments_of(features, obs.rows, obs.y, precision)

    def one(out: IntArray, keep: IntArray) -> tuple[FloatArray, FloatArray]:
        part = moments_of(features, obs.rows[out], obs.y[out], precision[out])
        system = whole.gram - part.gram
        system[np.arange(p), np.arange(p)] += prior
        factor = cholesky_factor(system, obs.n_trend)
        coef = factor.solve(whole.projection - part.projection)
        test = out[keep]
        mean, variance = np.empty(len(test)), np.empty(len(test))
        for i in features.slices(len(test)):
            columns = posterior.columns(obs.rows[test[i]])
            mean[i] = columns @ coef
            variance[i] = factor.quadratic_form(columns) + missing[test[i]]
        return mean, variance

    return one


def _gather(folds: Iterable[Fold], n: int, one) -> HeldOut:  # type: ignore[no-untyped-def]
    parts: list[tuple[IntArray, IntArray, FloatArray, FloatArray]] = []
    for k, (train, test) in enumerate(folds):
        if not len(train) or not len(test):
            raise InputError(f"fold {k} has {len(train)} training and {len(test)} test rows; both must have some.")
        # rows in neither (a buffer) are removed as well, and not predicted
        left = np.ones(n, dtype=bool)
        left[train] = False
        out = np.flatnonzero(left)
        mean, variance = one(out, np.searchsorted(out, test))
        parts.append((np.asarray(test), np.full(len(test), k), mean, variance))
    index, fold, mean, variance = (np.concatenate([part[j] for part in parts]) for j in range(4))
    return HeldOut(index, fold, mean, variance)


def _root(matrix: FloatArray, out: Sequence[int] | IntArray, n: int) -> FloatArray:
    try:
        return np.asarray(linalg.cholesky(matrix, lower=True))
    except linalg.LinAlgError:
        raise InputError(
            f"leaving out {len(out)} of {n} rows leaves the trend undetermined; use smaller blocks or fewer covariates."
        ) from None
