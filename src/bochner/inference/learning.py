"""Learning: hyperparameters from observations, by whichever criterion was asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import FallbackWarning, InputError
from bochner.frequencies import rule_named, shares_of
from bochner.inference.averaging import Average, average
from bochner.inference.cross_validation import Fold, HeldOut, leave_out_exact, leave_out_linear, with_weight
from bochner.inference.exact import exact_objective
from bochner.inference.features import build_features, number_of_waves
from bochner.inference.linear import fit_linear, linear_objective
from bochner.inference.local import held_out_locally
from bochner.inference.multiscale import select_multiscale
from bochner.inference.observations import Observations
from bochner.inference.scale import Scale
from bochner.inference.selection import select_kernel
from bochner.inference.settings import Settings
from bochner.inference.tuning import Objective, Search, Tuned, score_objective, tune
from bochner.kernels import Kernel, Matern
from bochner.neighbours import Vecchia
from bochner.random import generator
from bochner.validation import crps

EXACT_TUNING_ROWS = 1_000  # an exact evidence with gradient takes about 0.1 s
VECCHIA_POINTS = 6_000
COARSE_POINTS = 2_000  # for the first, coarse climbs
AVERAGING_ROWS = 500  # below, intervals average over hyperparameters
LINEAR_TUNING_WORK = 2e10  # multiplications in one evaluation of a feature model's evidence


class Learner:
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
        predict_at: FloatArray | None,
    ) -> None:
        self.settings, self.original, self.obs, self.scale = settings, original, obs, scale
        self.kind, self.choices, self.folds, self.predict_at = kind, choices, folds, predict_at
        self.dim = obs.rows.coords.shape[1]
        self.reml = settings.criterion != "likelihood"

    def learn(self) -> tuple[Average, tuple[str, ...]]:
        s = self.settings
        if s.tune is None:
            kernel = Matern() if s.kernel is None else s.kernel
            noise = self.scale.variance * 0.1 if s.noise_variance is None else s.noise_variance
            self.choices["tuning"] = "none: the values given are kept"
            if s.kernel is None:
                self.choices["kernel"] = f"{kernel}: none was given and none is learned"
            if s.noise_variance is None:
                self.choices["noise"] = f"{noise:.3g}: a tenth of the variance of y; none was given and none is learned"
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
        size = float(np.mean(self.obs.y**2)) or 1.0
        if variance <= 1e-20 * size:
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
        small = max(variance, 1e-12 * size)
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
        coarse, fine = self._vecchia(min(COARSE_POINTS, n_points), 12), self._vecchia(n_points, 20)
        if self.settings.kernel is None and self.dim <= 3:
            return self._multiscale(coarse, fine)
        return self._climb([coarse, fine])

    def _multiscale(self, coarse: Objective, fine: Objective) -> tuple[Search, Tuned]:
        noise = self.settings.noise_variance
        searches = (Search(coarse, self.scale, noise), Search(fine, self.scale, noise))
        seed = self.settings.spec.seed
        tuned, self.choices["kernel"] = select_multiscale(*searches, self.original, self.predict_at, seed)
        return searches[1], tuned

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
        if self.kind in ("exact", "nystroem", "lattice") or s.kernel is None or s.spec.n_frequencies == "auto":
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
        obs, folds, _ = with_weight(self.original, self.folds)
        assert folds is not None

        def score(kernel: Kernel, noise_variance: float) -> float:
            held = self._held_out(kernel, noise_variance, obs, folds)
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

    def _held_out(self, kernel: Kernel, noise_variance: float, obs: Observations, folds: Sequence[Fold]) -> HeldOut:
        if len(obs) > EXACT_TUNING_ROWS:
            return held_out_locally(kernel, obs, noise_variance, folds)
        if self.kind in ("exact", "lattice"):
            return leave_out_exact(kernel, obs, noise_variance, folds)
        m, _, _ = number_of_waves(self.kind, self.settings.spec, kernel, len(self.obs), self.scale.extent)
        features, _ = build_features(self.kind, self.settings.spec, kernel, m, self.obs, noise_variance)
        fit = fit_linear(features, obs, noise_variance)
        return leave_out_linear(fit, obs, noise_variance, folds)
