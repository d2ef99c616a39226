"""Evidence by Vecchia's approximation, with its curvature."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.arrays import FloatArray
from bochner.kernels import Kernel
from bochner.neighbours import Vecchia


@dataclass(frozen=True)
class VecchiaEvidence:
    """Log evidence (with `reml`) or log likelihood of the points of a plan."""

    plan: Vecchia
    reml: bool

    def __call__(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """With its gradient in [theta, log noise variance]."""
        return self.plan.evaluate(kernel, noise_variance, reml=self.reml)

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        """Alone; it costs as much."""
        return self(kernel, noise_variance)[0]

    def information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """About minus the Hessian, from a sample of the points."""
        return self.plan.information(kernel, noise_variance)
