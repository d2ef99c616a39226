"""The kriging system of very many rows, solved by preconditioned conjugate gradients.

Products with the covariance come from waves and a local remainder; Vecchia's sparse inverse root is the preconditioner.
It knows the near field, the waves know the far field, and a few dozen iterations join them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import Device, device_for
from bochner.device.accelerator import to_host
from bochner.features import CovarianceOperator, covariance_operator
from bochner.features.limits import MAX_DENSE_ROWS
from bochner.features.operators.base import DeviceProducts
from bochner.inference.fits.base import exact_bytes
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, axis_units, total_variance
from bochner.neighbours import inverse_root
from bochner.neighbours.row_products import row_products
from bochner.random import generator
from bochner.resources import current, side_by_side, small_systems
from bochner.solvers import CholeskyFactor, Report, cholesky_factor, conjugate_gradient

logger = logging.getLogger("bochner")

CG_TOLERANCE = 1e-5  # change of the predictions at probes, relative to their spread, at which they have settled
CG_ITERATIONS = 100  # of conjugate gradients; where these do not do, the nearest rows predict
CG_UNKNOWN = 0.005  # part of the surface's sd that is all the accuracy there need be
MANY_CG_ROWS = 200_000  # rows beyond which it is so for changes, too


@dataclass(frozen=True)
class SolvedSystem:
    """(K + noise) [alpha, Sigma^-1 X] = [y - X beta, X], solved.

    Attributes
    ----------
    operator : CovarianceOperator
        Products with K.
    noise : (n,)
        Error variance of each row, lifted so far that the system can be solved.
    alpha, trend_weights : (n,), (n, q)
        Sigma^-1 (y - X beta) and Sigma^-1 X.
    trend_coef : (q,)
        Generalised least squares of the trend, beta.
    schur : CholeskyFactor
        X'Sigma^-1 X and the prior precision of beta, factored.
    report : Report
        How conjugate gradients fared.
    quadratic : float
        (y - X beta)'Sigma^-1 (y - X beta), and what the prior of beta adds.
    log_det : float
        Log determinant of Sigma, by Vecchia's approximation.
    leverage : (n,)
        Diagonal of Sigma^-1, likewise.
    """

    operator: CovarianceOperator
    noise: FloatArray
    alpha: FloatArray
    trend_coef: FloatArray
    trend_weights: FloatArray
    schur: CholeskyFactor
    report: Report
    quadratic: float
    log_det: float
    leverage: FloatArray

    @property
    def settled(self) -> bool:
        """Whether the solution is that of the kernel's system; else it is the preconditioner's."""
        return bool(self.report.details["converged"])

    def as_columns(self, trend: FloatArray) -> FloatArray:
        """Solutions for the trend and for the responses less a trend (q,), side by side."""
        return np.column_stack([self.trend_weights, self.alpha + self.trend_weights @ (self.trend_coef - trend)])


@small_systems()
def solve_system(
    kernel: Kernel,
    obs: Observations,
    noise_variance: float,
    operator: CovarianceOperator | None = None,
    near: SolvedSystem | None = None,
    draft: bool = False,
) -> SolvedSystem:
    """Solve for the responses and the trend side by side, until predictions at probe places settle.

    `near` is the solution of other responses and errors of the same rows, to begin from. A draft, on the way to a mode,
    ends by the residual instead. Few rows are factored where they do not settle soon.
    """
    operator = row_operator(kernel, obs) if operator is None else operator
    if not operator.faithful:
        told = {"converged": False, "why": operator.reason}
        return _assembled(operator, obs, noise_variance, None, Report("nearest rows", len(obs), told))
    noise = row_noise(kernel, obs, noise_variance)
    probes = operator.probes(1_000, generator(0, "probes"))
    device = device_for(1e6 * len(obs))  # operations, about
    root, there = side_by_side(
        lambda: preconditioner_root(kernel, noise, obs.rows.coords),
        lambda: None if device is None else operator.on_device(device, probes),
    )
    columns, trend = right_hand_sides(obs)
    enough = _Enough.of(kernel, root, noise, columns)
    few = can_be_factored(len(obs))
    options: dict[str, Any] = {
        "start": None if near is None or not near.settled else near.as_columns(trend),
        "error": enough.error,
        "tolerance": enough.tolerance,
        "residual": 1e-5 if draft else 1e-8,
        "max_iterations": CG_ITERATIONS // 2 if few else CG_ITERATIONS,
    }
    if device is not None and there is not None:
        solution, report = _solved_there(device, there, noise, root, columns, draft, options)
    else:
        forth, back = row_products(root), row_products(root.T.tocsr())
        solution, report = conjugate_gradient(
            lambda v: operator.apply(v) + noise[:, None] * v,
            lambda v: back(forth(v)),
            columns,
            probe=None if draft else lambda v: operator.cross(probes, v),
            **options,
        )
    found: tuple[FloatArray | None, Report] = (solution, report)
    if not report.details["converged"]:
        found = (None, report) if few else enough.judged(solution, report)
    return _assembled(operator, obs, noise_variance, *found, root)


@dataclass(frozen=True)
class _Enough:
    """How exact the solutions for the trend's columns and for the responses need be.

    What they are for is a part of the surface's sd; at a row of error variance s its variance is s - s^2 [Sigma^-1]_ii.
    What the trend's columns explain enters times the coefficients beside their first guess. Errors are bounded by the
    least sd of all rows, changes of very many rows by the median: some rows may be far more exact than most.

    Attributes
    ----------
    tolerance : float
        Accuracy of what is predicted, relative to its size.
    error : (q + 1,)
        Errors in the norm of Sigma: times the root of the field's variance they bound those of all predictions.
    share : float
        Typical sd of the surface, as a share of the size of the responses.
    """

    tolerance: float
    error: FloatArray
    share: float

    @classmethod
    def of(cls, kernel: Kernel, root: Any, noise: FloatArray, columns: FloatArray) -> _Enough:
        variance = np.maximum(noise - noise**2 * _leverage(root), 1e-4 * noise)  # rounding may leave nothing
        whitened, q = root @ columns, columns.shape[1] - 1
        gram = whitened.T @ whitened
        spread = np.linalg.pinv(gram[:q, :q])
        coef = np.abs(spread @ gram[:q, q]) + np.sqrt(np.diag(spread).clip(min=0.0))
        bound = CG_UNKNOWN * np.sqrt(np.min(variance) / total_variance(kernel))
        error = bound / np.maximum(np.r_[coef, 1.0], 1e-300)
        size = np.sqrt(np.mean(columns[:, q] ** 2))
        share = float(np.sqrt(np.median(variance)) / np.maximum(size, 1e-300))
        many = len(noise) > MANY_CG_ROWS
        return cls(max(CG_TOLERANCE, CG_UNKNOWN * share) if many else CG_TOLERANCE, error, share)

    def judged(self, solution: FloatArray, report: Report) -> tuple[FloatArray | None, Report]:
        """A solution that did not settle, if what it still changed by is small beside the sd; else None."""
        left = report.details["accuracy"] / max(self.share, 1e-300)
        if not left <= 0.05 or report.details["residual"] > 1e-2:
            return None, report
        return solution, Report(report.method, report.size, {**report.details, "converged": True, "left": left})


def _solved_there(
    device: Device,
    products: DeviceProducts,
    noise: FloatArray,
    root: Any,
    columns: FloatArray,
    draft: bool,
    options: dict[str, Any],
) -> tuple[FloatArray, Report]:
    """Conjugate gradients on a device: all of it lies there until it has settled."""
    lifted = device.tensor(noise)[:, None]
    forth, back = device.sparse(root), device.sparse(root.T)
    solution, report = conjugate_gradient(
        lambda v: products.apply(v) + lifted * v,
        lambda v: back @ (forth @ v),
        device.tensor(columns),
        probe=None if draft else products.cross,
        **options | {name: device.tensor(options[name]) for name in ("start", "error") if options[name] is not None},
    )
    return to_host(solution), Report(report.method, report.size, {**report.details, "device": device.label})


def can_be_factored(n_rows: int) -> bool:
    """Whether rows are so few that the factor of their matrix takes seconds, and there is room for it."""
    return n_rows <= MAX_DENSE_ROWS and exact_bytes(n_rows) <= current().room


def nearest_system(kernel: Kernel, obs: Observations, noise_variance: float) -> SolvedSystem:
    """The same by the preconditioner alone: every row given its nearest predecessors."""
    report = Report("nearest rows", len(obs), {"converged": False})
    return _assembled(row_operator(kernel, obs), obs, noise_variance, None, report)


def row_operator(kernel: Kernel, obs: Observations) -> CovarianceOperator:
    """Products with the covariance of the rows."""
    return covariance_operator(kernel, obs.rows.coords, row_box(obs.rows.coords))


def row_box(coords: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where products are prepared for: the box of the rows, and a little around it, where others like them may lie."""
    low, high = coords.min(axis=0), coords.max(axis=0)
    room = 0.01 * (high - low)
    return low - room, high + room


