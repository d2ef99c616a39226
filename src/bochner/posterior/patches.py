"""Patches: exact kriging at many places, those that lie close together at once.

On a small patch the covariance with a row far away is smooth, so that a few Chebyshev nodes tell it everywhere; rows in
the patch and next to it, whose kinks nodes would miss, are taken as they are. With the nodes q, the interpolation l(x)
from them and the near rows n,

    k(x) = K_q l(x) + E_n e(x),    e(x) = k_n(x) - K_nq l(x),

so that k'Sigma^-1 k is a quadratic form in w = (e, l), and mean and drift are linear in w. A place costs the square of
some tens instead of the square of the number of rows, however rough the field is. Which rows are near follows from what
leaving out their e would cost, and from where their kinks and ridges lie in the metric of the kernel. Three places of
every patch, that of the least variance among them, are kriged from all rows, and where those disagree the patch is cut
in four; where most are, places are kriged one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import linalg
from scipy.spatial import KDTree

from bochner.arrays import FloatArray, IntArray, box_of
from bochner.features import Rows
from bochner.kernels import Kernel
from bochner.kernels.radial_form import Factor
from bochner.neighbours import cross_covariances
from bochner.posterior import limits
from bochner.posterior.patch import Patch, cells
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
        size, pending, alone, chances = self._size(rows), [np.arange(len(rows))], [], limits.PATCH_CHANCES
        while pending and size >= limits.LEAST_PATCH and chances:
            parts = [part for whole in pending for part in self._cells(rows, whole, size)]
            alone += [part for part in parts if len(part) < limits.LEAST_PATCH]
            parts, pending, tried = [part for part in parts if len(part) >= limits.LEAST_PATCH], [], 0
            for group in self._groups(parts):
                if 2 * len(pending) > tried:  # most were in vain: so would the others be
                    pending += parts[tried:]
                    break
                tried += len(group)
                for part, found in zip(group, self._answers_of([rows[part] for part in group]), strict=True):
                    if found is None:
                        pending.append(part)
                    else:
                        means[:, part], variances[:, part] = found
                        self.n_patched += len(part)
            chances -= 2 * len(pending) > len(parts)
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
        for part in self._cells(rows, np.arange(len(rows)), self._size(rows)):
            found = self._means(rows[part]) if len(part) >= limits.LEAST_PATCH else None
            self.n_patched += 0 if found is None else len(part)
            means[:, part] = self.posteriors[0].each_mean(self.posteriors, rows[part]) if found is None else found
        return means

    def _means(self, rows: Rows) -> FloatArray | None:
        """Means at the places of a patch; None where they err by more than is tolerated."""
        patch, (units, of, scale) = Patch.over(rows, self._whitening, self._tree), self._shapes
        k, missed = (cross_covariances(units, self.rows.coords, at, self.kind) for at in (patch.nodes, patch.middles))
        near = self._near(patch, missed - k @ patch.to_middles.T.astype(self.kind), None, self.least_sd)
        to_places = patch.to_places.T.astype(self.kind, order="C")
        e = cross_covariances(units, self.rows.coords[near], rows.coords, self.kind)
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
    def _metrics(self) -> list[FloatArray]:
        """Metrics of the scaled distances that the kernels are functions of, told apart but for their units."""
        found: dict[bytes, FloatArray] = {}
        for metric in (factor.metric for p in self.posteriors for factor in _factors(p.kernel, self.dim)):
            unit = metric / np.trace(metric)
            found.setdefault(np.round(unit, 6).tobytes(), unit)
        return list(found.values())

    @cached_property
    def _whitening(self) -> FloatArray:
        """What takes places x to x W, in which the first metric of full rank is the plain one."""
        for values, vectors in map(linalg.eigh, self._metrics):
            if values[0] > limits.FLAT_METRIC:
                return np.asarray(vectors * np.sqrt(values / values[-1]))
        return np.eye(self.dim)

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.rows.coords @ self._whitening)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self.rows.coords.shape[1])

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
        asked = (few, self.rows[self._best_known()])
        found = [self.posteriors[0].each_mean_and_variance(self.posteriors, some)[1] for some in asked]
        variances, (_, _, scale) = np.concatenate(found, axis=1), self._shapes
        least = np.array([float(np.min((np.diag(p.sigma.root) / p.sigma.scale) ** 2)) for p in self.posteriors])
        condition = np.sqrt(len(self.rows) * scale / np.maximum(least, 1e-300))
        least_variance = np.maximum(variances.min(axis=1), 1e-300)
        self.least_sd = np.sqrt(least_variance)
        rounding = np.finfo(np.float32).eps * scale / least_variance
        shares = float(np.max(rounding * condition)) / self.tolerance, float(np.max(rounding)) / self.tolerance
        self.kind = np.float32 if shares[0] < limits.SYSTEM_ROUNDING else np.float64
        self.form_kind = np.float32 if shares[1] < limits.FORM_ROUNDING else np.float64

    def _best_known(self) -> IntArray:
        """Rows where variances may be least: those closest to others, and those with the least noise."""
        n, coords = limits.TRIED_PLACES, self.rows.coords
        k = min(n, len(coords) - 1)
        crowded = self._tree.query(coords @ self._whitening, k=[k + 1])[0][:, 0]
        noise = [np.argsort(-p.sigma.scale)[:n] for p in self.posteriors[:1]]
        return np.unique(np.concatenate([np.argsort(crowded)[: 2 * n], *noise]))

    # ------------------------------------------------------------------------------- patches

    def _cells(self, rows: Rows, index: IntArray, size: int) -> list[IntArray]:
        """Places, by their numbers, in cells of about so many each that are square to the kernel."""
        return cells(rows.coords[index] @ self._whitening, index, size)

    def _size(self, rows: Rows) -> int:
        """Places of a patch for which all of them cost least: solving for nodes, then a form in nodes and near rows."""
        low, high = box_of(rows.coords)
        flat = high - low <= limits.FLAT_SIDE * np.ptp(self.rows.coords, axis=0)  # a map of one time
        inside = np.count_nonzero(np.all(flat | (self.rows.coords >= low) & (self.rows.coords <= high), axis=1))
        q, size = limits.PATCH_NODES**2, 2.0 ** np.arange(6, 16)
        near = np.minimum(limits.NEAR_SHARE * inside * size / len(rows), len(self.rows))
        return int(size[np.argmin((len(self.rows) ** 2 * q + limits.PATCH_WORK) / size + 2 * (q + near) ** 2)])

    def _groups(self, parts: list[IntArray]) -> Iterator[list[IntArray]]:
        """Patches that are solved for together: one system with many columns costs less than several with few."""
        numbers = (len(self.posteriors) + len(self._shapes[0])) * len(self.rows) * 2 * limits.PATCH_NODES**2
        n = max(1, int(limits.GROUP_NUMBERS / numbers))
        return (parts[i : i + n] for i in range(0, len(parts), n))

    def _answers_of(self, parts: list[Rows]) -> list[Moments | None]:
        """Means and variances at every patch of a group; None where they err too much, or nodes are too many."""
        patches = [Patch.over(part, self._whitening, self._tree) for part in parts]
        worth = [2 * np.prod(patch.counts) <= len(patch.rows) for patch in patches]
        found = iter(self._answers([patch for patch, yes in zip(patches, worth, strict=True) if yes]))
        return [next(found) if yes else None for yes in worth]

    def _answers(self, patches: list[Patch]) -> list[Moments | None]:
        """Means and variances at every patch; None where they err by more than is tolerated."""
        if not patches:
            return []
        units, of, scale = self._shapes
        at = [np.concatenate([getattr(p, name) for p in patches]) for name in ("nodes", "checked", "middles", "posts")]
        nodes_of, checks_of, middles_of, posts_of = (
            _slices([len(getattr(p, name)) for p in patches]) for name in ("nodes", "checked", "middles", "posts")
        )
        k, missed, around = (cross_covariances(units, self.rows.coords, at[i], self.kind) for i in (0, 2, 3))
        self.n_evaluated += len(at[0]) + len(at[1])
        whitened = np.stack([self._half(j, scale[j] * k[u]) for j, u in enumerate(of)])
        weight = np.stack([scale[j] * (self._inverse[j] @ around[u]) for j, u in enumerate(of)])
        trend = np.concatenate([patch.rows.trend[patch.checks] for patch in patches])
        true = self.posteriors[0].each_mean_and_variance(self.posteriors, Rows(at[1], trend))
        answers: list[Moments | None] = []
        for i, patch in enumerate(patches):
            here, mean, variance = k[:, :, nodes_of[i]], *(part[:, checks_of[i]] for part in true)
            apart = missed[:, :, middles_of[i]] - here @ patch.to_middles.T.astype(self.kind)
            least = np.sqrt(np.maximum(variance.min(axis=1), 1e-300))
            found = self._settled(patch, apart, weight[:, :, posts_of[i]], least, here, whitened[:, :, nodes_of[i]])
            if found is not None:
                error = _error(found[0][:, patch.checks], found[1][:, patch.checks], mean, variance)
                found = found if error <= limits.PATCH_SHARE * self.tolerance else None
            answers.append(found)
        return self._where_least([patch.rows for patch in patches], answers)

    def _settled(
        self,
        patch: Patch,
        apart: FloatArray,
        weight: FloatArray,
        least: FloatArray,
        k: FloatArray,
        whitened: FloatArray,
    ) -> Moments | None:
        """Means and variances from the rows that are near for the least sd that they tell; None where most rows are."""
        while True:
            near = self._near(patch, apart, weight, least)
            if len(near) + len(patch.nodes) >= len(self.rows):  # as many as if asked one by one
                return None
            found = self._within(patch, near, k, whitened)
            told = np.maximum(np.sqrt(found[1].min(axis=1)), limits.LEAST_SD * self.least_sd)
            if not np.isfinite(told).all():  # numbers that float32 does not hold
                return None
            if np.all(told >= limits.SAME_SD * least):
                return found
            least = np.minimum(told, least)

    def _where_least(self, parts: list[Rows], answers: list[Moments | None]) -> list[Moments | None]:
        """The answers that are right at their least variance, too: no place asks for more."""
        given = [i for i, found in enumerate(answers) if found is not None]
        if not given:
            return answers
        _, _, scale = self._shapes
        at = [int(np.argmin(np.min(answers[i][1] / scale[:, None], axis=0))) for i in given]  # type: ignore[index]
        means, variances = self.posteriors[0].each_mean_and_variance(
            self.posteriors,
            Rows(
                np.stack([parts[i].coords[j] for i, j in zip(given, at, strict=True)]),
                np.stack([parts[i].trend[j] for i, j in zip(given, at, strict=True)]),
            ),
        )
        self.n_evaluated += len(given)
        for c, (i, j) in enumerate(zip(given, at, strict=True)):
            found = answers[i]
            assert found is not None
            error = _error(found[0][:, j], found[1][:, j], means[:, c], variances[:, c])
            if error > limits.PATCH_SHARE * self.tolerance:
                answers[i] = None
        return answers

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

        A row's part in the mean is alpha, in the variance twice its kriging weight, here that of the closest post.
        """
        _, of, scale = self._shapes
        missed = missed[of]
        missed *= (scale / sd)[:, None, None].astype(self.kind)
        errors = [self._alpha[:, :, None] * missed]
        if weight is not None:
            missed *= (weight / sd[:, None, None].astype(self.kind))[:, :, patch.post_of_middle]
            errors.append(missed)
        cost = np.max([np.abs(error).max(axis=(0, 2)) for error in errors], axis=0)
        # next to a row its weight is larger than elsewhere on the edge; and nodes may not see a short field at all
        cost[patch.holds(self.rows.coords, self._margin, self._metrics)] = np.inf
        order = np.argsort(cost)
        order = order[: int(np.count_nonzero(np.isfinite(cost)))]  # those that may be left out, the least first
        sums = [np.cumsum(error[:, order], axis=1) for error in errors]
        together = np.max([np.maximum(s.max(axis=(0, 2)), -s.min(axis=(0, 2))) for s in sums], axis=0)
        spared = int(np.searchsorted(np.maximum.accumulate(together), limits.PATCH_SHARE * self.tolerance / 2))
        near = np.ones(len(cost), dtype=bool)
        near[order[:spared]] = False
        return np.flatnonzero(near)

    def _within(self, patch: Patch, near: IntArray, k: FloatArray, whitened: FloatArray) -> Moments:
        """Means and variances at the places of a patch, from its nodes and near rows."""
        (units, of, scale), (coef, _, _, root) = self._shapes, self._trend
        form, h, kind = self._form(near, k, whitened).astype(self.form_kind), len(near), self.form_kind
        means, variances = np.empty((2, len(of), len(patch.rows)))
        size, at_nodes = h + len(patch.nodes), k[:, near].astype(kind)
        for at in patch.rows.chunks(limits.PLACES_TOGETHER):
            rows, to_places = patch.rows[at], patch.to_places[at].T.astype(kind, order="C")
            w = np.empty((len(units), size, len(rows)), kind)
            w[:, :h] = cross_covariances(units, self.rows.coords[near], rows.coords, kind)
            w[:, :h] -= at_nodes @ to_places
            w[:, h:] = to_places
            trend, drift = rows.trend.T, np.empty((len(of), rows.trend.shape[1], len(rows)))
            for j, u in enumerate(of):
                image = form[j] @ w[u]
                variances[j, at] = np.einsum("ij,ij->j", w[u], image[:size])
                drift[j], means[j, at] = trend - image[size:-1], image[-1]
            prior = scale[:, None] * rows.variances(units)[of]
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


