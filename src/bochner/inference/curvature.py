"""Curvature: whether the effect of a covariate is a straight line, or bends.

Beside the linear trend every covariate offers columns, the smoothest first. Their coefficients in a model with all of
them, at a kernel learned beside those taken so far, are a normal law; from it follows how likely the data are with the
columns of some covariates, which share one learned prior variance. Many rows are asked in compact parts, each with a
level of its own: what neighbours share is then no evidence for a bend.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import ConvergenceError
from bochner.families import Family
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.fits.newton import find_mode
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.form import sd_prior
from bochner.inference.learning.forms import blocks_of
from bochner.inference.learning.ladder import rungs, with_shared_trend
from bochner.inference.learning.learn import searched
from bochner.inference.learning.learned import known_noise
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.settings import Domain, Settings
from bochner.inference.observed.task import Task
from bochner.kernels import Kernel, Matern, Separable
from bochner.random import generator

logger = logging.getLogger("bochner")


@dataclass(frozen=True)
class Information:
    """A normal law of coefficients: precision, and precision by mean."""

    precision: FloatArray
    shift: FloatArray

    def log_evidence(self, n_linear: int, columns: IntArray, variance: float) -> float:
        """Log likelihood, up to a constant, with some columns beside the linear ones.

        The columns share one prior variance, which is integrated over; those of the linear ones are flat. `variance` is
        that of the linear predictor.
        """
        kept = np.r_[np.arange(n_linear), columns].astype(np.intp)
        precision, shift = self.precision[np.ix_(kept, kept)], self.shift[kept]
        grid = np.log(variance) + np.linspace(-10.0, 2.0, 25) if len(columns) else np.zeros(1)
        values = []
        for log_variance in grid:
            prior = np.r_[np.zeros(n_linear), np.full(len(columns), len(columns) / np.exp(log_variance))]
            whole = precision + np.diag(prior)
            gain = 0.5 * float(shift @ np.linalg.lstsq(whole, shift, rcond=None)[0])
            density = sd_prior(log_variance, POLICY.effect_rate / np.sqrt(variance))[0] if len(columns) else 0.0
            proper = 0.5 * float(np.sum(np.log(prior[n_linear:])))
            values.append(gain + proper - 0.5 * float(np.linalg.slogdet(whole)[1]) + density)
        step = float(grid[1] - grid[0]) if len(columns) else 1.0
        return float(np.logaddexp.reduce(values) + np.log(step))


def columns_worth(
    settings: Settings, responses: Responses, offered: Sequence[FloatArray], domain: Domain
) -> tuple[int, ...] | None:
    """How many of the columns (n, k) that each covariate offers are worth having; None: the rows could not be asked.

    What a column is worth hangs on the noise, and the noise on the columns that are there: both are asked in turn.
    """
    linear, widths = _standard(responses.rows.trend), [part.shape[1] for part in offered]
    wide = _with_columns(responses, [linear, *offered])
    parts = compact_parts(responses.rows.coords, settings.seed)
    used = np.sort(np.concatenate(parts))
    variance = float(np.var(responses.y - responses.offset)) if responses.gaussian else 1.0
    taken = (0,) * len(offered)
    for tries in range(3):
        held = [part[:, :k] for part, k in zip(offered, taken, strict=True)]
        try:
            field = _field(settings, _with_columns(responses, [responses.rows.trend, *held])[used], domain)
            if field is None:
                return taken if tries else None
            theta, family = field
            steady, about = _steadied(replace(wide[used], family=family))
            found = _information([steady[np.searchsorted(used, rows)] for rows in parts], theta, about)
        except (ConvergenceError, np.linalg.LinAlgError):
            return taken if tries else None
        before, taken = taken, _bends(found, linear.shape[1] - 1, widths, variance)
        if taken == before:
            break
    return taken


def _with_columns(responses: Responses, columns: Sequence[FloatArray]) -> Responses:
    return replace(responses, rows=replace(responses.rows, trend=np.column_stack(columns)))


def _field(settings: Settings, responses: Responses, domain: Domain) -> tuple[Theta, Family] | None:
    """A rough field beside the trend that is there, and the family with its dispersion; None if it is not found."""
    dim = responses.rows.coords.shape[1]
    kernel: Kernel = Matern(nu=0.5)
    if domain.last_is_time:
        kernel = Separable(Matern(nu=0.5), Matern(nu=0.5))
    elif dim > 2 and domain.shared is None:
        kernel = Matern((1.0,) * dim, nu=0.5)
    task = Task.of(replace(settings, kernel=kernel, shrinks=False), responses)
    noise = known_noise(task)[0]
    found = searched(task, rungs(task, None, blocks_of(task)), noise)
    if not found:
        return None
    theta = found[0].theta
    family = task.responses.family
    return theta, family if theta.dispersion is None else family.replace(dispersion=theta.dispersion)


def _information(parts: Sequence[Responses], theta: Theta, about: FloatArray) -> Information:
    """What all parts of the rows tell of the coefficients, but for the levels of the parts.

    `about` are coefficients that the parts have as a known part already; a part that says nothing adds nothing.
    """
    q = len(about)
    precision, shift = np.zeros((q - 1, q - 1)), np.zeros(q - 1)
    engine = ExactEngine(theta.kernel, theta.noise)
    for part in parts:
        try:
            posterior = find_mode(Task.of(Settings(), part).data, engine).posterior
            known = np.linalg.inv(posterior.trend_covariance())
        except (ConvergenceError, np.linalg.LinAlgError) as error:
            logger.debug("a part of %d rows is not asked for bends: %s", len(part), error)
            continue
        assert part.trend_precision is not None
        h, known = known @ posterior.trend_coef, known - part.trend_precision
        h = h + known @ about
        level = known[0, 0]
        precision += known[1:, 1:] - np.outer(known[1:, 0], known[0, 1:]) / level
        shift += h[1:] - known[1:, 0] * h[0] / level
    return Information((precision + precision.T) / 2, shift)


def _steadied(responses: Responses) -> tuple[Responses, FloatArray]:
    """Responses with a weak prior of the trend, and the coefficients that it is about."""
    q = responses.rows.trend.shape[1]
    if responses.gaussian:
        sd = 30 * max(float(np.std(responses.y - responses.offset)), 1e-150)  # of a part that may not tell of all
        return replace(responses, trend_precision=np.eye(q) / sd**2), np.zeros(q)
    return with_shared_trend(responses), fixed_effects(responses).coef


def compact_parts(coords: FloatArray, seed: int, each: int = 600, n_parts: int = 16) -> list[IntArray]:
    """Rows that lie together: all of them up to twice `each`, else up to `n_parts` cells of equal size.

    1,200 rows at once take 1 s, 16 cells 3 s.
    """
    everything = np.arange(len(coords))
    if len(coords) <= 2 * each:
        return [everything]
    extent = np.ptp(coords, axis=0)
    cells = _halved(coords / np.where(extent > 0, extent, 1.0), everything, each)
    chosen = generator(seed, "curvature").permutation(len(cells))[:n_parts]
    return [cells[i] for i in np.sort(chosen)]


def _halved(unit: FloatArray, rows: IntArray, each: int) -> list[IntArray]:
    """Cells, of at most so many rows, of a tree that splits the longest side at its median."""
    if len(rows) <= each:
        return [rows]
    here = unit[rows]
    axis = int(np.argmax(np.ptp(here, axis=0)))
    order = np.argsort(here[:, axis], kind="stable")
    middle = len(rows) // 2
    halves = np.sort(rows[order[:middle]]), np.sort(rows[order[middle:]])
    return [cell for half in halves for cell in _halved(unit, half, each)]


def _bends(found: Information, n_linear: int, widths: Sequence[int], variance: float) -> tuple[int, ...]:
    """Covariates are let bend, each with all of its columns, as long as that makes the data likelier."""
    begins = n_linear + np.cumsum([0, *widths[:-1]])
    each = [np.arange(b, b + k) for b, k in zip(begins, widths, strict=True)]

    def value(taken: Sequence[int]) -> float:
        columns = np.concatenate([np.empty(0, dtype=np.intp), *(each[j] for j in taken)]).astype(np.intp)
        return found.log_evidence(n_linear, columns, variance) + len(taken) * POLICY.addition

    taken: list[int] = []
    best = value(taken)
    while len(taken) < len(widths):
        trials = [[*taken, j] for j in range(len(widths)) if j not in taken]
        values = [value(trial) for trial in trials]
        if max(values) <= best:
            break
        best, taken = max(values), trials[int(np.argmax(values))]
    return tuple(k if j in taken else 0 for j, k in enumerate(widths))


def _standard(trend: FloatArray) -> FloatArray:
    """A constant, and uncorrelated columns of variance one that span what else is in the trend."""
    apart = trend - trend.mean(axis=0)
    left, size, _ = np.linalg.svd(apart, full_matrices=False)
    kept = size > 1e-6 * max(float(np.abs(trend).max()) * np.sqrt(len(trend)), 1e-300)
    return np.column_stack([np.ones(len(trend)), left[:, kept] * np.sqrt(len(trend))])
