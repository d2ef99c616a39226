"""The choice between blocks and transforms for the moments of a feature map."""

from __future__ import annotations

from bochner.arrays import FloatArray
from bochner.features import FeatureMap, FourierMap, Rows
from bochner.moments.dense import DenseMoments, dense_moments
from bochner.moments.spectral import spectral_moments

MOST_PAIRS = 20_000_000  # sums and differences of frequencies that a transform may be asked for


def moments_of(
    features: FeatureMap, rows: Rows, y: FloatArray, weight: FloatArray, *, n_jobs: int | None = None
) -> DenseMoments:
    """Moments of some rows, by non-uniform FFT where it is cheaper than blocks."""
    if isinstance(features, FourierMap) and prefers_transform(features, len(rows), rows.coords.shape[1]):
        return spectral_moments(features, rows, y, weight, n_jobs=n_jobs)
    return dense_moments(features, rows, y, weight)


def prefers_transform(features: FourierMap, n_rows: int, dim: int) -> bool:
    """Whether one transform at all pairs of frequencies costs less than n (2 m)^2 products.

    A point of a transform costs about as much as a few thousand multiplications, a pair of frequencies likewise.
    """
    m = features.frequencies.n
    if dim > 3 or (features.frequencies.lattice is None and m * m > MOST_PAIRS):
        return False
    points = n_rows + (0 if features.frequencies.lattice is not None else m * m)
    return points * 6e3 * 3.0 ** (dim - 2) < n_rows * (2.0 * m) ** 2
