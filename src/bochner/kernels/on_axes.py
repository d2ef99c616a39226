"""A kernel on some of the coordinate axes: in space alone, in time alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels.axes import Axes
from bochner.kernels.base import Hyperparameter, Kernel
from bochner.kernels.measure import spectral_density
from bochner.kernels.radial_form import RadialForm
from bochner.kernels.spectral import SpectralKernel
from bochner.kernels.waves import Atoms


@dataclass(frozen=True, repr=False)
class OnAxes(SpectralKernel):
    r"""Kernel that sees only some of the coordinates; along the others the field is constant.

    .. math:: k(\tau) = k_0(\tau_A), \quad A \text{ the axes}

    Sums and products of such kernels make space-time models, e.g. a pattern that stays, a level that changes
    everywhere at once, and a field that moves::

        OnAxes(Matern(50), (0, 1)) + OnAxes(Matern(7), 2) + Separable(Matern(20), Matern(3))

    Its frequencies are those of the kernel, and zero along the other axes.

    Parameters
    ----------
    kernel : Kernel
        Kernel of the coordinates on these axes.
    axes : int or tuple of int
        Axes that the kernel sees, in its own order; -1 is the last.
    without : int or tuple of int
        Instead of `axes`: the axes that it does not see.
    """

    kernel: Kernel
    axes: int | tuple[int, ...] | None = None
    without: int | tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise KernelError(f"OnAxes: kernel is {self.kernel!r}; needed is a kernel, e.g. Matern().")
        if (self.axes is None) == (self.without is None):
            raise KernelError(
                f"OnAxes: axes is {self.axes!r} and without is {self.without!r}; give one of them, e.g. axes=(0, 1)."
            )
        for name in ("axes", "without"):
            object.__setattr__(self, name, _indices(name, getattr(self, name)))

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        return self.kernel.stationary

    @property
    def has_waves(self) -> bool:  # type: ignore[override]
        return self.kernel.has_waves

    @property
    def variance(self) -> float:  # type: ignore[override]
        """Variance of the field, for shift-invariant kernels."""
        return float(self.kernel.variance)  # type: ignore[attr-defined]

    @property
    def _axes(self) -> Axes:
        return Axes(self.axes, self.without or ())  # type: ignore[arg-type]

    def seen_axes(self, dim: int) -> tuple[int, ...]:
        """Axes that the kernel sees among `dim`, as indices from 0."""
        return self._axes.of(dim)

    # ------------------------------------------------------------------ covariance

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        axes = list(self.seen_axes(x.shape[-1]))
        return self.kernel.covariance(x[..., axes], z[..., axes])

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        axes = list(self.seen_axes(x.shape[-1]))
        return self.kernel.covariance_and_gradient(x[..., axes], z[..., axes])

    def radial_form(self, dim: int) -> RadialForm | None:
        axes = self.seen_axes(dim)
        inner = self.kernel.radial_form(len(axes))
        return None if inner is None else inner.embedded(axes, dim)

    def check_dim(self, dim: int) -> None:
        self.kernel.check_dim(len(self.seen_axes(dim)))

    # ------------------------------------------------------------- hyperparameters

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return tuple(
            Hyperparameter(f"kernel__{h.name}", h.role, self._axes.inner(h.axis)) for h in self.kernel.hyperparameters
        )

    @property
    def theta(self) -> FloatArray:
        return self.kernel.theta

    def with_theta(self, theta: FloatArray) -> Self:
        return self.replace(kernel=self.kernel.with_theta(theta))

    # --------------------------------------------------------------------- algebra

    def scaled(self, factor: float) -> Kernel:
        return self.replace(kernel=self.kernel.scaled(factor))

    def leaves(self) -> tuple[Kernel, ...]:
        return tuple(self.replace(kernel=k) for k in self.kernel.leaves())

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        return tuple(tuple(self.replace(kernel=k) for k in factors) for factors in self.kernel.terms())

    # ------------------------------------------- the spectral measure, of a simple kernel

    @property
    def smooth(self) -> bool:
        return all(k.smooth for k in self.kernel.leaves() if isinstance(k, SpectralKernel))

    def seen(self, dim: int) -> tuple[tuple[int, ...], SpectralKernel]:
        axes = self.seen_axes(dim)
        inner, kernel = self._spectral.seen(len(axes))
        return tuple(axes[j] for j in inner), kernel

    def n_uniforms(self, dim: int) -> int:
        return self._spectral.n_uniforms(len(self.seen_axes(dim)))

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        return self.embed(self._spectral.frequencies(uniforms, len(self.seen_axes(dim))), dim)

    def embed(self, omega: FloatArray, dim: int) -> FloatArray:
        """Frequencies on the axes seen as frequencies on all: zero along the others."""
        full = np.zeros((len(omega), dim))
        full[:, list(self.seen_axes(dim))] = omega
        return full

    def has_density(self, dim: int) -> bool:
        axes = self.seen_axes(dim)
        return len(axes) == dim and self._spectral.has_density(dim)

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        """Spectral density, if no axis is left out; (m, dim) -> (m,)."""
        return spectral_density(self, omega)

    def atoms(self, dim: int) -> Atoms | None:
        atoms = self._spectral.atoms(len(self.seen_axes(dim)))
        return None if atoms is None else (self.embed(atoms[0], dim), atoms[1])

    @property
    def _spectral(self) -> SpectralKernel:
        assert isinstance(self.kernel, SpectralKernel)
        return self.kernel


def _indices(name: str, value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    numbers = np.atleast_1d(np.asarray(value, dtype=object))
    if numbers.ndim != 1 or not len(numbers) or not all(isinstance(v, (int, np.integer)) for v in numbers):
        raise KernelError(f"OnAxes: {name} is {value!r}; needed are whole numbers, e.g. (0, 1) or -1.")
    indices = tuple(int(v) for v in numbers)
    return value if isinstance(value, tuple) and value == indices else indices
