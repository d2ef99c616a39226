"""Waves for the far, neighbours for the near: products with the covariance of rows anywhere.

K v = series v + sparse remainder v, the series by a grid of its torus or by two transforms between rows and waves. Both
parts are linear in the number of rows. A kernel with a kink along a whole plane (rough in time, at any distance in
space) leaves a remainder that is not local: the split is measured, and says whether it is faithful.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import optimize, sparse
from scipy.spatial import cKDTree

from bochner import nufft
from bochner.arrays import FloatArray
from bochner.device import Device
from bochner.features import limits
from bochner.features.operators.base import Box, CovarianceOperator, DeviceProducts
from bochner.features.operators.mesh import Mesh
from bochner.features.operators.remainder import NearRows, Remainder
from bochner.frequencies.limits import FADING_STEPS, SERIES_EPS
from bochner.frequencies.torus import TorusSeries, torus_series
from bochner.kernels import Kernel, reaches
from bochner.neighbours.row_products import row_products
from bochner.nufft.torch_backend import TorchPlan
from bochner.resources import current


@dataclass(frozen=True, eq=False)
class SplitOperator(CovarianceOperator):
    """Fourier series on a torus, and the sparse rest of the kernel between rows that are near."""

    @classmethod
    def offered(cls, kernel: Kernel, coords: FloatArray, box: Box) -> Self | None:
        n, dim = coords.shape
        if dim > limits.MAX_WAVE_DIMENSIONS:
            return None
        if dim == limits.MAX_WAVE_DIMENSIONS and n <= limits.MAX_DENSE_ROWS:
            return None  # the matrix is faster than transforms of a million waves
        return cls(kernel, coords, box)

    @property
    def how(self) -> str:
        return "waves by NUFFT and a local remainder"

    @property
    def reason(self) -> str:
        if self._crowded:
            return f"{self.near_pairs:,.0f} pairs of rows are too near for waves to tell apart: too many to hold"
        error = f"(error {self.far_error:.0e} of the variance)"
        if not self.faithful:
            return f"waves and a local remainder cannot follow the kernel along every axis {error}"
        return f"waves and a local remainder follow the kernel {error}"

    @property
    def faithful(self) -> bool:
        return not self._crowded and self.far_error <= limits.MAX_SPLIT_ERROR

    @cached_property  # asked again once the remainder is there, the memory would be taken by it
    def _crowded(self) -> bool:
        """Whether the remainder is out of proportion, as of many rows on a surface in three dimensions."""
        tabled = self._rows_for(self.near_pairs) is not None  # their matrix is written as it is, and read in parts
        needed = limits.BYTES_PER_NEAR_PAIR[tabled] * self.near_pairs
        return self.near_pairs > limits.MAX_NEAR_PAIRS[tabled] or needed > current().room

    @cached_property
    def near_pairs(self) -> float:
        """Pairs of rows that the remainder holds, from those of some rows."""
        some = np.random.default_rng(0).integers(self.n_rows, size=limits.COUNTED_ROWS)
        found = self._tree.query_ball_point(self._tree.data[some], limits.NEAR_RADIUS, return_length=True)
        return float(np.mean(found)) * self.n_rows / 2

    @property
    def product_error(self) -> float:
        return limits.SPLIT_PRODUCT_ERROR[self.coords.shape[1]]

    @cached_property
    def far_error(self) -> float:
        """RMS error of the series between rows that are not near, relative to the variance."""
        # a kernel of the distance has its kink at zero alone, unless it is a ridge along some direction
        round_enough = not np.ptp(self.shares) and not any(_far_stretched(k) for k in self.kernel.leaves())
        if round_enough and all(k.radial for k in self.kernel.leaves()):
            return 0.0
        first, second = np.random.default_rng(0).integers(self.n_rows, size=(2, limits.SPLIT_PAIRS))
        lag = self.coords[first] - self.coords[second]
        lag = lag[np.linalg.norm(lag / self.series.step, axis=1) > limits.NEAR_RADIUS]
        at_zero = self.kernel.lag_covariance(np.zeros((1, lag.shape[1])))
        return float(np.sqrt(np.mean(np.square(self._remainder_at(lag) / at_zero)))) if len(lag) else 0.0

    # ------------------------------------------------------------------------- products

    def products(self, columns: FloatArray) -> FloatArray:
        return self._far_of(columns)(None) + self._near_products(columns)

    def cross_products(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        return self.prepared(columns)(targets)

    def prepared(self, columns: FloatArray) -> Callable[[FloatArray], FloatArray]:
        far, near = self._far_of(columns), self._near_of(columns)
        return lambda targets: far(targets) + near(targets)

    def on_device(self, device: Device, probes: FloatArray) -> DeviceProducts | None:
        coef, shape = device.tensor(self.series.coef), self.series.coef.shape
        here, there = (
            TorchPlan(self.series.angle(places), shape, SERIES_EPS, np.dtype(np.float64), device=device)
            for places in (self.coords, probes)
        )
        near, towards = (device.sparse(part) for part in (self.remainder, self._remainder_towards(probes)))

        def waves_of(columns: Any) -> Any:
            return here.modes_of(device.torch.complex(*_halves(columns)), -1) * coef

        def unpaired(rows: Any, columns: Any) -> Any:
            return device.torch.cat([rows.real.T, rows.imag.T], dim=1)[:, : columns.shape[1]]

        return DeviceProducts(
            lambda v: unpaired(here.values_of(waves_of(v), 1), v) + near @ v,
            lambda v: unpaired(there.values_of(waves_of(v), 1), v) + towards @ v,
        )

    def _far_of(self, columns: FloatArray) -> Callable[[FloatArray | None], FloatArray]:
        """The series times columns, as a function of the targets; None: of the rows."""
        mesh = self._mesh
        if mesh is None:
            return self._far_by_waves(columns)
        far = mesh.of(columns)
        return lambda t: far(t) if t is None or mesh.holds(t) else self._far_by_waves(columns)(t)

    def _far_by_waves(self, columns: FloatArray) -> Callable[[FloatArray | None], FloatArray]:
        """The same by two transforms: right anywhere on the torus."""
        waves = self._plan.type1(_paired(columns)) * self.series.coef

        def far(targets: FloatArray | None) -> FloatArray:
            plan = self._plan if targets is None else self._plan_at(targets)
            return _unpaired(plan.type2(waves), columns)

        return far

    def _near_of(self, columns: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """The sparse part of `prepared`."""

        def near(targets: FloatArray) -> FloatArray:
            rows = self._rows_for(2 * self.near_pairs / self.n_rows * len(targets))
            return self._near(targets, columns) if rows is None else rows.towards(targets, columns)

        return near

    def _rows_for(self, n_pairs: float) -> NearRows | None:
        """Rows with tables of the remainder, if they are there or so many pairs are worth them; made once."""
        worth = n_pairs >= Remainder.worth_from(self.coords.shape[1])
        return self._near_rows if worth or "_near_rows" in self.__dict__ else None

    @cached_property
    def _near_rows(self) -> NearRows | None:
        tables = Remainder.offered(self.kernel, self.series, limits.NEAR_RADIUS)
        return None if tables is None else tables.rows(self.coords)

    def _near(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        out = np.empty((len(targets), columns.shape[1]))
        for start in range(0, len(targets), self._targets_at_once):
            part = slice(start, start + self._targets_at_once)
            out[part] = self._remainder_towards(targets[part]) @ columns
        return out

    # --------------------------------------------------------- the series, as fine as the rows ask

    @cached_property
    def series(self) -> TorusSeries:
        """Waves of the far field, on a torus around the box."""
        return torus_series(self.kernel, self._extent, self.steps, taper=True)

    @cached_property
    def _mesh(self) -> Mesh | None:
        return Mesh.offered(self.series, *self.box, self.coords)

    @cached_property
    def _plan(self) -> nufft.Plan:
        return self._plan_at(self.coords)

    def _plan_at(self, places: FloatArray) -> nufft.Plan:
        angle = self.series.angle(places)
        return nufft.Plan.trusting(angle, self.series.coef.shape, eps=SERIES_EPS)

    @cached_property
    def _extent(self) -> FloatArray:
        return self.box[1] - self.box[0]

    @cached_property
    def shares(self) -> FloatArray:
        """Steps along each axis, of the mean number: as it has lengths of the kernel, where these differ much."""
        lengths = self._extent / reaches(self.kernel, self._extent)
        unlike = lengths.max() > limits.MAX_AXIS_RATIO * lengths.min() > 0
        return np.asarray(lengths / np.exp(np.mean(np.log(lengths)))) if unlike else np.ones(len(lengths))

    @property
    def steps(self) -> FloatArray:
        """Resolution of the series: somewhat finer than the rows lie apart, within bounds on their number."""
        extent = np.maximum(self._extent, 1e-3 * self._extent.max())
        fewest = limits.MIN_COEFFICIENTS * (4 if len(extent) == 3 else 1)
        wanted = np.clip(limits.COEFFICIENTS_PER_ROW * self.n_rows, fewest, limits.MAX_COEFFICIENTS)
        shares = self.shares
        # the torus is twice as wide as the box and its fading
        n = optimize.brentq(
            lambda n: np.sum(np.log(2 * (n * shares + FADING_STEPS))) - np.log(wanted), 0.0, float(wanted)
        )
        return np.asarray(extent / (n * shares))

    # --------------------------------------------------------------- the remainder, near the rows

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.coords / self.series.step)

    @cached_property
    def _near_products(self) -> Callable[[FloatArray], FloatArray]:
        return row_products(self.remainder)

    @cached_property
    def remainder(self) -> sparse.csr_array:
        """Kernel less series between rows that are near, (n, n)."""
        rows = self._rows_for(self.near_pairs)
        if rows is not None:
            return rows.matrix()
        pairs = self._tree.query_pairs(limits.NEAR_RADIUS, output_type="ndarray")
        i, j = pairs[:, 0], pairs[:, 1]
        lags = self.coords[i] - self.coords[j]
        upper = sparse.csr_array((self._remainder_at(lags), (i, j)), shape=(self.n_rows, self.n_rows))
        origin = self._remainder_at(np.zeros((1, self.coords.shape[1])))[0]
        return sparse.csr_array(upper + upper.T + sparse.diags_array(np.full(self.n_rows, origin)))

    def _remainder_towards(self, targets: FloatArray) -> sparse.csr_array:
        """Kernel less series between targets and rows that are near, (m, n)."""
        found = cKDTree(targets / self.series.step).query_ball_tree(self._tree, limits.NEAR_RADIUS)
        i = np.repeat(np.arange(len(targets)), [len(f) for f in found])
        j = np.concatenate([np.asarray(f, dtype=np.intp) for f in found]) if len(i) else np.zeros(0, dtype=np.intp)
        values = self._remainder_at(targets[i] - self.coords[j])
        return sparse.csr_array((values, (i, j)), shape=(len(targets), self.n_rows))

    @cached_property
    def _targets_at_once(self) -> int:
        per_target = max(1.0, self._tree.count_neighbors(self._tree, limits.NEAR_RADIUS) / self.n_rows)
        return max(1, int(limits.PAIRS_AT_ONCE / per_target))

    def _remainder_at(self, lag: FloatArray) -> FloatArray:
        out, size = np.empty(len(lag)), limits.PAIRS_AT_ONCE
        for start in range(0, len(lag), size):
            part = lag[start : start + size]
            out[start : start + size] = self.kernel.lag_covariance(part) - self.series.at(part)
        return out


def _far_stretched(leaf: Kernel) -> bool:
    """Whether length scales along turned axes differ by more than steps that are all alike can follow."""
    if getattr(leaf, "rotation", None) is None:
        return False
    scales: tuple[float, ...] = leaf.length_scale  # type: ignore[attr-defined]
    return max(scales) > limits.MAX_AXIS_RATIO * min(scales)


def _halves(columns: Any) -> tuple[Any, Any]:
    """The first half of the columns (n, k) of a tensor as rows, and the others, with zeros if they are fewer."""
    k = (columns.shape[1] + 1) // 2
    first, second = columns[:, :k].T.contiguous(), columns[:, k:].T
    rest = first.new_zeros(first.shape)
    rest[: len(second)] = second
    return first, rest


def _paired(columns: FloatArray) -> np.ndarray:
    """Two real columns as one complex row, (k / 2, n): the series is real and even, so it takes each to itself."""
    even, odd = columns[:, ::2], columns[:, 1::2]
    pairs = even.astype(np.complex128)
    pairs[:, : odd.shape[1]] += 1j * odd
    return np.ascontiguousarray(pairs.T)


def _unpaired(rows: np.ndarray, columns: FloatArray) -> FloatArray:
    """The columns of transformed pairs, (m, k)."""
    out = np.empty((rows.shape[1], columns.shape[1]))
    out[:, ::2] = rows.real.T
    out[:, 1::2] = rows.imag.T[:, : columns.shape[1] // 2]
    return out
