"""The primal solver: the precision of the coefficients, factored where it lies or on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import DeviceMatrix, device_for
from bochner.solvers.base import Factor
from bochner.solvers.cholesky import cholesky_factor
from bochner.solvers.device_cholesky import device_factor
from bochner.solvers.linear_solver import LinearSolver, LinearSystem, Solution, register_solver


def precision_factor(precision: Any, n_trend: int = 0, added: FloatArray | float = 0.0) -> Factor:
    """Factor a symmetric positive definite matrix where it lies, or on a device if that is worth the way there."""
    device = precision.device if isinstance(precision, DeviceMatrix) else device_for(len(precision) ** 3 / 3)
    if device is None:
        return cholesky_factor(precision, n_trend, added)
    return device_factor(device, precision, n_trend, added)


class Primal(LinearSolver):
    """(Phi'N Phi + I) c = Phi'N y; O(p^3 / 3) once the moments are there, whatever the number of rows."""

    name = "primal"

    def suits(self, n_rows: int, n_columns: int) -> str | None:
        return f"{n_columns} columns <= {n_rows} rows: solved in the columns (primal)" if n_columns <= n_rows else None

    def solve(self, system: LinearSystem) -> Solution:
        return self.solve_moments(system.moments, system.n_columns)

    def solve_moments(self, moments: Any, n_columns: int) -> Solution:
        """The same from moments alone."""
        n_trend = len(moments.projection) - n_columns
        factor = precision_factor(moments.gram, n_trend, np.repeat([1.0, 0.0], [n_columns, n_trend]))
        coef = factor.solve(moments.projection)
        return Solution(factor, coef, float(moments.energy - moments.projection @ coef))


register_solver(Primal())
