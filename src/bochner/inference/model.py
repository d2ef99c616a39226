"""The fit: from observations and settings to a posterior, with every choice told."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ApproximationWarning, FallbackWarning, InputError
from bochner.features import FeatureMap
from bochner.frequencies import rule_named, shares_of
from bochner.inference.averaging import Average, average
from bochner.inference.cross_validation import Fold, HeldOut, leave_out_exact, leave_out_linear
from bochner.inference.exact import exact_objective, fit_exact
from bochner.inference.features import Spec, build_features, choose_kind, number_of_waves
from bochner.inference.linear import LinearFit, fit_linear, linear_objective
from bochner.inference.observations import Observations, merge_equal_rows
from bochner.inference.scale import Scale, scale_of
from bochner.inference.selection import select_kernel
from bochner.inference.tuning import Objective, Search, Tuned, score_objective, tune
from bochner.kernels import Kernel, Matern
from bochner.neighbours import Vecchia
from bochner.posterior import CoefficientPosterior, Mixture, Posterior
from bochner.random import generator
from bochner.solvers import least_squares
from bochner.validation import crps

logger = logging.getLogger("bochner")

EXACT_TUNING_ROWS = 1_000  # an exact evidence with gradient takes about 0.1 s
VECCHIA_POINTS = 10_000
AVERAGING_ROWS = 500  # below, intervals average over hyperparameters
LINEAR_TUNING_WORK = 2e10  # multiplications in one evaluation of a feature model's evidence
MERGE_ROWS = 50_000


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    kernel: Kernel | None
    spec: Spec
    noise_variance: float | None
    tune: Any  # "evidence", "likelihood", folds, or None
    criterion: str = "evidence"


@dataclass(frozen=True)
class Model:
    """A fitted Gaussian model."""

    mixture: Mixture
    kernel: Kernel
    noise_variance: float
    kind: str
    features: FeatureMap | None
    scale: Scale
    log_evidence: float
    log_likelihood: float
    n_frequencies: int | None
    kernel_error: float | None
    choices: dict[str, str]
    at_bounds: tuple[str, ...] = ()
    kernels: tuple[Kernel, ...] = field(default_factory=tuple)  # of the mixture's components

    @property
    def posterior(self) -> Posterior:
        """Posterior at the best hyperparameters."""
        return self.mixture.components[0]


def fit_model(settings: Settings, observations: Observations, folds: Sequence[Fold] | None = None) -> Model:
    """Choose features, learn hyperparameters, solve.

    `folds` are the splits of ``tune="spatial-cv"`` or of a splitter, over the rows of `observations`.
    """
    kept = observations[np.flatnonzero(observations.weight > 0)]
    obs = merge_equal_rows(observations) if len(observations) <= MERGE_ROWS else kept
    scale = scale_of(obs)
    dim = obs.rows.coords.shape[1]
    start = Matern() if settings.kernel is None else settings.kernel
    start.check_dim(dim)
    kind, reason = choose_kind(settings.spec, start, len(obs), dim)
    choices = {"features": reason}
    if kind == "structured":
        choices["features"] += f" ({rule_named(kind).explain(dim)})"
    logger.info("features: %s", reason)
    learner = _Learner(settings, observations, obs, scale, kind, choices, folds)
    learned, at_bounds = learner.learn()
    return _finish(settings, obs, scale, kind, learned, at_bounds, choices)


def leave_out(model: Model, obs: Observations, folds: Sequence[Fold] | None) -> list[HeldOut]:
    """Held-out predictions of every component of the model's mixture, without refit."""
    results = []
    for kernel, noise, posterior in zip(
        model.kernels, model.mixture.noise_variance, model.mixture.components, strict=True
    ):
        if isinstance(posterior, CoefficientPosterior):
            fit = LinearFit(posterior, np.nan, np.nan, "")
            results.append(leave_out_linear(fit, obs, float(noise), folds))
        else:
            results.append(leave_out_exact(kernel, obs, float(noise), folds))
    return results


