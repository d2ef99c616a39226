"""Logarithm of the modified Bessel function K, where K itself would overflow, and its slope in the order."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import Polynomial as Series
from scipy import special

from bochner.arrays import FloatArray

LARGE_ORDER = 20.0
N_DEBYE = 8  # terms of the expansion for large orders: 1e-11 at the smallest of them
FELL = 38.0  # logs by which an integrand has fallen where it is left off: 3e-17
NARROWEST, FARTHEST_NODES = 0.6, 0.25  # step of the trapezoid rule, of the width of its peak, and at most: 3e-12
ARGUMENTS_AT_ONCE = 256


def log_bessel_k(order: float, t: FloatArray) -> FloatArray:
    """Log of K_order(t) for t > 0, without overflow for orders of any size.

    Relative error of K below 1e-10.
    """
    order = abs(order)
    if order >= LARGE_ORDER:
        return _debye_expansion(order, t)
    return np.asarray(np.log(special.kve(order, t)) - t)


def bessel_k_and_slope(order: float, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Log of K_order(t), K_(order - 1)(t) / K_order(t), and the derivative of the log in the order, for t > 0.

    .. math:: K_\nu(t) = \int_0^\infty e^{-t \cosh u} \cosh(\nu u)\, du

    by the trapezoid rule, whose error falls exponentially in the number of nodes (Trefethen & Weideman 2014, sec. 5);
    the three share their nodes. Relative errors below 1e-11, for orders in [0, 20].
    """
    flat = np.ravel(t)
    if not len(flat):
        return np.empty_like(t), np.empty_like(t), np.empty_like(t)
    runs = (flat[i : i + ARGUMENTS_AT_ONCE] for i in range(0, len(flat), ARGUMENTS_AT_ONCE))
    found = [_by_trapezoids(order, run) for run in runs]
    log_k, ratio, slope = (np.concatenate(parts).reshape(np.shape(t)) for parts in zip(*found, strict=True))
    return log_k, ratio, slope


def _by_trapezoids(nu: float, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same of a few arguments (n,), as sums over nodes (n, m)."""
    # the wider of two integrands, e^(-t (cosh u - 1) + b u), decides where the nodes end, its peak how near they are
    b = max(nu, 1 - nu)
    at_peak = np.arcsinh(b / t)
    height = b * at_peak - 2 * t * np.sinh(at_peak / 2) ** 2
    end = np.arccosh(1 + FELL / t)
    for _ in range(5):
        end = np.arccosh(1 + (FELL + np.maximum(b * end - height, 0.0)) / t)
    step = np.minimum(FARTHEST_NODES, NARROWEST / np.sqrt(np.hypot(t, b)))
    m = int(np.ceil(np.max(end / step))) + 1
    step = end / m
    u = step[:, None] * np.arange(m + 1)
    root = np.exp(0.5 * u)
    top = nu * np.arcsinh(nu / t) - 2 * t * np.sinh(np.arcsinh(nu / t) / 2) ** 2
    # e^(nu u) / 2 for cosh and sinh alike; what is left of them is even
    wave = np.exp(nu * u - 0.5 * t[:, None] * (root - 1 / root) ** 2 - top[:, None])
    wave[:, 0] *= 0.5
    even, down = np.exp(-2 * nu * u), 1 / root**2
    total = np.sum(wave * (1 + even), axis=1)
    below = np.sum(wave * (down + even / down), axis=1)
    slope = np.sum(wave * (1 - even) * u, axis=1)
    return np.log(0.5 * step * total) + top - t, below / total, slope / total


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
