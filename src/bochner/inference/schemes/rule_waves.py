"""Waves of a frequency rule, and Nystroem features: dense columns, as many as the tolerance needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ApproximationWarning, warn
from bochner.features import FeatureMap, FourierMap, NystroemMap, choose_landmarks
from bochner.frequencies import Frequencies, Rule, choose_number, shares_of
from bochner.inference.fits.base import check_columns, iterative_bytes, max_columns
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.fits.linear import LinearEngine, fit_truncated
from bochner.inference.fits.newton import Data, Mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Case, Draw, Scheme, Solved, linear_mode, raised_noise, wave_precision
from bochner.inference.schemes.whole_kernel import NearestRows, iterative_mode, may_be_nearest, nearest_are_better
from bochner.kernels import Kernel, SpectralKernel, spectral_terms, total_variance
from bochner.random import generator

MAX_RULE_WAVES = 2_048  # waves; their 4,096 columns have a Gram of 134 MB, and a factor in a few seconds
MAX_FEATURE_TUNING_WORK = 2e10  # multiplications in one evaluation of the evidence of features, up to which it is tuned


@dataclass(frozen=True)
class Number:
    """How many waves, why, and the measured error of the kernel if there is one."""

    m: int
    choice: Choice
    error: float | None = None

    def misses(self, tolerance: float) -> bool:
        """Whether the error is above a tolerance."""
        return self.error is not None and self.error > tolerance


class FeatureScheme(Scheme):
    """A linear model on features that the kernel gives."""

    may_starve: ClassVar[bool] = True

    def number(self, task: Task, kernel: Kernel) -> Number:
        """Number of waves or landmarks."""
        raise NotImplementedError

    def features(self, task: Task, kernel: Kernel, m: int, noise_variance: float) -> tuple[FeatureMap, Choice]:
        """Feature map, and the choice of its precision."""
        raise NotImplementedError

    def held_out(
        self, task: Task, kernel: Kernel, noise_variance: float, obs: Observations, folds: Sequence[Fold]
    ) -> HeldOut:
        if not task.gaussian:
            return super().held_out(task, kernel, noise_variance, obs, folds)
        features, _ = self.features(task, kernel, self.number(task, kernel).m, noise_variance)
        return LinearEngine(features, noise_variance).fit(obs).leave_out(obs, folds)


class Nystroem(FeatureScheme):
    """The kernel seen through landmarks; what they miss of its variance is carried apart."""

    name = "nystroem"

    def suits(self, case: Case) -> str | None:
        if case.kernel.stationary:
            return None
        return "the kernel is not shift-invariant, so it has no Fourier features"

    def number(self, task: Task, kernel: Kernel) -> Number:
        asked = task.settings.n_frequencies
        if asked != "auto":
            check_columns(task.settings.resources.memory_limit, int(asked) // 2)
            return Number(int(asked), Choice("n_frequencies", int(asked), "as asked", given=True))
        most = 1_000  # landmarks
        m = max_columns(task.settings.resources.memory_limit, min(len(task.obs), most))
        text = f"{m:,} landmarks: at most {most:,}; their missing variance is carried"
        return Number(m, Choice("n_frequencies", m, text=text))

    def features(self, task: Task, kernel: Kernel, m: int, noise_variance: float) -> tuple[FeatureMap, Choice]:
        landmarks = choose_landmarks(task.obs.rows.coords, m, task.obs.weight, task.settings.seed)
        asked = task.settings.resources.dtype == "float32"
        why = "float32 was asked for, but landmarks are solved for in float64" if asked else "Nystroem features"
        return NystroemMap.at(kernel, landmarks), Choice("dtype", "float64", why)

    def solve(self, task: Task, learned: Average) -> Solved:
        number = self.number(task, learned.kernels[0])
        modes = []
        for k, s2 in learned.pairs:
            features, precision = self.features(task, k, number.m, s2 + task.noise_of_row)
            modes.append(linear_mode(task, features, s2))
        choices = (number.choice, precision, modes[0].solver)
        return Solved(self.name, modes, choices, features.n_columns)


class RuleWaves(FeatureScheme):
    """Waves that a frequency rule draws from the kernel's spectral measure."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.name = rule, rule.name

    def suits(self, case: Case) -> str | None:
        if self.name != "orthogonal" or not case.kernel.stationary:
            return None
        return f"{case.n_rows:,} rows in {case.dim} dimensions, where orthogonal waves err least"

    def explain(self, dim: int) -> str:
        return self.rule.explain(dim)

    def number(self, task: Task, kernel: Kernel) -> Number:
        s = task.settings
        if s.n_frequencies != "auto":
            m = int(s.n_frequencies)
            check_columns(s.resources.memory_limit, m)
            return Number(m, Choice("n_frequencies", m, "as asked", given=True))
        extent, most = task.scale.extent, max_columns(s.resources.memory_limit, 2 * MAX_RULE_WAVES) // 2
        m, error, reason = choose_number(self.rule, kernel, len(extent), extent, s.tolerance, s.seed, most)
        return Number(m, Choice("n_frequencies", m, text=reason), error)

    def features(self, task: Task, kernel: Kernel, m: int, noise_variance: float) -> tuple[FourierMap, Choice]:
        spectral_terms(kernel)
        frequencies = self.rule.draw(kernel, m, task.dim, generator(task.settings.seed, "frequencies"))
        dtype, choice = wave_precision(task, kernel, noise_variance)
        return FourierMap(frequencies, dtype), choice

    def solve(self, task: Task, learned: Average) -> Solved:
        number = self.number(task, learned.kernels[0])
        told: tuple[Choice, ...] = ()
        if number.misses(task.settings.tolerance):
            fits = task.settings.resources.fits(iterative_bytes(len(task.obs), task.dim))
            if len(learned.pairs) == 1 and fits and may_be_nearest(task):
                better, compared = self._compared(task, *learned.pairs[0], number)
                told = (compared,)
                if better:
                    mode = iterative_mode(*learned.pairs[0], task.data)
                    none = Choice("n_frequencies", None, text="none: the nearest rows predict better")
                    return Solved(NearestRows.name, [mode], (*told, none, mode.solver))
            warn(
                f"{number.m:,} {self.name} frequencies approximate the kernel to {number.error:.1e} of its variance "
                f"(RMS), coarser than tolerance={task.settings.tolerance:g}; raise n_frequencies or tolerance, or use "
                f"features='exact'.",
                ApproximationWarning,
            )
        found = [self._mode(task, k, s2, number) for k, s2 in learned.pairs]
        modes, choices = [mode for mode, _ in found], found[0][1]
        return Solved(self.name, modes, (*told, number.choice, *choices, modes[0].solver), number.m, number.error)

    def own_draw(self, task: Task) -> Draw | None:
        s = task.settings
        if s.kernel is None or s.n_frequencies == "auto":
            return None
        m, n = int(s.n_frequencies), len(task.obs)
        if not all(k.smooth for k in s.kernel.leaves() if isinstance(k, SpectralKernel)):  # lines jump
            return None
        if n * min(2 * m, n) * 2 * m > MAX_FEATURE_TUNING_WORK:
            return None
        shares = shares_of(s.kernel, m)

        def draw(k: Kernel, theta: FloatArray) -> Frequencies:
            return self.rule.draw(k.with_theta(theta), m, task.dim, generator(s.seed, "frequencies"), shares=shares)

        return draw

    def _mode(
        self, task: Task, kernel: Kernel, noise_variance: float, number: Number, data: Data | None = None
    ) -> tuple[Mode, tuple[Choice, ...]]:
        """Mode of the waves; where they miss the tolerance, with the noise that holds what they leave out."""
        features, precision = self.features(task, kernel, number.m, noise_variance + task.noise_of_row)
        obs = task.obs if data is None else data
        learned = task.settings.learns_noise and noise_variance > 0
        # known errors of rows would need their sums again for every noise variance
        takes_more = learned and features.n_columns <= len(obs) and not task.obs.error.any()
        if number.misses(task.settings.tolerance) and task.gaussian and takes_more:
            assert isinstance(obs, Observations)
            fit = fit_truncated(features, obs, noise_variance, total_variance(kernel), reml=task.settings.reml)
            mode = Mode(fit, obs, None, np.zeros(0), 1)
            return mode, (precision, *raised_noise(fit.noise_variance, noise_variance))
        return linear_mode(task, features, noise_variance, data), (precision,)

    def _compared(
        self, task: Task, kernel: Kernel, noise_variance: float, number: Number, most: int = 30_000
    ) -> tuple[bool, Choice]:
        """Whether the nearest rows predict better than waves, tried on `most` rows, and the choice between them."""
        obs = task.obs
        if len(obs) > most:
            rng = generator(task.settings.seed, "rows to compare schemes on")
            obs = obs[np.sort(rng.choice(len(obs), most, replace=False))]
        mode, _ = self._mode(task, kernel, noise_variance, number, obs)
        better, told = nearest_are_better(kernel, noise_variance, obs, mode, task.settings.seed)
        if better:
            text = f"nearest rows, instead of {self.name} waves: {told}"
            return True, Choice("features", NearestRows.name, text=text)
        reason = self.suits(Case(len(task.obs), task.dim, kernel)) or ""
        return False, Choice("features", self.name, f"{reason} ({self.explain(task.dim)}); {told}")
