"""Fast products with the covariance matrix of very many places: waves for the far, neighbours for the near.

K v = type-2 NUFFT of (series coefficients x type-1 NUFFT of v) + sparse remainder v. Both parts are linear in the
number of rows. On a regular grid the series alone is exact, and plain FFTs do the work. A kernel with a kink along a
whole plane (rough in time, at any distance in space) leaves a remainder that is not local: the split is measured, and
where it fails, and beyond 3 dimensions, the matrix itself is used, if there are few enough rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import fft, optimize, sparse
from scipy.spatial import cKDTree

from bochner import nufft
from bochner.arrays import FloatArray, IntArray
from bochner.frequencies.torus import EPS, FADING, TorusSeries, torus_series
from bochner.kernels import IsotropicKernel, Kernel, reaches
from bochner.resources import n_threads

RADIUS = 5.0  # of the remainder, in steps of the series
PAIRS_AT_ONCE = 4_000_000
FEWEST_COEFFICIENTS, MOST_COEFFICIENTS = 2**18, 2**22
COEFFICIENTS_PER_ROW = 6  # finer waves leave a shorter, sparser remainder
UNLIKE = 3.0  # lengths of the kernel along the longest axis, of those along the shortest: beyond, steps differ too
LOCAL = 6e-5  # of the variance: RMS error of the series beyond the radius, up to which it stands for the kernel there
MOST_DIMENSIONS = 3  # of transforms
DENSE_ROWS = 8_000  # up to here the matrix itself fits into half a gigabyte


@dataclass(frozen=True)
class Grid:
    """A regular grid that all rows lie on: origin, step and position of each row."""

    origin: FloatArray
    step: FloatArray
    shape: tuple[int, ...]

    def positions(self, coords: FloatArray) -> IntArray | None:
        """Integer positions of places (n, dim), or None if one is off the grid."""
        exact = (coords - self.origin) / self.step
        index = np.rint(exact)
        return index.astype(np.intp) if np.all(np.abs(exact - index) < 1e-3) else None


class CovarianceOperator:
    """Covariance matrix of a kernel between given rows, as an operator; also towards other places."""

    def __init__(
        self, kernel: Kernel, coords: FloatArray, box: tuple[FloatArray, FloatArray]
    ) -> None:
        self.kernel, self.coords = kernel, coords
        self.box = box
        extent = box[1] - box[0]
        self.grid = find_grid(coords) if coords.shape[1] <= MOST_DIMENSIONS else None
        self.far_error = 0.0  # of the split, relative to the variance
        self._series: TorusSeries | None = None
        self._matrix: FloatArray | None = None
        self._extent = extent
        if self.grid is not None:
            self._prepare_grid()
        else:
            self._prepare_split()

    @property
    def dense(self) -> bool:
        """Whether the matrix itself is used."""
        return self._matrix is not None

    @property
    def faithful(self) -> bool:
        """Whether products are those of the kernel, up to the error of the transforms."""
        return self.dense or self.far_error <= LOCAL

    # ------------------------------------------------------------------------- products

    def apply(self, v: FloatArray) -> FloatArray:
        """K v for (n,) or (n, k)."""
        columns = v[:, None] if v.ndim == 1 else v
        out = self._grid_product(columns, self._at) if self.grid is not None else self._split_product(columns)
        return out[:, 0] if v.ndim == 1 else out

    def cross(self, targets: FloatArray, v: FloatArray) -> FloatArray:
        """K(targets, rows) v for (n,) or (n, k): (m,) or (m, k)."""
        columns = v[:, None] if v.ndim == 1 else v
        where = None if self.grid is None else self._on_grid(targets)
        if where is not None:
            out = self._grid_product(columns, where)
        elif self._uses_matrix():
            out = self._direct(targets, columns)
        else:
            out = self._far(targets, columns) + self._near(targets, columns)
        return out[:, 0] if v.ndim == 1 else out

    def probes(self, n: int, rng: Generator) -> FloatArray:
        """Places at which a solution can be watched, (n, dim): nodes of the grid, or anywhere in the box."""
        if self.grid is not None:
            return self.grid.origin + self.grid.step * rng.integers(self.grid.shape, size=(n, len(self.grid.shape)))
        return rng.uniform(*self.box, size=(n, self.coords.shape[1]))

    # ---------------------------------------------------------------------- on a grid

    def _prepare_grid(self) -> None:
        assert self.grid is not None
        reach = np.array(self.grid.shape)
        self._counts = [fft.next_fast_len(int(2 * r), real=True) for r in reach]
        lags = [np.where(np.arange(n) <= n // 2, np.arange(n), np.arange(n) - n) for n in self._counts]
        mesh = np.stack(np.meshgrid(*lags, indexing="ij"), axis=-1).reshape(-1, len(lags)) * self.grid.step
        self._spectrum = fft.rfftn(self.kernel.at(mesh).reshape(self._counts), workers=n_threads())
        at = self.grid.positions(self.coords)
        assert at is not None
        self._at = at

    def _grid_product(self, columns: FloatArray, where: IntArray) -> FloatArray:
        out = np.empty((len(where), columns.shape[1]))
        axes = tuple(range(len(self._counts)))
        for j in range(columns.shape[1]):
            field = np.zeros(self._counts)
            np.add.at(field, tuple(self._at.T), columns[:, j])
            waves = fft.rfftn(field, axes=axes, workers=n_threads()) * self._spectrum
            out[:, j] = fft.irfftn(waves, s=self._counts, axes=axes, workers=n_threads())[tuple(where.T)]
        return out

    def _on_grid(self, targets: FloatArray) -> IntArray | None:
        assert self.grid is not None
        where = self.grid.positions(targets)
        if where is None or (where < 0).any() or (where >= np.array(self.grid.shape)).any():
            return None
        return where

    # ------------------------------------------------------------- waves and remainder

    def _prepare_split(self) -> None:
        if self.coords.shape[1] > MOST_DIMENSIONS:
            self.far_error = np.inf
        elif self.coords.shape[1] == MOST_DIMENSIONS and len(self.coords) <= DENSE_ROWS:
            self.far_error = np.inf  # not tried: the matrix is faster than transforms of a million waves
        else:
            shares = self._shares()
            self._series = torus_series(self.kernel, self._extent, self._steps(shares), taper=True)
            # isotropic kernels have a kink at zero alone
            if np.ptp(shares) or not all(isinstance(k, IsotropicKernel) for k in self.kernel.leaves()):
                self.far_error = self._split_error()
        if self.far_error > LOCAL and len(self.coords) <= DENSE_ROWS:
            self._matrix = self.kernel.covariance(self.coords, self.coords)
        if self._series is None or self._matrix is not None:
            return
        self._plan = nufft.Plan(
            self._series.angle(self.coords), self._series.coef.shape, eps=EPS, dtype=np.float64
        )
        self._tree = cKDTree(self.coords / self._series.step)
        self._remainder = self._remainder_matrix(self._tree, self.coords, symmetric=True)

    def _shares(self) -> FloatArray:
        """Steps along each axis, of the mean number: as it has lengths of the kernel, where these differ much."""
        lengths = self._extent / reaches(self.kernel, self._extent)
        unlike = lengths.max() > UNLIKE * lengths.min() > 0
        return np.asarray(lengths / np.exp(np.mean(np.log(lengths)))) if unlike else np.ones(len(lengths))

    def _steps(self, shares: FloatArray) -> FloatArray:
        """Resolution of the series: somewhat finer than the rows lie apart, within bounds on their number."""
        extent = np.maximum(self._extent, 1e-3 * self._extent.max())
        fewest = FEWEST_COEFFICIENTS * (4 if len(extent) == 3 else 1)
        wanted = np.clip(COEFFICIENTS_PER_ROW * len(self.coords), fewest, MOST_COEFFICIENTS)
        # the torus is twice as wide as the box and its fading
        n = optimize.brentq(lambda n: np.sum(np.log(2 * (n * shares + FADING))) - np.log(wanted), 0.0, float(wanted))
        return np.asarray(extent / (n * shares))

    def _split_product(self, columns: FloatArray) -> FloatArray:
        if self._matrix is not None:
            return self._matrix @ columns
        assert self._series is not None
        waves = self._plan.type1(columns.T) * self._series.coef
        return self._plan.type2(waves).real.T + self._remainder @ columns

    def _direct(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        size = max(1, PAIRS_AT_ONCE // len(self.coords))
        parts = [targets[i : i + size] for i in range(0, len(targets), size)]
        return np.concatenate([self.kernel.covariance(part, self.coords) @ columns for part in parts])

    def _split_error(self) -> float:
        """RMS error of the series between rows that are not near, relative to the variance."""
        assert self._series is not None
        first, second = np.random.default_rng(0).integers(len(self.coords), size=(2, 4_000))
        lag = self.coords[first] - self.coords[second]
        lag = lag[np.linalg.norm(lag / self._series.step, axis=1) > RADIUS]
        at_zero = self.kernel.at(np.zeros((1, lag.shape[1])))
        return float(np.sqrt(np.mean(np.square(self._remainder_at(lag) / at_zero)))) if len(lag) else 0.0

    def _far(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        series = self._split_series()
        waves = self._plan.type1(columns.T) * series.coef
        return nufft.type2(series.angle(targets), waves, eps=EPS).real.T

    def _near(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        out = np.empty((len(targets), columns.shape[1]))
        per_target = max(1.0, self._tree.count_neighbors(self._tree, RADIUS) / len(self.coords))
        size = max(1, int(PAIRS_AT_ONCE / per_target))
        for start in range(0, len(targets), size):
            part = targets[start : start + size]
            tree = cKDTree(part / self._split_series().step)
            out[start : start + size] = self._remainder_matrix(tree, part, symmetric=False) @ columns
        return out

    def _uses_matrix(self) -> bool:
        if self._series is None and self._matrix is None:  # rows on a grid, targets off it
            self._prepare_split()
        return self._matrix is not None

    def _split_series(self) -> TorusSeries:
        assert self._series is not None
        return self._series

    def _remainder_matrix(self, tree: cKDTree, places: FloatArray, *, symmetric: bool) -> sparse.csr_array:
        """Kernel less series between places and rows that are near, (m, n)."""
        assert self._series is not None
        if symmetric:
            pairs = self._tree.query_pairs(RADIUS, output_type="ndarray")
            i, j = pairs[:, 0], pairs[:, 1]
        else:
            found = tree.query_ball_tree(self._tree, RADIUS)
            i = np.repeat(np.arange(len(places)), [len(f) for f in found])
            j = np.concatenate([np.asarray(f, dtype=np.intp) for f in found]) if len(i) else np.zeros(0, dtype=np.intp)
        values = self._remainder_at(places[i] - self.coords[j])
        shape = (len(places), len(self.coords))
        if not symmetric:
            return sparse.csr_array((values, (i, j)), shape=shape)
        origin = self._remainder_at(np.zeros((1, self.coords.shape[1])))[0]
        upper = sparse.csr_array((values, (i, j)), shape=shape)
        return sparse.csr_array(upper + upper.T + sparse.diags_array(np.full(len(places), origin)))

    def _remainder_at(self, lag: FloatArray) -> FloatArray:
        assert self._series is not None
        out = np.empty(len(lag))
        for start in range(0, len(lag), PAIRS_AT_ONCE):
            part = lag[start : start + PAIRS_AT_ONCE]
            out[start : start + PAIRS_AT_ONCE] = self.kernel.at(part) - self._series.at(part)
        return out


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
