"""Fourier series of a kernel on a torus: the waves that carry it exactly between all places of a box.

The kernel is sampled on a grid of lags, faded out beyond the largest lag of the box, and transformed. What
lies between grid points (the kink of a rough kernel at zero, above all) is left to a local remainder: the coefficients
are tapered so that this remainder dies out within a few grid steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft

from bochner import nufft
from bochner.arrays import FloatArray
from bochner.frequencies import limits
from bochner.kernels import Kernel
from bochner.neighbours.compiled import compiled_kernel
from bochner.resources import n_threads


@dataclass(frozen=True)
class TorusSeries:
    """k(tau) = sum_j coef_j cos(2 pi j.tau / period), for lags within the box that it was made for."""

    coef: FloatArray  # (N_1, ..., N_dim), zero frequency in the middle
    period: FloatArray  # (dim,)

    @property
    def step(self) -> FloatArray:
        """Grid of lags on which the kernel was sampled."""
        return self.period / np.array(self.coef.shape)

    def angle(self, coords: FloatArray) -> FloatArray:
        """Coordinates in radians of the torus."""
        return 2 * np.pi * coords / self.period

    def at(self, lag: FloatArray) -> FloatArray:
        """Value of the series at lags (m, dim)."""
        plan = nufft.Plan.trusting(self.angle(lag), self.coef.shape, eps=limits.SERIES_EPS)
        return plan.type2(self.coef).real


def torus_series(kernel: Kernel, extent: FloatArray, step: FloatArray, *, taper: bool) -> TorusSeries:
    """Series of a kernel for a box of sides `extent`, resolved to `step`.

    Without a taper it is exact for lags that are multiples of the step: for data on a regular grid.
    """
    counts = [_even(2 * (e / s + (limits.FADING_STEPS if taper else 1))) for e, s in zip(extent, step, strict=True)]
    axes = [(np.arange(n) - n // 2) * s for n, s in zip(counts, step, strict=True)]
    period = np.array(counts) * step
    values = _on_grid(kernel, axes, mirrored=taper)
    for j, lag in enumerate(axes):
        if taper:
            shape = [-1 if i == j else 1 for i in range(len(axes))]
            values *= fade(np.abs(lag), extent[j] + limits.SPARED_STEPS * step[j], period[j] / 2).reshape(shape)
    coef = fft.fftshift(fft.fftn(fft.ifftshift(values), workers=n_threads())).real / values.size
    if taper:
        coef *= _taper(counts)
    return TorusSeries(coef, period)


def _on_grid(kernel: Kernel, axes: list[FloatArray], *, mirrored: bool) -> FloatArray:
    """Covariances of all lags of a grid, zero in its middle.

    Where what lies at its edge is faded out, half of them are enough: a covariance is the same back and forth.
    """
    shape, dim, first = [len(axis) for axis in axes], len(axes), len(axes[0]) // 2 if mirrored else 0
    lags = np.stack(np.meshgrid(axes[0][first:], *axes[1:], indexing="ij"), axis=-1).reshape(-1, dim)
    tables = compiled_kernel(kernel, dim, len(lags))
    here = kernel.lag_covariance(lags) if tables is None else tables.covariance(lags, np.zeros((1, dim)))
    here = here.reshape(-1, *shape[1:])
    if not mirrored:
        return here
    values = np.zeros(shape)
    values[first:] = here
    inside = (slice(1, None),) * (dim - 1)  # of an even number the outermost has no like
    values[1:first][(slice(None), *inside)] = np.flip(here[1:][(slice(None), *inside)])
    return values


def fade(t: FloatArray, start: float, end: float) -> FloatArray:
    """1 up to `start`, 0 from `end`, infinitely smooth in between."""
    u = np.clip((t - start) / (end - start), 1e-9, 1 - 1e-9)
    return np.asarray(1 / (1 + np.exp(np.clip(1 / (1 - u) - 1 / u, -700, 700))))


def _taper(counts: list[int]) -> FloatArray:
    squared = np.zeros([1] * len(counts))
    for j, n in enumerate(counts):
        shape = [-1 if i == j else 1 for i in range(len(counts))]
        squared = squared + ((np.arange(n) - n // 2) / (n / 2)).reshape(shape) ** 2
    t = np.clip((np.sqrt(squared) - limits.FLAT_TAPER) / (1 - limits.FLAT_TAPER), 0.0, 1.0)
    return np.asarray(np.cos(np.pi / 2 * t) ** 2)


def _even(n: float) -> int:
    count = int(np.ceil(n))
    while True:
        count = int(fft.next_fast_len(count, real=True))
        if count % 2 == 0:
            return count
        count += 1
