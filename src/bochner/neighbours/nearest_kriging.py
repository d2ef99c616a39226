"""Kriging from the nearest observations only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.kernels import Kernel, measured
from bochner.neighbours import batches, limits
from bochner.neighbours.compiled import CompiledKernel, cell_loops, compiled_kernel, in_runs, loops
from bochner.neighbours.ordering import maximin_order
from bochner.neighbours.replicates import group_sums, groups
from bochner.resources import n_searchers


class Covariance(Protocol):
    """Anything that gives covariances as a kernel does."""

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Covariances of places x (..., n, dim) with places z (..., m, dim): (..., n, m)."""
        ...


def least_noise(kernel: Covariance, coords: FloatArray) -> FloatArray:
    """Noise variance that each row has at least, so that systems of a smooth field can be solved, (n,)."""
    return np.asarray(limits.LEAST_NOISE_SHARE * _prior(kernel, coords) + 1e-300)


def _prior(kernel: Covariance, coords: FloatArray) -> FloatArray:
    """Variance of the field at places, (n,)."""
    if isinstance(kernel, Kernel):
        return kernel.variances(coords)
    return kernel.covariance(coords[:, None, :], coords[:, None, :])[:, 0, 0]


def local_kriging(
    kernel: Covariance,
    noise: FloatArray | float,
    coords: FloatArray,
    residual: FloatArray,
    targets: FloatArray,
    n_neighbours: int = 60,
    scales: FloatArray | None = None,
    n_far: int = 0,
    ready: KnownRows | None = None,
    n_systems: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a zero-mean field, each target from its nearest observations, and some farther ones.

    Rows at the same place are merged first, so that no target spends its neighbours on one place.

    Parameters
    ----------
    kernel : Covariance
        A kernel, or any object with its `covariance`; it is asked for batches of pairs, x and z of (p, b, 1, dim).
    noise : float or array, shape (n,)
        Noise variance of each row; lifted to 1e-11 of the field's variance, and further where rounding wants it.
    coords, residual : array, shapes (n, dim) and (n,)
        Observations: where, and what is left of them without the trend.
    targets : array, shape (m, dim)
        Places to predict.
    n_neighbours : int
        Observations per target; all of them give the exact Gaussian process.
    scales : array, shape (dim,) or (dim, dim), optional
        Unit of each axis in which neighbours are near, or the matrix W of places W x in which they are (default: as the
        coordinates are).
    n_far : int
        Beside the nearest, so many of every eighth and of every 64th observation, beyond the nearest: they see around
        a gap, and average noise where many rows say the same.
    ready : KnownRows, optional
        The same rows with the same numbers of neighbours, where several kernels are asked: trees are then built once.
    n_systems : int
        Small systems that are solved in all, where these targets are a part of the work: enough of them are compiled.

    Returns
    -------
    mean, variance : array, shape (m,)
        Of the field without noise. Cost m k^3 in batches: memory does not grow with m.
    """
    ready = KnownRows(coords, n_neighbours, n_far) if ready is None else ready
    n_systems, least = max(len(targets), n_systems), least_noise(kernel, coords)
    unit = np.ones(coords.shape[1]) if scales is None else scales
    mean, variance = _kriged(kernel, np.maximum(noise, least), residual, targets, unit, ready, n_systems)
    rounding = limits.ROUNDED_PIVOT * _prior(kernel, targets)
    for lift in limits.LIFTS:
        failed = np.flatnonzero(~(variance > rounding))
        if not len(failed):
            break
        lifted = np.maximum(noise, lift * least)
        mean[failed], variance[failed] = _kriged(kernel, lifted, residual, targets[failed], unit, ready, n_systems)
    return mean, variance


def _kriged(
    kernel: Covariance,
    noise: FloatArray,
    residual: FloatArray,
    targets: FloatArray,
    scales: FloatArray,
    ready: KnownRows,
    n_systems: int,
) -> tuple[FloatArray, FloatArray]:
    """The same with noise variances that are taken as they are."""
    precision = 1 / noise
    known, weight = ready.known, group_sums(ready.group, precision)
    values, variances = group_sums(ready.group, precision * residual) / weight, 1 / weight
    unit, sought = ready.sought(scales)
    k = sought.n
    compiled, found = compiled_kernel(kernel, targets.shape[1], n_systems), ready.found(unit, targets)

    def search(run: slice) -> IntArray:
        return sought.present(measured(targets[run], unit)) if found is None else found[run]

    if compiled is not None:
        return compiled_kriging(compiled, variances, known, values, targets, search)

    def krige(batch: slice) -> FloatArray:
        rows = search(batch).T  # (k, b)
        absent = rows < 0
        corners = np.concatenate([known[rows], targets[None, batch]]).transpose(2, 0, 1)
        covariance = batches.packed(kernel.covariance(*batches.pairs(corners)))
        noises = np.concatenate([variances[rows], np.zeros((1, rows.shape[1]))])
        if absent.any():  # independent of all, and zero
            gone = np.concatenate([absent, np.zeros((1, rows.shape[1]), dtype=bool)])
            i, j = np.tril_indices(k + 1)
            covariance = np.where(gone[i] | gone[j], 0.0, covariance)
            noises[gone] = 1.0
        with np.errstate(over="ignore", invalid="ignore"):  # a system that fails is solved again
            factor = batches.cholesky(covariance, noises)
            (whitened,) = batches.solve_lower(factor[:k, :k], np.where(absent, 0.0, values[rows])[None])
            # The last row of the factor is k*' L^-T, and its pivot the conditional sd.
            return np.stack([np.einsum("kb,kb->b", factor[k, :k], whitened), factor[k, k] ** 2])

    done = list(batches.in_batches(krige, len(targets), k + 1))
    mean, variance = np.concatenate(done, axis=1) if done else np.empty((2, 0))
    return mean, variance


def compiled_kriging(
    kernel: CompiledKernel,
    noise: FloatArray,
    coords: FloatArray,
    residual: FloatArray,
    targets: FloatArray,
    search: Callable[[slice], IntArray],
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance at targets by compiled loops; `search` gives the rows (b, k) of some of them, -1 for none."""
    mean, variance = np.empty(len(targets)), np.empty(len(targets))
    known, noise, residual, places = (np.ascontiguousarray(a) for a in (coords, noise, residual, targets))

    def krige(run: slice) -> None:
        given = np.ascontiguousarray(search(run))
        loop = loops().kriging if given.shape[1] < limits.SINGLY_FROM else cell_loops().krige_singly
        loop(*kernel, known, noise, residual, places[run], given, mean[run], variance[run])

    in_runs(krige, len(targets))
    return mean, variance


class KnownRows:
    """Rows to be kriged from, whatever the kernel: equal places found, and trees over the others in some units."""

    def __init__(self, coords: FloatArray, n_neighbours: int, n_far: int = 0) -> None:
        rows, self.group = groups(coords)
        self.known = coords[rows]
        self.n_near, self.n_far = min(n_neighbours, len(self.known)), n_far
        self._made: list[tuple[FloatArray, Neighbours]] = []
        self._found: list[tuple[FloatArray, FloatArray, IntArray]] = []

    def sought(self, unit: FloatArray) -> tuple[FloatArray, Neighbours]:
        """Neighbours in a unit of each axis, or in the like of it that they were sought in before."""
        for made in self._made:
            if _alike(unit, made[0]):
                return made
        self._made.append((unit, Neighbours(measured(self.known, unit), self.n_near, self.n_far)))
        return self._made[-1]

    def find(self, unit: FloatArray, targets: FloatArray) -> None:
        """Have the rows of targets that several kernels are asked for."""
        made, sought = self.sought(unit)
        if self.found(made, targets) is None:
            self._found.append((made, targets, sought.present(measured(targets, made))))

    def found(self, unit: FloatArray, targets: FloatArray) -> IntArray | None:
        """Rows (m, k) of targets by a unit that they were found in, -1 for none; None, where they were not."""
        for made, places, rows in self._found:
            if made is unit and np.array_equal(places, targets):
                return rows
        return None


def _alike(unit: FloatArray, other: FloatArray) -> bool:
    """Whether what is near in some units is near in others."""
    if unit.ndim == other.ndim == 1:
        ratio = unit / other
    else:
        one, two = (np.diag(1 / each) if each.ndim == 1 else each for each in (unit, other))
        ratio = np.linalg.svd(one @ np.linalg.inv(two), compute_uv=False)
    return bool(ratio.max() <= limits.LIKE_UNITS * ratio.min())


class Neighbours:
    """Nearest observations, and farther ones among a few that are spread over all."""

    def __init__(self, places: FloatArray, n_near: int, n_far: int) -> None:
        self.n_near, self.n_far = n_near, n_far
        self.near = cKDTree(places)
        self.far: list[tuple[cKDTree, IntArray]] = []
        if not n_far or n_near >= len(places):
            return
        order = maximin_order(places)
        for every in limits.THINNED:
            some = order[: len(places) // every]
            if len(some) > n_far:
                self.far.append((cKDTree(places[some]), some))

    @property
    def n(self) -> int:
        return self.n_near + self.n_far * len(self.far)

    def present(self, targets: FloatArray) -> IntArray:
        """Rows (b, n), -1 for those that are not there because nearer ones are."""
        rows, absent = self.of(targets)
        return np.ascontiguousarray(np.where(absent, -1, rows).T)

    def of(self, targets: FloatArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Rows (n, b), and which of them are not there because nearer ones are."""
        workers = n_searchers(len(targets))
        distance, rows = self.near.query(targets, k=np.arange(1, self.n_near + 1), workers=workers)
        found, absent = [rows.T], [np.zeros(rows.T.shape, dtype=bool)]
        reach = distance[:, -1]
        for tree, some in self.far:
            # those within reach are had already: ask for more than are wanted, keep the nearest beyond
            k = min(2 * self.n_far, len(some))
            distance, near = tree.query(targets, k=np.arange(1, k + 1), workers=workers)
            first = np.argsort(distance <= reach[:, None], axis=1, kind="stable")[:, : self.n_far]
            distance, near = (np.take_along_axis(a, first, axis=1) for a in (distance, near))
            found.append(some[near].T)
            absent.append((distance <= reach[:, None]).T)
            reach = np.maximum(reach, distance.max(axis=1))
        return np.concatenate(found), np.concatenate(absent)


def nearest_sd(
    kernel: Covariance,
    noise: FloatArray | float,
    coords: FloatArray,
    targets: FloatArray,
    n_neighbours: int = 60,
    scales: FloatArray | None = None,
) -> FloatArray:
    """Standard deviation of the field at the targets, given the nearest observations; see `local_kriging`."""
    _, variance = local_kriging(kernel, noise, coords, np.zeros(len(coords)), targets, n_neighbours, scales)
    return np.sqrt(variance)
