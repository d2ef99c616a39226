"""Patches: exact kriging at many places, those that lie close together at once.

On a small patch the covariance with a row far away is smooth, so that a few Chebyshev nodes tell it everywhere; rows in
the patch and next to it, whose kinks nodes would miss, are taken as they are. With the nodes q, the interpolation l(x)
from them and the near rows n,

    k(x) = K_q l(x) + E_n e(x),    e(x) = k_n(x) - K_nq l(x),

so that k'Sigma^-1 k is a quadratic form in w = (e, l), and mean and drift are linear in w. A place costs the square of
some tens instead of the square of the number of rows, however rough the field is. Which rows are near follows from what
leaving out their e would cost; two places of every patch are kriged from all rows, and where those disagree the patch is
cut in four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.features import Rows
from bochner.kernels import Kernel, covariances
from bochner.posterior import limits
from bochner.posterior.chebyshev import interpolation, middles, nodes
from bochner.posterior.kriging import KrigingPosterior, unit_kernel

Moments = tuple[FloatArray, FloatArray]  # means and variances, (k, n) each


@dataclass
class PatchKriging:
    """Means and variances of several posteriors of the same rows, at many places, to within a tolerance.

    Parameters
    ----------
    posteriors : sequence of KrigingPosterior
        Of the same rows, which are points.
    tolerance : float
        Error allowed, in posterior standard deviations.

    Attributes
    ----------
    n_evaluated : int
        Nodes and places that all rows were asked for, so far.
    n_patched : int
        Places that were answered from their patch, so far.
    """

    posteriors: Sequence[KrigingPosterior]
    tolerance: float
    n_evaluated: int = 0
    n_patched: int = 0

    def moments(self, rows: Rows) -> Moments:
        """Means and variances of every posterior, (k, n) each."""
        means, variances = np.empty((2, len(self.posteriors), len(rows)))
        size, pending, alone = best_size(len(self.rows), len(rows)), [np.arange(len(rows))], []
        while pending and size >= limits.LEAST_PATCH:
            parts = [part for whole in pending for part in cells(rows.coords[whole], whole, size)]
            alone += [part for part in parts if len(part) < limits.LEAST_PATCH]
            pending = []
            for group in self._groups([part for part in parts if len(part) >= limits.LEAST_PATCH]):
                for part, found in zip(group, self._answers([rows[part] for part in group]), strict=True):
                    if found is None:
                        pending.append(part)
                    else:
                        means[:, part], variances[:, part] = found
                        self.n_patched += len(part)
            size //= 4
        rest = np.concatenate([*alone, *pending]) if alone or pending else np.zeros(0, dtype=np.intp)
        for i in range(0, len(rest), limits.PLACES_TOGETHER):
            part = rest[i : i + limits.PLACES_TOGETHER]
            means[:, part], variances[:, part] = KrigingPosterior.each_mean_and_variance(self.posteriors, rows[part])
        self.n_evaluated += len(rest)
        return means, variances

    # ------------------------------------------------------------------ what all patches share

    @cached_property
    def rows(self) -> Rows:
        """Training rows."""
        return self.posteriors[0].rows

    @cached_property
    def _shapes(self) -> tuple[list[Kernel], IntArray, FloatArray]:
        """Distinct kernels of unit variance, which of them each posterior has, and its variance."""
        found: dict[Kernel, int] = {}
        pairs = [unit_kernel(p.kernel) for p in self.posteriors]
        of = [found.setdefault(unit, len(found)) for unit, _ in pairs]
        return list(found), np.array(of), np.array([variance for _, variance in pairs])

    @cached_property
    def _inverse(self) -> FloatArray:
        """Sigma^-1 of every posterior, (k, n, n)."""
        return np.stack([_inverse_of(p) for p in self.posteriors])

    @cached_property
    def _alpha(self) -> FloatArray:
        return np.stack([p.alpha for p in self.posteriors])

    @cached_property
    def _trend(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Of every posterior: coefficients (k, r), (L^-1 X)' (k, r, n), X'Sigma^-1 (k, r, n), S^-1/2 (k, r, r)."""
        X = self.rows.trend
        half = np.stack([p.sigma.half_solve(X).T for p in self.posteriors])
        root = np.stack([p.schur.half_solve(np.eye(X.shape[1])) for p in self.posteriors])
        return np.stack([p.trend_coef for p in self.posteriors]), half, X.T @ self._inverse, root

    # ------------------------------------------------------------------------------- patches

    def _groups(self, parts: list[IntArray]) -> Iterator[list[IntArray]]:
        """Patches that are solved for together: one system with many columns costs less than several with few."""
        numbers = (len(self.posteriors) + len(self._shapes[0])) * len(self.rows) * 2 * limits.PATCH_NODES**2
        n = max(1, int(limits.GROUP_NUMBERS / numbers))
        return (parts[i : i + n] for i in range(0, len(parts), n))

    def _answers(self, parts: list[Rows]) -> list[Moments | None]:
        """Means and variances at every patch of a group; None where they err by more than is tolerated."""
        patches = [Patch.over(part) for part in parts]
        (units, of, scale), inverse = self._shapes, self._inverse
        at = [np.concatenate([getattr(p, name) for p in patches]) for name in ("nodes", "checked", "middles")]
        counts = [[len(getattr(p, name)) for p in patches] for name in ("nodes", "checked", "middles")]
        k = covariances(units, self.rows.coords, np.concatenate(at))
        n_nodes, n_solved = len(at[0]), len(at[0]) + len(at[1])
        self.n_evaluated += n_solved
        by_posterior = list(zip(self.posteriors, of, scale, strict=True))
        whitened = np.stack([p.sigma.half_solve(s * k[u, :, :n_solved]) for p, u, s in by_posterior])
        checks = np.ascontiguousarray(k[:, :, n_nodes:n_solved])
        true = self._true(whitened[:, :, n_nodes:], checks, np.concatenate([p.checked_trend for p in patches]))
        midst = np.ascontiguousarray(checks[:, :, ::2])
        first = np.stack([s * (q @ midst[u]) for q, u, s in zip(inverse, of, scale, strict=True)])
        nodes_of, checks_of, middles_of = (_slices(c, start) for c, start in zip(counts, (0, 0, n_solved), strict=True))
        out: list[Moments | None] = []
        for i, patch in enumerate(patches):
            near_of = k[:, :, middles_of[i]] - k[:, :, nodes_of[i]] @ patch.to_middles.T
            mine = true[0][:, checks_of[i]], true[1][:, checks_of[i]]
            sd = np.sqrt(np.maximum(mine[1][:, 0], 1e-300))
            near = self._near(patch, near_of, first[:, :, i], sd)
            if 2 * (len(near) + len(patch.nodes)) ** 2 > len(self.rows) ** 2:
                out.append(None)
                continue
            found = self._within(patch, near, k[:, :, nodes_of[i]], whitened[:, :, nodes_of[i]], sd)
            good = _error(found[0][:, patch.checks], found[1][:, patch.checks], *mine) <= self.tolerance
            out.append(found if good else None)
        return out

    def _true(self, whitened: FloatArray, k: FloatArray, trend: FloatArray) -> Moments:
        """Means and variances at places, from covariances with all rows, whitened (k, n, m) and as they are (u, n, m)."""
        _, of, scale = self._shapes
        coef, half, _, root = self._trend
        mean = scale[:, None] * np.stack([a @ k[u] for a, u in zip(self._alpha, of, strict=True)]) + coef @ trend.T
        drift = root @ (trend.T - half @ whitened)
        return mean, scale[:, None] - _squares(whitened) + _squares(drift)

    def _near(self, patch: Patch, missed: FloatArray, weight: FloatArray, sd: FloatArray) -> IntArray:
        """Rows that interpolation would miss by too much, from what it does in the middle of each mesh, (u, n, c).

        A row's part in the mean is alpha, in the variance twice its kriging weight; many small parts add up as noise does.
        """
        _, of, scale = self._shapes
        by = (scale / sd)[:, None]
        part = np.maximum(np.abs(self._alpha) * by, np.abs(weight) * by / sd[:, None])
        cost = (part * np.abs(missed).max(axis=2)[of]).max(axis=0)
        cost[patch.holds(self.rows.coords)] = np.inf  # nodes may not see it at all, if the field is short
        order = np.argsort(-cost)
        with np.errstate(over="ignore"):
            left = np.sqrt(np.cumsum(cost[order][::-1] ** 2))[::-1]
        return np.sort(order[: int(np.count_nonzero(left > limits.PATCH_SHARE * self.tolerance))])

    def _within(self, patch: Patch, near: IntArray, k: FloatArray, whitened: FloatArray, sd: FloatArray) -> Moments:
        """Means and variances at the places of a patch, from its nodes and near rows."""
        (units, of, scale), (coef, _, _, root) = self._shapes, self._trend
        kind = self._precision(sd)
        form = self._form(near, k, whitened).astype(kind)
        means, variances = np.empty((2, len(of), len(patch.rows)))
        size, missed = len(near) + len(patch.nodes), k[:, near].astype(kind)
        for at in patch.rows.chunks(limits.PLACES_TOGETHER):
            rows, to_places = patch.rows[at], patch.to_places[at].T.astype(kind)
            w = np.empty((len(units), size, len(rows)), kind)
            np.matmul(missed, to_places, out=w[:, : len(near)])
            np.subtract(covariances(units, self.rows.coords[near], rows.coords), w[:, : len(near)], out=w[:, : len(near)], casting="same_kind")
            w[:, len(near) :] = to_places
            trend, drift = rows.trend.T, np.empty((len(of), rows.trend.shape[1], len(rows)))
            for j, u in enumerate(of):
                image = form[j] @ w[u]
                variances[j, at] = np.einsum("ij,ij->j", w[u], image[:size])
                drift[j], means[j, at] = trend - image[size:-1], image[-1]
            prior = scale[:, None] * np.stack([rows.variance(unit) for unit in units])[of]
            means[:, at] += coef @ trend
            variances[:, at] = np.maximum(prior - variances[:, at], 0.0) + _squares(root @ drift)
        return means, variances

    def _precision(self, sd: FloatArray) -> type[np.floating[Any]]:
        """float32 for the places of a patch, where its rounding, of the prior's variance, is no matter."""
        ratio = float(np.min(sd**2 / self._shapes[2]))
        return np.float32 if self.tolerance * ratio > limits.FLOAT32_ROUNDING else np.float64

    def _form(self, near: IntArray, k: FloatArray, whitened: FloatArray) -> FloatArray:
        """What takes w to the gradient of k'Sigma^-1 k / 2, to X'Sigma^-1 k and to alpha'k, (posteriors, p + r + 1, p)."""
        _, of, scale = self._shapes
        _, half, solved, _ = self._trend
        h, (n_rows, q), r = len(near), k.shape[1:], half.shape[1]
        s, p = scale[:, None, None], len(near) + q
        form = np.empty((len(of), p + r + 1, p))
        form[:, :h, :h] = s**2 * self._inverse[:, near[:, None], near]
        for j, u in enumerate(of):
            np.matmul(self._inverse[j, near], k[u], out=form[j, :h, h:])
            form[j, -1, h:] = self._alpha[j] @ k[u]
        form[:, :h, h:] *= s**2
        form[:, h:p, :h] = form[:, :h, h:].swapaxes(1, 2)
        form[:, h:p, h:] = whitened.swapaxes(1, 2) @ whitened
        form[:, p:-1, :h] = s * solved[:, :, near]
        form[:, p:-1, h:] = half @ whitened
        form[:, -1, :h] = scale[:, None] * self._alpha[:, near]
        form[:, -1, h:] *= scale[:, None]
        return form


