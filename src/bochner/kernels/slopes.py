"""Derivatives of a covariance matrix K in each hyperparameter, as what a climb asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.spatial import distance

from bochner.arrays import FloatArray


class Radial(Protocol):
    """What is asked of a kernel of the distance of whitened places."""

    @property
    def variance(self) -> float: ...

    @property
    def length_scale(self) -> float | tuple[float, ...]: ...

    def shape_slopes(self, distance: FloatArray) -> list[FloatArray]:
        """Slopes of the correlation in each shape."""

    def scale_slopes(self, moments: FloatArray) -> FloatArray:
        """Slopes in the entries of theta that say how far the field reaches, from moments of whitened lags."""


class Slopes(Protocol):
    """Derivatives dK of K (n, n) in each entry of theta; a kernel may know them without a matrix for each."""

    def traces(self, folded: FloatArray) -> list[float]:
        """Sum of G dK for each; G is folded: an upper triangle with twice what is beside the diagonal, zeros below."""

    def products(self, v: FloatArray) -> list[FloatArray]:
        """dK v for each, v (n,)."""


@dataclass(frozen=True)
class MatrixSlopes:
    """A matrix for each hyperparameter."""

    gradients: Sequence[FloatArray]

    def traces(self, folded: FloatArray) -> list[float]:
        return [float(np.vdot(folded, dk)) for dk in self.gradients]

    def products(self, v: FloatArray) -> list[FloatArray]:
        return [dk @ v for dk in self.gradients]


@dataclass(frozen=True)
class PairSlopes:
    """Of a kernel that depends on the distance of whitened places: what is needed of every pair, once.

    Attributes
    ----------
    kernel : Radial
    z : (n, dim)
        Places in units of the length scales, along their axes.
    squared, covariance, decay : (n (n - 1) / 2,)
        Of every pair: squared distance, covariance, and slope of the covariance in the log of the range.
    """

    kernel: Radial
    z: FloatArray
    squared: FloatArray
    covariance: FloatArray
    decay: FloatArray

    def traces(self, folded: FloatArray) -> list[float]:
        g = distance.squareform(folded, force="tovector", checks=False)
        of_variance = float(g @ self.covariance) + self.kernel.variance * float(np.trace(folded))
        shapes = [float(g @ slope) for slope in self._shapes]
        if not isinstance(self.kernel.length_scale, tuple):
            return [float(g @ self.decay), of_variance, *shapes]
        share = distance.squareform(g * self._share)
        # sum of share (z_i - z_j)(z_i - z_j)' over the pairs: two products in place of a matrix for each entry
        moments = self.z.T @ (share.sum(axis=1)[:, None] * self.z) - self.z.T @ (share @ self.z)
        return [*self.kernel.scale_slopes(moments).tolist(), of_variance, *shapes]

    def products(self, v: FloatArray) -> list[FloatArray]:
        others = [distance.squareform(slope) @ v for slope in (self.covariance, *self._shapes)]
        others[0] += self.kernel.variance * v
        if not isinstance(self.kernel.length_scale, tuple):
            return [distance.squareform(self.decay) @ v, *others]
        z, share = self.z, distance.squareform(self._share)
        pairs = z[:, :, None] * z[:, None, :]
        one, two = share @ v, share @ (z * v[:, None])
        three = np.reshape(share @ np.reshape(pairs * v[:, None, None], (len(z), -1)), pairs.shape)
        crossed = z[:, :, None] * two[:, None, :]
        moments = pairs * one[:, None, None] - crossed - crossed.swapaxes(1, 2) + three
        return [*self.kernel.scale_slopes(moments), *others]

    @cached_property
    def _share(self) -> FloatArray:
        return np.divide(self.decay, self.squared, out=np.zeros_like(self.decay), where=self.squared > 0)

    @cached_property
    def _shapes(self) -> list[FloatArray]:
        return [self.kernel.variance * slope for slope in self.kernel.shape_slopes(np.sqrt(self.squared))]
