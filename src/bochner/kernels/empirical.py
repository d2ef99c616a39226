"""The empirical kernel: a spectral measure known from samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import KernelError
from bochner.kernels import limits
from bochner.kernels.parameters import check_positive, freeze, table
from bochner.kernels.spectral import ListedKernel
from bochner.kernels.waves import Atoms


@dataclass(frozen=True, repr=False)
class Empirical(ListedKernel):
    r"""Kernel whose frequencies are given: from a measured spectrum, another region, a physical model.

    .. math:: k(\tau) = \frac{\sigma^2}{m} \sum_{i=1}^m \cos(\omega_i'\tau)

    A frequency and its negative are the same wave. The spectrum consists of the samples; rules draw among them,
    and take each equally often if asked for a multiple of their number. Only the variance is learned.

    Parameters
    ----------
    samples : array of shape (m, dim) or (m,)
        Angular frequencies, in radians per unit of the coordinates.
    variance : float
        Variance of the field.
    """

    samples: Any
    variance: float = 1.0
    learned: ClassVar[tuple[tuple[str, str], ...]] = (("variance", "variance"),)

    def __post_init__(self) -> None:
        freeze(self, "variance")
        check_positive(self, variance=self.variance)
        omega = as_coords(self.samples, name="samples")
        if not omega.size:
            raise KernelError("Empirical: samples is empty; needed is at least one frequency, shape (m, dim).")
        object.__setattr__(self, "samples", table(omega, self.samples))

    @property
    def omega(self) -> FloatArray:
        """The samples as an array, (m, dim)."""
        return np.array(self.samples)

    def check_dim(self, dim: int) -> None:
        if len(self.samples[0]) != dim:
            raise KernelError(
                f"Empirical has samples in {len(self.samples[0])} dimensions for {dim} coordinates; give frequencies "
                f"of shape (m, {dim})."
            )

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        omega = self.omega
        shape = (*np.broadcast_shapes(x.shape[:-2], z.shape[:-2]), x.shape[-2], z.shape[-2])
        out = np.zeros(shape)
        rows = max(1, int(np.prod(shape[:-2])) * (shape[-2] + shape[-1]))
        size = max(1, limits.COSINES_AT_ONCE // rows)
        for i in range(0, len(omega), size):
            a, b = (v @ omega[i : i + size].T for v in (x, z))
            out += np.cos(a) @ np.swapaxes(np.cos(b), -1, -2) + np.sin(a) @ np.swapaxes(np.sin(b), -1, -2)
        return self.variance / len(omega) * out

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        k = self.covariance(x, z)
        return k, [k]

    def has_density(self, dim: int) -> bool:
        return False

    def n_uniforms(self, dim: int) -> int:
        return 1

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        omega = self.omega
        return omega[np.minimum((uniforms[:, 0] * len(omega)).astype(np.intp), len(omega) - 1)]

    def atoms(self, dim: int) -> Atoms:
        omega = self.omega
        return omega, np.full(len(omega), self.variance / len(omega))
