"""Built-in NUFFT on NumPy and SciPy alone, so that nothing ever fails to install.

Types 1 and 2 are the classical three steps: spread over a grid twice as fine with a bell, FFT, divide by the bell's
own spectrum (Dutt and Rokhlin 1993; Fessler and Sutton 2003). Type 3 is the scaling of Lee and Greengard (2005) in the
form that FINUFFT gave it: spread, then a type 2 whose "modes" are the grid points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import fft

from bochner.arrays import FloatArray
from bochner.nufft.checks import check_grid
from bochner.nufft.contract import Array, RealType, complex_type
from bochner.nufft.gridding import Gridding
from bochner.nufft.kaiser_bessel import UPSAMPLING, kernel_for

# Real strengths are spread as one number per place, complex ones as two.
takes_real = True
adds_in_any_order = False
float32_phase_error = 0.0  # places stay in float64


class BuiltinPlan:
    """Sorted places, grid and spectral correction for one box of modes."""

    def __init__(self, coords: FloatArray, shape: tuple[int, ...], eps: float, dtype: RealType, n_jobs: int) -> None:
        kernel = kernel_for(eps, n_bells=len(shape))
        self._fine = tuple(fft.next_fast_len(UPSAMPLING * max(n, kernel.width)) for n in shape)
        check_grid(self._fine)
        modes = [np.arange(-(n // 2), (n + 1) // 2) for n in shape]
        self._places = [j % g for j, g in zip(modes, self._fine, strict=True)]
        self._correction = [(1 / kernel.transform(j / g)).astype(dtype) for j, g in zip(modes, self._fine, strict=True)]
        cells = np.remainder(coords / (2 * np.pi), 1) * self._fine
        self._gridding = Gridding(cells, self._fine, kernel, dtype, n_jobs)
        self._n_jobs = n_jobs

    def type1(self, strengths: Array, sign: int) -> Array:
        # Axis by axis, so that later transforms run over the wanted modes only.
        array = self._gridding.spread(strengths)
        for axis, (place, correction) in enumerate(zip(self._places, self._correction, strict=True), start=1):
            array = np.take(self._transform(sign)(array, axis=axis), place, axis)
            array *= _along(correction, axis, array.ndim)
        return np.ascontiguousarray(array)

    def type2(self, modes: Array, sign: int) -> Array:
        array = modes
        for axis, (place, correction) in enumerate(zip(self._places, self._correction, strict=True), start=1):
            wide = np.zeros((*array.shape[:axis], self._fine[axis - 1], *array.shape[axis + 1 :]), array.dtype)
            wide[(slice(None),) * axis + (place,)] = array * _along(correction, axis, array.ndim)
            array = self._transform(sign)(wide, axis=axis)
        return self._gridding.interpolate(array)

    def _transform(self, sign: int) -> Callable[..., Array]:
        # norm="forward" leaves the inverse transform without its 1/n
        chosen = partial(fft.fft) if sign < 0 else partial(fft.ifft, norm="forward")
        return partial(chosen, workers=self._n_jobs)


plan = BuiltinPlan


def type3(coords: FloatArray, strengths: Array, targets: FloatArray, eps: float, sign: int, n_jobs: int) -> Array:
    """Type 3: with y = a x and theta = s / a, s.x is y.theta and theta stays where the bell's spectrum is large."""
    # two bells per axis: this one and that of the type 2 inside
    kernel, dtype = kernel_for(eps, n_bells=2 * coords.shape[1]), strengths.real.dtype
    a = UPSAMPLING * np.abs(targets).max(axis=0) / np.pi  # so that |theta| <= pi / UPSAMPLING
    reach = np.ceil(a * np.abs(coords).max(axis=0)) + kernel.width
    shape = tuple(2 * int(r) for r in reach)
    grid = Gridding(coords * a + reach, shape, kernel, dtype, n_jobs).spread(strengths)
    theta = np.divide(targets, a, out=np.zeros_like(targets), where=a > 0)
    inner = BuiltinPlan(theta, shape, eps / np.sqrt(2), dtype, n_jobs)
    result = inner.type2(grid.astype(complex_type(dtype), copy=False), sign)
    result /= kernel.transform(theta / (2 * np.pi)).prod(axis=1).astype(dtype)
    return result


def _along(vector: Array, axis: int, ndim: int) -> Array:
    return vector.reshape([-1 if k == axis else 1 for k in range(ndim)])
