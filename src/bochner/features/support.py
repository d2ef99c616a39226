"""Support: the covariance between rows as functions, for callers that think of two sets of rows alike."""

from __future__ import annotations

from typing import Any

from bochner.arrays import FloatArray
from bochner.features.rows import Rows
from bochner.kernels import Kernel


def covariance_between(kernel: Kernel, a: Rows, b: Rows) -> FloatArray:
    """Prior covariance of the field between two sets of rows, (n, m)."""
    return a.covariance_with(kernel, b)


def covariance_and_gradient_of(kernel: Kernel, rows: Rows) -> tuple[FloatArray, Any]:
    """Prior covariance of some rows and its gradient in theta."""
    return rows.covariance_and_gradient(kernel)


def joined(a: Rows, b: Rows) -> Rows:
    """Rows of one set, then those of another."""
    return a.joined(b)
