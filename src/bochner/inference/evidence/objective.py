"""What is maximised over hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from bochner.arrays import FloatArray
from bochner.kernels import Kernel

Objective = Callable[[Kernel, float], tuple[float, FloatArray]]
"""(kernel, noise variance) to the value, and its gradient in [theta, log noise variance]."""


@runtime_checkable
class InformedObjective(Protocol):
    """An objective that knows its curvature, and its value for less than with the gradient."""

    def __call__(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """Value and gradient."""

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        """Value alone."""

    def information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """About minus the Hessian, never negative, for less than value and gradient."""
