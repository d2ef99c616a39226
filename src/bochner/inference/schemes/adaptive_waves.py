"""Waves that look at the data before they are chosen: by leverage, learned, or with a spectrum that varies in space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from bochner.features import FourierMap
from bochner.inference.adaptive.ascent import noise_of_few_waves
from bochner.inference.adaptive.pool import Adapted, waves_by_leverage
from bochner.inference.adaptive.sparse_spectrum import learned_waves
from bochner.inference.adaptive.varying_spectrum import varying_waves
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Case, Scheme, Solved
from bochner.inference.schemes.linear_modes import double_precision, linear_mode, raised_noise, wave_precision
from bochner.kernels import Kernel, spectral_terms, total_variance

Adapt = Callable[[Task, Kernel, float], Adapted]


class AdaptiveScheme(Scheme):
    """A linear model on features that were made for the data, started from a tuned kernel."""

    adaptive: ClassVar[bool] = True
    adapt: ClassVar[Adapt]

    def refuse(self, case: Case) -> None:
        spectral_terms(case.kernel)

    def solve(self, task: Task, learned: Average) -> Solved:
        adapted = [type(self).adapt(task, k, s2) for k, s2 in learned.pairs]
        modes = [linear_mode(task, one.features, one.noise_variance) for one in adapted]
        first = adapted[0]
        choices = (*first.choices, modes[0].solver)
        return Solved(self.name, modes, choices, first.n_frequencies, kernel=first.kernel)


def by_leverage(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Waves of the kernel, drawn by their ridge leverage on the data."""
    drawn = waves_by_leverage(task, kernel, noise_variance)
    dtype, precision = wave_precision(task, kernel, noise_variance)
    features, noise, s = FourierMap(drawn.frequencies, dtype), noise_variance, task.settings
    if s.learns_noise and noise > 0:
        variance = total_variance(kernel)
        noise = noise_of_few_waves(features, task.data, noise, variance, reml=s.reml, seed=s.seed)
    choices = (drawn.choice, precision, *raised_noise(noise, noise_variance))
    return Adapted(features, noise, drawn.frequencies.n, choices)


def learned(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Waves that the evidence has moved."""
    return _doubled(task, learned_waves(task, kernel, noise_variance))


def varying(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Waves whose amplitudes vary in space."""
    return _doubled(task, varying_waves(task, kernel, noise_variance))


class Leverage(AdaptiveScheme):
    """Waves drawn by leverage."""

    name = "leverage"
    may_starve: ClassVar[bool] = True
    adapt: ClassVar[Adapt] = staticmethod(by_leverage)


class Learned(AdaptiveScheme):
    """Sparse spectrum: waves as hyperparameters."""

    name = "learned"
    fixed_features: ClassVar[bool] = True
    adapt: ClassVar[Adapt] = staticmethod(learned)


class Nonstationary(AdaptiveScheme):
    """A spectrum that varies in space."""

    name = "nonstationary"
    fixed_features: ClassVar[bool] = True
    adapt: ClassVar[Adapt] = staticmethod(varying)


def _doubled(task: Task, adapted: Adapted) -> Adapted:
    double = double_precision(task, "waves that are learned need float64")
    return replace(adapted, choices=(*adapted.choices, *double))