@dataclass(frozen=True)
class Patch:
    """Places close together, and the nodes of the box around them.

    Attributes
    ----------
    rows : Rows
        The m places.
    low, side : (dim,)
        The box, along the columns of `frame`.
    frame : (dim, dim)
        Directions of its sides.
    counts : tuple of int
        Nodes along each side.
    """

    rows: Rows
    low: FloatArray
    side: FloatArray
    frame: FloatArray
    counts: tuple[int, ...]

    @classmethod
    def over(cls, rows: Rows) -> Patch:
        """The box around some places; turned in three dimensions, where places on the globe are nearly in a plane."""
        dim = rows.coords.shape[1]
        centred = rows.coords - rows.coords.mean(axis=0)
        frame = np.eye(dim) if dim < 3 else linalg.eigh(centred.T @ centred)[1]
        turned = rows.coords @ frame
        low, side = turned.min(axis=0), np.ptp(turned, axis=0)
        thin = np.ceil(limits.PATCH_NODES * (side / max(side.max(), 1e-300)) ** limits.THIN_POWER)
        counts = np.where(side > 0, np.clip(thin, 2, limits.PATCH_NODES), 1)
        return cls(rows, low, np.where(side > 0, side, 1.0), frame, tuple(int(c) for c in counts))

    @cached_property
    def nodes(self) -> FloatArray:
        """Places of the nodes, (q, dim)."""
        return self._placed([nodes(c) for c in self.counts])

    @cached_property
    def middles(self) -> FloatArray:
        """Middles of the meshes between them, (c, dim): where a kink shows."""
        return self._placed([middles(c) for c in self.counts])

    @cached_property
    def to_middles(self) -> FloatArray:
        """Interpolation from the nodes to the middles, (c, q)."""
        return _middle_matrix(self.counts)

    @cached_property
    def to_places(self) -> FloatArray:
        """Interpolation from the nodes to the places, (m, q)."""
        within = (self.rows.coords @ self.frame - self.low) / self.side
        return _products([interpolation(within[:, j], count) for j, count in enumerate(self.counts)])

    @property
    def checks(self) -> IntArray:
        """Two places, one of them somewhere in the midst, that are kriged from all rows."""
        return np.array([len(self.rows) // 2 + len(self.rows) // 7, len(self.rows) // 5])

    @property
    def checked(self) -> FloatArray:
        return self.rows.coords[self.checks]

    @property
    def checked_trend(self) -> FloatArray:
        return self.rows.trend[self.checks]

    def holds(self, coords: FloatArray) -> NDArray[np.bool_]:
        """Which places (n, dim) lie in the box or within a mesh of it."""
        margin, turned = self.side.max() / (limits.PATCH_NODES - 1), coords @ self.frame
        inside = (turned >= self.low - margin) & (turned <= self.low + self.side + margin)
        return np.asarray(inside.all(axis=1))

    def _placed(self, axes: Sequence[FloatArray]) -> FloatArray:
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        return (self.low + grid * self.side) @ self.frame.T


def best_size(n_rows: int, n_places: int) -> int:
    """Places of a patch for which all of them cost least: solving for the nodes, then a form in nodes and near rows."""
    q, size = limits.PATCH_NODES**2, 2.0 ** np.arange(6, 16)
    near = limits.NEAR_SHARE * n_rows * size / max(n_places, 1)
    return int(size[np.argmin(n_rows**2 * q / size + 2 * (q + near) ** 2)])


def cells(coords: FloatArray, index: IntArray, size: int) -> list[IntArray]:
    """Places (n, dim), by their numbers, in cells of about so many each."""
    low, extent = coords.min(axis=0), np.ptp(coords, axis=0)
    *_, second, first = (0.0, *np.sort(extent))
    n_cells = max(1.0, len(coords) / size)
    side = np.sqrt(first * second / n_cells) if second * n_cells > first else first / n_cells
    if not side > 0:
        return [index]
    counts = np.maximum(1, np.round(extent / side)).astype(int)
    cell = np.minimum((counts * (coords - low) / np.where(extent > 0, extent, 1.0)).astype(int), counts - 1)
    number = np.ravel_multi_index(tuple(cell.T), tuple(counts))
    order = np.argsort(number, kind="stable")
    return [index[part] for part in np.split(order, np.flatnonzero(np.diff(number[order])) + 1)]


def _error(means: FloatArray, variances: FloatArray, true_means: FloatArray, true_variances: FloatArray) -> float:
    """Largest error of means and standard deviations, in standard deviations."""
    sd = np.sqrt(np.maximum(true_variances, 1e-300))
    return float(np.max(np.maximum(np.abs(means - true_means), np.abs(np.sqrt(variances) - sd)) / sd))


def _inverse_of(posterior: KrigingPosterior) -> FloatArray:
    factor = posterior.sigma
    lower, _ = linalg.lapack.dpotri(factor.root, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    inverse *= factor.scale
    inverse *= factor.scale[:, None]
    return np.asarray(inverse)


def _squares(columns: FloatArray) -> FloatArray:
    """Squared lengths of columns (k, n, m), (k, m)."""
    return np.asarray(np.einsum("kij,kij->kj", columns, columns))


def _bare(coords: FloatArray) -> Rows:
    return Rows(coords, np.zeros((len(coords), 0)))


def _slices(counts: Sequence[int], start: int) -> list[slice]:
    return [slice(a, b) for a, b in pairwise((start + np.cumsum([0, *counts])).tolist())]


def _products(parts: Sequence[FloatArray]) -> FloatArray:
    """Rows (n, q) of the products of rows (n, q_j) along each side, the last side running fastest."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), parts)


@lru_cache
def _middle_matrix(counts: tuple[int, ...]) -> FloatArray:
    return reduce(np.kron, [interpolation(middles(count), count) for count in counts])
