"""Separable kernels: one kernel in space times one in time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from numpy.typing import ArrayLike

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels.base import Hyperparameter, Kernel, Product
from bochner.kernels.measure import total_variance
from bochner.kernels.on_axes import OnAxes
from bochner.kernels.radial_form import RadialForm


@dataclass(frozen=True, repr=False)
class Separable(Kernel):
    r"""Product of a kernel in space and a kernel in time, on stacked coordinates.

    .. math:: k(h, u) = k_s(h)\, k_t(u)

    Its frequencies are independent ones of space and time, stacked; its spectral density is the product of the
    two. While tuning, the variance of `time` is held: only the product of the variances matters.

    Parameters
    ----------
    space : Kernel
        Kernel of the first coordinates, all but the last.
    time : Kernel
        Kernel of the last coordinate.
    space_axes, time_axes : int or tuple of int, optional
        Other axes, by index. One of them given, the other kernel has all the axes that are left.
    """

    space: Kernel
    time: Kernel
    space_axes: int | tuple[int, ...] | None = field(default=None, kw_only=True)
    time_axes: int | tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("space", "time"):
            if not isinstance(getattr(self, name), Kernel):
                raise KernelError(f"Separable: {name} is {getattr(self, name)!r}; needed is a kernel, e.g. Matern().")
        product = self.product  # names its axes right
        for name, part in (("space_axes", product.k1), ("time_axes", product.k2)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, part.axes)  # type: ignore[attr-defined]

    @property
    def product(self) -> Product:
        """The same kernel as a product of two, each on its own axes."""
        time_axes = -1 if self.space_axes is None and self.time_axes is None else self.time_axes
        space = (None, time_axes) if self.space_axes is None else (self.space_axes, None)
        time = (None, self.space_axes) if time_axes is None else (time_axes, None)
        return Product(OnAxes(self.space, space[0], without=space[1]), OnAxes(self.time, time[0], without=time[1]))

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        return self.product.stationary

    @property
    def variance(self) -> float:
        """Variance of the field, for shift-invariant parts."""
        return total_variance(self)

    def check_dim(self, dim: int) -> None:
        if dim < 2:
            raise KernelError(f"Separable with {dim} coordinate; needed are two or more, the last of them time.")
        self.product.check_dim(dim)
        both = set.intersection(*(set(k.seen_axes(dim)) for k in (self.product.k1, self.product.k2)))  # type: ignore[attr-defined]
        if both:
            raise KernelError(
                f"Separable: axis {min(both)} is both in space_axes={self.space_axes!r} and in "
                f"time_axes={self.time_axes!r}; needed are different axes. A product of OnAxes kernels may share them."
            )

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.product.covariance(x, z)

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        return self.product.covariance_and_gradient(x, z)

    def radial_form(self, dim: int) -> RadialForm | None:
        return self.product.radial_form(dim)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        names = {"k1": "space", "k2": "time"}
        return tuple(
            Hyperparameter(f"{names[h.name[:2]]}{h.name.removeprefix(h.name[:2] + '__kernel')}", h.role, h.axis)
            for h in self.product.hyperparameters
        )

    @property
    def theta(self) -> FloatArray:
        return self.product.theta

    def with_theta(self, theta: FloatArray) -> Self:
        product = self.product.with_theta(theta)
        return self.replace(space=product.k1.kernel, time=product.k2.kernel)  # type: ignore[attr-defined]

    def scaled(self, factor: float) -> Kernel:
        return self.replace(space=self.space.scaled(factor))

    def leaves(self) -> tuple[Kernel, ...]:
        return self.product.leaves()

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        return self.product.terms()

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        """Product of the spectral densities of space and time, shape (m, dim) -> (m,)."""
        return self.product.spectral_density(omega)