def right_hand_sides(obs: Observations) -> tuple[FloatArray, FloatArray]:
    """Trend and residual as columns, and the first guess of the trend, which keeps large offsets out of them."""
    start = np.asarray(np.linalg.lstsq(obs.rows.trend, obs.y, rcond=None)[0]) if obs.n_trend else np.zeros(0)
    return np.column_stack([obs.rows.trend, obs.y - obs.rows.trend @ start]), start


def _assembled(
    operator: CovarianceOperator,
    obs: Observations,
    noise_variance: float,
    solution: FloatArray | None,
    report: Report,
    root: Any = None,
) -> SolvedSystem:
    """Generalised least squares from a solution of all columns, or from the preconditioner's."""
    q, noise = obs.n_trend, row_noise(operator.kernel, obs, noise_variance)
    root = preconditioner_root(operator.kernel, noise, obs.rows.coords) if root is None else root
    columns, start = right_hand_sides(obs)
    if solution is None:
        solution = root.T @ (root @ columns)
    logger.info("solved: %s", report)
    weights, response, residual = solution[:, :q], solution[:, q], columns[:, q]
    schur = cholesky_factor(obs.rows.trend.T @ weights + obs.trend_prior, q)
    # the first guess of the trend is not where its prior is centred
    beta = schur.solve(weights.T @ residual - obs.trend_prior @ start) if q else np.zeros(0)
    alpha = response - weights @ beta
    coef = beta + start
    return SolvedSystem(
        operator=operator,
        noise=noise,
        alpha=alpha,
        trend_coef=coef,
        trend_weights=weights,
        schur=schur,
        report=report,
        quadratic=float((residual - obs.rows.trend @ beta) @ alpha + coef @ obs.trend_prior @ coef),
        # the last entry of a row of the root is what the row gives its own observation
        log_det=-2 * float(np.sum(np.log(root.data[root.indptr[1:] - 1]))),
        leverage=_leverage(root),
    )


def _leverage(root: Any) -> FloatArray:
    """Diagonal of W'W."""
    return np.asarray(np.bincount(root.indices, root.data**2, root.shape[1]))


def row_noise(kernel: Kernel, obs: Observations, noise_variance: float) -> FloatArray:
    """Error variance of each row, lifted so far that the system can be solved."""
    return np.maximum(obs.copy_variance(noise_variance) / obs.weight, noise_floor(kernel))


def noise_floor(kernel: Kernel) -> float:
    """Least error variance with which the system can be solved; neighbours put right what it smooths."""
    return 1e-9 * total_variance(kernel)


def preconditioner_root(kernel: Kernel, noise: FloatArray, coords: FloatArray) -> Any:
    """Sparse W with W'W close to (K + noise)^-1, each row given 20 predecessors: 10 to 40 iterations."""
    units = axis_units(kernel, np.ptp(coords, axis=0))
    return inverse_root(kernel, noise, coords, 20, units)
