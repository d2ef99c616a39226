"""The contract of a kernel: what is similar to what, and how it is asked.

A kernel is a frozen value. It gives covariances between places, their derivatives with
respect to its log hyperparameters `theta`, and a changed copy of itself. Kernels add and
multiply, so `Sum` and `Product` belong to the contract.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import KernelError
from bochner.kernels.axes import Axes
from bochner.kernels.measure import spectral_density, total_variance
from bochner.kernels.radial_form import RadialForm
from bochner.kernels.roles import Role, Scale, role_named
from bochner.kernels.slopes import MatrixSlopes, Slopes


@dataclass(frozen=True)
class Hyperparameter:
    """One learnable number of a kernel: its name, its role and the axes that it belongs to (None: all)."""

    name: str
    role: Role
    axis: int | Axes | None = None

    @classmethod
    def named(cls, name: str, role: str | Role, axis: int | Axes | None = None) -> Hyperparameter:
        """Hyperparameter whose role is given by its name (`roles.ROLES`).

        `length_scale`, `variance`, `shape`, `smoothness`, `period`, `frequency` (radians per unit), `bandwidth` (one
        over a length scale), all on a log scale; `interaction` (space and time) on a logit scale, `stretch` as it is.
        """
        return cls(name, role_named(role), axis)

    def sides(self, scale: Scale) -> FloatArray:
        """Extents of the axes that it belongs to."""
        return scale.extent[list(self.axes(len(scale.extent)))]

    def axes(self, dim: int) -> tuple[int, ...]:
        """Axes among `dim` that it belongs to, as indices from 0."""
        if isinstance(self.axis, Axes):
            return self.axis.of(dim)
        return tuple(range(dim)) if self.axis is None else (self.axis % dim,)


class Kernel:
    """Covariance function: the contract that every kernel keeps.

    Subclasses are frozen dataclasses. They implement `covariance`,
    `covariance_and_gradient`, `hyperparameters`, `theta` and `with_theta`.
    ``kernel(X)``, `diag` and `at` check what they are given; `covariance`, `variances`
    and `lag_covariance` trust it, for callers that have checked it before.
    """

    stationary: ClassVar[bool] = True
    has_waves: ClassVar[bool] = False  # whether it is a SpectralKernel, or made of them
    radial: ClassVar[bool] = False  # whether it is a function of one scaled distance: rough at lag zero alone

    def __repr__(self) -> str:
        """Code that makes the kernel; options at their default (None or False) are left out."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        options = {f.name for f in fields if f.default is None or f.default is False}
        shown = [f.name for f in fields if f.name not in options or getattr(self, f.name) is not f.default]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    # ------------------------------------------------------------------ covariance

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> FloatArray:
        """Covariance matrix between the rows of `X` and those of `Z` (default: of `X`), shape (n, m)."""
        x = as_coords(X, name="X")
        self.check_dim(x.shape[1])
        z = x if Z is None else as_coords(Z, x.shape[1], name="Z")
        return self.covariance(x, z)

    def diag(self, X: ArrayLike) -> FloatArray:
        """Variance at each row of `X`, shape (n,)."""
        return self.variances(as_coords(X, name="X"))

    def at(self, lag: ArrayLike) -> FloatArray:
        """Covariance at lag vectors of shape (n, dim), for shift-invariant kernels."""
        self.check_stationary()
        return self.lag_covariance(as_coords(lag, name="lag"))

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Covariances of x (..., n, dim) with z (..., m, dim): (..., n, m). Trusts its input."""
        raise NotImplementedError

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """`covariance` and its derivatives with respect to each entry of `theta`. Trusts its input."""
        raise NotImplementedError

    def covariance_within(self, x: FloatArray) -> FloatArray:
        """Covariance of places (n, dim) with themselves, (n, n). Trusts its input."""
        return self.covariance(x, x)

    def covariance_and_slopes(self, x: FloatArray) -> tuple[FloatArray, Slopes]:
        """Covariance of places (n, dim) with themselves, and what a climb asks of its derivatives."""
        k, gradients = self.covariance_and_gradient(x, x)
        return k, MatrixSlopes(gradients)

    def variances(self, x: FloatArray) -> FloatArray:
        """Variance at places (n, dim): (n,). Trusts its input."""
        if self.stationary and len(x):
            return np.full(len(x), self.covariance(x[:1], x[:1])[0, 0])
        return self.covariance(x[:, None, :], x[:, None, :])[:, 0, 0]

    def lag_covariance(self, tau: FloatArray) -> FloatArray:
        """Covariance at lags (n, dim) of a shift-invariant kernel: (n,). Trusts its input."""
        return self.covariance(tau, np.zeros((1, tau.shape[1])))[:, 0]

    def radial_form(self, dim: int) -> RadialForm | None:
        """The same kernel for compiled loops, if it is made of functions of squared lags; None: it is not."""
        return None

    # ------------------------------------------------------------- hyperparameters

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """What each entry of `theta` is."""
        raise NotImplementedError

    @property
    def theta(self) -> FloatArray:
        """Learnable hyperparameters, each on the scale of its role: logarithms of nearly all of them."""
        raise NotImplementedError

    def with_theta(self, theta: FloatArray) -> Self:
        """Same kernel with other hyperparameters."""
        raise NotImplementedError

    def replace(self, **changes: Any) -> Self:
        """Same kernel with some parameters changed."""
        names = {f.name for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        unknown = sorted(set(changes) - names)
        if unknown:
            raise KernelError(f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {sorted(names)}.")
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def check_dim(self, dim: int) -> None:
        """Refuse coordinates whose dimension the kernel was not made for."""

    def check_stationary(self) -> None:
        """Refuse a kernel that is no function of the lag."""
        if not self.stationary:
            raise KernelError(
                f"{type(self).__name__} depends on the places, not on their lag alone; call kernel(X, Z)."
            )

    # --------------------------------------------------------------------- algebra

    def leaves(self) -> tuple[Kernel, ...]:
        """Simple kernels that this one is made of."""
        return (self,)

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        """Kernel multiplied out to a sum of products of simple kernels."""
        return ((self,),)

    def scaled(self, factor: float) -> Kernel:
        """Kernel times a positive number."""
        raise NotImplementedError

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: int) -> Kernel:
        # so that sum([k1, k2]) works
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        factor = float(other)
        if not (np.isfinite(factor) and factor > 0):
            raise KernelError(f"a kernel was multiplied by {other!r}; needed is a finite number > 0.")
        return self.scaled(factor)

    __rmul__ = __mul__

    # ---------------------------------------------------------- scikit-learn's protocol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, nested kernels included if `deep`."""
        params: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Kernel):
                params.update({f"{field.name}__{k}": v for k, v in value.get_params().items()})
        return params

    def with_params(self, **changes: Any) -> Self:
        """Copy with parameters changed by name; `k1__length_scale` reaches into a sum or product."""
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            head, _, rest = name.partition("__")
            if rest:
                nested.setdefault(head, {})[rest] = value
            else:
                own[head] = value
        for head, inner in nested.items():
            part = own.get(head, getattr(self, head, None))
            if not isinstance(part, Kernel):
                raise KernelError(f"{type(self).__name__} has no nested kernel {head!r}.")
            own[head] = part.with_params(**inner)
        return self.replace(**own)


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels joined."""

    k1: Kernel
    k2: Kernel

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        return self.k1.stationary and self.k2.stationary

    @property
    def variance(self) -> float:
        """Variance of the field, for shift-invariant parts."""
        return total_variance(self)

    def leaves(self) -> tuple[Kernel, ...]:
        return self.k1.leaves() + self.k2.leaves()

    def check_dim(self, dim: int) -> None:
        self.k1.check_dim(dim)
        self.k2.check_dim(dim)

    def _names(self) -> tuple[Hyperparameter, ...]:
        return tuple(
            Hyperparameter(f"{part}__{h.name}", h.role, h.axis)
            for part, kernel in (("k1", self.k1), ("k2", self.k2))
            for h in kernel.hyperparameters
        )


@dataclass(frozen=True, repr=False)
class Sum(_Pair):
    """Sum of two independent fields."""

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.k1.covariance(x, z) + self.k2.covariance(x, z)

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        k1, g1 = self.k1.covariance_and_gradient(x, z)
        k2, g2 = self.k2.covariance_and_gradient(x, z)
        return k1 + k2, g1 + g2

    def radial_form(self, dim: int) -> RadialForm | None:
        one, two = self.k1.radial_form(dim), self.k2.radial_form(dim)
        return None if one is None or two is None else one.plus(two, len(self.k1.theta))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return self._names()

    @property
    def theta(self) -> FloatArray:
        return np.r_[self.k1.theta, self.k2.theta]

    def with_theta(self, theta: FloatArray) -> Self:
        n1 = len(self.k1.theta)
        return self.replace(k1=self.k1.with_theta(theta[:n1]), k2=self.k2.with_theta(theta[n1:]))

    def scaled(self, factor: float) -> Kernel:
        return Sum(self.k1.scaled(factor), self.k2.scaled(factor))

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        return self.k1.terms() + self.k2.terms()

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        """Sum of the spectral densities, shape (m, dim) -> (m,)."""
        return spectral_density(self.k1, omega) + spectral_density(self.k2, omega)


@dataclass(frozen=True, repr=False)
class Product(_Pair):
    """Product of two kernels; while tuning, the variances of the second are held."""

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.k1.covariance(x, z) * self.k2.covariance(x, z)

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        k1, g1 = self.k1.covariance_and_gradient(x, z)
        k2, g2 = self.k2.covariance_and_gradient(x, z)
        kept = [g for g, free in zip(g2, self._free, strict=True) if free]
        return k1 * k2, [g * k2 for g in g1] + [k1 * g for g in kept]

    def radial_form(self, dim: int) -> RadialForm | None:
        one, two = self.k1.radial_form(dim), self.k2.radial_form(dim)
        return None if one is None or two is None else one.times(two, len(self.k1.theta), self._free)

    @property
    def _free(self) -> list[bool]:
        # Only the product of the variances matters, so one of them is enough. Inside a sum the variances
        # are shares, and all but the first are free.
        held = False
        free = []
        for h in self.k2.hyperparameters:
            first = h.role.is_variance and not held
            held = held or first
            free.append(not first)
        return free

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        keep = [True] * len(self.k1.theta) + self._free
        return tuple(h for h, free in zip(self._names(), keep, strict=True) if free)

    @property
    def theta(self) -> FloatArray:
        return np.r_[self.k1.theta, self.k2.theta[self._free]]

    def with_theta(self, theta: FloatArray) -> Self:
        n1 = len(self.k1.theta)
        second = self.k2.theta
        second[self._free] = theta[n1:]
        return self.replace(k1=self.k1.with_theta(theta[:n1]), k2=self.k2.with_theta(second))

    def scaled(self, factor: float) -> Kernel:
        return Product(self.k1.scaled(factor), self.k2)

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        return tuple(a + b for a in self.k1.terms() for b in self.k2.terms())

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        """Convolution of the spectral densities: exact on separate axes and with lines, else quasi Monte Carlo."""
        return spectral_density(self, omega)
