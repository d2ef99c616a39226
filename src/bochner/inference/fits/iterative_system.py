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
from bochner.inference.fits import limits
from bochner.inference.fits.memory import exact_bytes
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, axis_units, total_variance
from bochner.neighbours import inverse_root
from bochner.neighbours.row_products import row_products
from bochner.random import generator
from bochner.resources import current, side_by_side, small_systems
from bochner.solvers import CholeskyFactor, Report, cholesky_factor, conjugate_gradient
from bochner.solvers.conjugate_gradient import Operator

logger = logging.getLogger("bochner")


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
    tolerance: float,
    operator: CovarianceOperator | None = None,
    near: SolvedSystem | None = None,
    unwatched: bool = False,
) -> SolvedSystem:
    """Solve for the responses and the trend side by side, until predictions at probe places settle to a tolerance.

    `near` is the solution of other responses and errors of the same rows, to begin from; `unwatched` ends by the
    residual instead, on the way to a mode.
    """
    operator = row_operator(kernel, obs) if operator is None else operator
    if not operator.faithful:
        told = {"converged": False, "why": operator.reason}
        return _assembled(operator, obs, noise_variance, None, Report("nearest rows", len(obs), told))
    noise = row_noise(kernel, obs, noise_variance)
    probes = operator.probes(limits.CG_PROBES, generator(0, "probes"))
    device = device_for(limits.CG_WORK_PER_ROW * len(obs))
    root, there = side_by_side(
        lambda: preconditioner_root(kernel, noise, obs.rows.coords),
        lambda: None if device is None or unwatched else operator.on_device(device, probes),
    )
    columns, trend = _right_hand_sides(obs)
    start = None if near is None or not near.settled else near.as_columns(trend)
    enough = _Enough.of(tolerance, kernel, root, noise, columns)
    error = None if unwatched else enough.error
    options: dict[str, Any] = {"residual": limits.DENSE_DRAFT_RESIDUAL if unwatched else limits.CG_RESIDUAL}
    few = can_be_factored(len(obs))
    options["max_iterations"] = limits.FEW_CG_ITERATIONS if few else limits.CG_ITERATIONS
    if device is not None and there is not None:
        options |= {"tolerance": min(enough.tolerances), "error": device.tensor(enough.error)}
        solution, report = _solved_there(device, there, noise, root, columns, start, options)
    else:
        forth, back = row_products(root), row_products(root.T.tocsr())
        solution, report = _in_turn(
            lambda v: operator.apply(v) + noise[:, None] * v,
            lambda v: back(forth(v)),
            columns,
            enough.tolerances,
            start,
            error,
            probe=None if unwatched else lambda v: operator.cross(probes, v),
            **options,
        )
    found: tuple[FloatArray | None, Report] = (solution, report)
    if not report.details["converged"]:
        found = (None, report) if few else enough.judged(solution, report)
    return _assembled(operator, obs, noise_variance, *found, root)


def _in_turn(
    apply: Operator,
    precondition: Operator,
    columns: FloatArray,
    tolerances: tuple[float, float],
    start: FloatArray | None,
    error: FloatArray | None,
    **options: Any,
) -> tuple[FloatArray, Report]:
    """Solve for the trend's columns, then for the responses: each goes on only as long as it must; few rows at once."""
    n_first = columns.shape[1] - 1 if len(columns) > limits.MANY_CG_ROWS else 0
    solution, details = np.empty_like(columns), []
    for part, tolerance in zip((slice(0, n_first), slice(n_first, None)), tolerances, strict=True):
        if columns[:, part].shape[1]:
            begin = None if start is None else start[:, part]
            least = None if error is None else error[part]
            solution[:, part], report = conjugate_gradient(
                apply, precondition, columns[:, part], start=begin, tolerance=tolerance, error=least, **options
            )
            details.append(report.details)
    worst: dict[str, Any] = {name: max(one[name] for one in details) for name in ("iterations", "residual")}
    settled = all(one["converged"] for one in details)
    worst |= {"accuracy": details[-1]["accuracy"], "converged": settled}
    if "bounded" in details[-1]:  # the responses
        worst["bounded"] = True
    return solution, Report("conjugate gradients", len(columns), worst)


