"""Kriging of very many places: all that lie in one small cell share their neighbours, and one factorisation.

Cells are those of a tree over the observations, so what is said of a place does not depend on what else is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from bochner.arrays import FloatArray, IntArray
from bochner.device import device_for
from bochner.kernels import measured
from bochner.neighbours import limits
from bochner.neighbours.cell_tree import cells_of
from bochner.neighbours.compiled import cell_loops, compiled_kernel, run_size, tabulated_kernel
from bochner.neighbours.device_systems import DeviceKernel, krige_cells
from bochner.neighbours.nearest_kriging import Covariance, Neighbours, least_noise
from bochner.neighbours.replicates import merge
from bochner.resources import blas_threads, in_threads, n_searchers

Cell = tuple[FloatArray, IntArray]  # its centre, and the targets in it


class CellKriging:
    """Mean and variance of a zero-mean field, from the nearest observations and some farther ones.

    Parameters
    ----------
    kernel : Covariance
    noise : array, shape (n,)
        Noise variance of each row; lifted to 1e-12 of the field's variance.
    coords : array, shape (n, dim)
        Observations.
    n_neighbours, n_far, scales
        As of `local_kriging`, of each place; a cell has nearly twice as many, and never tells less.
    """

    def __init__(
        self,
        kernel: Covariance,
        noise: FloatArray,
        coords: FloatArray,
        n_neighbours: int,
        n_far: int = 0,
        scales: FloatArray | None = None,
    ) -> None:
        self.kernel, self.coords = kernel, coords
        self._compiled = ready = compiled_kernel(kernel, coords.shape[1], len(coords))
        self._covariance = kernel.covariance if ready is None else ready.covariance
        self._precision = 1 / np.maximum(noise, least_noise(kernel, coords))
        places = merge(coords, np.zeros(len(coords)), self._precision)
        self.known, self.variances = coords[places.rows], 1 / places.weight
        self.unit = np.ones(coords.shape[1]) if scales is None else scales
        self.n_near = min(n_neighbours, len(self.known))
        shared = min(int(limits.CELL_NEIGHBOURS * n_neighbours), len(self.known))
        near = measured(self.known, self.unit)
        self.neighbours = Neighbours(near, shared, n_far)
        self.origin = near.min(axis=0)
        self.side = float(np.ptp(near, axis=0).max()) or 1.0

    def at(self, targets: FloatArray, residual: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Means of fields with residuals (n, k), (m, k), and variance, (m,), at targets (m, dim).

        Cost per target k^2, and k^3 per cell, of k about a hundred rows.
        """
        values = self._merged(np.empty((len(self.coords), 0)) if residual is None else residual)
        mean, variance = np.empty((len(targets), values.shape[1])), np.empty(len(targets))

        def krige(cells: list[Cell]) -> None:
            for rows, (_, here) in zip(self._rows_of(cells), cells, strict=True):
                mean[here], variance[here] = self._krige(rows, values[rows], targets[here])

        todo = list(self._cells(targets))
        done = self._on_device(todo, values, targets) or self._by_loops(todo, values, targets)
        if done is not None:
            return done
        with blas_threads(self.neighbours.n):
            list(in_threads(krige, _runs(todo)))
        return mean, variance

    def _on_device(
        self, cells: list[Cell], values: FloatArray, targets: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        device = device_for(float(self.neighbours.n) ** 2 * (self.neighbours.n * len(cells) + len(targets)))
        if device is None:
            return None
        ready = tabulated_kernel(self.kernel, self.coords.shape[1])
        if ready is None:
            return None
        prior = self.kernel.covariance(targets[:, None, :], targets[:, None, :])[:, 0, 0]
        kernel = DeviceKernel(device, ready)
        shared = list(zip(self._rows_of(cells), (here for _, here in cells), strict=True))
        return krige_cells(kernel, self.known, self.variances, values, targets, shared, prior)

    def _by_loops(
        self, cells: list[Cell], values: FloatArray, targets: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """The same by compiled loops; None without them, or where a system needs more noise than it has."""
        if self._compiled is None or not cells:
            return None
        kernel = self._compiled
        mean, explained = np.empty((len(targets), values.shape[1])), np.empty(len(targets))
        arrays = tuple(np.ascontiguousarray(a) for a in (self.known, self.variances, values, targets))

        def krige(some: list[Cell]) -> bool:
            rows, here = self._rows_of(some), [here for _, here in some]
            lists = (array for parts in (rows, here) for array in (np.concatenate(parts), _edges(parts)))
            return bool(cell_loops().krige_cells(*kernel, *arrays, *lists, mean, explained))

        if not all(list(in_threads(krige, _runs(cells)))):
            return None
        return mean, np.maximum(float(kernel.at_zero[0]) - explained, 0.0)

    def _cells(self, targets: FloatArray) -> Iterator[Cell]:
        """Centre of every cell, and the targets in it."""
        for centres, members in cells_of(measured(targets, self.unit), self.origin, self.side, self._small):
            yield from zip(centres, members, strict=True)

    def _rows_of(self, cells: list[Cell]) -> list[IntArray]:
        """Rows that the targets of each cell share."""
        if not cells:
            return []
        rows, absent = self.neighbours.of(np.stack([centre for centre, _ in cells]))
        return [own[~gone] for own, gone in zip(rows.T, absent.T, strict=True)]

    def _krige(self, rows: IntArray, values: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        known = self.known[rows]
        factor = _lower(self._covariance(known, known), self.variances[rows])
        right = np.column_stack([self._covariance(known, targets), values])
        whitened, _ = lapack.dtrtrs(factor, right, lower=1)
        cross, white = whitened[:, : len(targets)], whitened[:, len(targets) :]
        prior = self.kernel.covariance(targets[:, None, :], targets[:, None, :])[:, 0, 0]
        return cross.T @ white, np.maximum(prior - np.einsum("kb,kb->b", cross, cross), 0.0)

    def _merged(self, residual: FloatArray) -> FloatArray:
        """Residuals (n, k) of the distinct places."""
        columns = [merge(self.coords, column, self._precision).mean for column in residual.T]
        return np.column_stack(columns) if columns else np.empty((len(self.known), 0))

    def _small(self, centre: FloatArray, step: float) -> NDArray[np.bool_]:
        """Whether cells of a side are small beside the distance to the neighbours that their places want."""
        reach = self.neighbours.near.query(centre, k=[self.n_near], workers=n_searchers(len(centre)))[0][:, 0]
        return np.asarray(step / 2 * np.sqrt(centre.shape[1]) <= limits.CELL_SIZE * reach)


def _runs(cells: list[Cell]) -> list[list[Cell]]:
    """Cells that a thread takes at a time."""
    size = run_size(len(cells), limits.CELLS_AT_ONCE)
    return [cells[i : i + size] for i in range(0, len(cells), size)]


def _edges(parts: list[IntArray]) -> IntArray:
    """Where each part begins among all, and where the last one ends."""
    return np.cumsum([0, *(len(part) for part in parts)])


def _lower(covariance: FloatArray, noise: FloatArray) -> FloatArray:
    """Lower Cholesky factor of a covariance with noise; more noise where rounding would have it fail."""
    diagonal = np.diag_indices(len(covariance))
    covariance[diagonal] += noise
    lifts = limits.LEAST_NOISE_SHARE * covariance[0, 0] * 10.0 ** np.arange(11)
    for lift in (0.0, *lifts):
        covariance[diagonal] += lift
        factor, failed = lapack.dpotrf(covariance, lower=1)
        if not failed:
            return np.asarray(factor)
    raise np.linalg.LinAlgError(f"a covariance of {len(covariance)} rows is not positive definite.")
