"""Curvature: whether the effect of a covariate is a straight line, and with how many columns it bends if it is not.

Beside the linear trend every covariate offers columns, the smoothest first. Their coefficients in a model with all of
them, at a kernel learned beside those taken so far, are a normal law; from it follows how likely the data are with any
part of the columns, by the rule of a prior that knows as much as one row (Kass and Wasserman's unit information). Many
rows are asked in compact parts, each with a level of its own: what neighbours share is then no evidence for a bend.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import ConvergenceError
from bochner.families import Family
from bochner.inference import limits
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.fits.newton import find_mode
from bochner.inference.observed.domain import Domain
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.settings import Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.tuning.first_rows import begun_on_some
from bochner.inference.tuning.learning import known_noise
from bochner.inference.tuning.limits import SETTLED
from bochner.inference.tuning.objectives import gaussian_objectives, laplace_objectives, with_shared_trend
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.kernels import Kernel, Matern, Separable
from bochner.random import generator

logger = logging.getLogger("bochner")


@dataclass(frozen=True)
class Information:
    """A normal law of coefficients: precision, and precision by mean."""

    precision: FloatArray
    shift: FloatArray

    def gain(self, columns: IntArray) -> float:
        """Log likelihood that these columns add, at their best."""
        part = self.precision[np.ix_(columns, columns)]
        h = self.shift[columns]
        return 0.5 * float(h @ np.linalg.lstsq(part, h, rcond=None)[0]) if len(columns) else 0.0


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
    n = float(responses.weight[used].sum())
    taken = (0,) * len(offered)
    for tries in range(limits.CURVATURE_ROUNDS):
        held = [part[:, :k] for part, k in zip(offered, taken, strict=True)]
        try:
            tuned, family = _field(settings, _with_columns(responses, [responses.rows.trend, *held])[used], domain)
            if tuned.failed:
                return taken if tries else None
            steady, about = _steadied(replace(wide[used], family=family))
            found = _information([steady[np.searchsorted(used, rows)] for rows in parts], tuned, about)
        except (ConvergenceError, np.linalg.LinAlgError):
            return taken if tries else None
        before, taken = taken, _greedy(found, linear.shape[1] - 1, widths, n)
        if taken == before:
            break
    return taken


def _with_columns(responses: Responses, columns: Sequence[FloatArray]) -> Responses:
    return replace(responses, rows=replace(responses.rows, trend=np.column_stack(columns)))


def _field(settings: Settings, responses: Responses, domain: Domain) -> tuple[Tuned, Family]:
    """A rough field beside the trend that is there, and the family with its dispersion."""
    dim = responses.rows.coords.shape[1]
    kernel: Kernel = Matern(nu=0.5)
    if domain.last_is_time:
        kernel = Separable(Matern(nu=0.5), Matern(nu=0.5))
    elif dim > 2 and domain.shared is None:
        kernel = Matern((1.0,) * dim, nu=0.5)
    task = Task.of(replace(settings, kernel=kernel), responses)
    noise, scheme = known_noise(task)[0], scheme_named("exact")
    objectives = gaussian_objectives(task, scheme)[0] if task.gaussian else laplace_objectives(task, scheme)[0]
    first = objectives[0]
    search = Search(first, task.scale, noise)
    begun: tuple[Tuned, ...] = ()
    if isinstance(task.data, Responses):  # all of them would be dear to rank starts by
        begun = begun_on_some(search, task.data, kernel, settings.seed).peaks[:1]
    tuned = next((search.maximise(t.kernel, t.noise_variance, tolerance=SETTLED) for t in begun), None)
    if tuned is None or tuned.failed:
        tuned = tune(search, kernel, n_climbs=1, tolerance=SETTLED)
    if not isinstance(first, LaplaceObjective):
        return tuned, responses.family
    if first.learns and not tuned.failed:
        first.settle(tuned.kernel, tuned.noise_variance)
    return tuned, first.family


def _information(parts: Sequence[Responses], tuned: Tuned, about: FloatArray) -> Information:
    """What all parts of the rows tell of the coefficients, but for the levels of the parts.

    `about` are coefficients that the parts have as a known part already; a part that says nothing adds nothing.
    """
    q = len(about)
    precision, shift = np.zeros((q - 1, q - 1)), np.zeros(q - 1)
    engine = ExactEngine(tuned.kernel, tuned.noise_variance)
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
        spread = max(float(np.var(responses.y - responses.offset)), 1e-300)
        return replace(responses, trend_precision=np.eye(q) / (limits.WEAK_EFFECT_SD**2 * spread)), np.zeros(q)
    return with_shared_trend(responses), fixed_effects(responses).coef


def compact_parts(coords: FloatArray, seed: int) -> list[IntArray]:
    """Rows that lie together: all of them where they are few, else up to a number of cells of equal size."""
    everything = np.arange(len(coords))
    if len(coords) <= limits.MAX_CURVATURE_ROWS:
        return [everything]
    extent = np.ptp(coords, axis=0)
    cells = _halved(coords / np.where(extent > 0, extent, 1.0), everything)
    chosen = generator(seed, "curvature").permutation(len(cells))[: limits.CURVATURE_PARTS]
    return [cells[i] for i in np.sort(chosen)]


def _halved(unit: FloatArray, rows: IntArray) -> list[IntArray]:
    """Cells of a tree that splits the longest side at its median."""
    if len(rows) <= limits.CURVATURE_PART_ROWS:
        return [rows]
    here = unit[rows]
    axis = int(np.argmax(np.ptp(here, axis=0)))
    order = np.argsort(here[:, axis], kind="stable")
    middle = len(rows) // 2
    return [*_halved(unit, np.sort(rows[order[:middle]])), *_halved(unit, np.sort(rows[order[middle:]]))]


def _greedy(found: Information, n_linear: int, widths: Sequence[int], n: float) -> tuple[int, ...]:
    """Columns are added to the covariate that gains most by them, until none gains more than they cost."""
    begins = n_linear + np.cumsum([0, *widths[:-1]])
    toll = limits.CURVE_TOLL + np.log(len(widths))  # of many lines that are asked, one bends by chance sooner

    def value(taken: Sequence[int]) -> float:
        bends = [np.arange(b, b + k) for b, k in zip(begins, taken, strict=True)]
        cost = 0.5 * sum(taken) * np.log(n) + toll * np.count_nonzero(taken)
        return found.gain(np.concatenate([np.arange(n_linear), *bends]).astype(np.intp)) - float(cost)

    taken = [0] * len(widths)
    best = value(taken)
    while True:
        trials = [
            [*taken[:j], k, *taken[j + 1 :]] for j, most in enumerate(widths) for k in range(taken[j] + 1, most + 1)
        ]
        values = [value(trial) for trial in trials]
        if not values or max(values) <= best:
            return tuple(taken)
        best = max(values)
        taken = trials[int(np.argmax(values))]


def _standard(trend: FloatArray) -> FloatArray:
    """A constant, and uncorrelated columns of variance one that span what else is in the trend."""
    apart = trend - trend.mean(axis=0)
    left, size, _ = np.linalg.svd(apart, full_matrices=False)
    kept = size > limits.COLLINEAR_EFFECT * max(float(np.abs(trend).max()) * np.sqrt(len(trend)), 1e-300)
    return np.column_stack([np.ones(len(trend)), left[:, kept] * np.sqrt(len(trend))])