class _Learner:
    """Hyperparameters from observations, by whichever criterion was asked for."""

    def __init__(
        self,
        settings: Settings,
        original: Observations,
        obs: Observations,
        scale: Scale,
        kind: str,
        choices: dict[str, str],
        folds: Sequence[Fold] | None,
    ) -> None:
        self.settings, self.original, self.obs, self.scale = settings, original, obs, scale
        self.kind, self.choices, self.folds = kind, choices, folds
        self.dim = obs.rows.coords.shape[1]
        self.reml = settings.criterion != "likelihood"

    def learn(self) -> tuple[Average, tuple[str, ...]]:
        s = self.settings
        if s.tune is None:
            kernel = Matern() if s.kernel is None else s.kernel
            noise = self.scale.variance * 0.1 if s.noise_variance is None else s.noise_variance
            self.choices["tuning"] = "none: the values given are kept"
            return Average((kernel,), np.array([noise]), np.ones(1)), ()
        degenerate = self._degenerate()
        if degenerate is not None:
            return degenerate, ()
        search, tuned = self._by_evidence()
        if self.folds is not None:
            search, tuned = self._by_folds(tuned)
        if len(self.obs) < AVERAGING_ROWS and self.folds is None:
            found = average(search, tuned)
            self.choices["intervals"] = (
                f"averaged over {len(found.mass)} sets of hyperparameters: {len(self.obs)} rows "
                f"(fewer than {AVERAGING_ROWS}) do not pin them down"
            )
            return found, tuned.at_bounds
        self.choices["intervals"] = "at the best hyperparameters"
        return Average((tuned.kernel,), np.array([tuned.noise_variance]), np.ones(1)), tuned.at_bounds

    def _degenerate(self) -> Average | None:
        s, variance = self.settings, self.scale.variance
        kernel = Matern() if s.kernel is None else s.kernel
        y = self.obs.y
        if variance <= 1e-20 * (1 + float(np.mean(y**2))):
            problem = "the response is constant (or follows the trend exactly)"
        elif len(np.unique(self.obs.rows.coords, axis=0)) == 1:
            problem = "all rows lie at one place"
        else:
            return None
        if s.noise_variance == 0 and "place" in problem:
            raise InputError(f"{problem} and noise_variance=0; there is nothing to learn. Give a noise variance.")
        warnings.warn(
            f"{problem}: the kernel cannot be learned, so its start values are kept and the map is flat.",
            FallbackWarning,
            stacklevel=4,
        )
        small = max(variance, 1e-12 * (1 + float(np.mean(y**2))))
        self.choices["tuning"] = f"none: {problem}"
        noise = small if s.noise_variance is None else s.noise_variance
        first = next(iter(kernel.leaves()))
        flat = kernel.scaled(1e-6 * small / float(np.mean(first.diag(self.obs.rows.coords[:1]))))
        return Average((flat,), np.array([noise]), np.ones(1))

    # ------------------------------------------------------------------ by evidence

    def _by_evidence(self) -> tuple[Search, Tuned]:
        if self._own_evidence():
            assert self.settings.kernel is not None
            self.choices["tuning"] = f"{self.settings.criterion} of the feature model itself"
            return self._climb([self._linear_objective(self.settings.kernel)])
        if len(self.obs) <= EXACT_TUNING_ROWS:
            self.choices["tuning"] = f"{self.settings.criterion} of the exact kernel, {len(self.obs)} distinct rows"
            return self._climb([lambda k, s2: exact_objective(k, self.obs, s2, reml=self.reml)])
        n_points = min(VECCHIA_POINTS, len(self.obs))
        self.choices["tuning"] = (
            f"{self.settings.criterion} by Vecchia's approximation: {n_points:,} of {len(self.obs):,} rows, "
            f"each given its nearest predecessors"
        )
        return self._climb([self._vecchia(min(1_500, n_points), 12), self._vecchia(n_points, 20)])

    def _climb(self, objectives: Sequence[Objective]) -> tuple[Search, Tuned]:
        """Tune by the first objective; the next, dearer ones start where it ended."""
        s = self.settings
        prior = len(self.obs) < AVERAGING_ROWS and self.reml
        search = Search(objectives[0], self.scale, s.noise_variance, prior)
        if s.kernel is None:
            tuned, why = select_kernel(search, self.obs.total, self.dim)
        else:
            given = [(s.kernel, s.noise_variance if s.noise_variance is not None else 0.1 * self.scale.variance)]
            tuned, why = tune(search, s.kernel, given), "as given; its values were learned"
        for objective in objectives[1:]:
            search = Search(objective, self.scale, s.noise_variance, prior)
            tuned = search.maximise(tuned.kernel, tuned.noise_variance, 50)
        self.choices["kernel"] = why
        return search, tuned

    def _own_evidence(self) -> bool:
        s = self.settings
        if self.kind in ("exact", "nystroem") or s.kernel is None or s.spec.n_frequencies == "auto":
            return False
        columns = 2 * int(s.spec.n_frequencies)
        return len(self.obs) * min(columns, len(self.obs)) * columns <= LINEAR_TUNING_WORK

    def _linear_objective(self, kernel: Kernel) -> Objective:
        rule, spec = rule_named(self.kind), self.settings.spec
        m = int(spec.n_frequencies)
        shares = shares_of(kernel, m)

        def objective(k: Kernel, s2: float) -> tuple[float, FloatArray]:
            def draw(theta: FloatArray) -> Any:
                return rule.draw(k.with_theta(theta), m, self.dim, generator(spec.seed, "frequencies"), shares=shares)

            return linear_objective(draw, k.theta, self.obs, s2, reml=self.reml)

        return objective

    def _vecchia(self, n_points: int, n_neighbours: int) -> Objective:
        o = self.original
        plan = Vecchia.plan(
            o.rows.coords,
            o.y,
            o.rows.trend,
            o.weight,
            o.error,
            n_neighbours=n_neighbours,
            n_points=n_points,
            seed=self.settings.spec.seed,
        )
        return lambda k, s2: plan.evaluate(k, s2, reml=self.reml)

    # --------------------------------------------------------------------- by folds

    def _by_folds(self, start: Tuned) -> tuple[Search, Tuned]:
        assert self.folds is not None
        obs, folds = self.original, list(self.folds)

        def score(kernel: Kernel, noise_variance: float) -> float:
            held = self._held_out(kernel, noise_variance, folds)
            sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[held.index])
            return -crps(obs.y[held.index], held.mean, sd, sample_weight=obs.weight[held.index]) / np.sqrt(
                self.scale.variance
            )

        search = Search(score_objective(score), self.scale, self.settings.noise_variance)
        tuned = search.maximise(start.kernel, start.noise_variance, 20)
        if tuned.value < search.evaluate(start.kernel, start.noise_variance)[0]:
            tuned = start
        self.choices["tuning"] = (
            f"CRPS of {len(folds)} held-out blocks, started at the {self.settings.criterion} optimum; "
            f"score {-tuned.value * np.sqrt(self.scale.variance):.4g}"
        )
        return search, tuned

    def _held_out(self, kernel: Kernel, noise_variance: float, folds: Sequence[Fold]) -> HeldOut:
        if self.kind == "exact":
            return leave_out_exact(kernel, self.original, noise_variance, folds)
        m, _, _ = number_of_waves(self.kind, self.settings.spec, kernel, len(self.obs), self.scale.extent)
        features, _ = build_features(self.kind, self.settings.spec, kernel, m, self.obs, noise_variance)
        fit = fit_linear(features, self.original, noise_variance)
        return leave_out_linear(fit, self.original, noise_variance, folds)


