"""NUFFT on a device of PyTorch's: the built-in transform with its bells on the grid by scattered additions.

Sums run in the order in which the device finds the time: the last bits may differ from run to run.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import fft

from bochner.arrays import FloatArray
from bochner.device import Device, named_device
from bochner.device.accelerator import to_host
from bochner.nufft.checks import check_grid
from bochner.nufft.contract import Array, RealType, complex_type
from bochner.nufft.kaiser_bessel import UPSAMPLING, KaiserBessel, kernel_for

takes_real = False
adds_in_any_order = False
float32_phase_error = 0.0  # places stay in float64


class TorchPlan:
    """Bells, grid and spectral correction for one box of modes, on a device."""

    def __init__(
        self,
        coords: FloatArray,
        shape: tuple[int, ...],
        eps: float,
        dtype: RealType,
        n_jobs: int = 1,
        device: Device | None = None,
    ) -> None:
        self.device = named_device("cuda") if device is None else device
        kernel = kernel_for(eps, n_bells=len(shape))
        fine = tuple(fft.next_fast_len(UPSAMPLING * max(n, kernel.width)) for n in shape)
        check_grid(fine)
        modes = [np.arange(-(n // 2), (n + 1) // 2) for n in shape]
        self._places = [self.device.tensor(j % g) for j, g in zip(modes, fine, strict=True)]
        self._correction = [
            self.device.tensor((1 / kernel.transform(j / g)).astype(dtype)) for j, g in zip(modes, fine, strict=True)
        ]
        turns = self.device.tensor(coords) / (2 * np.pi)
        self._bells = _Bells(self.device, (turns - self.device.torch.floor(turns)), fine, kernel, dtype)

    def type1(self, strengths: Array, sign: int) -> Array:
        return to_host(self.modes_of(self.device.tensor(strengths), sign))

    def type2(self, modes: Array, sign: int) -> Array:
        return to_host(self.values_of(self.device.tensor(modes), sign))

    def modes_of(self, strengths: Any, sign: int) -> Any:
        """`type1` of tensors."""
        found = self._transform(self._bells.spread(strengths), sign)
        for axis, (place, correction) in enumerate(zip(self._places, self._correction, strict=True), start=1):
            found = found.index_select(axis, place) * _along(correction, axis, found.ndim)
        return found

    def values_of(self, modes: Any, sign: int) -> Any:
        """`type2` of tensors."""
        for axis, (place, correction) in enumerate(zip(self._places, self._correction, strict=True), start=1):
            wide = modes.new_zeros((*modes.shape[:axis], self._bells.grid[axis - 1], *modes.shape[axis + 1 :]))
            modes = wide.index_copy_(axis, place, modes * _along(correction, axis, modes.ndim))
        return self._bells.interpolate(self._transform(modes, sign))

    def _transform(self, grid: Any, sign: int) -> Any:
        axes, torch = tuple(range(1, grid.ndim)), self.device.torch
        return torch.fft.fftn(grid, dim=axes) if sign < 0 else torch.fft.ifftn(grid, dim=axes, norm="forward")


class _Bells:
    """The linear map between values at places and values on a periodic grid; one entry of each bell at a time."""

    def __init__(
        self, device: Device, turns: Any, grid: tuple[int, ...], kernel: KaiserBessel, dtype: RealType
    ) -> None:
        self.device, self.grid, torch = device, grid, device.torch
        cells = turns * device.tensor(np.array(grid, dtype=float))
        left = cells - kernel.width / 2
        first = torch.ceil(left)
        whole = device.tensor(np.array(grid))
        self._first = torch.remainder(first.long(), whole)
        self._taps = [_taps(device, kernel, (first - left)[:, k], dtype) for k in range(len(grid))]
        self._width = kernel.width

    def spread(self, values: Any) -> Any:
        """Sum of bells on the grid, (n_vectors, *grid), of values (n_vectors, n)."""
        torch = self.device.torch
        flat = torch.zeros((len(values), int(np.prod(self.grid)), 2), dtype=values.real.dtype, device=values.device)
        for index, height in self._entries():
            flat.index_add_(1, index, torch.view_as_real(values * height))
        return torch.view_as_complex(flat).reshape(len(values), *self.grid)

    def interpolate(self, grid: Any) -> Any:
        """Values (n_vectors, n) of a grid (n_vectors, *grid) at the places."""
        flat = grid.reshape(len(grid), -1)
        out = flat.new_zeros((len(grid), len(self._first)))
        for index, height in self._entries():
            out.addcmul_(flat.index_select(1, index), height.to(flat.dtype))
        return out

    def _entries(self) -> Any:
        """For each entry of a bell: the grid point of every place, counted through, and the bell's height there."""
        for offsets in product(range(self._width), repeat=len(self.grid)):
            index, height = 0, None
            for axis, offset in enumerate(offsets):
                at = self._first[:, axis] + offset
                at = at - self.grid[axis] * (at >= self.grid[axis])
                index = index * self.grid[axis] + at
                tap = self._taps[axis][:, offset]
                height = tap if height is None else height * tap
            yield index, height


plan = TorchPlan


def type3(coords: FloatArray, strengths: Array, targets: FloatArray, eps: float, sign: int, n_jobs: int) -> Array:
    """Type 3 as the built-in back end has it: spread, then a type 2 whose "modes" are the grid points."""
    device, dim = named_device("cuda"), coords.shape[1]
    kernel, dtype = kernel_for(eps, n_bells=2 * dim), strengths.real.dtype
    a = UPSAMPLING * np.abs(targets).max(axis=0) / np.pi
    reach = np.ceil(a * np.abs(coords).max(axis=0)) + kernel.width
    shape = tuple(2 * int(r) for r in reach)
    turns = device.tensor((coords * a + reach) / np.array(shape))
    kind = complex_type(np.dtype(dtype)).name
    grid = _Bells(device, turns, shape, kernel, np.dtype(dtype)).spread(device.tensor(strengths, kind))
    theta = np.divide(targets, a, out=np.zeros_like(targets), where=a > 0)
    result = to_host(TorchPlan(theta, shape, eps / np.sqrt(2), np.dtype(dtype), device=device).values_of(grid, sign))
    return np.asarray(result / kernel.transform(theta / (2 * np.pi)).prod(axis=1).astype(dtype))


def _taps(device: Device, kernel: KaiserBessel, t: Any, dtype: RealType) -> Any:
    """Bell at the `width` grid points from t - width/2 on, one row per t, as `KaiserBessel.taps`."""
    coef = device.tensor(kernel.tap_coefficients())
    z, value = (2 * t - 1)[:, None], None
    for row in reversed(range(len(coef))):
        value = coef[row] if value is None else value * z + coef[row]
    return value.to(getattr(device.torch, np.dtype(dtype).name))  # type: ignore[union-attr]


def _along(vector: Any, axis: int, ndim: int) -> Any:
    return vector.reshape([-1 if k == axis else 1 for k in range(ndim)])
