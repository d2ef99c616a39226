"""Moments on a device: blocks of waves that never leave it, and the Gram of a lattice assembled there.

float64 waves have float64 products. float32 waves, which are precise to 6e-8, are cut into three slices of a byte each,
whose products and sums are exact integers in the tensor cores. Sums of halves in float32 would be as fast, but tensor
cores cut off what they add rather than round it: a bias of 1e-5 of the Gram, many standard deviations of a coefficient.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import Device, DeviceMatrix
from bochner.device.accelerator import to_host
from bochner.features import FourierMap, Rows
from bochner.moments import limits
from bochner.moments.dense_sums import DenseMoments, count_of


def device_moments(
    device: Device, features: FourierMap, rows: Rows, y: FloatArray, weight: FloatArray, copies: float = 0.0
) -> DenseMoments:
    """`dense_moments` of Fourier features on a device."""
    p, q = features.n_columns, rows.trend.shape[1]
    kind = SlicedSums if np.dtype(features.dtype) == np.float32 else FloatSums
    sizes = [max(float(c.max(initial=0.0)), -float(c.min(initial=0.0))) for c in (*rows.trend.T, y)]
    sums = kind(device, features, weight, np.array(sizes))

    def add(part: slice) -> None:
        beside = device.torch.cat([device.tensor(rows.trend[part]).T, device.tensor(y[part])[None]])
        sums.add(rows.coords[part], weight[part], beside)

    device.in_blocks(add, len(rows), sums.bytes_per_row, most=sums.most_rows)
    amplitude = np.r_[np.sqrt(np.tile(features.frequencies.mass, 2)), sums.units]
    there = device.tensor(amplitude * np.sqrt(sums.common))
    whole = _symmetric(to_host(sums.gram[: p + q + 1, : p + q + 1] * there * there[:, None]))
    return DenseMoments(
        np.asfortranarray(whole[: p + q, : p + q]),
        np.ascontiguousarray(whole[: p + q, p + q]),
        float(weight @ np.square(y)),
        float(weight.sum()),
        *(count_of(weight) if not sums.same else (len(weight) * float(np.log(sums.common)), len(weight))),
        copies,
    )


class _Sums:
    """Sums over blocks of rows of the products of waves of unit amplitude and further columns: the lower triangle.

    Attributes
    ----------
    gram : tensor (2 m + q + 1, ...)
        The sums so far, in units: of rows with the largest weight, `common`, of columns with the sizes `units`.
    bytes_per_row, most_rows
        Of a block.
    """

    most_rows: int | None = None
    bytes_per_row: float

    def __init__(self, device: Device, features: FourierMap, weight: FloatArray, sizes: FloatArray) -> None:
        self.device, self.features, self.m = device, features, features.frequencies.n
        self.turns_per_unit = device.tensor(features.frequencies.omega / (2 * np.pi))
        self.units = np.where(sizes > 0, sizes, 1.0)
        # equal weights, the usual case, wait until the sums are done; others are at most one
        self.common = float(weight.max(initial=0.0)) or 1.0
        self.same = float(weight.min(initial=self.common)) == self.common
        self.equal = self.same and features.box is None
        # whole tiles of the tensor cores; what is added is nothing
        self.n_columns = -(-(2 * self.m + len(sizes)) // 32) * 32
        self.gram = device.zeros(self.n_columns, self.n_columns)

    def add(self, coords: FloatArray, weight: FloatArray, beside: Any) -> None:
        """Add a block of rows, with further columns as a tensor (q + 1, n)."""
        raise NotImplementedError

    def _in_units(self, beside: Any) -> Any:
        return beside / self.device.tensor(self.units)[:, None]

    def _places(self, coords: FloatArray) -> Any:
        return self.device.tensor(coords).T.contiguous()

    def _roots(self, coords: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Roots of the weights of the waves, which are nothing beyond their box, and of the other columns."""
        root = np.sqrt(weight / self.common)
        return np.where(self.features.outside(coords), 0.0, root), root

    def _waves(self, coords: FloatArray, kind: str, out: Any) -> None:
        """Cosines and sines (2 m, n) of a block, into rows of `out`."""
        torch, m = self.device.torch, self.m
        turns = self.turns_per_unit @ self._places(coords)
        turns -= torch.round(turns)  # whole turns are removed in float64, before any rounding
        turns *= 2 * np.pi
        phase = turns.to(getattr(torch, kind))
        torch.cos(phase, out=out[:m])
        torch.sin(phase, out=out[m : 2 * m])


