"""Gaussian inference on very many rows: conjugate gradients on the exact covariance.

Products with the covariance come from waves and a local remainder; Vecchia's sparse inverse root is the preconditioner.
It knows the near field, the waves know the far field, and a few dozen iterations join them.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ApproximationWarning
from bochner.features import CovarianceOperator, covariance_operator
from bochner.inference.companion import companion as waves_beside
from bochner.inference.observations import Observations
from bochner.kernels import Kernel, axis_units, total_variance
from bochner.neighbours import inverse_root
from bochner.posterior import OperatorPosterior
from bochner.random import generator
from bochner.solvers import Report, cholesky_factor, conjugate_gradient

logger = logging.getLogger("bochner")

PRECONDITIONER_NEIGHBOURS = 20
N_PROBES = 1_000
LEAST_NOISE = 1e-9  # of the variance, in the system of all rows; neighbours then put right what it smooths


@dataclass(frozen=True)
class OperatorFit:
    """Posterior by conjugate gradients, and how likely the data are (log determinant by Vecchia)."""

    posterior: OperatorPosterior
    log_evidence: float
    log_likelihood: float
    reason: str
    leverage: FloatArray  # diagonal of the inverse covariance, for leaving one out


def fit_operator(
    kernel: Kernel,
    obs: Observations,
    noise_variance: float,
    *,
    box: tuple[FloatArray, FloatArray] | None = None,
    n_jobs: int | None = None,
    quiet: bool = False,
    companion: bool = True,
    tolerance: float = 1e-5,
) -> OperatorFit:
    """Solve (K + noise) [alpha, Sigma^-1 X] = [y, X]; linear in the number of rows, apart from FFTs."""
    coords, n, q = obs.rows.coords, len(obs), obs.n_trend
    box = (coords.min(axis=0), coords.max(axis=0)) if box is None else box
    floor = LEAST_NOISE * total_variance(kernel)
    noise = row_noise(kernel, obs, noise_variance)
    operator = covariance_operator(kernel, coords, box, n_jobs)
    root = inverse_root(kernel, noise, coords, PRECONDITIONER_NEIGHBOURS, axis_units(kernel, np.ptp(coords, axis=0)))
    back = root.T.tocsr()
    # a first guess of the trend keeps large offsets out of the iteration
    start = np.linalg.lstsq(obs.rows.trend, obs.y, rcond=None)[0] if q else np.zeros(0)
    residual = obs.y - obs.rows.trend @ start
    probes = operator.probes(N_PROBES, generator(0, "probes"))
    columns = np.column_stack([obs.rows.trend, residual])
    if operator.faithful:
        solution, report = conjugate_gradient(
            lambda v: operator.apply(v) + noise[:, None] * v,
            lambda v: back @ (root @ v),
            columns,
            probe=lambda v: operator.cross(probes, v),
            tolerance=tolerance,
        )
    else:
        report = Report("nearest rows", n, {"converged": False})
    if not report.details["converged"]:
        solution = back @ (root @ columns)
    weights, response = solution[:, :q], solution[:, q]
    schur = cholesky_factor(obs.rows.trend.T @ weights, q)
    beta = schur.solve(weights.T @ residual) if q else np.zeros(0)
    alpha = response - weights @ beta
    details = report.details
    logger.info("solved: %s", report)
    reason = _reason(operator, report)
    nearly_singular = float(np.median(obs.copy_variance(noise_variance))) < floor  # neighbours interpolate as well
    if operator.faithful and not details["converged"] and not quiet and not nearly_singular:
        warnings.warn(
            f"conjugate gradients stopped unsettled after {details['iterations']} iterations "
            f"(residual {details['residual']:.1e}); "
            f"means are taken from the nearest rows instead. A larger noise_variance makes the system easier.",
            ApproximationWarning,
            stacklevel=2,
        )
    waves = waves_beside(kernel, obs, noise_variance, box) if companion else None
    posterior = OperatorPosterior(
        kernel=kernel,
        rows=obs.rows,
        noise=obs.copy_variance(noise_variance) / obs.weight,
        lifted=noise,
        alpha=alpha,
        trend_coef=beta + start,
        trend_weights=weights,
        schur=schur,
        box=box,
        report=report,
        y=obs.y,
        companion=waves.posterior if waves is not None else None,
        _cache={"operator": operator},
    )
    log_det = -2 * float(np.sum(np.log(last_entries(root))))
    fit = -0.5 * (log_det + float(residual @ alpha)) + obs.replicate_terms(max(noise_variance, floor))[0]
    log_likelihood = fit - 0.5 * n * np.log(2 * np.pi)
    log_evidence = fit - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * schur.logdet()
    leverage = np.asarray(root.multiply(root).sum(axis=0)).ravel()
    return OperatorFit(posterior, log_evidence, log_likelihood, reason, leverage)


def _reason(operator: CovarianceOperator, report: Report) -> str:
    if not operator.faithful:
        return f"kriging from the nearest of {report.size:,} rows: {operator.reason}"
    if not report.details["converged"]:
        return f"kriging from the nearest of {report.size:,} rows: conjugate gradients on all of them do not settle"
    return (
        f"conjugate gradients on {report.size:,} rows: {report.details['iterations']} iterations, residual "
        f"{report.details['residual']:.0e}, {operator.how}"
    )


def row_noise(kernel: Kernel, obs: Observations, noise_variance: float) -> FloatArray:
    """Error variance of each row, lifted so far that the system can be solved."""
    floor = LEAST_NOISE * total_variance(kernel)
    return np.maximum(obs.copy_variance(noise_variance) / obs.weight, floor)


def last_entries(root) -> FloatArray:  # type: ignore[no-untyped-def]
    """Diagonal of the root in its own order: what each row gives its own observation."""
    return np.asarray(root.data[root.indptr[1:] - 1])
