"""Support: rows that are means over areas, beside rows that are points.

A mean over an area is a weighted sum over points that stand for it, and a sum is linear: its covariance with anything
is the same sum of the kernel. So points and areas enter one Gaussian model exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray, IntArray
from bochner.features.rows import Rows
from bochner.kernels import Kernel


@dataclass(frozen=True)
class ArealRows(Rows):
    """Rows with a support: row i is the sum of ``share`` over the points whose ``group`` is i.

    The shares of a row sum to 1; `coords` are the weighted centres.
    """

    points: FloatArray  # (k, dim)
    group: IntArray  # (k,)
    share: FloatArray  # (k,)

    def __getitem__(self, index: slice | IntArray) -> ArealRows:
        kept = np.arange(len(self))[index]
        position = np.full(len(self), -1)
        position[kept] = np.arange(len(kept))
        at = (
            np.concatenate([np.flatnonzero(self.group == i) for i in kept]) if len(kept) else np.zeros(0, dtype=np.intp)
        )
        return ArealRows(
            self.coords[index], self.trend[index], self.points[at], position[self.group[at]], self.share[at]
        )

    @property
    def averaging(self) -> Any:
        """Sparse matrix (n, k) that takes values at the points to values of the rows."""
        return sparse.csr_array(
            (self.share, (self.group, np.arange(len(self.share)))), shape=(len(self), len(self.share))
        )


def covariance_between(kernel: Kernel, a: Rows, b: Rows) -> FloatArray:
    """Prior covariance of the field between two sets of rows, (n, m)."""
    k = kernel.covariance(_points(a), _points(b))
    return _averaged(k, a, b)


def covariance_and_gradient_of(kernel: Kernel, rows: Rows) -> tuple[FloatArray, Any]:
    """Prior covariance of some rows and its gradient in theta."""
    k, gradients = kernel.covariance_and_gradient(_points(rows), _points(rows))
    if not isinstance(rows, ArealRows):
        return k, gradients
    return _averaged(k, rows, rows), [_averaged(dk, rows, rows) for dk in gradients]


def variance_of(kernel: Kernel, rows: Rows) -> FloatArray:
    """Prior variance of the field at each row, (n,)."""
    if not isinstance(rows, ArealRows):
        return kernel.diag(rows.coords)
    return np.array(
        [float(covariance_between(kernel, row, row)[0, 0]) for row in (rows[i : i + 1] for i in range(len(rows)))]
    )


def joined(a: Rows, b: Rows) -> Rows:
    """Rows of one set, then those of another."""
    coords, trend = np.concatenate([a.coords, b.coords]), np.concatenate([a.trend, b.trend])
    if not isinstance(a, ArealRows) and not isinstance(b, ArealRows):
        return Rows(coords, trend)
    first, second = as_areal(a), as_areal(b)
    return ArealRows(
        coords,
        trend,
        np.concatenate([first.points, second.points]),
        np.concatenate([first.group, second.group + len(a)]),
        np.concatenate([first.share, second.share]),
    )


def as_areal(rows: Rows) -> ArealRows:
    """Points as areas of one point each."""
    if isinstance(rows, ArealRows):
        return rows
    return ArealRows(rows.coords, rows.trend, rows.coords, np.arange(len(rows)), np.ones(len(rows)))


def _points(rows: Rows) -> FloatArray:
    return rows.points if isinstance(rows, ArealRows) else rows.coords


def _averaged(k: FloatArray, a: Rows, b: Rows) -> FloatArray:
    if isinstance(a, ArealRows):
        k = np.asarray(a.averaging @ k)
    return np.asarray((b.averaging @ k.T).T) if isinstance(b, ArealRows) else k
