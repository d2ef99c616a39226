"""Dense moments: everything that a Gaussian linear model needs to know of its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from bochner.arrays import FloatArray
from bochner.features import FeatureMap, Rows


@dataclass(frozen=True)
class DenseMoments:
    """Weighted sums over rows of the columns [phi, trend]; chunks and machines add.

    Attributes
    ----------
    gram : (p + q, p + q)
        Phi'W Phi, feature columns first, trend columns last.
    projection : (p + q,)
        Phi'W y.
    energy : float
        y'W y.
    weight : float
        Sum of W.
    """

    gram: FloatArray
    projection: FloatArray
    energy: float
    weight: float

    def __add__(self, other: DenseMoments) -> DenseMoments:
        return DenseMoments(
            self.gram + other.gram,
            self.projection + other.projection,
            self.energy + other.energy,
            self.weight + other.weight,
        )


def dense_moments(features: FeatureMap, rows: Rows, y: FloatArray, weight: FloatArray) -> DenseMoments:
    """Moments of some rows, in blocks; memory does not grow with their number.

    Cost n p^2. Products run in the precision of the waves, sums over blocks in float64.
    """
    p, q = features.n_columns, rows.trend.shape[1]
    gram = np.zeros((p + q, p + q), order="F")
    projection = np.zeros(p + q)
    for i in features.slices(len(rows)):
        phi = features.block(rows.coords[i])
        root = np.sqrt(weight[i])
        phi *= root[:, None].astype(phi.dtype)
        trend = rows.trend[i] * root[:, None]
        target = y[i] * root
        # syrk does half the work of a general product and fills the upper triangle
        syrk = blas.ssyrk if phi.dtype == np.float32 else blas.dsyrk
        gram[:p, :p] += syrk(1.0, phi.T, lower=0)
        columns = np.column_stack([trend, target])
        mixed = _adjoint(phi, columns)
        gram[:p, p:] += mixed[:, :q]
        gram[p:, p:] += trend.T @ trend
        projection += np.r_[mixed[:, q], trend.T @ target]
    lower = np.tril_indices(p + q, -1)
    gram[lower] = gram.T[lower]
    return DenseMoments(gram, projection, float(np.sum(weight * y**2)), float(weight.sum()))


def _adjoint(phi: FloatArray, columns: FloatArray) -> FloatArray:
    # Right-hand sides keep float64's digits although phi may not: they are split into a float32 part and the rest.
    if phi.dtype == np.float64:
        return np.asarray(phi.T @ columns)
    coarse = columns.astype(np.float32)
    fine = (columns - coarse).astype(np.float32)
    return np.asarray(phi.T @ coarse, dtype=np.float64) + np.asarray(phi.T @ fine, dtype=np.float64)
