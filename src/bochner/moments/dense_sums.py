"""Dense moments: everything that a Gaussian linear model needs to know of its rows."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import blas

from bochner.arrays import FloatArray
from bochner.features import FeatureMap, Rows
from bochner.moments import limits
from bochner.resources import block_bytes, look_around


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
    weight, log_weight : float
        Sum of W, and sum of log W.
    n_rows : int
        Rows that were summed.
    copies : float
        What merging equal rows took out of the log density (`Observations.replicate_terms`).
    """

    gram: FloatArray
    projection: FloatArray
    energy: float
    weight: float
    log_weight: float
    n_rows: int
    copies: float = 0.0

    def __add__(self, other: DenseMoments) -> DenseMoments:
        return DenseMoments(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def scaled(self, mass: FloatArray | float = 1.0, noise_variance: float = 1.0, copies: float = 0.0) -> DenseMoments:
        """Moments of waves with masses (m,) and rows with precision W / noise_variance, from those of unit mass.

        `copies` is what merged rows add to the log density at this noise variance.
        """
        q = len(self.projection) - 2 * np.size(mass) if np.ndim(mass) else 0
        scale = np.r_[np.sqrt(np.tile(mass, 2)), np.ones(q)] if np.ndim(mass) else np.sqrt(mass)
        rows = scale[:, None] if np.ndim(mass) else scale
        return DenseMoments(
            self.gram * scale * (rows / noise_variance),
            self.projection * scale / noise_variance,
            self.energy / noise_variance,
            self.weight / noise_variance,
            self.log_weight - self.n_rows * float(np.log(noise_variance)),
            self.n_rows,
            copies,
        )


def dense_moments(
    features: FeatureMap, rows: Rows, y: FloatArray, weight: FloatArray, copies: float = 0.0
) -> DenseMoments:
    """Moments of some rows, in blocks; memory does not grow with their number.

    Cost n p^2. Products of waves run in their own precision, all else in float64.
    """
    p, q = features.n_columns, rows.trend.shape[1]
    gram = np.zeros((p + q, p + q), order="F")
    projection = np.zeros(p + q)
    waves = _WaveGram(gram[:p, :p])
    for i in features.slices(len(rows), min(block_bytes(), 32 * limits.PARTIAL_ROWS * p)):
        look_around()
        phi = features.block(rows.coords[i])
        root = np.sqrt(weight[i])
        if np.any(root != 1.0):
            phi *= root[:, None].astype(phi.dtype)
        waves.add(phi)
        columns = np.column_stack([rows.trend[i], y[i]]) * root[:, None]
        mixed, small = _adjoint(phi, columns), columns.T @ columns
        gram[:p, p:] += mixed[:, :q]
        gram[p:, p:] += np.triu(small[:q, :q])
        projection += np.r_[mixed[:, q], small[:q, q]]
    waves.flush()
    gram += np.triu(gram, 1).T
    return DenseMoments(
        gram,
        projection,
        float(np.sum(weight * y**2)),
        float(weight.sum()),
        *count_of(weight),
        copies,
    )


def count_of(weight: FloatArray) -> tuple[float, int]:
    """Sum of the log weights, and number of rows; a row without weight is not there."""
    kept = weight[weight > 0]
    return float(np.sum(np.log(kept))), len(kept)


class _WaveGram:
    """Upper triangle of Phi'Phi: partial sums in the precision of the waves, each added to a float64 total.

    Such an addition costs as much as the products of some 200 rows, so a partial sum spans several blocks; of waves in
    float64 it spans all.
    """

    def __init__(self, total: FloatArray) -> None:
        self.total = total
        self.partial: FloatArray | None = None
        self.n_rows = 0

    def add(self, phi: FloatArray) -> None:
        # syrk does half the work of a general product, and adds to the partial sum in place
        syrk = blas.ssyrk if phi.dtype == np.float32 else blas.dsyrk
        self.partial = syrk(1.0, phi.T, beta=1.0, c=self.partial, overwrite_c=1, lower=0)
        self.n_rows += len(phi)
        if self.n_rows >= limits.PARTIAL_ROWS and phi.dtype != np.float64:
            self.flush()

    def flush(self) -> None:
        if self.partial is not None:
            self.total += self.partial
        self.partial, self.n_rows = None, 0


def _adjoint(phi: FloatArray, columns: FloatArray) -> FloatArray:
    """Phi' columns in float64: a response far from zero, summed in float32, would move the mean by its own sd."""
    if phi.dtype == np.float64:
        return np.asarray(phi.T @ columns)
    out = np.zeros((phi.shape[1], columns.shape[1]))
    for i in range(0, len(phi), 64):  # few enough rows to stay in cache, and on one thread
        out += phi[i : i + 64].astype(np.float64).T @ columns[i : i + 64]
    return out