class FloatSums(_Sums):
    """Products and sums in float64."""

    def __init__(self, device: Device, features: FourierMap, weight: FloatArray, sizes: FloatArray) -> None:
        super().__init__(device, features, weight, sizes)
        self.bytes_per_row = 40.0 * self.n_columns

    def add(self, coords: FloatArray, weight: FloatArray, beside: Any) -> None:
        phi, first = self.device.empty(self.n_columns, len(coords)), 2 * self.m
        self._waves(coords, "float64", phi)
        phi[first : first + len(beside)] = self._in_units(beside)
        phi[first + len(beside) :] = 0.0
        if not self.equal:
            inside, root = (self.device.tensor(r) for r in self._roots(coords, weight))
            phi[:first] *= inside
            phi[first:] *= root
        for first, last in _panels(self.n_columns):
            # rows of a panel against all columns up to its end: the upper triangle is not needed
            target = self.gram[first:last, :last]
            self.device.torch.addmm(target, phi[first:last], phi[:last].T, out=target)


class SlicedSums(_Sums):
    """Columns cut into three bytes, whose products and sums are exact integers; the totals are float64."""

    most_rows = limits.INTEGER_ROWS

    def __init__(self, device: Device, features: FourierMap, weight: FloatArray, sizes: FloatArray) -> None:
        super().__init__(device, features, weight, sizes)
        self.bytes_per_row = 24.0 * self.n_columns
        self.kernel = _wave_kernel() if device.name.startswith("cuda") else None

    def add(self, coords: FloatArray, weight: FloatArray, beside: Any) -> None:
        a, b, c = self._slices(coords, weight, beside)
        steps = limits.BYTE_STEPS
        unit, first, second = 1 / steps**2, 1 / (2 * steps), 1 / (2 * steps) ** 2
        mixed = self.device.byte_product(a, b).double() * first
        mixed += self.device.byte_product(a, c).double() * second
        mixed = mixed + mixed.T
        panels = [
            (
                low,
                high,
                self.device.byte_product(a[low:high], a[:high]),
                self.device.byte_product(b[low:high], b[:high]),
            )
            for low, high in _panels(self.n_columns, 4)
        ]
        self.gram.add_(mixed, alpha=unit)
        for low, high, large, small in panels:
            part = self.gram[low:high, :high]
            part.add_(large.double(), alpha=unit)
            part.add_(small.double(), alpha=unit * second)

    def _slices(self, coords: FloatArray, weight: FloatArray, beside: Any) -> list[Any]:
        torch, n, m = self.device.torch, len(coords), self.m
        width = -(-n // 16) * 16
        slices = [self.device.zeros(self.n_columns, width, dtype="int8") for _ in range(3)]
        beside = self._in_units(beside)
        inside, root = (None, None) if self.equal else self._roots(coords, weight)
        if root is not None:
            beside = beside * self.device.tensor(root)
        q = slice(2 * m, 2 * m + len(beside))
        _cut(torch, beside, [s[q, :n] for s in slices])
        there = None if inside is None else self.device.tensor(inside, "float32")
        if self.kernel is not None:
            self.kernel(self.turns_per_unit, self._places(coords), there, slices)
            return slices
        phi = self.device.empty(2 * m, n, dtype="float32")
        self._waves(coords, "float32", phi)
        if there is not None:
            phi *= there
        _cut(torch, phi, [s[: 2 * m, :n] for s in slices])
        return slices


def _cut(torch: Any, values: Any, slices: list[Any]) -> None:
    """Numbers in [-1, 1] as whole numbers a + b / 254 + c / 254^2, in units of 1 / 127, of one byte each."""
    rest, scale = values, limits.BYTE_STEPS
    for kept in slices:
        rest = rest * scale
        whole = torch.round(rest)
        kept.copy_(whole)
        rest, scale = rest.sub_(whole), 2 * limits.BYTE_STEPS


@cache
def _wave_kernel() -> Any:
    """The kernel that makes slices of waves in one go; None where Triton is not installed."""
    if find_spec("triton") is None:
        return None
    from bochner.moments.device_kernels import wave_slices

    return wave_slices


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
    return [(int(a), int(b)) for a, b in pairwise(edges)]


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
