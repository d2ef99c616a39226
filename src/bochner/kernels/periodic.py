"""The periodic kernel: patterns that repeat exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels import limits
from bochner.kernels.parameters import check_positive, freeze
from bochner.kernels.spectral import ListedKernel
from bochner.kernels.waves import Atoms


@dataclass(frozen=True, repr=False)
class Periodic(ListedKernel):
    r"""Periodic kernel, for what repeats: days, seasons, ridges and furrows.

    .. math:: k(\tau) = \sigma^2 \prod_j \exp\left(-\frac{2 \sin^2(\pi \tau_j / p_j)}{\ell_j^2}\right)

    A product over the axes: as a function of the distance it would not be a covariance in two dimensions or more. Its
    spectrum consists of lines at the multiples of :math:`2\pi/p_j`, with masses
    :math:`e^{-1/\ell_j^2} I_k(1/\ell_j^2)`, the modified Bessel function. Alone it repeats for ever; times another
    kernel (`Periodic(...) * Matern(...)`) the pattern changes slowly.

    Parameters
    ----------
    length_scale : float or tuple of float
        Smoothness within a period, without unit: 2 or more is close to a single wave, 0.3 has sharp peaks.
    period : float or tuple of float
        Distance after which the field repeats, in the unit of the coordinates.
    variance : float
        Variance of the field.
    """

    length_scale: float | tuple[float, ...] = 1.0
    period: float | tuple[float, ...] = 1.0
    variance: float = 1.0
    learned: ClassVar[tuple[tuple[str, str], ...]] = (
        ("length_scale", "shape"),
        ("period", "period"),
        ("variance", "variance"),
    )

    def __post_init__(self) -> None:
        freeze(self, "length_scale", "period", "variance")
        check_positive(self, length_scale=self.length_scale, period=self.period, variance=self.variance)

    @property
    def smooth(self) -> bool:
        return False

    def check_dim(self, dim: int) -> None:
        for name in ("length_scale", "period"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != dim:
                raise KernelError(
                    f"Periodic has {len(value)} values of {name} for {dim} coordinates; give one number, or one per "
                    f"coordinate."
                )

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        exponents = [self._exponent(x, z, j)[0] for j in range(x.shape[-1])]
        return np.asarray(self.variance * np.exp(sum(exponents)))

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        parts = [self._exponent(x, z, j) for j in range(x.shape[-1])]
        k = self.variance * np.exp(sum(p[0] for p in parts))
        by_scale = [-2 * exponent * k for exponent, _ in parts]
        by_period = [slope * k for _, slope in parts]
        scales = by_scale if isinstance(self.length_scale, tuple) else [np.sum(by_scale, axis=0)]
        periods = by_period if isinstance(self.period, tuple) else [np.sum(by_period, axis=0)]
        return k, [*scales, *periods, k]

    def _exponent(self, x: FloatArray, z: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
        """-2 sin^2(a) / l^2, a = pi tau / p, along axis j, and its derivative in log p."""
        scale, period = self._along(self.length_scale, j), self._along(self.period, j)
        a = np.pi / period * (x[..., :, None, j] - z[..., None, :, j])
        return -2 * np.sin(a) ** 2 / scale**2, 2 * a * np.sin(2 * a) / scale**2

    def _along(self, value: float | tuple[float, ...], axis: int) -> float:
        return value[axis] if isinstance(value, tuple) else value

    # ---------------------------------------------------------- the spectral measure

    def has_density(self, dim: int) -> bool:
        return False

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        omega = np.empty((len(uniforms), dim))
        for j in range(dim):
            mass = self._harmonics(j)
            # the first axis has one of each pair, the others have both
            order = np.arange(len(mass)) if j == 0 else np.arange(1 - len(mass), len(mass))
            share = mass if j == 0 else mass[np.abs(order)] / np.where(order == 0, 1, 2)
            at = np.searchsorted(np.cumsum(share)[:-1] / share.sum(), uniforms[:, j], side="right")
            omega[:, j] = 2 * np.pi / self._along(self.period, j) * order[at]
        return omega

    def atoms(self, dim: int) -> Atoms:
        omega, mass = np.zeros((1, 0)), np.array([self.variance])
        for j in range(dim):
            along = self._harmonics(j)
            order = np.arange(len(along)) if j == 0 else np.arange(1 - len(along), len(along))
            share = along if j == 0 else along[np.abs(order)] / np.where(order == 0, 1, 2)
            lines = 2 * np.pi / self._along(self.period, j) * order
            omega = np.column_stack([np.repeat(omega, len(lines), axis=0), np.tile(lines, len(omega))])
            mass = (mass[:, None] * share).ravel()
        heavy = mass > limits.LEAST_HARMONICS * self.variance / len(mass)
        return omega[heavy], mass[heavy]

    def _harmonics(self, axis: int) -> FloatArray:
        """Mass of each multiple 0, 1, 2, ... of the base frequency, a wave and its negative together."""
        kappa = self._along(self.length_scale, axis) ** -2.0
        # the masses fall like a Gaussian of variance kappa at first, then faster
        if 8 * np.sqrt(kappa) > limits.MAX_HARMONICS:
            raise KernelError(
                f"a periodic kernel of length_scale {self._along(self.length_scale, axis):.3g} has more than "
                f"{limits.MAX_HARMONICS:,} harmonics; give a longer one, or features='exact'."
            )
        order = np.arange(int(8 * np.sqrt(kappa)) + 12)
        mass = special.ive(order, kappa) * np.where(order == 0, 1, 2)
        left = 1 - np.cumsum(mass)
        return np.asarray(mass[: max(1, int(np.sum(left > limits.LEAST_HARMONICS)) + 1)])
