"""Nystroem features: the kernel seen through a set of landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.features.base import FeatureMap
from bochner.kernels import Kernel


@dataclass(frozen=True)
class NystroemMap(FeatureMap):
    """phi(x) = K_xm K_mm^(-1/2) for landmarks m; what it misses of the variance is carried apart."""

    kernel: Kernel
    landmarks: FloatArray
    root: FloatArray  # lower Cholesky root of K_mm

    @classmethod
    def at(cls, kernel: Kernel, landmarks: FloatArray) -> NystroemMap:
        """Map for a kernel and landmarks (m, dim)."""
        gram = kernel(landmarks)
        gram[np.diag_indices_from(gram)] += 1e-10 * np.mean(np.diag(gram))
        return cls(kernel, landmarks, linalg.cholesky(gram, lower=True))

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        return len(self.landmarks)

    def block(self, coords: FloatArray) -> FloatArray:
        cross = self.kernel.covariance(self.landmarks, coords)
        return np.asarray(linalg.solve_triangular(self.root, cross, lower=True)).T

    def missing_variance(self, coords: FloatArray) -> FloatArray:
        missing = self.kernel.variances(coords)
        for i in self.slices(len(coords)):
            missing[i] -= np.sum(self.block(coords[i]) ** 2, axis=1)
        return np.maximum(missing, 0.0)

    def missing_covariance(self, coords: FloatArray) -> FloatArray:
        phi = self.block(coords)
        missing = self.kernel.covariance(coords, coords) - phi @ phi.T
        missing[np.diag_indices_from(missing)] = np.maximum(np.diag(missing), 0.0)
        return missing

    def prior_variance(self, coords: FloatArray) -> FloatArray:
        return self.kernel.variances(coords)


def choose_landmarks(coords: FloatArray, n_landmarks: int, weight: FloatArray, seed: int) -> FloatArray:
    """Landmarks spread over the places: centres of k-means on the distinct ones, (m, dim)."""
    from sklearn.cluster import MiniBatchKMeans

    if n_landmarks < 1:
        raise InputError(f"{n_landmarks} landmarks were asked for; at least 1 is needed.")
    places = np.unique(coords[weight > 0], axis=0)
    if n_landmarks >= len(places):
        return places
    scale = np.maximum(places.std(axis=0), 1e-300)
    means = MiniBatchKMeans(n_landmarks, random_state=seed, n_init=1, batch_size=max(4096, 2 * n_landmarks))
    # its steps can turn on the last digit, which is another in another unit of the coordinates
    return np.asarray(means.fit(np.round(places / scale, 9)).cluster_centers_ * scale)
