"""What is maximised over hyperparameters."""

from __future__ import annotations

from collections.abc import Callable

from bochner.arrays import FloatArray
from bochner.kernels import Kernel

Objective = Callable[[Kernel, float], tuple[float, FloatArray]]
"""(kernel, noise variance) to the value, and its gradient in [theta, log noise variance]."""
