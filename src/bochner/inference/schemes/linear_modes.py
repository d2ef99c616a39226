"""Modes of linear models, shared by the schemes that are made of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.features import FeatureMap, wave_dtype
from bochner.inference.fits.linear import LinearEngine, fit_ordinary
from bochner.inference.fits.newton import Data, Mode, find_mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.kernels import Kernel, total_variance


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
