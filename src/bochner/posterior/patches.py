"""Patches: exact kriging at many places, those that lie close together at once.

On a small patch the covariance with a row far away is smooth, so that a few Chebyshev nodes tell it everywhere; rows in
the patch and next to it, whose kinks nodes would miss, are taken as they are. With the nodes q, the interpolation l(x)
from them and the near rows n,

    k(x) = K_q l(x) + E_n e(x),    e(x) = k_n(x) - K_nq l(x),

so that k'Sigma^-1 k is a quadratic form in w = (e, l), and mean and drift are linear in w. A place costs the square of
some tens instead of the square of the number of rows, however rough the field is. Which rows are near follows from what
leaving out their e would cost; two places of every patch are kriged from all rows, and where those disagree the patch
is cut in four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bochner.arrays import FloatArray, IntArray, box_of
from bochner.features import Rows
from bochner.kernels import Kernel, covariances
from bochner.posterior import limits
from bochner.posterior.chebyshev import interpolation, middles, nodes
from bochner.solvers import CholeskyFactor

Moments = tuple[FloatArray, FloatArray]  # means and variances, (k, n) each


class Kriged(Protocol):
    """What patches ask of a posterior through the training rows: see `KrigingPosterior`."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def rows(self) -> Rows: ...

    @property
    def alpha(self) -> FloatArray: ...

    @property
    def trend_coef(self) -> FloatArray: ...

    @property
    def sigma(self) -> CholeskyFactor: ...

    @property
    def schur(self) -> CholeskyFactor: ...

    @classmethod
    def each_mean(cls, posteriors: Sequence[Any], rows: Rows) -> FloatArray: ...

    @classmethod
    def each_mean_and_variance(cls, posteriors: Sequence[Any], rows: Rows) -> Moments: ...


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

    posteriors: Sequence[Kriged]
    tolerance: float
    n_evaluated: int = 0
    n_patched: int = 0
    kind: Any = None  # of the numbers in systems and in forms, found at the first places
    form_kind: Any = None
    least_sd: Any = None  # (k,)

    def moments(self, rows: Rows) -> Moments:
        """Means and variances of every posterior, (k, n) each."""
        means, variances = np.empty((2, len(self.posteriors), len(rows)))
        if not len(rows):
            return means, variances
        if self.kind is None:
            self._choose_precision(rows)
        size, pending, alone = self._size(rows), [np.arange(len(rows))], []
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
            means[:, part], variances[:, part] = self.posteriors[0].each_mean_and_variance(self.posteriors, rows[part])
        self.n_evaluated += len(rest)
        return means, variances

    def means(self, rows: Rows) -> FloatArray:
        """Means of every posterior, (k, n), for which no system is solved."""
        means = np.empty((len(self.posteriors), len(rows)))
        if not len(rows):
            return means
        if self.kind is None:
            self._choose_precision(rows)
        for part in cells(rows.coords, np.arange(len(rows)), self._size(rows)):
            found = self._means(rows[part]) if len(part) >= limits.LEAST_PATCH else None
            self.n_patched += 0 if found is None else len(part)
            means[:, part] = self.posteriors[0].each_mean(self.posteriors, rows[part]) if found is None else found
        return means

    def _means(self, rows: Rows) -> FloatArray | None:
        """Means at the places of a patch; None where they err by more than is tolerated."""
        patch, (units, of, scale) = Patch.over(rows), self._shapes
        k, missed = (covariances(units, self.rows.coords, at, self.kind) for at in (patch.nodes, patch.middles))
        near = self._near(patch, missed - k @ patch.to_middles.T.astype(self.kind), None, self.least_sd)
        to_places = patch.to_places.T.astype(self.kind)
        e = covariances(units, self.rows.coords[near], rows.coords, self.kind)
        e -= k[:, near] @ to_places
        parts = [a @ k[u] @ to_places + a[near] @ e[u] for a, u in zip(self._alpha, of, strict=True)]
        means = scale[:, None] * np.stack(parts) + np.stack([p.trend_coef for p in self.posteriors]) @ rows.trend.T
        true = self.posteriors[0].each_mean(self.posteriors, rows[patch.checks])
        error = np.max(np.abs(means[:, patch.checks] - true) / self.least_sd[:, None])
        return means if error <= limits.PATCH_SHARE * self.tolerance else None

    # ------------------------------------------------------------------ what all patches share

    @cached_property
    def rows(self) -> Rows:
        """Training rows."""
        return self.posteriors[0].rows

    @cached_property
    def _shapes(self) -> tuple[list[Kernel], IntArray, FloatArray]:
        """Distinct kernels of unit variance, which of them each posterior has, and its variance."""
        pairs = [unit_kernel(p.kernel) for p in self.posteriors]
        found: list[Kernel] = []
        for unit, _ in pairs:
            if unit not in found:
                found.append(unit)
        return found, np.array([found.index(unit) for unit, _ in pairs]), np.array([scale for _, scale in pairs])

    @cached_property
    def _inverse(self) -> FloatArray:
        """Sigma^-1 of every posterior, (k, n, n)."""
        return np.stack([_inverse_of(p.sigma, self.kind) for p in self.posteriors])

    @cached_property
    def _alpha(self) -> FloatArray:
        return np.stack([p.alpha for p in self.posteriors]).astype(self.kind)

    @cached_property
    def _trend(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Of every posterior: coefficients (k, r), (L^-1 X)' (k, r, n), X'Sigma^-1 (k, r, n), S^-1/2 (k, r, r)."""
        X = self.rows.trend
        half = np.stack([p.sigma.half_solve(X).T for p in self.posteriors])
        solved = np.stack([p.sigma.solve(X).T for p in self.posteriors])
        root = np.stack([p.schur.half_solve(np.eye(X.shape[1])) for p in self.posteriors])
        coef = np.stack([p.trend_coef for p in self.posteriors])
        return coef, half.astype(self.kind), solved.astype(self.kind), root

    @cached_property
    def _roots(self) -> list[FloatArray]:
        """Root of Sigma, scaled to a unit diagonal, of every posterior."""
        return [p.sigma.root.astype(self.kind, order="F") for p in self.posteriors]

    def _choose_precision(self, rows: Rows) -> None:
        """float32 where rounding is no matter: in forms it grows as sd falls, in systems with their condition, too."""
        few = rows[np.linspace(0, len(rows) - 1, limits.TRIED_PLACES).astype(int)]
        _, variances = self.posteriors[0].each_mean_and_variance(self.posteriors, few)
        _, _, scale = self._shapes
        least = np.array([float(np.min((np.diag(p.sigma.root) / p.sigma.scale) ** 2)) for p in self.posteriors])
        condition = np.sqrt(len(self.rows) * scale / np.maximum(least, 1e-300))
        least_variance = np.maximum(variances.min(axis=1), 1e-300)
        self.least_sd = np.sqrt(least_variance)
        rounding = np.finfo(np.float32).eps * scale / least_variance
        shares = float(np.max(rounding * condition)) / self.tolerance, float(np.max(rounding)) / self.tolerance
        self.kind = np.float32 if shares[0] < limits.SYSTEM_ROUNDING else np.float64
        self.form_kind = np.float32 if shares[1] < limits.FORM_ROUNDING else np.float64

    # ------------------------------------------------------------------------------- patches

    def _size(self, rows: Rows) -> int:
        """Places of a patch for which all of them cost least: solving for nodes, then a form in nodes and near rows."""
        low, high = box_of(rows.coords)
        inside = np.count_nonzero(np.all((self.rows.coords >= low) & (self.rows.coords <= high), axis=1))
        q, size = limits.PATCH_NODES**2, 2.0 ** np.arange(6, 16)
        near = np.minimum(limits.NEAR_SHARE * inside * size / len(rows), len(self.rows))
        return int(size[np.argmin((len(self.rows) ** 2 * q + limits.PATCH_WORK) / size + 2 * (q + near) ** 2)])

    def _groups(self, parts: list[IntArray]) -> Iterator[list[IntArray]]:
        """Patches that are solved for together: one system with many columns costs less than several with few."""
        numbers = (len(self.posteriors) + len(self._shapes[0])) * len(self.rows) * 2 * limits.PATCH_NODES**2
        n = max(1, int(limits.GROUP_NUMBERS / numbers))
        return (parts[i : i + n] for i in range(0, len(parts), n))

    def _answers(self, parts: list[Rows]) -> list[Moments | None]:
        """Means and variances at every patch of a group; None where they err by more than is tolerated."""
        patches = [Patch.over(part) for part in parts]
        units, of, scale = self._shapes
        at = [np.concatenate([getattr(p, name) for p in patches]) for name in ("nodes", "checked", "middles", "posts")]
        nodes_of, checks_of, middles_of, posts_of = (
            _slices([len(getattr(p, name)) for p in patches]) for name in ("nodes", "checked", "middles", "posts")
        )
        k, missed, around = (covariances(units, self.rows.coords, at[i], self.kind) for i in (0, 2, 3))
        self.n_evaluated += len(at[0]) + len(at[1])
        whitened = np.stack([self._half(j, scale[j] * k[u]) for j, u in enumerate(of)])
        weight = np.abs(np.stack([scale[j] * (self._inverse[j] @ around[u]) for j, u in enumerate(of)]))
        trend = np.concatenate([patch.rows.trend[patch.checks] for patch in patches])
        true = self.posteriors[0].each_mean_and_variance(self.posteriors, Rows(at[1], trend))
        out: list[Moments | None] = []
        for i, patch in enumerate(patches):
            here, mean, variance = k[:, :, nodes_of[i]], *(part[:, checks_of[i]] for part in true)
            apart = missed[:, :, middles_of[i]] - here @ patch.to_middles.T.astype(self.kind)
            most = weight[:, :, posts_of[i]].max(axis=2)
            near = self._near(patch, apart, most, np.sqrt(np.maximum(variance.min(axis=1), 1e-300)))
            if len(near) + len(patch.nodes) >= len(self.rows):  # as many as if asked one by one
                out.append(None)
                continue
            found = self._within(patch, near, here, whitened[:, :, nodes_of[i]])
            error = _error(found[0][:, patch.checks], found[1][:, patch.checks], mean, variance)
            out.append(found if error <= limits.PATCH_SHARE * self.tolerance else None)
        return out

    def _half(self, j: int, b: FloatArray) -> FloatArray:
        """L^-1 b of a posterior, (n, m)."""
        scaled = np.multiply(b, self.posteriors[j].sigma.scale[:, None], dtype=self.kind, casting="same_kind")
        solve = linalg.blas.strsm if self.kind is np.float32 else linalg.blas.dtrsm
        return np.asarray(solve(1.0, self._roots[j], scaled.T, side=1, lower=1, trans_a=1, overwrite_b=1).T)

    @property
    def _margin(self) -> float:
        """Meshes around a patch within which a row is near: one for a hundredth, another for every further digit."""
        return max(1.0, float(np.log10(limits.PATCH_MARGIN / self.tolerance)))

    def _near(self, patch: Patch, missed: FloatArray, weight: FloatArray | None, sd: FloatArray) -> IntArray:
        """Rows that interpolation would miss by too much, from what it does in the middle of each mesh, (u, n, c).

        A row's part in the mean is alpha, in the variance twice its kriging weight; many small parts add up as noise.
        """
        _, of, scale = self._shapes
        by = (scale / sd)[:, None]
        part = np.abs(self._alpha) * by
        if weight is not None:
            part = np.maximum(part, weight * by / sd[:, None])
        cost = (part * np.abs(missed).max(axis=2)[of]).max(axis=0)
        # next to a row its weight is larger than elsewhere on the edge; and nodes may not see a short field at all
        cost[patch.holds(self.rows.coords, self._margin)] = np.inf
        order = np.argsort(-cost)
        with np.errstate(over="ignore"):
            left = np.sqrt(np.cumsum(cost[order][::-1] ** 2))[::-1]
        return np.sort(order[: int(np.count_nonzero(left > limits.PATCH_SHARE * self.tolerance))])

    def _within(self, patch: Patch, near: IntArray, k: FloatArray, whitened: FloatArray) -> Moments:
        """Means and variances at the places of a patch, from its nodes and near rows."""
        (units, of, scale), (coef, _, _, root) = self._shapes, self._trend
        form, h, kind = self._form(near, k, whitened).astype(self.form_kind), len(near), self.form_kind
        means, variances = np.empty((2, len(of), len(patch.rows)))
        size, at_nodes = h + len(patch.nodes), k[:, near].astype(kind)
        for at in patch.rows.chunks(limits.PLACES_TOGETHER):
            rows, to_places = patch.rows[at], patch.to_places[at].T.astype(kind)
            w = np.empty((len(units), size, len(rows)), kind)
            w[:, :h] = covariances(units, self.rows.coords[near], rows.coords, kind)
            w[:, :h] -= at_nodes @ to_places
            w[:, h:] = to_places
            trend, drift = rows.trend.T, np.empty((len(of), rows.trend.shape[1], len(rows)))
            for j, u in enumerate(of):
                image = form[j] @ w[u]
                variances[j, at] = np.einsum("ij,ij->j", w[u], image[:size])
                drift[j], means[j, at] = trend - image[size:-1], image[-1]
            prior = scale[:, None] * np.stack([rows.variance(unit) for unit in units])[of]
            means[:, at] += coef @ trend
            variances[:, at] = np.maximum(prior - variances[:, at], 0.0) + _squares(root @ drift)
        return means, variances

    def _form(self, near: IntArray, k: FloatArray, whitened: FloatArray) -> FloatArray:
        """What takes w to half the gradient of k'Sigma^-1 k, to X'Sigma^-1 k and to alpha'k, (k, p + r + 1, p)."""
        _, of, scale = self._shapes
        _, half, solved, _ = self._trend
        h, q, r = len(near), k.shape[2], half.shape[1]
        s, p = scale[:, None, None].astype(self.kind), h + q
        form = np.empty((len(of), p + r + 1, p), self.kind)
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
    def posts(self) -> FloatArray:
        """The middle of the patch and of its faces, (2 dim + 1, dim): where weights of rows are found."""
        at = np.full((2 * len(self.side) + 1, len(self.side)), 0.5)
        at[np.arange(2 * len(self.side)), np.repeat(np.arange(len(self.side)), 2)] = np.tile([0.0, 1.0], len(self.side))
        return (self.low + at * self.side) @ self.frame.T

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
        """Where they lie, (2, dim)."""
        return self.rows.coords[self.checks]

    def holds(self, coords: FloatArray, meshes: float) -> NDArray[np.bool_]:
        """Which places (n, dim) lie in the box or within some meshes of it."""
        margin, turned = meshes * self.side.max() / (limits.PATCH_NODES - 1), coords @ self.frame
        inside = (turned >= self.low - margin) & (turned <= self.low + self.side + margin)
        return np.asarray(inside.all(axis=1))

    def _placed(self, axes: Sequence[FloatArray]) -> FloatArray:
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        return (self.low + grid * self.side) @ self.frame.T


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


def _inverse_of(factor: CholeskyFactor, kind: type[np.floating[Any]]) -> FloatArray:
    invert = linalg.lapack.spotri if kind is np.float32 else linalg.lapack.dpotri
    inverse = np.asarray(invert(factor.root, lower=1)[0]).T  # its upper half
    low = np.tril_indices(len(inverse), -1)
    inverse[low] = inverse.T[low]
    scale = factor.scale.astype(kind)
    inverse *= scale
    inverse *= scale[:, None]
    return inverse


def _squares(columns: FloatArray) -> FloatArray:
    """Squared lengths of columns (k, n, m), (k, m)."""
    return np.asarray(np.einsum("kij,kij->kj", columns, columns))


def _slices(counts: Sequence[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *counts]).tolist())]


def _products(parts: Sequence[FloatArray]) -> FloatArray:
    """Rows (n, q) of the products of rows (n, q_j) along each side, the last side running fastest."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), parts)


@lru_cache
def _middle_matrix(counts: tuple[int, ...]) -> FloatArray:
    return reduce(lambda a, b: np.asarray(np.kron(a, b)), [interpolation(middles(count), count) for count in counts])


@lru_cache(maxsize=256)
def unit_kernel(kernel: Kernel) -> tuple[Kernel, float]:
    """A kernel as a variance times another one; the variance is 1 where it has several."""
    at = [i for i, h in enumerate(kernel.hyperparameters) if h.role.is_variance]
    if len(at) != 1:
        return kernel, 1.0
    theta = kernel.theta.copy()
    variance = float(np.exp(theta[at[0]]))
    theta[at[0]] = 0.0
    return kernel.with_theta(theta), variance
