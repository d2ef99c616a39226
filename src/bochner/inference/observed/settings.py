"""Settings: what the user asked of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bochner.inference.schemes.choose import Spec
from bochner.kernels import Kernel


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    kernel: Kernel | None
    spec: Spec
    noise_variance: float | None
    tune: Any  # "evidence", "likelihood", folds, or None
    criterion: str = "evidence"
    n_jobs: int | None = None
