"""Rows on a regular grid: the covariance is block Toeplitz, and plain FFTs multiply by it exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import fft

from bochner.arrays import FloatArray, IntArray
from bochner.device import Device
from bochner.exceptions import PartError
from bochner.features import limits
from bochner.features.operators.base import Box, CovarianceOperator, DeviceProducts, first_faithful
from bochner.features.operators.scattered import SCATTERED
from bochner.kernels import Kernel
from bochner.resources import n_threads


@dataclass(frozen=True)
class Grid:
    """A regular grid that all rows lie on: origin, step and number of nodes along each axis."""

    origin: FloatArray
    step: FloatArray
    shape: tuple[int, ...]

    def positions(self, coords: FloatArray) -> IntArray | None:
        """Integer positions of places (n, dim), or None if one is off the grid."""
        exact = (coords - self.origin) / self.step
        index = np.rint(exact)
        return index.astype(np.intp) if np.all(np.abs(exact - index) < 1e-3) else None

    def nodes(self, coords: FloatArray) -> IntArray | None:
        """The same, or None if one is off the grid or beyond its last node."""
        at = self.positions(coords)
        return None if at is None or (at < 0).any() or (at >= np.array(self.shape)).any() else at


@dataclass(frozen=True, eq=False)
class GridOperator(CovarianceOperator):
    """Products by FFT on a torus twice as wide as the grid; targets off the grid have an operator of their own."""

    @classmethod
    def offered(cls, kernel: Kernel, coords: FloatArray, box: Box) -> Self | None:
        found = cls(kernel, coords, box)
        return found if coords.shape[1] <= limits.MAX_WAVE_DIMENSIONS and found._found is not None else None

    @property
    def how(self) -> str:
        return "regular grid, FFT"

    @property
    def reason(self) -> str:
        return f"the rows lie on a regular grid of {' x '.join(f'{n:,}' for n in self.grid.shape)} nodes"

    @property
    def product_error(self) -> float:
        return 1e-9

    @property
    def grid(self) -> Grid:
        """The grid that the rows lie on."""
        if self._found is None:
            raise PartError("the rows lie on no regular grid, which this operator needs; use covariance_operator.")
        return self._found

    @cached_property
    def off_grid(self) -> CovarianceOperator:
        """Operator for targets off the grid."""
        return first_faithful(SCATTERED, self.kernel, self.coords, self.box)

    def probes(self, n: int, rng: Generator) -> FloatArray:
        """Places at which a solution can be watched, (n, dim): nodes of the grid."""
        return self.grid.origin + self.grid.step * rng.integers(self.grid.shape, size=(n, len(self.grid.shape)))

    def products(self, columns: FloatArray) -> FloatArray:
        out = np.empty_like(columns)
        for j, column in enumerate(columns.T):
            out[:, j] = self._smoothed(column).ravel()[self._nodes]
        return out

    def cross_products(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        return self.prepared(columns)(targets)

    def prepared(self, columns: FloatArray) -> Callable[[FloatArray], FloatArray]:
        kept: dict[str, Any] = {}  # of all nodes, or of the other operator, when first asked for

        def cross(targets: FloatArray) -> FloatArray:
            nodes = self.grid.nodes(targets)
            if nodes is None:
                if "off" not in kept:
                    kept["off"] = self.off_grid.prepared(columns)
                return np.asarray(kept["off"](targets))
            if "on" not in kept:
                kept["on"] = [self._smoothed(column) for column in columns.T]
            return np.column_stack([field[tuple(nodes.T)] for field in kept["on"]])

        return cross

    def _smoothed(self, column: FloatArray) -> FloatArray:
        """Covariance with all nodes of the grid, times numbers at the rows; in the shape of the grid."""
        shape, threads = self.grid.shape, n_threads()
        field = np.bincount(self._nodes, column, int(np.prod(shape))).reshape(shape).astype(np.float64, copy=False)
        waves = padded_rfftn(field, self._counts, threads)
        waves *= self._spectrum
        return cropped_irfftn(waves, self._counts, shape, threads)

    def on_device(self, device: Device, probes: FloatArray) -> DeviceProducts | None:
        nodes = self.grid.nodes(probes)
        if nodes is None:
            return None
        torch, counts, size = device.torch, self._counts, int(np.prod(self._counts))
        at, spectrum = device.tensor(self._at), device.tensor(self._spectrum)
        wanted = device.tensor(np.ravel_multi_index(tuple(nodes.T), counts))

        def smoothed(columns: Any, where: Any) -> Any:
            out = columns.new_empty((len(where), columns.shape[1]))
            for j in range(columns.shape[1]):
                field = columns.new_zeros(size)
                field[at] = columns[:, j].contiguous()  # rows are distinct nodes: equal places were merged
                waves = torch.fft.rfftn(field.reshape(counts))
                whole = torch.fft.irfftn(waves * spectrum, s=counts)
                out[:, j] = whole.reshape(-1)[where]
            return out

        if len(np.unique(self._at)) < len(self._at):
            return None
        return DeviceProducts(lambda v: smoothed(v, at), lambda v: smoothed(v, wanted))

    @cached_property
    def _found(self) -> Grid | None:
        return find_grid(self.coords)

    @cached_property
    def _positions(self) -> IntArray:
        at = self.grid.positions(self.coords)
        assert at is not None  # find_grid has looked
        return at

    @cached_property
    def _nodes(self) -> IntArray:
        """Place of each row among the nodes of the grid, counted through."""
        return np.ravel_multi_index(tuple(self._positions.T), self.grid.shape)

    @cached_property
    def _at(self) -> IntArray:
        """Place of each row among the nodes of the torus, counted through."""
        return np.ravel_multi_index(tuple(self._positions.T), self._counts)

    @cached_property
    def _counts(self) -> list[int]:
        """Nodes of the torus along each axis."""
        return torus_counts(self.grid)

    @cached_property
    def _spectrum(self) -> FloatArray:
        """Transform of the covariance at the lags of the torus: real, since the covariance is even."""
        lags = [np.where(np.arange(n) <= n // 2, np.arange(n), np.arange(n) - n) for n in self._counts]
        steps = [lag * step for lag, step in zip(lags, self.grid.step, strict=True)]
        covariance = np.empty(self._counts)
        size = max(1, limits.PAIRS_AT_ONCE // (covariance.size // len(steps[0])))
        for start in range(0, len(steps[0]), size):
            part = slice(start, start + size)
            mesh = np.stack(np.meshgrid(steps[0][part], *steps[1:], indexing="ij"), axis=-1).reshape(-1, len(steps))
            covariance[part] = self.kernel.lag_covariance(mesh).reshape(-1, *self._counts[1:])
        return np.ascontiguousarray(fft.rfftn(covariance, workers=n_threads(), overwrite_x=True).real)


def padded_rfftn(field: FloatArray, counts: list[int], threads: int) -> NDArray[np.complex128]:
    """Transform of an array with zeros around it, up to `counts`: axis by axis, so that few of the zeros are passed."""
    waves = fft.rfft(field, n=counts[-1], axis=-1, workers=threads)
    for axis in reversed(range(field.ndim - 1)):
        waves = fft.fft(waves, n=counts[axis], axis=axis, workers=threads, overwrite_x=True)
    return np.asarray(waves)


def cropped_irfftn(
    waves: NDArray[np.complex128], counts: list[int], shape: tuple[int, ...], threads: int
) -> FloatArray:
    """The first nodes along each axis, `shape`, of what has a transform; the others are dropped axis by axis."""
    for axis in range(len(shape) - 1):
        whole = fft.ifft(waves, axis=axis, workers=threads, overwrite_x=True)
        waves = whole[(slice(None),) * axis + (slice(shape[axis]),)]
    return np.ascontiguousarray(fft.irfft(waves, n=counts[-1], axis=-1, workers=threads)[..., : shape[-1]])


def torus_counts(grid: Grid) -> list[int]:
    """Nodes along each axis of a torus on which lags between nodes of a grid are those of the grid."""
    return [fft.next_fast_len(2 * n, real=True) for n in grid.shape]


def find_grid(coords: FloatArray) -> Grid | None:
    """The regular grid that places lie on, if they do and fill a fair part of it."""
    origin, steps, shape = coords.min(axis=0), [], []
    for values in coords.T:
        distinct = np.unique(values)
        gaps = np.diff(distinct)
        gaps = gaps[gaps > 1e-6 * max(float(np.ptp(values)), 1e-300)]
        if not len(gaps):
            return None
        step = float(np.median(gaps[gaps < 1.5 * gaps.min()]))
        exact = (distinct - distinct[0]) / step
        if np.max(np.abs(exact - np.rint(exact))) > 1e-2:
            return None
        # a mean step over the whole axis: rounding of the first gap must not add up
        step = float(np.ptp(values) / np.rint(exact[-1]))
        steps.append(step)
        shape.append(int(np.rint(exact[-1])) + 1)
    if np.prod(np.array(shape, dtype=float)) > 20 * len(coords) + 1000:
        return None
    grid = Grid(origin, np.array(steps), tuple(shape))
    return grid if grid.positions(coords) is not None else None
