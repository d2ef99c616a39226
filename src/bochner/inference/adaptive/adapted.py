"""Adapted features: those that were made for some data, with the hyperparameters that go with them."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.choices import Choice
from bochner.features import FeatureMap
from bochner.kernels import Kernel


@dataclass(frozen=True)
class Adapted:
    """Features, the noise variance that goes with them, and what was decided on the way."""

    features: FeatureMap
    noise_variance: float
    n_frequencies: int
    choices: tuple[Choice, ...]
    kernel: Kernel | None = None  # where it was changed
