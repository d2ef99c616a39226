"""Settings: what the user asked of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field

from bochner.kernels import Kernel
from bochner.resources import Resources


@dataclass(frozen=True)
class Settings:
    """What the user asked for.

    Attributes
    ----------
    kernel : Kernel or None
        None: to be chosen.
    features, n_frequencies, tolerance
        Scheme, number of waves, and the error of the kernel that they may have.
    noise_variance : float or None
        None: to be learned.
    learns : bool
        Whether hyperparameters are learned, or kept as they were given.
    criterion : str
        "evidence" (fixed effects integrated out) or "likelihood" (fixed effects at their maximum).
    shrinks : bool
        Whether the effects of covariates share a learned prior variance; else their priors are flat.
    n_bends : int
        Last columns of the trend by which effects bend; they have a prior variance of their own.
    seed : int
        Of everything random.
    resources : Resources
        Threads, memory, device and precision.
    """

    kernel: Kernel | None = None
    features: str = "auto"
    n_frequencies: int | str = "auto"
    tolerance: float = 1e-3
    noise_variance: float | None = None
    learns: bool = True
    criterion: str = "evidence"
    shrinks: bool = False
    n_bends: int = 0
    seed: int = 0
    resources: Resources = field(default_factory=Resources)

    @property
    def reml(self) -> bool:
        """Whether fixed effects are integrated out."""
        return self.criterion != "likelihood"

    @property
    def learns_noise(self) -> bool:
        """Whether the noise variance is learned."""
        return self.learns and self.noise_variance is None