def can_be_patched(kernel: Kernel, dim: int) -> bool:
    """Whether it is known where the kinks and ridges of a kernel lie: it is made of functions of distances."""
    return kernel.radial_form(dim) is not None


def _factors(kernel: Kernel, dim: int) -> list[Factor]:
    form = kernel.radial_form(dim)
    assert form is not None
    return [factor for term in form.factors for factor in term]


def _error(means: FloatArray, variances: FloatArray, true_means: FloatArray, true_variances: FloatArray) -> float:
    """Largest error of means and standard deviations, in standard deviations."""
    sd = np.sqrt(np.maximum(true_variances, 1e-300))
    return float(np.max(np.maximum(np.abs(means - true_means), np.abs(np.sqrt(variances) - sd)) / sd))


def _inverse_of(factor: CholeskyFactor, kind: type[np.floating[Any]]) -> FloatArray:
    half = factor.half_inverse(kind)
    product = linalg.lapack.slauum if kind is np.float32 else linalg.lapack.dlauum
    lower = np.asarray(product(half, lower=1, overwrite_c=1)[0])
    inverse = lower + lower.T  # the other triangle is zero
    np.einsum("ii->i", inverse)[:] = lower.diagonal()
    return inverse


def _squares(columns: FloatArray) -> FloatArray:
    """Squared lengths of columns (k, n, m), (k, m)."""
    return np.asarray(np.einsum("kij,kij->kj", columns, columns))


def _slices(counts: Sequence[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *counts]).tolist())]


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
