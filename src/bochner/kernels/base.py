"""The contract of a kernel: what is similar to what, and how it is asked.

A kernel is a frozen value. It gives covariances between places, their derivatives with
respect to its log hyperparameters `theta`, and a changed copy of itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import KernelError
from bochner.kernels.axes import Axes


@dataclass(frozen=True)
class Hyperparameter:
    """One learnable number of a kernel: its name, its role and the axes that it belongs to (None: all).

    Roles: `length_scale`, `variance`, `shape`, `period`, `frequency` (radians per unit), `bandwidth` (one over a length
    scale), all on a log scale; `interaction` (of space and time) on a logit scale, `stretch` as it is.
    """

    name: str
    role: str
    axis: int | Axes | None = None

    def axes(self, dim: int) -> tuple[int, ...]:
        """Axes among `dim` that it belongs to, as indices from 0."""
        if isinstance(self.axis, Axes):
            return self.axis.of(dim)
        return tuple(range(dim)) if self.axis is None else (self.axis % dim,)


class Kernel:
    """Covariance function: the contract that every kernel keeps.

    Subclasses are frozen dataclasses. They implement `covariance`,
    `covariance_and_gradient`, `hyperparameters`, `theta` and `with_theta`.
    """

    stationary: ClassVar[bool] = True
    has_waves: ClassVar[bool] = False  # whether it is a SpectralKernel, or made of them

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
        x = as_coords(X, name="X")
        return self.covariance(x[:, None, :], x[:, None, :])[:, 0, 0]

    def at(self, lag: ArrayLike) -> FloatArray:
        """Covariance at lag vectors of shape (n, dim), for shift-invariant kernels."""
        if not self.stationary:
            raise KernelError(
                f"{type(self).__name__} depends on the places, not on their lag alone; call kernel(X, Z)."
            )
        tau = as_coords(lag, name="lag")
        return self.covariance(tau, np.zeros((1, tau.shape[1])))[:, 0]

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Covariances of x (..., n, dim) with z (..., m, dim): (..., n, m). Trusts its input."""
        raise NotImplementedError

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """`covariance` and its derivatives with respect to each entry of `theta`."""
        raise NotImplementedError

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
        from bochner.kernels.algebra import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: int) -> Kernel:
        # so that sum([k1, k2]) works
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        from bochner.kernels.algebra import Product

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


def check_positive(kernel: Kernel, **values: Any) -> None:
    """Refuse hyperparameters that are not finite positive numbers."""
    for name, value in values.items():
        numbers = np.atleast_1d(np.asarray(value, dtype=object))
        for number in numbers:
            try:
                good = np.isfinite(float(number)) and float(number) > 0
            except (TypeError, ValueError):
                good = False
            if not good:
                raise KernelError(f"{type(kernel).__name__}: {name} is {value!r}; needed is a finite number > 0.")


def freeze(kernel: Kernel, *names: str) -> None:
    """Turn list, array and numpy parameters of a frozen kernel into tuples and numbers that compare, hash and print."""
    for name in names:
        object.__setattr__(kernel, name, _frozen(getattr(kernel, name)))


def _frozen(value: Any) -> Any:
    # what is frozen already is kept as it is: scikit-learn's clone asks for the same object
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (tuple, str)):
        array = np.asarray(value)
        return array.item() if array.ndim == 0 else tuple(float(v) for v in array.ravel())
    if isinstance(value, tuple):
        items = tuple(_frozen(v) for v in value)
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def table(array: FloatArray, given: Any) -> tuple[tuple[float, ...], ...]:
    """Rows of an array as tuples; what was given, if it is that already."""
    rows = tuple(tuple(float(v) for v in row) for row in array)
    return given if isinstance(given, tuple) and given == rows and isinstance(given[0], tuple) else rows
