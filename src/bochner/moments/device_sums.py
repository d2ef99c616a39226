"""Moments on a device: blocks of waves that never leave it, and the Gram of a lattice assembled there.

float64 waves have float64 products. float32 waves, which are precise to 6e-8, are cut into three slices of a byte each,
whose products and sums are exact integers in the tensor cores. Sums of halves in float32 would be as fast, but tensor
cores cut off what they add rather than round it: a bias of 1e-5 of the Gram, many standard deviations of a coefficient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import Device, DeviceMatrix
from bochner.device.accelerator import to_host
from bochner.features import FourierMap, Rows
from bochner.moments import limits
from bochner.moments.dense_sums import DenseMoments, count_of

SLICE = 127.0  # steps of a byte between zero and one


def device_moments(
    device: Device, features: FourierMap, rows: Rows, y: FloatArray, weight: FloatArray, copies: float = 0.0
) -> DenseMoments:
    """`dense_moments` of Fourier features on a device."""
    p, q = features.n_columns, rows.trend.shape[1]
    waves = WaveBlocks(device, features, weight)
    gram, mixed, small = device.zeros(p, p), device.zeros(p, q + 1), device.zeros(q + 1, q + 1)
    columns = np.column_stack([rows.trend, y])

    def add(part: slice) -> None:
        phi, root = waves.block(rows.coords[part], weight[part])
        beside = device.tensor(columns[part]) * (root if waves.equal else root[:, None])
        against = phi.double() @ beside
        waves.add(gram, phi)
        mixed.add_(against)
        small.add_(beside.T @ beside)

    device.in_blocks(add, len(rows), waves.bytes_per_row, most=waves.most_rows)
    amplitude = device.tensor(np.sqrt(np.tile(features.frequencies.mass, 2)))
    gram *= amplitude * (amplitude[:, None] * waves.common)
    whole = np.zeros((p + q, p + q), order="F")
    across, beside = to_host(mixed * amplitude[:, None]), to_host(small)
    whole[:p, :p] = _symmetric(to_host(gram))
    whole[:p, p:], whole[p:, :p], whole[p:, p:] = across[:, :q], across[:, :q].T, beside[:q, :q]
    whole[:p, p:] *= waves.common
    whole[p:, :p] *= waves.common
    whole[p:, p:] *= waves.common
    projection = np.r_[across[:, q], beside[:q, q]] * waves.common
    return DenseMoments(whole, projection, float(np.sum(weight * y**2)), float(weight.sum()), *count_of(weight), copies)


class WaveBlocks:
    """Blocks of cosines and sines of unit amplitude on a device, times roots of weights, and their products."""

    def __init__(self, device: Device, features: FourierMap, weight: FloatArray) -> None:
        self.device, self.features = device, features
        self.m = features.frequencies.n
        self.turns_per_unit = device.tensor(features.frequencies.omega / (2 * np.pi))
        self.in_slices = np.dtype(features.dtype) == np.float32
        # equal weights, the usual case, wait until the sums are done; others are at most one
        self.common = float(weight.max(initial=0.0)) or 1.0
        self.equal = bool(np.all(weight == self.common)) and features.box is None
        self.bytes_per_row = (44.0 if self.in_slices else 36.0) * 2 * self.m
        self.most_rows = limits.INTEGER_ROWS if self.in_slices else None

    def block(self, coords: FloatArray, weight: FloatArray) -> tuple[Any, Any]:
        """Waves (2 m, n) and roots of the weights (n,), or one for all."""
        torch, m = self.device.torch, self.m
        turns = self.turns_per_unit @ self.device.tensor(np.ascontiguousarray(coords.T))
        turns -= torch.round(turns)  # whole turns are removed in float64, before any rounding
        turns *= 2 * np.pi
        phase = turns.float() if self.in_slices else turns
        phi = torch.empty((2 * m, phase.shape[1]), dtype=phase.dtype, device=phase.device)
        torch.cos(phase, out=phi[:m])
        torch.sin(phase, out=phi[m:])
        if self.equal:
            return phi, 1.0
        root = np.sqrt(weight / self.common)
        there = self.device.tensor(root)
        inside = np.where(self.features.outside(coords), 0.0, root)
        phi *= self.device.tensor(inside).to(phi.dtype)
        # the trend of a row beyond the box counts all the same
        return phi, there

    def add(self, total: Any, phi: Any) -> None:
        """Add the products of a block, phi phi', to the lower triangle of a total."""
        if self.in_slices:
            self._add_slices(total, phi)
            return
        for first, last in _panels(len(phi)):
            # rows of a panel against all columns up to its end: the upper triangle is not needed
            target = total[first:last, :last]
            self.device.torch.addmm(target, phi[first:last], phi[:last].T, out=target)

    def _add_slices(self, total: Any, phi: Any) -> None:
        a, b, c = self._slices(phi)
        p, unit = len(phi), 1 / SLICE**2
        first, second = 1 / (2 * SLICE), 1 / (2 * SLICE) ** 2
        mixed = self._product(a, b)[:p, :p].double() * first
        mixed += self._product(a, c)[:p, :p].double() * second
        mixed += mixed.T.clone()
        panels = [(low, high, self._product(a[low:high], a[:high]), self._product(b[low:high], b[:high]))
                  for low, high in _panels(len(a), 4)]
        total.add_(mixed, alpha=unit)
        for low, high, large, small in panels:
            part = total[low:high, :high]
            here = (slice(0, part.shape[0]), slice(0, part.shape[1]))
            part.add_(large[here].double(), alpha=unit)
            part.add_(small[here].double(), alpha=unit * second)

    def _slices(self, phi: Any) -> list[Any]:
        """Numbers in [-1, 1] as whole numbers a + b / 254 + c / 254^2, in units of 1 / 127, of one byte each."""
        torch, (p, n) = self.device.torch, phi.shape
        rest, scale, found = phi, SLICE, []
        for _ in range(3):
            rest = rest * scale
            whole = torch.round(rest)
            kept = torch.zeros((-(-p // 32) * 32, -(-n // 16) * 16), dtype=torch.int8, device=phi.device)
            kept[:p, :n] = whole
            found.append(kept)
            rest, scale = rest.sub_(whole), 2 * SLICE
        return found

    def _product(self, x: Any, y: Any) -> Any:
        """x y' of bytes, exact in 32-bit integers."""
        if x.is_cuda:
            return self.device.torch._int_mm(x, y.T)
        return x.double() @ y.double().T


def lattice_gram(device: Device, index: Any, half_width: Any, generator: np.ndarray) -> Any:
    """Lower triangle of the Gram of cosines and sines of unit amplitude on a lattice, (2 m, 2 m), on a device.

    `index` (m, dim) are the positions of the frequencies, `generator` the Fourier sums of the weights on a lattice
    twice as wide. An entry is two look-ups: at the sum and at the difference of two positions.
    """
    torch, m = device.torch, len(index)
    strides = np.array([int(np.prod(generator.shape[k + 1 :])) for k in range(generator.ndim)])
    at = device.tensor(np.asarray(index, dtype=np.int64) @ strides)
    centre = int(2 * np.asarray(half_width) @ strides)
    real, imag = (device.tensor(np.ascontiguousarray(part).ravel()) for part in (generator.real, generator.imag))
    gram = device.empty(2 * m, 2 * m)
    for first, last in _panels(m, 16):
        own, up_to = at[first:last, None] + centre, slice(0, last)
        plus, minus = own + at[None, :], own - at[None, :]
        # with f(s) = sum w exp(-1j s.x): Re f = sum w cos, -Im f = sum w sin
        a, b = real[plus], real[minus]
        gram[first:last, up_to] = ((a + b) / 2)[:, up_to]
        gram[m + first : m + last, m : m + last] = ((b - a) / 2)[:, up_to]
        # sin a cos b = (sin(a + b) + sin(a - b)) / 2
        torch.add(imag[plus], imag[minus], out=a)
        gram[m + first : m + last, :m] = a.mul_(-0.5)
    return gram


def _panels(p: int, n: int = 8) -> list[tuple[int, int]]:
    edges = np.unique(np.linspace(0, p, min(n, max(p, 1)) + 1).astype(int))
    return [(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True)]


def _symmetric(lower: FloatArray) -> FloatArray:
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def lattice_moments(
    device: Device,
    index: Any,
    half_width: Any,
    generator: np.ndarray,
    mixed: FloatArray,
    trend_gram: FloatArray,
    scale: FloatArray,
    noise_variance: float,
) -> DeviceMatrix:
    """Gram of waves and trend with amplitudes `scale` (p + q,) on a device; `mixed` (2 m, q) joins the two."""
    m, q = len(index), trend_gram.shape[0]
    p = 2 * m
    whole = device.empty(p + q, p + q)
    whole[:p, :p] = lattice_gram(device, index, half_width, generator)
    whole[p:, :p] = device.tensor(np.ascontiguousarray(mixed.T))
    whole[p:, p:] = device.tensor(trend_gram)
    amplitude = device.tensor(scale)
    whole *= amplitude
    whole *= amplitude[:, None] / noise_variance
    return DeviceMatrix(device, whole)
