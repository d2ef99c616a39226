"""Learning: hyperparameters from observations, by whichever criterion was asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import FallbackWarning, InputError
from bochner.families import Family
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.evidence.lattice_evidence import refine_on_lattice
from bochner.inference.evidence.objectives import EXACT_TUNING_ROWS, Problem, gaussian_objectives, laplace_objectives
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.observed.responses import Responses
from bochner.inference.schemes.choose import ADAPTIVE
from bochner.inference.tuning.averaging import Average, average
from bochner.inference.tuning.fold_score import fold_score
from bochner.inference.tuning.multiscale import select_multiscale
from bochner.inference.tuning.peaks import informed_starts
from bochner.inference.tuning.search import Objective, Search, Tuned, score_objective, tune
from bochner.inference.tuning.selection import select_kernel
from bochner.kernels import Matern

AVERAGING_ROWS = 500  # below, intervals average over hyperparameters
TINY = 1e-12  # noise, of the variance, that neighbours can do with


@dataclass(frozen=True)
class Learned:
    """Hyperparameters with their masses, and what else was learned on the way."""

    average: Average
    family: Family
    at_bounds: tuple[str, ...] = ()
    trend: FloatArray | None = None  # that maximises the marginal likelihood, if that was asked for
    log_likelihood: float | None = None  # None: as the solver finds it


def learn(problem: Problem, choices: dict[str, str]) -> Learned:
    """Learn what is not given; what was done, and why, is added to `choices`."""
    return _Learner(problem, choices).learn()


class _Learner:
    def __init__(self, problem: Problem, choices: dict[str, str]) -> None:
        self.problem, self.choices = problem, choices
        self.settings, self.scale, self.obs = problem.settings, problem.scale, problem.obs
        self.laplace: LaplaceObjective | None = None
        self.family = problem.responses.family
        self.noise_variance = self._noise()

    def learn(self) -> Learned:
        found, at_bounds = self._hyperparameters()
        if "noise_variance" in at_bounds and self._without_own_effects(found):
            # of counts that is an answer, not a failure to find one
            at_bounds = tuple(name for name in at_bounds if name != "noise_variance")
            self.choices["noise"] = f"none to speak of: the {self.settings.criterion} is largest without"
        trend, log_likelihood = self._likelihood(found)
        return Learned(found, self.family, at_bounds, trend, log_likelihood)

    def _hyperparameters(self) -> tuple[Average, tuple[str, ...]]:
        if self.settings.tune is None:
            return self._given(), ()
        degenerate = self._degenerate()
        if degenerate is not None:
            return degenerate, ()
        search, tuned = self._by_evidence()
        if self.problem.folds is not None:
            search, tuned = self._by_folds(tuned)
        if self.problem.kind in ("learned", "nonstationary"):
            self.choices["intervals"] = "at the best hyperparameters: the features are learned once"
            return Average((tuned.kernel,), np.array([tuned.noise_variance]), np.ones(1)), tuned.at_bounds
        if len(self.obs) < AVERAGING_ROWS and self.problem.folds is None:
            found = average(search, tuned)
            self.choices["intervals"] = (
                f"averaged over {len(found.mass)} sets of hyperparameters: {len(self.obs)} rows "
                f"(fewer than {AVERAGING_ROWS}) do not pin them down"
            )
            return found, tuned.at_bounds
        self.choices["intervals"] = "at the best hyperparameters"
        return Average((tuned.kernel,), np.array([tuned.noise_variance]), np.ones(1)), tuned.at_bounds

    def _without_own_effects(self, found: Average) -> bool:
        """Whether rows of counts were found to have no effect of their own."""
        return not self.problem.responses.gaussian and found.noise_variances[0] < 1e-3 * self.scale.variance

    # ------------------------------------------------------------------ nothing to learn

    def _noise(self) -> float | None:
        """Noise variance that was given, or that the family leaves no room to learn."""
        given, r = self.settings.noise_variance, self.problem.responses
        if given is not None or r.gaussian:
            return given
        if self.family.has_dispersion:
            self.choices["noise"] = "0: the dispersion of the family holds what scatters from row to row"
            return 0.0
        if self.family.link in ("logit", "probit") and np.all(r.size == 1):
            self.choices["noise"] = "0: one trial a row cannot show an effect of its own"
            return 0.0
        return 0.0 if self.settings.tune is None else None

    def _given(self) -> Average:
        s = self.settings
        kernel = Matern() if s.kernel is None else s.kernel
        noise = self.scale.variance * 0.1 if self.noise_variance is None else self.noise_variance
        self.choices["tuning"] = "none: the values given are kept"
        if s.kernel is None:
            self.choices["kernel"] = f"{kernel}: none was given and none is learned"
        if s.noise_variance is None and "noise" not in self.choices:
            share = "a tenth of the variance of y" if self.problem.responses.gaussian else "no effect of single rows"
            self.choices["noise"] = f"{noise:.3g}: {share}; none was given and none is learned"
        return Average((kernel,), np.array([noise]), np.ones(1))

    def _degenerate(self) -> Average | None:
        variance = self.scale.variance
        kernel = Matern() if self.settings.kernel is None else self.settings.kernel
        size = float(np.mean(self.obs.y**2)) or 1.0
        if variance <= 1e-20 * size:
            problem = "the response is constant (or follows the trend exactly)"
        elif len(np.unique(self.obs.rows.coords, axis=0)) == 1:
            problem = "all rows lie at one place"
        else:
            return None
        if self.settings.noise_variance == 0 and "place" in problem:
            raise InputError(f"{problem} and noise_variance=0; there is nothing to learn. Give a noise variance.")
        warnings.warn(
            f"{problem}: the kernel cannot be learned, so its start values are kept and the map is flat.",
            FallbackWarning,
            stacklevel=6,
        )
        small = max(variance, 1e-12 * size)
        self.choices["tuning"] = f"none: {problem}"
        noise = small if self.noise_variance is None else self.noise_variance
        first = next(iter(kernel.leaves()))
        flat = kernel.scaled(1e-6 * small / float(np.mean(first.diag(self.obs.rows.coords[:1]))))
        return Average((flat,), np.array([noise]), np.ones(1))

    # ------------------------------------------------------------------ by evidence

    def _by_evidence(self) -> tuple[Search, Tuned]:
        if not self.problem.responses.gaussian:
            climbs, self.choices["tuning"] = laplace_objectives(self.problem)
            self.laplace = climbs[-1]
            return self._climb(climbs)
        objectives, self.choices["tuning"] = gaussian_objectives(self.problem)
        if len(objectives) > 1 and self.settings.kernel is None and self.problem.dim <= 3:
            return self._multiscale(objectives)
        search, tuned = self._climb(objectives)
        return search, self._refined(tuned, search) if len(objectives) > 1 else tuned

    def _multiscale(self, objectives: Sequence[Objective]) -> tuple[Search, Tuned]:
        # smooth fields without noise: each row is predicted from few others, whose systems can be solved
        coarse, fine = (
            Search(objective, self.scale, self.noise_variance, least_noise=TINY) for objective in objectives
        )
        p = self.problem
        tuned, self.choices["kernel"] = select_multiscale(
            coarse,
            fine,
            lambda found: self._refined(found, fine),
            p.responses.observations(),
            p.predict_at,
            self.settings.spec.seed,
        )
        return fine, tuned

    def _refined(self, found: Tuned, search: Search) -> Tuned:
        """By the evidence of all rows, where few waves hold the field."""
        better = refine_on_lattice(found, search, self.obs, reml=self.problem.reml)
        if better is not found:
            self.choices["tuning"] += "; then of all rows, on waves of a lattice"
        return better

    def _climb(self, objectives: Sequence[Objective]) -> tuple[Search, Tuned]:
        """Tune by the first objective; the next, dearer ones start where it ended."""
        s, noise = self.settings, self.noise_variance
        prior = len(self.obs) < AVERAGING_ROWS and self.problem.reml
        search = Search(objectives[0], self.scale, noise, prior)
        if s.kernel is None:
            toll = 0.0 if self.problem.responses.gaussian else 0.5 * np.log(self.obs.total)
            tuned, why = select_kernel(search, self.obs.total, self.problem.dim, toll)
        else:
            at = noise if noise is not None else 0.1 * self.scale.variance
            given = [(s.kernel, at), *informed_starts(s.kernel, self.scale, self.obs, at)]
            tuned, why = tune(search, s.kernel, given), "as given; its values were learned"
        for objective in objectives[1:]:
            search = Search(objective, self.scale, noise, prior)
            tuned = search.maximise(tuned.kernel, tuned.noise_variance, 50)
        self.choices["kernel"] = why
        return search, tuned

    def _by_folds(self, start: Tuned) -> tuple[Search, Tuned]:
        if self.laplace is not None:
            self.laplace.settle(start.kernel, start.noise_variance)
            self.family = self.laplace.family
        score, name, n_folds = fold_score(self.problem, self.family, start)
        search = Search(score_objective(score), self.scale, self.noise_variance)
        tuned = search.maximise(start.kernel, start.noise_variance, 20)
        if tuned.value < search.evaluate(start.kernel, start.noise_variance)[0]:
            tuned = start
        self.choices["tuning"] = (
            f"{name} of {n_folds} held-out blocks, started at the {self.settings.criterion} optimum; "
            f"score {-score(tuned.kernel, tuned.noise_variance):.4g}"
        )
        return search, tuned

    # ------------------------------------------------------------- what a family adds

    def _likelihood(self, found: Average) -> tuple[FloatArray | None, float | None]:
        """Dispersion, and the marginal likelihood with the trend at its maximum, where they can be had."""
        data = self.problem.data
        if not isinstance(data, Responses):
            return None, None
        kernel, noise = found.kernels[0], float(found.noise_variances[0])
        if self.laplace is None:
            self.laplace = laplace_objectives(self.problem)[0][-1]
        if self.laplace.learns:
            self.laplace.settle(kernel, noise)
            self.family = self.laplace.family
            self.choices["dispersion"] = f"{self.family.dispersion:.3g}: learned by the evidence"
        dear = self.problem.reml and len(data) > EXACT_TUNING_ROWS
        if dear or len(self.laplace.parts) > 1 or self.problem.own_evidence or self.problem.kind in ADAPTIVE:
            return None, None
        held = self.laplace
        if self.problem.reml:
            held = LaplaceObjective([replace(data, family=self.family)], ExactBound, reml=False)
        value = held.settle(kernel, noise)
        return (None if self.problem.reml else held.trend), value
