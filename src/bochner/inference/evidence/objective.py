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


@runtime_checkable
class JointObjective(InformedObjective, Protocol):
    """An informed objective with parameters of its own, which climb along with those of the kernel.

    Where there are none to climb, `hidden` is empty, and the objective is at its best in them wherever it is asked.
    """

    def hidden(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """Where its own parameters may begin."""

    def hidden_bounds(self) -> FloatArray:
        """Bounds of them, (k, 2)."""

    def joint(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> tuple[float, FloatArray]:
        """Value, and gradient in [theta, log noise variance, hidden]."""

    def joint_information(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> FloatArray:
        """About minus the Hessian in the same, never negative."""

    def ranked(self, kernel: Kernel, noise_variance: float) -> float:
        """Value, roughly: enough to tell good starts from bad ones."""

    def follows(self, kernel: Kernel, slope: FloatArray, curvature: FloatArray) -> None:
        """Be told how its own parameters move with [theta] around the kernel, (k, entries), and how curved it is in
        them, (k, k).
        """

    def arrived(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> None:
        """Be told of the end of a climb."""