@dataclass(frozen=True)
class _Enough:
    """How exact the solutions for the trend's columns and for the responses need be.

    What they are for is a part of the surface's sd; at a row of error variance s its variance is s - s^2 [Sigma^-1]_ii.
    What the trend's columns explain enters times the coefficients beside their first guess. Errors are bounded by the
    least sd of all rows, changes by the median: some rows may be far more exact than most.

    Attributes
    ----------
    tolerances : (float, float)
        Accuracies of what is predicted from the trend's columns and from the responses, relative to their size.
    error : (q + 1,)
        Errors in the norm of Sigma: times the root of the field's variance they bound those of all predictions.
    share : float
        Typical sd of the surface, as a share of the size of the responses.
    """

    tolerances: tuple[float, float]
    error: FloatArray
    share: float

    @classmethod
    def of(cls, tolerance: float, kernel: Kernel, root: Any, noise: FloatArray, columns: FloatArray) -> _Enough:
        variance = noise - noise**2 * _leverage(root)
        sd, least = (
            float(np.sqrt(each))
            for each in (max(np.median(variance), 0.0), np.min(np.maximum(variance, limits.CG_LEAST_KNOWN * noise)))
        )
        size, q = np.sqrt(np.mean(columns**2, axis=0)), columns.shape[1] - 1
        whitened = root @ columns
        gram = whitened.T @ whitened
        spread = np.linalg.pinv(gram[:q, :q])
        coef = np.abs(spread @ gram[:q, q]) + np.sqrt(np.diag(spread).clip(min=0.0))
        bound = limits.CG_UNKNOWN * least / np.sqrt(total_variance(kernel))
        error = bound / np.maximum(np.r_[coef, 1.0], 1e-300)
        share = float(sd / np.maximum(size[-1], 1e-300))
        if len(noise) <= limits.MANY_CG_ROWS:
            return cls((tolerance, tolerance), error, share)
        trend = limits.CG_TREND_UNKNOWN * sd / max(float((coef * size[:q]).max(initial=0.0)), 1e-300)
        trend = min(trend, limits.CG_TREND_TOLERANCE)
        return cls((max(tolerance, trend), max(tolerance, limits.CG_UNKNOWN * share)), error, share)

    def judged(self, solution: FloatArray, report: Report) -> tuple[FloatArray | None, Report]:
        """A solution that did not settle, if what it still changed by is small beside the sd; else None."""
        left = report.details["accuracy"] / max(self.share, 1e-300)
        if not left <= limits.CG_TOLERATED or report.details["residual"] > limits.CG_FALLEN:
            return None, report
        return solution, Report(report.method, report.size, {**report.details, "converged": True, "left": left})


def _solved_there(
    device: Device,
    products: DeviceProducts,
    noise: FloatArray,
    root: Any,
    columns: FloatArray,
    start: FloatArray | None,
    options: dict[str, Any],
) -> tuple[FloatArray, Report]:
    """Conjugate gradients on a device: all of it lies there until it has settled."""
    lifted = device.tensor(noise)[:, None]
    forth, back = device.sparse(root), device.sparse(root.T)
    solution, report = conjugate_gradient(
        lambda v: products.apply(v) + lifted * v,
        lambda v: back @ (forth @ v),
        device.tensor(columns),
        start=None if start is None else device.tensor(start),
        probe=products.cross,
        **options,
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
    room = limits.BOX_ROOM * (high - low)
    return low - room, high + room


def _right_hand_sides(obs: Observations) -> tuple[FloatArray, FloatArray]:
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
    columns, start = _right_hand_sides(obs)
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
    """Least error variance with which the system can be solved."""
    return limits.LEAST_CG_NOISE * total_variance(kernel)


def preconditioner_root(kernel: Kernel, noise: FloatArray, coords: FloatArray) -> Any:
    """Sparse W with W'W close to (K + noise)^-1."""
    units = axis_units(kernel, np.ptp(coords, axis=0))
    return inverse_root(kernel, noise, coords, limits.PRECONDITIONER_NEIGHBOURS, units)
