"""Fourier features: dense blocks of cosines and sines at any frequencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner import nufft
from bochner.arrays import FloatArray, box_of, rowwise
from bochner.device import Device, device_for
from bochner.device.accelerator import to_host
from bochner.features.base import BoolArray, FeatureMap
from bochner.features.limits import MAX_TRANSFORM_GRID, TRANSFORM_ROWS, TRANSFORM_WORK, WAVE_WORK
from bochner.features.wave_columns import wave_columns
from bochner.frequencies import Frequencies


@dataclass(frozen=True)
class FourierMap(FeatureMap):
    """phi(x) = sqrt(mass) [cos omega'x, sin omega'x]: the cosines first, then the sines; 2 m columns."""

    frequencies: Frequencies
    dtype: Any = np.float64
    missing: float = 0.0  # variance that the waves leave out, carried as independent
    box: tuple[FloatArray, FloatArray] | None = None  # where the waves stand for the kernel; None: everywhere

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        return 2 * len(self.frequencies.mass)

    def block(self, coords: FloatArray) -> FloatArray:
        phi = wave_columns(coords, self.frequencies.omega, np.sqrt(self.frequencies.mass), self.dtype)
        phi[self.outside(coords)] = 0.0
        return phi

    def forward(self, coords: FloatArray, coef: FloatArray) -> FloatArray:
        lattice = self.frequencies.lattice
        if lattice is None or not self._transforms(len(coords)):
            device = device_for(WAVE_WORK * len(coords) * self.n_columns)
            return super().forward(coords, coef) if device is None else self._forward_there(device, coords, coef)
        m = len(self.frequencies.mass)
        amplitude = np.sqrt(self.frequencies.mass)
        # c cos + s sin is the real part of (c - is) exp(i omega x)
        waves = ((coef[:m] - 1j * coef[m:]).T * amplitude).reshape(-1, m)
        half = np.array(lattice.half_width)
        modes = np.zeros((len(waves), *(2 * half + 1)), dtype=complex)
        modes[(slice(None), *(lattice.index + half).T)] = waves
        out = np.empty((len(coords), len(waves)))
        for i in range(0, len(coords), TRANSFORM_ROWS):
            angle = rowwise(np.multiply, coords[i : i + TRANSFORM_ROWS], 2 * np.pi * lattice.spacing)
            plan = nufft.Plan.trusting(angle, modes.shape[1:], eps=1e-9)
            out[i : i + TRANSFORM_ROWS] = plan.type2(modes).real.T
        out[self.outside(coords)] = 0.0
        return out.reshape(len(coords), *coef.shape[1:])

    def _transforms(self, n_rows: int) -> bool:
        """Whether a transform of the lattice is quicker than blocks of waves, and its grid can be held."""
        grid = float(np.prod(2.0 * np.array(self.frequencies.lattice.half_width) + 1))
        return n_rows * self.n_columns >= TRANSFORM_WORK and grid <= MAX_TRANSFORM_GRID

    def on_device(self, device: Device) -> Callable[[FloatArray], Any]:
        """`block` as a function from places to a tensor, in float64."""
        per_turn = device.tensor(self.frequencies.omega.T / (2 * np.pi))
        amplitude = device.tensor(np.sqrt(self.frequencies.mass))
        torch, m = device.torch, self.frequencies.n

        def block(coords: FloatArray) -> Any:
            turns = device.tensor(coords) @ per_turn
            turns -= torch.round(turns)
            turns *= 2 * np.pi
            phi = device.empty(len(coords), 2 * m)
            torch.cos(turns, out=phi[:, :m])
            torch.sin(turns, out=phi[:, m:])
            phi[:, :m] *= amplitude
            phi[:, m:] *= amplitude
            outside = self.outside(coords)
            if outside.any():
                phi[device.tensor(outside)] = 0.0
            return phi

        return block

    def _forward_there(self, device: Device, coords: FloatArray, coef: FloatArray) -> FloatArray:
        out, there = np.empty((len(coords), *coef.shape[1:])), device.tensor(np.asarray(coef, dtype=np.float64))
        waves = self.on_device(device)

        def find(part: slice) -> None:
            out[part] = to_host(waves(coords[part]) @ there)

        device.in_blocks(find, len(coords), 32.0 * self.n_columns)
        return out

    def adjoint(self, coords: FloatArray, values: FloatArray) -> FloatArray:
        lattice = self.frequencies.lattice
        if lattice is None or not self._transforms(len(coords)):
            return super().adjoint(coords, values)
        amplitude, half = np.sqrt(self.frequencies.mass), np.array(lattice.half_width)
        inside = np.where(self.outside(coords), 0.0, values.reshape(len(coords), -1).T)  # (k, n)
        at, out = (slice(None), *(lattice.index + half).T), np.zeros((len(inside), len(amplitude)), dtype=complex)
        for i in range(0, len(coords), TRANSFORM_ROWS):
            angle = rowwise(np.multiply, coords[i : i + TRANSFORM_ROWS], 2 * np.pi * lattice.spacing)
            plan = nufft.Plan.trusting(angle, tuple(map(int, 2 * half + 1)), eps=1e-9)
            out += plan.type1(inside[:, i : i + TRANSFORM_ROWS])[at]
        # sum of v exp(-i omega x) = sum of v cos - i sum of v sin
        columns = np.concatenate([out.real * amplitude, -out.imag * amplitude], axis=1)
        return columns.T.reshape(self.n_columns, *values.shape[1:])

    def outside(self, coords: FloatArray) -> BoolArray:
        """Places beyond the box, where periodic waves would show ghosts of the data: the prior holds there."""
        if self.box is None:
            return super().outside(coords)
        out = np.zeros(len(coords), dtype=bool)
        if not len(out):
            return out
        least, most = box_of(coords)
        if np.all(least >= self.box[0]) and np.all(most <= self.box[1]):
            return out
        for axis, low, high in zip(coords.T, *self.box, strict=True):  # rows of two or three are slow to go through
            out |= (axis < low) | (axis > high)
        return out

    @property
    def left_out(self) -> float:
        return self.missing

    def missing_variance(self, coords: FloatArray) -> FloatArray:
        return np.where(self.outside(coords), self.missing + float(self.frequencies.mass.sum()), self.missing)

    def prior_variance(self, coords: FloatArray) -> FloatArray:
        return np.full(len(coords), float(self.frequencies.mass.sum()) + self.missing)


def wave_dtype(n_rows: float, variance: float, noise_variance: float) -> Any:
    """float32 where its rounding stays far below the noise, else float64.

    The error of the rounded Gram grows like 5e-7 sqrt(n) variance; it is safe below 1 % of the noise variance.
    """
    return np.float32 if 5e-7 * np.sqrt(n_rows) * variance < 0.01 * noise_variance else np.float64
