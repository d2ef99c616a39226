"""Evidence by Vecchia's approximation, with its curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bochner.arrays import FloatArray
from bochner.kernels import Kernel
from bochner.neighbours import Vecchia

T = TypeVar("T")


@dataclass(frozen=True)
class VecchiaEvidence:
    """Log evidence (with `reml`) or log likelihood of the points of a plan; what was asked once is known.

    Whether a guide is to be trusted is asked by the climb that the search for a kernel begins with.
    """

    plan: Vecchia
    reml: bool
    known: dict[tuple[str, Kernel, float], Any] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """With its gradient in [theta, log noise variance]."""
        return self._once(
            "slopes", kernel, noise_variance, lambda: self.plan.evaluate(kernel, noise_variance, self.reml)
        )

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        """Alone; of many points it costs as much."""
        return self._once("value", kernel, noise_variance, lambda: self.plan.value(kernel, noise_variance, self.reml))

    def information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """About minus the Hessian, from a sample of the points."""
        return self._once("bend", kernel, noise_variance, lambda: self.plan.information(kernel, noise_variance))

    def _once(self, what: str, kernel: Kernel, noise_variance: float, asked: Callable[[], T]) -> T:
        key = (what, kernel, noise_variance)
        if key not in self.known:
            self.known[key] = asked()
        found: T = self.known[key]
        return found
