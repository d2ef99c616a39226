"""Logarithm of the modified Bessel function K, where K itself would overflow."""

from __future__ import annotations

import numpy as np
from scipy import special

from bochner.arrays import FloatArray

LARGE_ORDER = 20.0


def log_bessel_k(order: float, t: FloatArray) -> FloatArray:
    """Log of K_order(t) for t > 0, without overflow for orders of any size.

    Relative error of K below 1e-8.
    """
    order = abs(order)
    if order >= LARGE_ORDER:
        return _debye_expansion(order, t)
    return np.asarray(np.log(special.kve(order, t)) - t)


def _debye_expansion(order: float, t: FloatArray) -> FloatArray:
    # Abramowitz and Stegun 9.7.8 with the polynomials of 9.3.9; uniform in t > 0.
    z = t / order
    root = np.sqrt(1 + z**2)
    eta = root + np.log(z) - np.log1p(root)
    p = 1 / root
    q = p**2
    u1 = p * (3 - 5 * q) / 24
    u2 = q * (81 - 462 * q + 385 * q**2) / 1152
    u3 = p * q * (30375 - 369603 * q + 765765 * q**2 - 425425 * q**3) / 414720
    u4 = q**2 * (4465125 - 94121676 * q + 349922430 * q**2 - 446185740 * q**3 + 185910725 * q**4) / 39813120
    series = 1 - u1 / order + u2 / order**2 - u3 / order**3 + u4 / order**4
    return np.asarray(np.log(np.pi / (2 * order)) / 2 - order * eta - np.log(root) / 2 + np.log(series))
