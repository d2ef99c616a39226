"""Kernels of the inner product: not shift-invariant, so without a spectral density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels.base import Hyperparameter
from bochner.kernels.stationary import SimpleKernel


@dataclass(frozen=True, repr=False)
class Polynomial(SimpleKernel):
    r"""Polynomial kernel of the inner product.

    .. math:: k(x, z) = \sigma^2 \left(\sum_j x_j z_j / \ell_j^2 + \theta\right)^p

    Parameters
    ----------
    length_scale : float or tuple of float
        Scale of the coordinates; a scalar is kept while tuning, since `variance` does its work.
    variance : float
        Factor in front.
    degree : int
        The power p.
    offset : float
        The free parameter theta >= 0 that gives weight to the lower powers.
    """

    degree: int = 2
    offset: float = 1.0
    stationary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.degree) != self.degree or self.degree < 1:
            raise KernelError(f"{type(self).__name__}: degree is {self.degree!r}; needed is an integer >= 1.")
        if not (np.isfinite(self.offset) and self.offset >= 0):
            raise KernelError(f"{type(self).__name__}: offset is {self.offset!r}; needed is a finite number >= 0.")

    @property
    def shapes(self) -> tuple[str, ...]:
        return ("offset",) if self.offset > 0 else ()

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return tuple(h for h in super().hyperparameters if not h.role.is_range or h.axis is not None)

    @property
    def theta(self) -> FloatArray:
        return super().theta if isinstance(self.length_scale, tuple) else super().theta[1:]

    def with_theta(self, theta: FloatArray) -> Self:
        if isinstance(self.length_scale, tuple):
            return super().with_theta(theta)
        return super().with_theta(np.r_[np.log(self.length_scale), theta])

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.variance * (self._inner(x, z) + self.offset) ** self.degree

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        base = self._inner(x, z) + self.offset
        k = self.variance * base**self.degree
        slope = self.variance * self.degree * base ** (self.degree - 1)
        scales: list[FloatArray] = []
        if isinstance(self.length_scale, tuple):
            for j, scale in enumerate(self.length_scale):
                scales.append(slope * -2 * x[..., :, None, j] * z[..., None, :, j] / scale**2)
        shapes = [slope * self.offset] if self.offset > 0 else []
        return k, [*scales, k, *shapes]

    def _inner(self, x: FloatArray, z: FloatArray) -> FloatArray:
        scales = self.scales(x.shape[-1])
        return (x / scales) @ np.swapaxes(z / scales, -1, -2)


@dataclass(frozen=True, repr=False)
class Linear(Polynomial):
    r"""Linear kernel: linear regression on the coordinates.

    .. math:: k(x, z) = \sigma^2 \sum_j x_j z_j / \ell_j^2
    """

    degree: int = 1
    offset: float = 0.0
