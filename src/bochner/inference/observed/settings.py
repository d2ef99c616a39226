"""Settings: what the user asked of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bochner.arrays import FloatArray, IntArray
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


@dataclass(frozen=True)
class Domain:
    """Where predictions are wanted, which rows belong together, and which axes share a unit.

    Attributes
    ----------
    predict_at : array of shape (m, dim), optional
        Places that were asked for.
    likely : array of shape (m, dim), optional
        Places where a map would be drawn, if that is not the whole box of the coordinates: on the Earth's surface, say.
    groups : array of shape (n,), optional
        Number of the group (station, household) of each row, where rows of a group are to be held out together.
    shared : tuple of int, optional
        Number of the length scale that each axis has, where axes that are no directions of their own share one: those
        of chord coordinates on the sphere.
    last_is_time : bool
        Whether the last coordinate is a time, and those before it are space.
    """

    predict_at: FloatArray | None = None
    likely: FloatArray | None = None
    groups: IntArray | None = None
    shared: tuple[int, ...] | None = None
    last_is_time: bool = False

    @property
    def wanted(self) -> FloatArray | None:
        """Places to be predicted: those asked for, or the likely ones."""
        return self.likely if self.predict_at is None else self.predict_at


@dataclass(frozen=True)
class Average:
    """Hyperparameters with masses that sum to 1; the best ones come first."""

    kernels: tuple[Kernel, ...]
    noise_variances: FloatArray
    mass: FloatArray
    trend_precision: FloatArray | None = None  # learned prior precision of the fixed effects, (q, q)
    starts: tuple[FloatArray | None, ...] = ()  # linear predictors of the rows at the modes, as far as they are known

    @classmethod
    def single(cls, kernel: Kernel, noise_variance: float) -> Average:
        """One set of hyperparameters."""
        return cls((kernel,), np.array([noise_variance]), np.ones(1))

    @property
    def pairs(self) -> list[tuple[Kernel, float]]:
        """Kernel and noise variance of every set."""
        return [(k, float(s2)) for k, s2 in zip(self.kernels, self.noise_variances, strict=True)]
