"""Moments on a device: blocks of waves that never leave it, and the Gram of a lattice assembled there.

float64 waves have float64 products. float32 waves, which are precise to 6e-8, are split into two halves of 11 bits
each, whose products are exact in the tensor cores: three products of halves at twelve times the speed of float64.
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

SPLIT = 2.0**11  # what the first half of a float32 number leaves is so much smaller


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
        beside = device.tensor(columns[part]) * root
        products = waves.gram(phi)
        against = phi.T.to(beside.dtype) @ beside
        waves.add(gram, products)
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
        self.per_turn = device.tensor(features.frequencies.omega.T / (2 * np.pi))
        self.halves = np.dtype(features.dtype) == np.float32
        # equal weights, the usual case, wait until the sums are done; others are at most one
        self.common = float(weight.max(initial=0.0)) or 1.0
        self.equal = bool(np.all(weight == self.common)) and features.box is None
        self.bytes_per_row = (24.0 if self.halves else 32.0) * 2 * self.m
        # what is summed in float32 is short enough to lose nothing beside the rounding of the waves
        self.most_rows = 4 * limits.PARTIAL_ROWS if self.halves else None

    def block(self, coords: FloatArray, weight: FloatArray) -> tuple[Any, Any]:
        """Waves (n, 2 m) and roots of the weights (n, 1), or one for all."""
        torch, m = self.device.torch, self.m
        turns = self.device.tensor(coords) @ self.per_turn
        turns -= torch.round(turns)  # whole turns are removed in float64, before any rounding
        turns *= 2 * np.pi
        phase = turns.float() if self.halves else turns
        phi = torch.empty((len(phase), 2 * m), dtype=phase.dtype, device=phase.device)
        torch.cos(phase, out=phi[:, :m])
        torch.sin(phase, out=phi[:, m:])
        if self.equal:
            return phi, 1.0
        root = np.sqrt(weight / self.common)
        root[self.features.outside(coords)] = 0.0
        there = self.device.tensor(root)[:, None]
        phi *= there.to(phi.dtype)
        # the trend of a row beyond the box counts all the same
        return phi, self.device.tensor(np.sqrt(weight / self.common))[:, None]

    def gram(self, phi: Any) -> list[Any]:
        """Products phi'phi of a block, as panels of the lower triangle."""
        return self._products_of_halves(phi) if self.halves else [phi]

    def add(self, total: Any, products: list[Any]) -> None:
        """Add the products of a block to the lower triangle of a total."""
        if not self.halves:
            (phi,) = products
            for first, last in _panels(phi.shape[1]):
                # rows of a panel against all columns up to its end: the upper triangle is not needed
                target = total[first:last, :last]
                self.device.torch.addmm(target, phi[:, first:last].T, phi[:, :last], out=target)
            return
        for (first, last), panel in zip(_panels(len(total)), products, strict=True):
            total[first:last, :last] += panel

    def _products_of_halves(self, phi: Any) -> list[Any]:
        high = phi.half()
        low = ((phi - high.float()) * SPLIT).half()
        found = []
        for first, last in _panels(phi.shape[1]):
            own, other = slice(first, last), slice(0, last)
            panel = self._mm(high[:, own].T, high[:, other])
            cross = self._mm(high[:, own].T, low[:, other])
            cross += self._mm(low[:, own].T, high[:, other])
            found.append(panel.add_(cross, alpha=1 / SPLIT))
        return found

    def _mm(self, a: Any, b: Any) -> Any:
        """A product of halves with sums in float32."""
        torch = self.device.torch
        if a.is_cuda:
            return torch.mm(a, b, out_dtype=torch.float32)
        return a.float() @ b.float()


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
