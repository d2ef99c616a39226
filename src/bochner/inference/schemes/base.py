"""The contract of a scheme: how the field is represented and solved, from its choice to its explanation.

A scheme is one file and one registration (`register_scheme`). Its name is what `features=` takes and what
`Model.scheme` says afterwards; where a scheme hands the work to another, the other's name is said.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import MemoryLimitError
from bochner.features import FeatureMap, wave_dtype
from bochner.frequencies import Frequencies
from bochner.inference.fits.exact import leave_out_exact
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.fits.linear import LinearEngine, fit_ordinary
from bochner.inference.fits.newton import Data, Mode, find_mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.kernels import Kernel, total_variance
from bochner.resources import as_size

Draw = Callable[[Kernel, FloatArray], Frequencies]
"""A kernel and its theta to frequencies, smoothly in theta."""


@dataclass(frozen=True)
class Case:
    """What "auto" looks at: sizes and the kernel, nothing of the data themselves."""

    n_rows: int
    dim: int
    kernel: Kernel
    memory_limit: int | None = None
    has_areas: bool = False

    def fits(self, n_bytes: float) -> bool:
        """Whether so many bytes stay within the limit."""
        return self.memory_limit is None or n_bytes <= self.memory_limit

    def refuse_beyond(self, n_bytes: float, what: str) -> None:
        """Raise an error that names what would take more than the limit."""
        if not self.fits(n_bytes):
            assert self.memory_limit is not None
            raise MemoryLimitError(
                f"{what} {self.n_rows:,} rows would take about {as_size(n_bytes)}, more than memory_limit="
                f"{as_size(self.memory_limit)}; use features='auto', or raise the limit."
            )


@dataclass(frozen=True)
class Solved:
    """A mode for every set of hyperparameters, the best first, and what was decided on the way."""

    scheme: str  # that answers
    modes: Sequence[Mode]
    choices: tuple[Choice, ...] = ()
    n_frequencies: int | None = None  # waves or landmarks in use
    kernel_error: float | None = None  # measured RMS error of the kernel, relative to its variance
    kernel: Kernel | None = None  # of the first mode, where the features changed it
    kept: tuple[int, ...] | None = None  # which sets of hyperparameters the modes are of; None: all of them


class Scheme(ABC):
    """How a field is represented and solved."""

    name: str  # what `features=` takes
    exact: ClassVar[bool] = False  # whether the kernel's own matrix is factored
    adaptive: ClassVar[bool] = False  # whether the features look at the data before they are chosen
    fixed_features: ClassVar[bool] = False  # made for one set of hyperparameters: there is nothing to average over
    may_starve: ClassVar[bool] = False  # whether its sds can fall short of kriging's, and are worth a check
    saves: ClassVar[tuple[type, ...]] = ()  # dataclasses of its own in model files: a posterior, features, a factor

    def suits(self, case: Case) -> str | None:
        """Why "auto" takes this scheme for such a case; None if it does not."""
        return None

    def refuse(self, case: Case) -> None:
        """Raise an error that names both parts where the scheme cannot serve a case at all."""
        return None

    def explain(self, dim: int) -> str:
        """What there is to know of the scheme in so many dimensions, if anything."""
        return ""

    @abstractmethod
    def solve(self, task: Task, learned: Average) -> Solved:
        """Posterior for every set of hyperparameters."""

    def own_draw(self, task: Task) -> Draw | None:
        """Frequencies as a function of the kernel, where the evidence of the features themselves can be had.

        None: hyperparameters are tuned by the evidence of the kernel.
        """
        return None

    def held_out(
        self, task: Task, kernel: Kernel, noise_variance: float, obs: Observations, folds: Sequence[Fold]
    ) -> HeldOut:
        """Held-out rows of few observations, while hyperparameters are judged by them."""
        return leave_out_exact(kernel, obs, noise_variance, folds)


def linear_mode(
    task: Task,
    features: FeatureMap,
    noise_variance: float,
    data: Data | None = None,
    start: FloatArray | None = None,
) -> Mode:
    """Mode of a linear model on some features, of all the data or of a part of them."""
    data = task.data if data is None else data
    if task.ordinary:
        assert isinstance(data, Observations)
        return Mode(fit_ordinary(features, data), data, None, np.zeros(0), 1)
    return find_mode(data, LinearEngine(features, noise_variance), start=start)


def wave_precision(task: Task, kernel: Kernel, noise_variance: float, few: int = 10_000) -> tuple[Any, Choice]:
    """Precision of the waves: as asked, or float32 where its rounding stays far below the noise."""
    asked = task.settings.resources.dtype
    if asked != "auto":
        return np.dtype(asked).type, Choice("dtype", asked, "as asked", given=True)
    n = task.obs.total
    if wave_dtype(n, total_variance(kernel), noise_variance) is not np.float32:
        return np.float64, Choice("dtype", "float64", "the noise is too small for rounded waves")
    if n <= few:
        return np.float64, Choice("dtype", "float64", "few rows, so nothing is gained by less")
    text = "float32 waves, float64 sums: rounding stays far below the noise"
    return np.float32, Choice("dtype", "float32", text=text)


def double_precision(task: Task, why: str) -> tuple[Choice, ...]:
    """What to say where float32 was asked for and cannot be had; nothing otherwise."""
    if task.settings.resources.dtype != "float32":
        return ()
    return (Choice("dtype", "float64", f"float32 was asked for, but {why}"),)


def raised_noise(noise: float, tuned: float) -> tuple[Choice, ...]:
    """What to say where the noise variance holds what the waves leave out."""
    if noise <= tuned:
        return ()
    return (Choice("noise", noise, text=f"{noise:.3g} instead of {tuned:.3g}: with what the waves leave out"),)
