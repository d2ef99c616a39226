"""Many rows in many dimensions: no products, and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from bochner.arrays import FloatArray
from bochner.exceptions import PartError
from bochner.features.operators.base import Box, CovarianceOperator
from bochner.kernels import Kernel


@dataclass(frozen=True, eq=False)
class UnavailableOperator(CovarianceOperator):
    """Last resort: takes all rows, and says that it has no products."""

    @classmethod
    def offered(cls, kernel: Kernel, coords: FloatArray, box: Box) -> Self | None:
        return cls(kernel, coords, box)

    @property
    def how(self) -> str:
        return "not at all"

    @property
    def reason(self) -> str:
        return "beyond 3 dimensions no lattice of waves holds the field"

    @property
    def faithful(self) -> bool:
        return False

    @property
    def product_error(self) -> float:
        return float("inf")

    def products(self, columns: FloatArray) -> FloatArray:
        raise PartError(
            f"products with the covariance of {self.n_rows:,} rows in {self.coords.shape[1]} dimensions were asked "
            f"for, but {self.reason}; use neighbours or features."
        )

    def cross_products(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        return self.products(columns)
