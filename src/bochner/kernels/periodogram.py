"""Peaks in the spectrum of data: where a kernel with wave lengths of its own should start.

The power of the data at a frequency is |sum y exp(-i omega'x)|^2 / n^2, for places on a grid or not, by one non-uniform
FFT. The waves of highest power are taken off one by one, and gathered into a mixture of Gaussian peaks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bochner import nufft
from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.kernels import limits


class Peaks(NamedTuple):
    """Peaks of a spectrum, the heaviest first."""

    omega: FloatArray  # (n_peaks, dim), radians per unit of the coordinates
    width: FloatArray  # (n_peaks, dim), standard deviations
    mass: FloatArray  # (n_peaks,), variance


def spectral_peaks(coords: FloatArray, y: FloatArray, n_peaks: int) -> Peaks:
    """Peaks of the empirical spectrum of responses without trend, in one to three dimensions."""
    dim = coords.shape[1]
    if not 1 <= dim <= 3:
        raise InputError(f"the spectrum of data in {dim} dimensions was asked for; needed are 1 to 3. Give the means.")
    if n_peaks < 1 or len(y) < 4:
        raise InputError(f"{n_peaks} peaks of {len(y)} rows were asked for; needed are 1 peak and 4 rows at least.")
    lines, power = spectral_lines(coords, y, limits.LINES_PER_PEAK * n_peaks, n_peaks)
    cell = 2 * np.pi / _extent(coords)  # width of an independent frequency
    return _mixture(lines, power, cell, _greedy(lines, power, cell, n_peaks), float(np.var(y)))


def spectral_lines(coords: FloatArray, y: FloatArray, most: int, fewest: int = 1) -> tuple[FloatArray, FloatArray]:
    """Waves of highest power, each found in what the ones before it leave over: (m, dim), and their variances (m,).

    Places that lie unevenly smear the power of a wave over the whole spectrum; taking it off first shows the next.
    Ends at `most` waves, or where the next one could be chance.
    """
    extent = _extent(coords)
    coords = coords - coords.mean(axis=0)
    found: list[FloatArray] = []
    left, coef = y - y.mean(), np.zeros(0)
    for _ in range(min(most, max(1, (len(y) - 1) // 3))):
        omega, power = periodogram(coords, left, extent)
        best = int(np.argmax(power))
        # the power of white noise is exponential, of mean median / log 2; the highest of m is log m times that
        chance = np.median(power) / np.log(2) * (np.log(len(power)) + 1)
        if len(found) >= fewest and power[best] < chance:
            break
        found.append(omega[best])
        phase = coords @ np.array(found).T
        columns = np.column_stack([np.cos(phase), np.sin(phase), np.ones(len(y))])
        coef = np.linalg.lstsq(columns, y, rcond=1e-6)[0]
        left = y - columns @ coef
    m = len(found)
    return np.array(found), (coef[:m] ** 2 + coef[m : 2 * m] ** 2) / 2


def periodogram(coords: FloatArray, y: FloatArray, extent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Frequencies (m, dim), one of each pair, and the variance that a wave there would carry, (m,)."""
    n, dim = coords.shape
    step = 2 * np.pi / (limits.OVERSAMPLING * extent)
    half = limits.OVERSAMPLING * _highest(coords) // 2
    shrink = min(1.0, (limits.MAX_MODES / np.prod(2.0 * half + 1)) ** (1 / dim))
    half = np.maximum((half * shrink).astype(int), 2)
    modes = nufft.type1(coords * step, y, tuple(int(2 * h + 1) for h in half), eps=1e-6)
    axes = [np.arange(-h, h + 1) for h in half]
    index = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dim)
    later = slice(len(index) // 2 + 1, None)  # one of each pair, without zero
    return index[later] * step, 2 * np.abs(modes.ravel()[later]) ** 2 / n**2


def _extent(coords: FloatArray) -> FloatArray:
    extent = np.ptp(coords, axis=0)
    return np.where(extent > 0, extent, 1.0)


def _highest(coords: FloatArray) -> FloatArray:
    """Waves per extent up to which data can tell them apart, doubled: by distinct values on a grid, else by density."""
    n, dim = coords.shape
    distinct = np.array([len(np.unique(c)) for c in coords.T])
    even = 2 * n ** (1 / dim)
    return np.where(distinct <= n / 2, distinct, np.minimum(distinct, even)).astype(int)


def _greedy(omega: FloatArray, power: FloatArray, cell: FloatArray, n_peaks: int) -> FloatArray:
    """Heaviest lines that lie at least two cells apart, while there are such, (n_peaks, dim)."""
    left = power.copy()
    found: list[int] = []
    for _ in range(n_peaks):
        if not left.any():
            left = power / (1.0 + len(found))
        best = omega[np.argmax(left)]
        found.append(best)
        for sign in (-1, 1):
            left[np.sum(((omega - sign * best) / cell) ** 2, axis=1) < 4] = 0.0
    return np.array(found)


def _mixture(omega: FloatArray, power: FloatArray, cell: FloatArray, centre: FloatArray, variance: float) -> Peaks:
    """Lines gathered into Gaussian peaks, by expectation and maximisation from given centres."""
    narrow = 0.1 * cell
    width = np.tile(cell, (len(centre), 1))
    share = np.full(len(centre), 1 / len(centre))
    power = np.maximum(power, 1e-12 * power.max())
    for _ in range(limits.N_ROUNDS):
        # a wave and its negative are the same: a line counts on the side of the peak
        sign = np.where(omega @ (centre / cell**2).T < 0, -1.0, 1.0)
        turned = sign[:, :, None] * omega[:, None, :]
        log_density = np.log(share) - 0.5 * np.sum(((turned - centre) / width) ** 2 + 2 * np.log(width), axis=2)
        member = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        member *= (power / member.sum(axis=1))[:, None]
        total = member.sum(axis=0) + 1e-9 * power.sum()
        share = total / total.sum()
        # pulled a little to where it was: a peak without lines stays
        centre = (np.einsum("nq,nqd->qd", member, turned) + 1e-9 * power.sum() * centre) / total[:, None]
        width = np.sqrt(np.einsum("nq,nqd->qd", member, (turned - centre) ** 2) / total[:, None] + narrow**2)
    order = np.argsort(-share)
    return Peaks(centre[order], width[order], variance * np.maximum(share, 1e-2)[order])
