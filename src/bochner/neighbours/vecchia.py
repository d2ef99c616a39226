"""The Vecchia likelihood: every point given its nearest predecessors.

The conditional density of point i given its neighbours needs one row of a small inverse Cholesky factor, w_i, with
which y and the trend columns are whitened. Summed over the points, the log density and the Gram matrix of
the whitened columns are all that generalised least squares, ML and REML need; so are their derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.device import device_for
from bochner.kernels import Kernel, measured
from bochner.neighbours import batches, limits
from bochner.neighbours.compiled import CompiledKernel, compiled_kernel, in_runs, loops, tabulated_kernel
from bochner.neighbours.device_systems import DeviceKernel, vecchia_sums
from bochner.neighbours.ordering import SharedOrder
from bochner.neighbours.pure_error import PureError
from bochner.neighbours.replicates import groups, merge
from bochner.random import generator
from bochner.resources import n_threads

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Vecchia:
    r"""Vecchia log likelihood of a Gaussian field with noise and fixed effects.

    .. math:: y \sim N(X \beta, K + N), \qquad \log p(y) \approx \sum_i \log p(y_i \mid y_{c(i)})

    c(i) are the nearest predecessors of i in an order from coarse to fine. The sum is exact when they are all the
    predecessors. Row i has noise (noise_variance + measurement_variance_i) / weight_i: a weight w
    stands for w copies of the row, and the log likelihood is that of all copies. Where points are sampled, the scatter
    of repeats counts at every place that has some: it costs nothing, and no spread-out sample shows the noise so
    plainly. Build it with `plan`, once, and `evaluate` it for every kernel.
    """

    coords: FloatArray  # (n, dim)
    columns: FloatArray  # (n, q + 1): a basis of the trend, then y less its least-squares trend
    weight: FloatArray  # (n,) copies of each row
    measurement_variance: FloatArray  # (n,)
    own_copies: FloatArray  # (n,) copies of each row less the rows that were merged in it
    log_weights: FloatArray  # (n,) sum of the logs of the weights of those rows
    repeats: PureError  # scatter among rows at the same place, of all places
    targets: IntArray  # (t,) rows whose densities are evaluated
    neighbours: IntArray  # (t, k) rows they are conditioned on, -1 for none
    represents: FloatArray  # (t,) how many rows each target was drawn from
    log_det_basis: float  # log |det R|, where trend = basis R
    to_coef: FloatArray  # (trend columns, q): effects of the trend from those of the basis
    level: FloatArray  # (q,) effects of the basis that y is less

    @classmethod
    def plan(
        cls,
        coords: FloatArray,
        y: FloatArray,
        trend: FloatArray | None = None,
        weight: FloatArray | None = None,
        measurement_variance: FloatArray | None = None,
        *,
        n_neighbours: int = 20,
        n_points: int = 20_000,
        n_first: int | None = None,
        coarse_share: float = limits.COARSE_SHARE,
        scales: FloatArray | None = None,
        seed: int = 0,
        shared: SharedOrder | None = None,
    ) -> Self:
        """Choose the points to evaluate and their neighbours, once.

        Parameters
        ----------
        coords : array, shape (n, dim)
            Coordinates.
        y : array, shape (n,)
            Observations.
        trend : array, shape (n, q), optional
            Columns of the fixed effects. One that the others already span is left out.
        weight, measurement_variance : array, shape (n,), optional
            Copies of each row (default 1), known noise variance of each (default 0).
        n_neighbours : int
            Predecessors that each point is conditioned on.
        n_points : int
            Conditional densities to evaluate at most. Beyond it, a share of them are the first points of
            the order, a smaller one points with a predecessor close by, the others a random sample of the rest;
            neighbours are searched among all rows, so that short scales are not lost.
        n_first : int, optional
            Evaluate points among so many first ones of the order only, and a few with a predecessor close by:
            those after them have predecessors nearer by.
        coarse_share : float
            Share of `n_points` that are the first of the order.
        scales : array, shape (dim,) or (dim, dim), optional
            Unit of each axis in which neighbours are near, or the matrix W of places W x in which they are (default: as
            the coordinates are).
        seed : int
            Decides the order and the sample.
        shared : SharedOrder, optional
            Where several plans of the same places find their order, and leave it.
        """
        n = len(y)
        trend = np.empty((n, 0)) if trend is None else trend
        weight = np.ones(n) if weight is None else weight
        known = np.zeros(n) if measurement_variance is None else measurement_variance
        coords, y, trend, weight, known = (a[weight > 0] for a in (coords, y, trend, weight, known))
        merged = merge(np.column_stack([coords, trend, known]), y, weight)
        coords, trend, known = (a[merged.rows] for a in (coords, trend, known))

        near = coords if scales is None else _measured(coords - coords.min(axis=0), scales)
        ordered = (SharedOrder() if shared is None else shared).of(near, seed)
        order = ordered.order
        n_order = len(order) if n_first is None else min(n_first, len(order))
        close = ordered.close if len(order) > n_points or n_order < len(order) else np.empty(0, dtype=np.intp)
        positions, represents = _sample(n_order, n_points, coarse_share, close, seed)
        neighbours = ordered.predecessors(n_neighbours, positions)
        used, targets, neighbours = _renumbered(order[positions], neighbours)
        columns, log_det_basis, to_coef, level = _trend_basis(trend[used], merged.mean[used], targets)
        return cls(
            coords[used],
            columns,
            merged.weight[used],
            known[used],
            (merged.weight - merged.size)[used],
            merged.log_weights[used],
            PureError.of(merged, known),
            targets,
            neighbours,
            represents,
            log_det_basis,
            to_coef,
            level,
        )

    def evaluate(self, kernel: Kernel, noise_variance: float, reml: bool = True) -> tuple[float, FloatArray]:
        """Log likelihood of the evaluated points, and its gradient.

        When `plan` drew a sample of the points, this is the sum of their conditional densities: each counts once, which
        estimates parameters better than weighting them up to all points. `estimate` does that.

        Parameters
        ----------
        kernel : Kernel
            Covariance of the field.
        noise_variance : float
            Noise variance of one copy of a row.
        reml : bool
            Whether the fixed effects are integrated out under a flat prior (REML) or put at their maximum (ML).

        Returns
        -------
        value : float
            -inf where the covariance is so extreme that the fixed effects cannot be told from each other.
        gradient : array, shape (len(kernel.theta) + 1,)
            Derivatives with respect to `kernel.theta` and log `noise_variance`. Cost per evaluation t k^3, in
            batches; 20,000 points with 20 neighbours take about 0.3 s on two cores.
        """
        return self.evaluate_with_prior(kernel, noise_variance, reml)[:2]

    def evaluate_with_prior(
        self,
        kernel: Kernel,
        noise_variance: float,
        reml: bool = True,
        precision: FloatArray | None = None,
        each: FloatArray | None = None,
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """The same with a prior precision (columns, columns) of the effects; their means and variances, too.

        Where loops are compiled, slopes of the single log densities are left in `each`, (t, n_theta + 1).
        """
        sums = self._sums(kernel, noise_variance, np.ones(len(self.targets)), each=each)
        return self._fixed_effects(sums, reml, precision)

    def evaluate_informed(
        self, kernel: Kernel, noise_variance: float, reml: bool = True, precision: FloatArray | None = None
    ) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray]:
        """The same with the information of `information`, from all points where loops are compiled."""
        each = np.full((len(self.targets), len(kernel.theta) + 1), np.nan)
        found = self.evaluate_with_prior(kernel, noise_variance, reml, precision, each)
        whole = bool(np.isfinite(each[-1, -1])) if len(each) else False
        information = (
            self._informed(each.T @ each, noise_variance) if whole else self.information(kernel, noise_variance)
        )
        return (*found, information)

    def value(self, kernel: Kernel, noise_variance: float, reml: bool, precision: FloatArray | None = None) -> float:
        """The value of `evaluate_with_prior`, for less than with the gradient."""
        counts = np.ones(len(self.targets))
        if len(self.targets) >= limits.COMPILED_FROM:
            return self._fixed_effects(self._sums(kernel, noise_variance, counts, slopes=False), reml, precision)[0]
        copies = self._copies(noise_variance, counts, 1)
        terms = batches.in_batches(
            lambda batch: self._values(kernel, noise_variance, counts[batch], batch),
            len(self.targets),
            self.neighbours.shape[1] + 1,
        )
        sums = _Sums(*(sum(parts[1:], parts[0]) for parts in zip(copies, *terms, strict=True)))
        return self._fixed_effects(sums, reml, precision)[0]

    def estimate(self, kernel: Kernel, noise_variance: float, reml: bool = True) -> float:
        """Estimate of the Vecchia log likelihood of all rows, the value of `evaluate` if none was left out."""
        return self._fixed_effects(self._sums(kernel, noise_variance, self.represents), reml)[0]

    def _fixed_effects(
        self, sums: _Sums, reml: bool, precision: FloatArray | None = None
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        q, to_coef = len(sums.gram) - 1, self.to_coef
        prior = np.zeros((q, q)) if precision is None else to_coef.T @ precision @ to_coef
        trend_gram, cross = sums.gram[:q, :q] + prior, sums.gram[:q, q] - prior @ self.level
        sign, log_det = np.linalg.slogdet(trend_gram)
        if not (sign > 0 and np.isfinite(sums.gram).all()):
            nothing = np.zeros(len(to_coef))
            return -np.inf, np.zeros(len(sums.d_log_density)), nothing, nothing
        inverse = np.linalg.inv(trend_gram)
        # At the maximum in beta the derivative through beta vanishes: c holds for value and gradient.
        effects = inverse @ cross
        c, whole = np.r_[-effects, 1.0], effects + self.level
        value = sums.log_density - 0.5 * (c @ sums.gram @ c + whole @ prior @ whole)
        gradient = sums.d_log_density - 0.5 * c @ sums.d_gram @ c
        if reml:
            value += 0.5 * (q * LOG_2PI - log_det) - self.log_det_basis
            gradient = gradient - 0.5 * np.sum(inverse * sums.d_gram[:, :q, :q], axis=(1, 2))
        if precision is not None:
            proper = np.diag(precision)[np.diag(precision) > 0]
            value += 0.5 * float(np.sum(np.log(proper) - LOG_2PI))
        variance = np.einsum("ij,jk,ik->i", to_coef, inverse, to_coef)
        return float(value), gradient, to_coef @ whole, variance

    def _sums(
        self,
        kernel: Kernel,
        noise_variance: float,
        counts: FloatArray,
        slopes: bool = True,
        each: FloatArray | None = None,
    ) -> _Sums:
        """Sums over all targets; without `slopes` that in the noise is the only one, where loops are compiled."""
        arrays, n_theta = self._arrays(noise_variance), len(kernel.theta) + 1
        there, ready = self._on_device(kernel, arrays, counts), None
        if there is None:
            ready = compiled_kernel(kernel, self.coords.shape[1], len(self.targets), lambda: self._lag_range)
        terms: Iterable[_Sums]
        if there is not None:
            terms = [there]
        elif ready is not None:
            n_theta = n_theta if slopes else 1
            terms = in_runs(
                lambda run: self._compiled_run(ready, arrays, counts, run, n_theta, each), len(self.targets)
            )
        else:
            terms = batches.in_batches(
                lambda batch: self._batch(kernel, noise_variance, counts[batch], batch),
                len(self.targets),
                self.neighbours.shape[1] + 1,
            )
        copies = self._copies(noise_variance, counts, n_theta)
        return _Sums(*(sum(parts[1:], parts[0]) for parts in zip(copies, *terms, strict=True)))

    def _arrays(self, noise_variance: float) -> tuple[FloatArray, ...]:
        """Places, columns, noise and its slope of each row."""
        d_noise = noise_variance / self.weight
        noise = d_noise + self.measurement_variance / self.weight
        return (*(np.ascontiguousarray(a) for a in (self.coords, self.columns)), noise, d_noise)

    def _on_device(self, kernel: Kernel, arrays: tuple[FloatArray, ...], counts: FloatArray) -> _Sums | None:
        """Sums over all targets on the device in force, if there is one for so much work."""
        device = device_for(limits.VECCHIA_WORK * len(self.targets) * (self.neighbours.shape[1] + 1) ** 3)
        if device is None:
            return None
        ready = tabulated_kernel(kernel, self.coords.shape[1], lambda: self._lag_range)
        if ready is None:
            return None
        found = vecchia_sums(DeviceKernel(device, ready), arrays, self.targets, self.neighbours, counts)
        if found is None:
            return None
        density, slopes, gram, half = found
        return _Sums(density - 0.5 * LOG_2PI * float(counts.sum()), slopes, gram, half + half.swapaxes(1, 2))

    @cached_property
    def _lag_range(self) -> tuple[float, float]:
        """Bounds of the distance of two places that are apart."""
        places = self.coords[groups(self.coords)[0]]
        nearest = cKDTree(places).query(places, k=[2], workers=n_threads())[0] if len(places) > 1 else np.ones(1)
        return float(nearest.min()), float(np.linalg.norm(np.ptp(places, axis=0))) + 1e-300

    def _compiled_run(
        self,
        kernel: CompiledKernel,
        arrays: tuple[FloatArray, ...],
        counts: FloatArray,
        run: slice,
        n_theta: int,
        each: FloatArray | None = None,
    ) -> _Sums:
        """Sums over some of the targets, as of `_batch`."""
        p = self.columns.shape[1]
        log_density, d_log_density = np.zeros(1), np.zeros(n_theta)
        gram, half = np.zeros((p, p)), np.zeros((n_theta, p, p))
        loops().vecchia_sums(
            *kernel,
            *arrays,
            self.targets[run],
            self.neighbours[run],
            counts[run],
            log_density,
            d_log_density,
            gram,
            half,
            np.empty((0, 0)) if each is None else each[run],
        )
        log_density -= 0.5 * LOG_2PI * counts[run].sum()
        return _Sums(float(log_density[0]), d_log_density, gram, half + half.swapaxes(1, 2))

    def information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """About minus the Hessian of `evaluate`, never negative: what the slopes of single densities sum up to.

        Slopes of conditional densities are uncorrelated with mean zero where the kernel is right, and their outer
        products then have the mean of minus the Hessian (Berndt, Hall, Hall & Hausman 1974). A sample of them is taken.
        """
        step = -(-len(self.targets) // limits.INFORMATION_TARGETS)
        slopes = self.slopes(kernel, noise_variance, step)
        return self._informed(step * slopes @ slopes.T, noise_variance)

    def _informed(self, information: FloatArray, noise_variance: float) -> FloatArray:
        """With what copies and repeats tell of the noise."""
        s2 = np.maximum(noise_variance + self.measurement_variance[self.targets], 1e-300)
        information[-1, -1] += 0.5 * float(self.own_copies[self.targets] @ (noise_variance / s2) ** 2)
        information[-1, -1] += self.repeats.information(noise_variance)
        return np.asarray(information)

    def slopes(self, kernel: Kernel, noise_variance: float, every: int = 1) -> FloatArray:
        """Slopes of single log densities in `kernel.theta` and log `noise_variance`, (n_theta + 1, t)."""
        some = slice(0, None, every)
        ready = compiled_kernel(kernel, self.coords.shape[1], len(self.targets), lambda: self._lag_range)
        if ready is None:
            found = self._conditionals(kernel, noise_variance, some)
            return -0.5 * np.einsum("kb,tkb->tb", found.w, found.d_w) - found.whitened[-1] * found.d_whitened[:, -1]
        targets, neighbours = (np.ascontiguousarray(a[some]) for a in (self.targets, self.neighbours))
        arrays = self._arrays(noise_variance)
        n_theta, p = len(ready.at_zero), self.columns.shape[1]
        each = np.empty((len(targets), n_theta))

        def fill(run: slice) -> None:
            n = len(targets[run])
            sums = (np.zeros(1), np.zeros(n_theta), np.zeros((p, p)), np.zeros((n_theta, p, p)))
            loops().vecchia_sums(*ready, *arrays, targets[run], neighbours[run], np.ones(n), *sums, each[run])

        in_runs(fill, len(targets))
        return each.T

    def _batch(self, kernel: Kernel, noise_variance: float, counts: FloatArray, batch: slice) -> _Sums:
        """Sums over some of the targets."""
        found = self._conditionals(kernel, noise_variance, batch)
        half = (counts * found.d_whitened) @ found.whitened.T
        return _Sums(
            log_density=-float(counts @ (0.5 * LOG_2PI + np.log(found.sd))),
            d_log_density=-0.5 * np.einsum("kb,tkb->tb", found.w, found.d_w) @ counts,
            gram=(counts * found.whitened) @ found.whitened.T,
            d_gram=half + half.swapaxes(1, 2),
        )

    def _values(self, kernel: Kernel, noise_variance: float, counts: FloatArray, batch: slice) -> _Sums:
        """The same without derivatives."""
        systems = self._systems(batch)
        covariance = systems.of_present([kernel.covariance(*systems.ends)])[0]
        factor = batches.cholesky(covariance, systems.known + noise_variance * systems.share)
        whitened, p = batches.solve_lower(factor, systems.columns)[:, -1], self.columns.shape[1]
        density = -float(counts @ (0.5 * LOG_2PI + np.log(factor[-1, -1])))
        return _Sums(density, np.zeros(1), (counts * whitened) @ whitened.T, np.zeros((1, p, p)))

    def _conditionals(self, kernel: Kernel, noise_variance: float, batch: slice) -> _Conditionals:
        """Conditional densities of some of the targets."""
        systems = self._systems(batch)
        covariance, gradients = kernel.covariance_and_gradient(*systems.ends)
        # the slope in the variance may be the covariance itself
        is_itself = [g is covariance for g in gradients]
        covariance, *gradients = systems.of_present([covariance, *gradients])
        d_noise = noise_variance * systems.share
        noise = systems.known + d_noise
        factor = batches.cholesky(covariance, noise)
        z = batches.solve_lower(factor, systems.columns)
        last = np.zeros((1, *noise.shape))
        last[0, -1] = 1.0
        solved = batches.solve_upper(factor, np.concatenate([z, last]))
        w, whitened = solved[-1], z[:, -1]  # whitened = w' columns

        # C w is a multiple of the last unit vector; hence dw = -C^-1 dC w + w (w' dC w) / 2.
        slope = 0.5 * whitened[:, None] * w - solved[:-1]
        itself = factor[-1, -1] * last[0] - noise * w  # C w less that of the noise
        pairs = zip(gradients, is_itself, strict=True)
        d_w = np.stack([*(itself if is_so else batches.multiply(g, w) for g, is_so in pairs), d_noise * w])
        return _Conditionals(factor[-1, -1], w, whitened, d_w, np.einsum("pkb,tkb->tpb", slope, d_w))

    def _systems(self, batch: slice) -> _Systems:
        """Systems of some of the targets; of few targets they are kept, since each evaluation asks for them again."""
        if len(self.targets) >= limits.COMPILED_FROM:
            return self._gathered(batch)
        key = batch.indices(len(self.targets))
        if key not in self._kept:
            self._kept[key] = self._gathered(batch)
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[int, int, int], _Systems]:
        return {}

    def _gathered(self, batch: slice) -> _Systems:
        rows = np.vstack([self.neighbours[batch].T, self.targets[batch]])  # (k, b), the target last
        present = rows >= 0
        share = np.where(present, 1 / self.weight[rows], 0.0)
        known = np.where(present, self.measurement_variance[rows] / self.weight[rows], 1.0)
        columns = np.where(present, self.columns.T[:, rows], 0.0)
        partial = np.flatnonzero(~present.all(axis=0))
        first, second = np.tril_indices(len(rows))
        both = present[first][:, partial] & present[second][:, partial]
        ends = batches.pairs(self.coords.T[:, rows])
        return _Systems(ends, share, known, columns, np.flatnonzero(first == second), partial, both)

    def _copies(self, noise_variance: float, counts: FloatArray, n_theta: int) -> _Sums:
        """What the copies of each target add beyond their mean (see `merge`), and the repeats of all places."""
        d_log_density, p = np.zeros(n_theta), self.columns.shape[1]
        value, d_log_density[-1] = self.repeats.log_density(noise_variance)
        if self._has_copies:
            at = self.targets
            s2 = np.maximum(noise_variance + self.measurement_variance[at], 1e-300)
            log_density = -0.5 * (self.own_copies[at] * (LOG_2PI + np.log(s2)) + self.log_weights[at])
            d_log_density[-1] -= 0.5 * counts @ (noise_variance / s2 * self.own_copies[at])
            value += float(counts @ log_density)
        return _Sums(value, d_log_density, np.zeros((p, p)), np.zeros((n_theta, p, p)))

    @cached_property
    def _has_copies(self) -> bool:
        return bool(self.own_copies[self.targets].any() or self.log_weights[self.targets].any())


class _Conditionals(NamedTuple):
    """Of targets given their neighbours: sd, row w of the inverse factor, whitened columns, and dC w, d(w' columns)."""

    sd: FloatArray  # (b,)
    w: FloatArray  # (k, b)
    whitened: FloatArray  # (q + 1, b)
    d_w: FloatArray  # (n_theta, k, b)
    d_whitened: FloatArray  # (n_theta, q + 1, b)


class _Systems(NamedTuple):
    """Targets and their neighbours: what does not depend on hyperparameters. Absent rows are independent zeros."""

    ends: tuple[FloatArray, FloatArray]  # of every pair of places
    share: FloatArray  # (k, b) of the noise variance
    known: FloatArray  # (k, b) noise variance beside it
    columns: FloatArray  # (q + 1, k, b)
    diagonal: IntArray  # (k,) of the packed pairs
    partial: IntArray  # (c,) those of the batch with rows absent
    both: NDArray[np.bool_]  # (pairs, c) whether both ends are present there

    def of_present(self, matrices: list[FloatArray]) -> list[FloatArray]:
        """Packed matrices that a kernel has made of `ends`: zero where a place is absent.

        The diagonal is lifted by 1e-12 of itself: without noise, systems of a smooth field could not be solved.
        """
        # once each, since the same matrix may come twice; a copy, since a kernel may keep it
        found = {id(matrix): batches.packed(matrix).copy() for matrix in matrices}
        for packed in found.values():
            packed[self.diagonal] *= 1 + limits.LEAST_NOISE_SHARE
            if len(self.partial):
                packed[:, self.partial] *= self.both
        return [found[id(matrix)] for matrix in matrices]


class _Sums(NamedTuple):
    """Sums over targets: log density without its quadratic form, Gram of the whitened columns, derivatives."""

    log_density: float
    d_log_density: FloatArray  # (n_theta,)
    gram: FloatArray  # (q + 1, q + 1)
    d_gram: FloatArray  # (n_theta, q + 1, q + 1)


def _measured(lags: FloatArray, scales: FloatArray) -> FloatArray:
    """Places in units of the axes, or along others; rounded: on a grid, neighbours equally far are so to the digit."""
    return np.round(measured(lags, scales), 6)


def _sample(n: int, n_points: int, coarse_share: float, close: IntArray, seed: int) -> tuple[IntArray, FloatArray]:
    """Positions to evaluate, and how many each represents: coarse ones, close ones, and a sample of the others.

    They are among the first n, but for the close ones: what scatters between neighbours only they can tell from a
    short field.
    """
    n_close = min(len(close), int(limits.CLOSE_SHARE * n_points))
    if n <= n_points:
        further = np.sort(close[:n_close][close[:n_close] >= n])
        return np.r_[np.arange(n), further], np.ones(n + len(further))
    n_coarse = int(coarse_share * n_points)
    further = close[close >= n_coarse][:n_close]
    others = np.setdiff1d(np.arange(n_coarse, n), further, assume_unique=True)
    n_fine = min(n_points - n_coarse - len(further), len(others))
    fine = generator(seed, "vecchia sample").choice(others, n_fine, replace=False)
    represents = np.repeat([1.0, 1.0, len(others) / n_fine], [n_coarse, len(further), n_fine])
    positions = np.r_[np.arange(n_coarse), further, fine]
    by_position = np.argsort(positions)
    return positions[by_position], represents[by_position]


def _renumbered(targets: IntArray, neighbours: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Rows that occur, and the same targets and neighbours counted among them."""
    present = neighbours >= 0
    occurs = np.zeros(max(targets.max(initial=0), neighbours.max(initial=0)) + 1, dtype=bool)
    occurs[targets] = occurs[neighbours[present]] = True
    place = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), place[targets], np.where(present, place[neighbours], -1)


def _trend_basis(
    trend: FloatArray, y: FloatArray, targets: IntArray
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Trend made orthonormal on the targets, and y less its trend there, as columns; log |det R|; the way back.

    Large offsets in covariates or in y would otherwise cost digits of the likelihood.
    """
    if trend.shape[1] == 0:
        return y[:, None], 0.0, np.zeros((0, 0)), np.zeros(0)
    norm = np.linalg.norm(trend[targets], axis=0)
    scale = np.where(norm > 0, norm, 1.0)
    q, r, pivots = linalg.qr(trend[targets] / scale, mode="economic", pivoting=True)
    size = np.abs(np.diag(r))
    rank = int(np.sum(size > 1e-10 * size[0]))
    kept = pivots[:rank]
    basis = linalg.solve_triangular(r[:rank, :rank], (trend[:, kept] / scale[kept]).T, trans="T").T
    level = q[:, :rank].T @ y[targets]
    to_coef = np.zeros((trend.shape[1], rank))
    to_coef[kept] = linalg.solve_triangular(r[:rank, :rank], np.eye(rank)) / scale[kept][:, None]
    log_det = float(np.sum(np.log(size[:rank] * scale[kept])))
    return np.column_stack([basis, y - basis @ level]), log_det, to_coef, level
