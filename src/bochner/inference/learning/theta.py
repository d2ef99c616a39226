"""Everything that is learned, and what an evidence says at it."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.arrays import FloatArray
from bochner.kernels import Kernel


@dataclass(frozen=True)
class Theta:
    """Hyperparameters of a model.

    Attributes
    ----------
    kernel : Kernel
    noise : float
        Noise variance; of other families the variance of the effect of each row.
    effects : tuple of float
        Prior variance of the fixed effects, by block of covariates.
    dispersion : float or None
        Of the family, where it is learned.
    trend : array of shape (q,), optional
        Fixed effects, where they maximise the likelihood of a family that is not Gaussian.
    """

    kernel: Kernel
    noise: float
    effects: tuple[float, ...] = ()
    dispersion: float | None = None
    trend: FloatArray | None = None


@dataclass(frozen=True)
class Point:
    """Evidence at given hyperparameters.

    Attributes
    ----------
    value : float
    gradient : array
        In [theta of the kernel, log noise variance, log variances of the effects, log dispersion, trend], the last
        two where they are learned.
    information : array
        About minus the Hessian in the same, never negative.
    scale : float
        Factor of all variances at which the evidence is largest; 1 where none is integrated out.
    """

    value: float
    gradient: FloatArray
    information: FloatArray
    scale: float = 1.0
