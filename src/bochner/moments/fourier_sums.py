"""Fourier sums of the rows: the Gram of any Fourier features without n m^2 work, whatever their masses.

Products of waves are waves: cos a cos b = (cos(a-b) + cos(a+b)) / 2 and so on. So every entry of Phi'W Phi is a
Fourier sum of the weights at a sum or a difference of two frequencies, and one non-uniform FFT of the n weights gives
them all. On a lattice, sums and differences lie on a lattice twice as wide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bochner import nufft
from bochner.arrays import FloatArray, rowwise
from bochner.device import Device, device_for
from bochner.features import Rows
from bochner.frequencies import Frequencies
from bochner.moments import limits
from bochner.moments.dense_sums import DenseMoments, count_of


@dataclass(frozen=True)
class FourierSums:
    """Weighted Fourier sums of some rows at given frequencies; chunks and machines add.

    They do not depend on the kernel: `scaled` turns them into the moments of any spectral masses and noise variance.
    A few megabytes where the Gram would be hundreds.

    Attributes
    ----------
    frequencies : Frequencies
        Where the sums were taken; their masses do not matter.
    generator : complex array
        Sums of the weights at all sums and differences of frequencies: a box of a lattice, or (m (m + 1),) pairs.
    at_waves : complex (m, q + 1)
        Sums of the weighted trend columns, and of the weighted responses last, at the frequencies.
    trend_gram, trend_y : (q, q), (q,)
        X'W X and X'W y.
    energy, weight, log_weight : float
        y'W y, the sum of W and the sum of log W.
    n_rows : int
        Rows that were summed.
    """

    frequencies: Frequencies
    generator: np.ndarray
    at_waves: np.ndarray
    trend_gram: FloatArray
    trend_y: FloatArray
    energy: float
    weight: float
    log_weight: float
    n_rows: int

    def __add__(self, other: FourierSums) -> FourierSums:
        return replace(
            self,
            generator=self.generator + other.generator,
            at_waves=self.at_waves + other.at_waves,
            trend_gram=self.trend_gram + other.trend_gram,
            trend_y=self.trend_y + other.trend_y,
            energy=self.energy + other.energy,
            weight=self.weight + other.weight,
            log_weight=self.log_weight + other.log_weight,
            n_rows=self.n_rows + other.n_rows,
        )

    def scaled(self, mass: FloatArray, noise_variance: float = 1.0, copies: float = 0.0) -> DenseMoments:
        """Moments of waves with these masses (m,), of rows with precision W / noise_variance.

        `copies` is what merged rows add to the log density at this noise variance.
        """
        lattice = self.frequencies.lattice
        device = None if lattice is None else device_for((2.0 * self.frequencies.n) ** 3 / 3)
        if device is None:
            return self.unit.scaled(mass, noise_variance, copies)
        return self._on_device(device, mass, noise_variance, copies)

    def _on_device(self, device: Device, mass: FloatArray, noise_variance: float, copies: float) -> DenseMoments:
        """The same with a Gram that is assembled on a device, and stays there."""
        from bochner.moments.device_sums import lattice_moments

        lattice, q = self.frequencies.lattice, len(self.trend_y)
        assert lattice is not None
        scale = np.r_[np.sqrt(np.tile(mass, 2)), np.ones(q)]
        mixed = np.vstack([self.at_waves.real, -self.at_waves.imag])
        arrays = (lattice.index, lattice.half_width, self.generator, mixed[:, :q], self.trend_gram, scale)
        return DenseMoments(
            lattice_moments(device, *arrays, noise_variance),  # type: ignore[arg-type]
            np.r_[mixed[:, q], self.trend_y] * scale / noise_variance,
            self.energy / noise_variance,
            self.weight / noise_variance,
            self.log_weight - self.n_rows * float(np.log(noise_variance)),
            self.n_rows,
            copies,
        )

    @cached_property
    def unit(self) -> DenseMoments:
        """Moments of waves of unit mass."""
        p, q = 2 * self.frequencies.n, len(self.trend_y)
        gram = np.empty((p + q, p + q), order="F")
        gram[:p, :p] = self._wave_gram()
        mixed = np.vstack([self.at_waves.real, -self.at_waves.imag])  # (2 m, q + 1)
        gram[:p, p:] = mixed[:, :q]
        gram[p:, :p] = mixed[:, :q].T
        gram[p:, p:] = self.trend_gram
        projection = np.r_[mixed[:, q], self.trend_y]
        return DenseMoments(gram, projection, self.energy, self.weight, self.log_weight, self.n_rows)

    def _wave_gram(self) -> FloatArray:
        """Gram [[CC, CS], [SC, SS]] of cosines and sines of unit amplitude, (2 m, 2 m)."""
        plus, minus, i, j = self._pair_sums()
        m = self.frequencies.n
        cc, cs = np.empty((m, m)), np.empty((m, m))
        ss = np.empty((m, m))
        # with f(s) = sum w exp(-1j s.x): Re f = sum w cos, -Im f = sum w sin
        cc[i, j] = cc[j, i] = (plus.real + minus.real) / 2
        ss[i, j] = ss[j, i] = (minus.real - plus.real) / 2
        sin_plus, sin_minus = -plus.imag, -minus.imag  # of (a + b) and (a - b), a = omega_i, b = omega_j
        cs[i, j] = (sin_plus - sin_minus) / 2  # cos a sin b
        cs[j, i] = (sin_plus + sin_minus) / 2  # cos b sin a
        return np.block([[cc, cs], [cs.T, ss]])

    def _pair_sums(self) -> tuple[np.ndarray, ...]:
        """Sums at omega_i + omega_j and omega_i - omega_j, and the pairs i <= j."""
        i, j = np.triu_indices(self.frequencies.n)
        lattice = self.frequencies.lattice
        if lattice is None:
            half = len(self.generator) // 2
            return self.generator[:half], self.generator[half:], i, j
        centre = 2 * np.array(lattice.half_width)
        a, b = lattice.index[i], lattice.index[j]
        return self.generator[tuple((a + b + centre).T)], self.generator[tuple((a - b + centre).T)], i, j


def fourier_sums(
    frequencies: Frequencies, rows: Rows, y: FloatArray, weight: FloatArray, *, eps: float = limits.SUMS_EPS
) -> FourierSums:
    """Fourier sums of some rows in 1 to 3 dimensions; O(n + m^2 log m), in memory that does not grow with the rows."""
    total: FourierSums | None = None
    for i in rows.chunks(limits.CHUNK_ROWS):
        part = _sums(frequencies, rows.coords[i], rows.trend[i], y[i], weight[i], eps)
        total = part if total is None else total + part
    return _sums(frequencies, rows.coords, rows.trend, y, weight, eps) if total is None else total


def _sums(
    frequencies: Frequencies, coords: FloatArray, trend: FloatArray, y: FloatArray, weight: FloatArray, eps: float
) -> FourierSums:
    weighted = trend * weight[:, None]
    columns = np.vstack([weight, weighted.T, weight * y])
    transform = _anywhere if frequencies.lattice is None else _on_lattice
    generator, at_waves = transform(frequencies, coords, columns, eps)
    return FourierSums(
        frequencies,
        generator,
        at_waves,
        weighted.T @ trend,
        weighted.T @ y,
        float(np.sum(weight * y**2)),
        float(weight.sum()),
        *count_of(weight),
    )


def _on_lattice(
    frequencies: Frequencies, coords: FloatArray, columns: FloatArray, eps: float
) -> tuple[np.ndarray, np.ndarray]:
    lattice = frequencies.lattice
    assert lattice is not None
    half = np.array(lattice.half_width)
    angle = rowwise(np.multiply, coords, 2 * np.pi * lattice.spacing)
    wide, narrow = tuple(map(int, 4 * half + 1)), tuple(map(int, 2 * half + 1))
    at, at_wide = tuple((lattice.index + half).T), tuple((lattice.index + 2 * half).T)
    # an intercept is the weights again
    same = [*(np.array_equal(column, columns[0]) for column in columns[1:-1]), False]
    other = columns[1:][~np.array(same)]
    # two real vectors travel as one complex one: weights with the last column, the others in pairs
    generator, last = _apart(nufft.Plan.trusting(angle, wide, eps=eps), columns[0], other[-1])
    found = [last[at_wide]]
    plan = nufft.Plan.trusting(angle, narrow, eps=eps) if len(other) > 1 else None
    for i in range(len(other) - 2, -1, -2):
        assert plan is not None
        second, first = _apart(plan, other[i], other[i - 1] if i else np.zeros(len(coords)))
        found = [*([first[at]] if i else []), second[at], *found]
    rest = iter(found)
    return generator, np.stack([generator[at_wide] if alike else next(rest) for alike in same], axis=1)


def _apart(plan: nufft.Plan, first: FloatArray, second: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Transforms of two real vectors for the price of one: modes of the first are Hermitian, of i times the other not.

    The second is brought to the size of the first, so that neither drowns in the other's rounding.
    """
    sizes = [float(np.abs(v).max(initial=0.0)) or 1.0 for v in (first, second)]
    both = plan.type1((first / sizes[0] + 1j * (second / sizes[1]))[None])[0]
    mirrored = np.conj(both[tuple(slice(None, None, -1) for _ in both.shape)])
    return (both + mirrored) * (sizes[0] / 2), (both - mirrored) * (-0.5j * sizes[1])


def _anywhere(
    frequencies: Frequencies, coords: FloatArray, columns: FloatArray, eps: float
) -> tuple[np.ndarray, np.ndarray]:
    omega = frequencies.omega
    i, j = np.triu_indices(len(omega))
    wanted = np.concatenate([omega[i] + omega[j], omega[i] - omega[j]])
    pairs = nufft.type3(coords, columns[:1], wanted, eps=eps)[0]
    return pairs, nufft.type3(coords, columns[1:], omega, eps=eps).T
