"""The choice between blocks and transforms for the moments of a feature map."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import device_for
from bochner.features import FeatureMap, FourierMap, Rows
from bochner.moments import limits
from bochner.moments.dense_sums import DenseMoments, dense_moments
from bochner.moments.fourier_sums import fourier_sums


def moments_of(
    features: FeatureMap, rows: Rows, y: FloatArray, weight: FloatArray, copies: float = 0.0
) -> DenseMoments:
    """Moments of some rows, by non-uniform FFT where it is cheaper than blocks; on a device, if one is in force.

    `copies` is what merging equal rows took out of their log density.
    """
    if isinstance(features, FourierMap):
        device = device_for(2.0 * len(rows) * features.n_columns**2)
        by_blocks = device is not None and features.frequencies.lattice is None
        if not by_blocks and prefers_transform(features, rows.coords):
            return fourier_sums(features.frequencies, rows, y, weight).scaled(features.frequencies.mass, copies=copies)
        if device is not None:
            from bochner.moments.device_sums import device_moments

            return device_moments(device, features, rows, y, weight, copies)
    return dense_moments(features, rows, y, weight, copies)


def prefers_transform(features: FourierMap, coords: FloatArray) -> bool:
    """Whether one transform at all pairs of frequencies costs less than n (2 m)^2 products.

    A point of a transform costs about as much as a few thousand multiplications, a pair of frequencies likewise, a
    point of its grid a hundred. Rough kernels draw frequencies so high that the grid would be
    immense: they take blocks.
    """
    (n, dim), m, lattice = coords.shape, features.frequencies.n, features.frequencies.lattice
    if dim > 3 or (lattice is None and m * m > limits.MAX_FREQUENCY_PAIRS):
        return False
    if lattice is not None:
        grid = float(np.prod(2.0 * (4 * np.array(lattice.half_width) + 1)))
    else:
        # a type 3 resolves the box of the places at twice the highest frequency
        turns = np.ptp(coords, axis=0) * 2 * np.abs(features.frequencies.omega).max(axis=0) / np.pi
        grid = float(np.prod(2 * (turns + 16)))
    points = n + (0 if lattice is not None else m * m)
    work = points * 6e3 * 3.0 ** (dim - 2) + 100 * grid
    return grid <= limits.MAX_GRID_POINTS and work < n * (2.0 * m) ** 2