def _finish(
    settings: Settings,
    obs: Observations,
    scale: Scale,
    kind: str,
    learned: Average,
    at_bounds: tuple[str, ...],
    choices: dict[str, str],
) -> Model:
    kernel, noise = learned.kernels[0], float(learned.noise_variances[0])
    features, m, error = None, None, None
    components: list[Posterior] = []
    if kind == "exact":
        fits = [fit_exact(k, obs, float(s2)) for k, s2 in zip(learned.kernels, learned.noise_variances, strict=True)]
        components = [fit.posterior for fit in fits]
        choices["solver"] = f"dual: Cholesky of the {len(obs):,} rows"
        first: Any = fits[0]
    else:
        m, why, error = number_of_waves(kind, settings.spec, kernel, len(obs), scale.extent)
        choices["n_frequencies"] = why
        if error is not None and error > settings.spec.tolerance:
            warnings.warn(
                f"{m:,} {kind} frequencies approximate the kernel to {error:.1e} of its variance (RMS), coarser than "
                f"tolerance={settings.spec.tolerance:g}; raise n_frequencies or the tolerance, or use features='exact'.",
                ApproximationWarning,
                stacklevel=4,
            )
        linear = []
        for k, s2 in zip(learned.kernels, learned.noise_variances, strict=True):
            features_k, choices["dtype"] = build_features(kind, settings.spec, k, m, obs, float(s2))
            linear.append(_solve(settings, features_k, obs, float(s2)))
        first = linear[0]
        features, choices["solver"] = first.posterior.features, first.reason
        components = [fit.posterior for fit in linear]
        if settings.noise_variance == 0 and settings.tune is None:
            noise = first.posterior.factor.residual_variance
            learned = Average(learned.kernels, np.array([noise]), learned.mass)
        if kind == "nystroem":
            m = features.n_columns
    mixture = Mixture(components, learned.mass, np.asarray(learned.noise_variances, dtype=float))
    return Model(
        mixture, kernel, noise, kind, features, scale, first.log_evidence, first.log_likelihood, m, error, choices,
        at_bounds, learned.kernels,
    )  # fmt: skip


def _solve(settings: Settings, features: FeatureMap, obs: Observations, noise_variance: float) -> LinearFit:
    if settings.noise_variance == 0 and settings.tune is None:
        return _ordinary(features, obs)
    return fit_linear(features, obs, noise_variance)


def _ordinary(features: FeatureMap, obs: Observations) -> LinearFit:
    """Ordinary least squares on the features: no prior, no noise variance but the residuals'."""
    root = np.sqrt(obs.weight)
    columns = np.column_stack([np.asarray(features.block(obs.rows.coords), dtype=float), obs.rows.trend])
    result = least_squares(columns * root[:, None], obs.y * root)
    n, p = columns.shape
    reason = f"ordinary least squares by {result.report.method.upper()}: noise_variance=0 without tuning"
    if result.rank < p:
        reason += f"; rank {result.rank} of {p} columns, the minimum-norm answer is taken"
    return LinearFit(CoefficientPosterior(features, result.coef, result), np.nan, np.nan, reason)
