"""The contract of a covariance operator: the covariance matrix of very many rows, known by its products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.device import Device
from bochner.exceptions import PartError
from bochner.kernels import Kernel

Box = tuple[FloatArray, FloatArray]


class DeviceProducts(NamedTuple):
    """Products with the covariance of tensors (n, k) on a device: among the rows, and from rows to probes."""

    apply: Callable[[Any], Any]
    cross: Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class CovarianceOperator:
    """Covariance of a kernel between rows, and towards other places, as products with vectors.

    A subclass gives `how`, `reason`, `product_error`, `products`, `cross_products`, and in `offered` the rows that it
    suits. What it prepares, it prepares when it is first asked.

    Attributes
    ----------
    kernel : Kernel
    coords : ndarray of shape (n, dim)
        The rows.
    box : pair of ndarray of shape (dim,)
        Lower and upper corner of where rows and targets lie.
    """

    kernel: Kernel
    coords: FloatArray
    box: Box

    @classmethod
    def offered(cls, kernel: Kernel, coords: FloatArray, box: Box) -> Self | None:
        """The operator for these rows; None where it is not made for them."""
        raise NotImplementedError

    @property
    def how(self) -> str:
        """How products are computed, in a few words."""
        raise NotImplementedError

    @property
    def reason(self) -> str:
        """Why these rows have this operator, or what it cannot do for them."""
        raise NotImplementedError

    @property
    def faithful(self) -> bool:
        """Whether products are those of the kernel, up to `product_error`."""
        return True

    @property
    def product_error(self) -> float:
        """Largest error of a product with independent numbers, relative to the spread of the product."""
        raise NotImplementedError

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.coords)

    def apply(self, v: FloatArray) -> FloatArray:
        """K v for (n,) or (n, k)."""
        return self.products(v[:, None])[:, 0] if v.ndim == 1 else self.products(v)

    def cross(self, targets: FloatArray, v: FloatArray) -> FloatArray:
        """K(targets, rows) v for (n,) or (n, k): (m,) or (m, k)."""
        return self.cross_products(targets, v[:, None])[:, 0] if v.ndim == 1 else self.cross_products(targets, v)

    def prepared(self, columns: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """`cross` as a function of the targets, for (n, k): what does not depend on them is computed once."""
        return lambda targets: self.cross_products(targets, columns)

    def on_device(self, device: Device, probes: FloatArray) -> DeviceProducts | None:
        """The same products of tensors, with the rows and towards probes; None where NumPy alone has them."""
        return None

    def probes(self, n: int, rng: Generator) -> FloatArray:
        """Places at which a solution can be watched, (n, dim): anywhere in the box."""
        return rng.uniform(*self.box, size=(n, self.coords.shape[1]))

    def products(self, columns: FloatArray) -> FloatArray:
        """K columns, (n, k)."""
        raise NotImplementedError

    def cross_products(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        """K(targets, rows) columns, (m, k)."""
        raise NotImplementedError


def first_faithful(
    kinds: Sequence[type[CovarianceOperator]], kernel: Kernel, coords: FloatArray, box: Box
) -> CovarianceOperator:
    """The first faithful operator on offer, else the first at all."""
    spare: CovarianceOperator | None = None
    for kind in kinds:
        found = kind.offered(kernel, coords, box)
        if found is not None and found.faithful:
            return found
        spare = spare or found
    if spare is None:
        raise PartError(f"no operator takes {len(coords):,} rows; needed is one more in {[k.__name__ for k in kinds]}.")
    return spare
