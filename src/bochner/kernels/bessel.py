"""Logarithm of the modified Bessel function K, where K itself would overflow."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import Polynomial as Series
from scipy import special

from bochner.arrays import FloatArray

LARGE_ORDER = 20.0
N_DEBYE = 8  # terms of the expansion for large orders: 1e-11 at the smallest of them


def log_bessel_k(order: float, t: FloatArray) -> FloatArray:
    """Log of K_order(t) for t > 0, without overflow for orders of any size.

    Relative error of K below 1e-10.
    """
    order = abs(order)
    if order >= LARGE_ORDER:
        return _debye_expansion(order, t)
    return np.asarray(np.log(special.kve(order, t)) - t)


def _debye_expansion(order: float, t: FloatArray) -> FloatArray:
    # Abramowitz and Stegun 9.7.8; uniform in t > 0.
    z = t / order
    root = np.sqrt(1 + z**2)
    eta = root + np.log(z) - np.log1p(root)
    series = sum(u(1 / root) * (-1 / order) ** k for k, u in enumerate(_debye_polynomials()))
    return np.asarray(np.log(np.pi / (2 * order)) / 2 - order * eta - np.log(root) / 2 + np.log(series))


@cache
def _debye_polynomials() -> tuple[Series, ...]:
    """u_0, u_1, ... by the recurrence 9.3.10 of Abramowitz and Stegun."""
    found = [Series([1.0])]
    for _ in range(N_DEBYE):
        u = found[-1]
        found.append(Series([0, 0, 0.5, 0, -0.5]) * u.deriv() + (Series([1, 0, -5]) * u).integ() / 8)
    return tuple(found)
