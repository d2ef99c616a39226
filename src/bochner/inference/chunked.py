"""Fits of rows that are read in parts: a plan from a sample, then sums over all rows, then the model.

A Gaussian model needs one pass. Of another family each pass is one Newton step: rows are linearised at the linear
predictor that the coefficients of the last pass give them, and the effect that each row has of its own is eliminated on
the way. Sums add, so the parts may come in any order and from any machine.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice, collected
from bochner.exceptions import ConvergenceError, InputError, PartError
from bochner.families import Family
from bochner.features import FeatureMap, FourierMap, wave_dtype
from bochner.inference.fits.base import LEAST_ROW_VARIANCE
from bochner.inference.fits.fixed_effects import (
    MAX_NEWTON_STEPS,
    SMALLEST_NEWTON_STEP,
    held_where_separated,
    information_of,
)
from bochner.inference.fits.folds import Fold
from bochner.inference.fits.linear import LinearEngine, LinearFit, row_precision
from bochner.inference.fits.newton import find_mode
from bochner.inference.learning.learn import learn
from bochner.inference.model import Model
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.settings import Domain, Settings
from bochner.inference.observed.task import Task, unit_of
from bochner.inference.schemes.base import Scheme
from bochner.inference.schemes.choose import choose, scheme_named
from bochner.inference.schemes.lattice_scheme import LatticeScheme, lattice_waves
from bochner.inference.schemes.rule_waves import FeatureScheme
from bochner.kernels import Kernel, Matern, Scale, total_variance
from bochner.moments import DenseMoments, FourierSums, dense_moments, fourier_sums
from bochner.posterior import Mixture

logger = logging.getLogger("bochner")


@dataclass(frozen=True)
class RowSums:
    """Everything that a step needs to know of some rows; parts add.

    Attributes
    ----------
    moments : FourierSums or DenseMoments
        Of the rows, or of the Gaussian observations that stand for them.
    copies : float
        What weights take out of the log density of copies.
    value : float
        Log likelihood, less the penalty of the rows' own effects; 0 of Gaussian rows.
    correction : float
        What Laplace's approximation adds to the Gaussian evidence.
    """

    moments: FourierSums | DenseMoments
    copies: float
    value: float = 0.0
    correction: float = 0.0

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(
            self.moments + other.moments,  # type: ignore[operator]
            self.copies + other.copies,
            self.value + other.value,
            self.correction + other.correction,
        )


@dataclass(frozen=True)
class WavePlan:
    """What is decided before the rows are summed: features, hyperparameters, family.

    Attributes
    ----------
    features : FeatureMap
    kernel : Kernel
    noise_variance : float
    family : Family
        With its dispersion.
    scheme : str
    scale : Scale
    choices : tuple of Choice
    n_frequencies, kernel_error, at_bounds
        As of `Model`.
    start : (p + q,) or None
        Coefficients to begin Newton's method from; None: one pass does.
    trend_precision : (q, q) or None
    rough : bool
        Whether the waves leave out more of the field than the rows could tell.
    """

    features: FeatureMap
    kernel: Kernel
    noise_variance: float
    family: Family
    scheme: str
    scale: Scale
    choices: tuple[Choice, ...]
    n_frequencies: int | None = None
    kernel_error: float | None = None
    at_bounds: tuple[str, ...] = ()
    start: FloatArray | None = None
    trend_precision: FloatArray | None = None
    rough: bool = False

    @property
    def engine(self) -> LinearEngine:
        """What makes a fit of sums."""
        return LinearEngine(self.features, self.noise_variance)

    def sums(self, responses: Responses, coef: FloatArray | None = None) -> RowSums:
        """Sums of some rows; of other families than the Gaussian, seen from these coefficients."""
        rows = replace(responses.with_weight(), family=self.family)
        if self.features.outside(rows.rows.coords).any():
            n = int(self.features.outside(rows.rows.coords).sum())
            raise InputError(
                f"{n:,} rows lie outside the box that the waves cover; name the whole region in the first fit "
                f"(predict_at), so that the waves cover it."
            )
        if coef is None:
            obs = rows.observations()
            return RowSums(self._moments(obs), self._copies(obs))
        eta, own = self._eta(rows, coef)
        linearised = rows.linearised(eta)
        obs = linearised.observations()
        value = rows.log_likelihood(eta) - 0.5 * float(np.sum(rows.weight * own))
        return RowSums(self._moments(obs), self._copies(obs), value, linearised.correction())

    @classmethod
    def of(cls, model: Model, features: FeatureMap, trend_precision: FloatArray | None = None) -> WavePlan:
        """The plan behind a model of waves."""
        return cls(
            features,
            model.kernel,
            model.noise_variance,
            model.family,
            model.scheme,
            model.scale,
            model.choices,
            model.n_frequencies,
            model.kernel_error,
            trend_precision=trend_precision,
        )

    def working(self, responses: Responses, coef: FloatArray) -> Observations:
        """Gaussian observations that stand for some rows with a weight: themselves, or seen from coefficients."""
        rows = replace(responses, family=self.family)
        return rows.observations() if rows.gaussian else rows.linearised(self._eta(rows, coef)[0]).observations()

    def fit(self, sums: RowSums) -> LinearFit:
        """Posterior from sums."""
        moments = self.dense(sums)
        return self.engine.fit_moments(moments, len(moments.projection) - self.features.n_columns)

    def dense(self, sums: RowSums) -> DenseMoments:
        """Sums as moments of the features' columns, the prior of the trend among them."""
        moments = sums.moments
        if isinstance(moments, FourierSums):
            assert isinstance(self.features, FourierMap)
            moments = moments.scaled(self.features.frequencies.mass, copies=sums.copies)
        else:
            moments = replace(moments, copies=sums.copies)
        q = len(moments.projection) - self.features.n_columns
        if self.trend_precision is not None and q:
            gram = moments.gram.copy(order="F")
            gram[-q:, -q:] += self.trend_precision
            moments = replace(moments, gram=gram)
        return moments

    def model(self, fit: LinearFit, correction: float = 0.0, steps: int = 1) -> Model:
        """The model of a fit."""
        solver = fit.solver
        if self.start is not None:
            solver = Choice("solver", solver.value, solver.reason, text=f"{steps} Newton steps, a pass each; {solver}")
        return Model(
            mixture=Mixture([fit.posterior], np.ones(1), np.array([self.noise_variance])),
            kernel=self.kernel,
            scheme=self.scheme,
            scale=self.scale,
            log_evidence=fit.log_evidence + correction,
            log_likelihood=fit.log_likelihood + correction,
            choices=tuple(collected((*self.choices, solver)).values()),
            family=self.family,
            n_frequencies=self.n_frequencies,
            kernel_error=self.kernel_error,
            at_bounds=self.at_bounds,
            _fits=(fit,),
        )

    def penalty(self, coef: FloatArray) -> float:
        """What the prior of the coefficients takes off the log likelihood."""
        p = self.features.n_columns
        trend = coef[p:]
        prior = 0.0 if self.trend_precision is None else float(trend @ self.trend_precision @ trend)
        return 0.5 * (float(coef[:p] @ coef[:p]) + prior)

    def _moments(self, obs: Observations) -> FourierSums | DenseMoments:
        precision = row_precision(self.features, obs, self.noise_variance)
        if isinstance(self.features, FourierMap) and self.features.frequencies.lattice is not None:
            return fourier_sums(self.features.frequencies, obs.rows, obs.y, precision)
        return dense_moments(self.features, obs.rows, obs.y, precision)

    def _copies(self, obs: Observations) -> float:
        if np.all(obs.weight == 1):
            return 0.0
        prior = float(np.mean(self.features.prior_variance(obs.rows.coords[:1])))
        return obs.replicate_terms(max(self.noise_variance, LEAST_ROW_VARIANCE * prior))[0]

    def _eta(self, rows: Responses, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Linear predictor of each row with the best effect of its own, and the square of that over its variance."""
        p = self.features.n_columns
        mean = rows.offset + self.features.forward(rows.rows.coords, coef[:p]) + rows.rows.trend @ coef[p:]
        variance = self.features.missing_variance(rows.rows.coords) + self.noise_variance + rows.error
        if not np.any(variance > 0):
            return mean, np.zeros(len(rows))
        variance = np.maximum(variance, LEAST_ROW_VARIANCE)
        eta = mean.copy()
        for _ in range(60):
            d = rows.family.derivatives(rows.y, eta, rows.size)
            step = (d.score - (eta - mean) / variance) / (np.maximum(d.curvature, 0.0) + 1 / variance)
            step = np.clip(step, -3.0, 3.0)  # on the scale of the link: none overshoots by more
            eta += step
            if np.max(np.abs(step)) < 1e-11:
                break
        return eta, (eta - mean) ** 2 / variance


@dataclass(frozen=True)
class Climb:
    """Where Newton's method stands between two passes."""

    coef: FloatArray | None  # to be seen from in the next pass
    best: FloatArray | None = None  # of the largest value so far
    value: float = -np.inf
    share: float = 1.0  # of the last full step that `coef` is
    n_steps: int = 0

    def after(self, plan: WavePlan, sums: RowSums) -> tuple[Climb, LinearFit | None]:
        """The state after a pass, and the fit where it is the last one."""
        if self.coef is None:
            return self, plan.fit(sums)
        value = sums.value - plan.penalty(self.coef)
        if not np.isfinite(value) or value < self.value - 1e-12 * abs(self.value):
            if self.best is None or self.share < SMALLEST_NEWTON_STEP:
                raise ConvergenceError("Newton's method left the domain of the link; take another family or link.")
            back = replace(self, coef=(self.coef + self.best) / 2, share=self.share / 2, n_steps=self.n_steps + 1)
            return back, None
        fit = plan.fit(sums)
        done = value - self.value <= plan.engine.newton_tolerance * (1 + abs(value))
        if done:
            return replace(self, n_steps=self.n_steps + 1), fit
        if self.n_steps >= MAX_NEWTON_STEPS:
            raise ConvergenceError(f"Newton's method did not settle in {self.n_steps} passes; fit a part of the rows.")
        logger.info("Newton step %d: penalised log likelihood %.6f", self.n_steps + 1, value)
        return Climb(np.asarray(fit.posterior.coef), self.coef, value, 1.0, self.n_steps + 1), None


Total = Callable[[WavePlan, FloatArray | None], RowSums]
"""One pass: a plan and coefficients to the sums of all rows."""


def solve(plan: WavePlan, total: Total) -> Model:
    """One pass for Gaussian rows, one per Newton step for others."""
    climb = Climb(plan.start)
    while True:
        sums = total(plan, climb.coef)
        climb, fit = climb.after(plan, sums)
        if fit is not None:
            return plan.model(fit, sums.correction, max(climb.n_steps, 1))


def plan_waves(
    settings: Settings,
    sample: Responses,
    n_rows: int,
    folds: Sequence[Fold] | None = None,
    domain: Domain | None = None,
) -> WavePlan:
    """Scheme, hyperparameters and features for `n_rows` rows, from a sample of them."""
    _refuse(settings, sample)
    responses, held = held_where_separated(sample)
    task = Task.of(settings, responses, folds, domain)
    chosen = _chosen(settings, n_rows, task.dim)
    scheme = scheme_named(chosen.value)
    learned = learn(task, scheme)
    if isinstance(task.data, Responses):
        task = replace(task, data=replace(task.data, family=learned.family))
    kernel, noise = learned.average.pairs[0]
    features, choices, error, rough = _features(task, scheme, kernel, noise, n_rows)
    text = f"{len(sample):,} of {n_rows:,} rows, drawn while reading, tuned the model; all of them are in its sums"
    told = (chosen, Choice("rows", n_rows, text=text), *held, *learned.choices, *choices)
    n_waves = features.n_columns // 2 if isinstance(features, FourierMap) else features.n_columns
    plan = WavePlan(
        features,
        kernel,
        noise,
        learned.family,
        scheme.name,
        task.scale,
        tuple(collected(told).values()),
        n_waves,
        error,
        learned.at_bounds,
        None,
        responses.trend_precision,
        rough,
    )
    if task.gaussian:
        return plan
    return replace(plan, start=np.asarray(find_mode(task.data, plan.engine).fit.posterior.coef))  # type: ignore[attr-defined]


def _features(
    task: Task, scheme: Scheme, kernel: Kernel, noise: float, n_rows: int
) -> tuple[FeatureMap, tuple[Choice, ...], float | None, bool]:
    """Features for all rows, what is to be said of them, the error of the kernel, whether they leave out too much."""
    at_row = noise + task.noise_of_row
    if isinstance(scheme, LatticeScheme):
        told = None if isinstance(task.data, Observations) else information_of(task.data)[1]
        last = "with rows that are read in parts"
        given = (task.settings, kernel, at_row, n_rows, task.covered_box)
        waves = lattice_waves(*given, information=told)
        rough = waves.features is None
        if rough:
            waves = lattice_waves(*given, last=last, information=told)
        assert waves.features is not None
        return waves.features, (waves.choice,), waves.error, rough
    assert isinstance(scheme, FeatureScheme)
    number = scheme.number(task, kernel)
    features, precision = scheme.features(task, kernel, number.m, at_row)
    if isinstance(features, FourierMap) and task.settings.resources.dtype == "auto":
        kind = wave_dtype(n_rows, total_variance(kernel), at_row)
        features = replace(features, dtype=kind)
        precision = Choice("dtype", np.dtype(kind).name, "rounding of waves, beside the noise of so many rows")
    return features, (number.choice, precision), number.error, False


def _chosen(settings: Settings, n_rows: int, dim: int) -> Choice:
    """A scheme whose features add up over rows."""
    kernel = Matern() if settings.kernel is None else settings.kernel
    kernel.check_dim(dim)
    if settings.features == "auto":
        name = "nystroem" if not kernel.stationary else "lattice" if dim <= 3 else "orthogonal"
        return Choice("features", name, f"{n_rows:,} rows in {dim} dimension(s), summed part by part")
    scheme = scheme_named(settings.features)
    if not isinstance(scheme, (LatticeScheme, FeatureScheme)):
        raise PartError(
            f"features={settings.features!r} with rows that are read in parts: it looks at all of them at once. Take "
            f"'auto', 'lattice', 'orthogonal' or 'nystroem', or give a table in memory."
        )
    return choose(n_rows, dim, settings.kernel, features=settings.features)


def _refuse(settings: Settings, sample: Responses) -> None:
    if sample.rows.has_areas:
        raise PartError("means over areas with rows that are read in parts; give points, or a table in memory.")
    if sample.family.reweighted:
        raise PartError(
            f"family={sample.family.name!r} with rows that are read in parts: it learns a weight of each row. Take "
            f"'gaussian', or give a table in memory."
        )
    if unit_of(sample) != 1:
        raise InputError("y is so tiny or huge that its squares are no doubles; give it in another unit.")
    if settings.noise_variance == 0 and not settings.learns and sample.gaussian:
        raise PartError("noise_variance=0 with rows that are read in parts; give a small positive one.")
