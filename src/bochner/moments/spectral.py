"""Moments of Fourier features by non-uniform FFT: the Gram without n m^2 work.

Products of waves are waves: cos a cos b = (cos(a-b) + cos(a+b)) / 2 and so on. So every entry of Phi'W Phi is a
Fourier sum of the weights at a sum or a difference of two frequencies, and one transform of
the n weights gives them all. On a lattice, sums and differences lie on a lattice twice as wide.
"""

from __future__ import annotations

import numpy as np

from bochner import nufft
from bochner.arrays import FloatArray, IntArray
from bochner.features import FourierMap, Rows
from bochner.moments.dense import DenseMoments

CHUNK = 4_000_000  # rows transformed at once: what a transform needs beside them stays below a gigabyte


def spectral_moments(
    features: FourierMap,
    rows: Rows,
    y: FloatArray,
    weight: FloatArray,
    *,
    eps: float = 1e-10,
    n_jobs: int | None = None,
) -> DenseMoments:
    """Moments of any Fourier features in 1 to 3 dimensions; O(n + m^2 log m).

    Chunks of rows add, so memory does not grow with their number.
    """
    m, q = len(features.frequencies.mass), rows.trend.shape[1]
    total = _Sums(features, eps, n_jobs)
    energy, trend_gram, trend_y = 0.0, np.zeros((q, q)), np.zeros(q)
    for i in rows.chunks(CHUNK):
        w, trend, target = weight[i], rows.trend[i], y[i]
        weighted = trend * w[:, None]
        total.add(rows.coords[i], np.vstack([w, weighted.T, w * target]))
        energy += float(np.sum(w * target**2))
        trend_gram += weighted.T @ trend
        trend_y += weighted.T @ target
    amplitude = np.tile(np.sqrt(features.frequencies.mass), 2)
    gram = np.empty((2 * m + q, 2 * m + q), order="F")
    gram[: 2 * m, : 2 * m] = total.gram() * amplitude * amplitude[:, None]
    mixed = np.vstack([total.at_waves.real, -total.at_waves.imag]) * amplitude[:, None]  # (2 m, q + 1)
    gram[: 2 * m, 2 * m :] = mixed[:, :q]
    gram[2 * m :, : 2 * m] = mixed[:, :q].T
    gram[2 * m :, 2 * m :] = trend_gram
    return DenseMoments(gram, np.r_[mixed[:, q], trend_y], energy, float(weight.sum()))


class _Sums:
    """Fourier sums of the weights at all sums and differences, and of weighted columns at the waves."""

    def __init__(self, features: FourierMap, eps: float, n_jobs: int | None) -> None:
        self.frequencies, self.eps, self.n_jobs = features.frequencies, eps, n_jobs
        self.lattice = features.frequencies.lattice
        self.generator: np.ndarray | None = None
        self.at_waves: np.ndarray = np.zeros((0, 0))
        m = features.frequencies.n
        self.first, self.second = np.triu_indices(m)

    def add(self, coords: FloatArray, columns: FloatArray) -> None:
        """Add a chunk: columns are the weights first, then what is wanted at the waves alone."""
        pairs, waves = self._on_lattice(coords, columns) if self.lattice else self._anywhere(coords, columns)
        self.generator = pairs if self.generator is None else self.generator + pairs
        self.at_waves = waves if self.at_waves.size == 0 else self.at_waves + waves

    def gram(self) -> FloatArray:
        """Unscaled Gram [[CC, CS], [SC, SS]] of cosines and sines."""
        assert self.generator is not None
        plus, minus = self._pair_sums()
        m = self.frequencies.n
        cc, cs = np.empty((m, m)), np.empty((m, m))
        ss, sc = np.empty((m, m)), np.empty((m, m))
        i, j = self.first, self.second
        # with f(s) = sum w exp(-1j s.x): Re f = sum w cos, -Im f = sum w sin
        cc[i, j] = cc[j, i] = (plus.real + minus.real) / 2
        ss[i, j] = ss[j, i] = (minus.real - plus.real) / 2
        sin_plus, sin_minus = -plus.imag, -minus.imag  # of (a + b) and (a - b), a = omega_i, b = omega_j
        cs[i, j] = (sin_plus - sin_minus) / 2  # cos a sin b
        cs[j, i] = (sin_plus + sin_minus) / 2  # cos b sin a
        sc[:] = cs.T
        return np.block([[cc, cs], [sc, ss]])

    def _on_lattice(self, coords: FloatArray, columns: FloatArray) -> tuple[np.ndarray, np.ndarray]:
        half = np.array(self.lattice.half_width)
        angle = 2 * np.pi * self.lattice.spacing * coords
        wide = self._modes(angle, columns[:1], 4 * half + 1)[0]
        narrow = self._modes(angle, columns[1:], 2 * half + 1)
        at = tuple((self.lattice.index + half).T)
        return wide, np.stack([f[at] for f in narrow], axis=1)

    def _modes(self, angle: FloatArray, columns: FloatArray, shape: IntArray) -> np.ndarray:
        plan = nufft.Plan.trusting(angle, tuple(map(int, shape)), eps=self.eps, n_jobs=self.n_jobs)
        return plan.type1(columns)

    def _anywhere(self, coords: FloatArray, columns: FloatArray) -> tuple[np.ndarray, np.ndarray]:
        omega = self.frequencies.omega
        a, b = omega[self.first], omega[self.second]
        wanted = np.concatenate([a + b, a - b])
        pairs = nufft.type3(coords, columns[:1], wanted, eps=self.eps, n_jobs=self.n_jobs)[0]
        waves = nufft.type3(coords, columns[1:], omega, eps=self.eps, n_jobs=self.n_jobs)
        return pairs, waves.T

    def _pair_sums(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.generator is not None
        if not self.lattice:
            half = len(self.generator) // 2
            return self.generator[:half], self.generator[half:]
        index = self.lattice.index
        centre = 2 * np.array(self.lattice.half_width)
        a, b = index[self.first], index[self.second]
        return self.generator[tuple((a + b + centre).T)], self.generator[tuple((a - b + centre).T)]
