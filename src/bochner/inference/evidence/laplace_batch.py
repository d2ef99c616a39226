"""Laplace evidence of a few rows at many sets of hyperparameters at once: Newton's method side by side.

Around a hundred rows a factor takes less time than everything that is done about it. Here what is done about each row
is done for all sets of hyperparameters in one go, and only LAPACK is called set by set. As in `find_mode`, steps by a
factor that is there come before the next one, so that a mode takes two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.inference.evidence import limits
from bochner.inference.fits import limits as newton_limits
from bochner.inference.fits.newton import are_separated
from bochner.inference.observed.responses import Responses


def evidence_of_many(
    responses: Responses,
    correlations: Sequence[FloatArray],
    field: FloatArray,
    noise: FloatArray,
    start: FloatArray,
    enough: float,
) -> tuple[FloatArray, FloatArray]:
    """Log evidence of k sets of hyperparameters, and the linear predictors at their modes (k, n).

    Parameters
    ----------
    correlations : k arrays (n, n)
        Of the field at the rows.
    field, noise : (k,)
        Variance of the field, and of the effects of single rows.
    start : (k, n)
        Linear predictors to begin from.
    enough : float
        Length of a step, in the curvatures of the rows, at which a mode is found.

    The evidence is NaN where full steps from there do not lead to a mode: for `find_mode` and its line search to see.
    """
    value, eta = np.full(len(field), np.nan), start.copy()
    left = np.arange(len(field))
    for _ in range(limits.BATCH_ROUNDS):
        side = _Side.of(responses, [correlations[i] for i in left.tolist()], field[left], noise[left], eta[left])
        to = side.step(side.z)
        length = side.length(to - side.eta)
        done = length <= enough
        if done.any():
            value[left[done]] = side.evidence()[done]
        eta[left] = np.where(done[:, None], side.eta, side.repeated(to, length, enough))
        left = left[~done & np.isfinite(length)]
        if not len(left):
            break
    found = np.flatnonzero(np.isfinite(value))
    value[found[are_separated(responses, eta[found])]] = np.nan
    return value, eta


@dataclass(frozen=True)
class _Side:
    """Sets of hyperparameters side by side, with the responses as they are seen from a linear predictor of each.

    Attributes
    ----------
    eta, z, curvature : (k, n)
        Linear predictor, working response and curvature.
    error : (k, n)
        Error variance of one copy of each row.
    roots : list of (n, n)
        Lower Cholesky factors of Sigma.
    trend : (k, n, q)
        L^-1 X.
    schur : (k, q, q)
        X'Sigma^-1 X, the prior of the trend included.
    """

    responses: Responses
    eta: FloatArray
    z: FloatArray
    curvature: FloatArray
    error: FloatArray
    roots: list[FloatArray]
    trend: FloatArray
    schur: FloatArray

    @classmethod
    def of(
        cls, r: Responses, correlations: list[FloatArray], field: FloatArray, noise: FloatArray, eta: FloatArray
    ) -> _Side:
        seen = r.linearised(eta)
        error = noise[:, None] + r.error + 1 / seen.curvature
        floor = newton_limits.EXACT_JITTER * field * [float(np.mean(one.diagonal())) for one in correlations]
        added = np.hypot(error / r.weight, floor[:, None])
        roots, X = [], r.rows.trend
        trend = np.full((*eta.shape, X.shape[1]), np.nan)
        for j, (correlation, f) in enumerate(zip(correlations, field, strict=True)):
            sigma = np.multiply(correlation.T, f, order="F")
            np.einsum("ii->i", sigma)[:] += added[j]
            root, failed = linalg.lapack.dpotrf(sigma, lower=1, clean=0, overwrite_a=1)
            roots.append(root)
            if not failed and X.shape[1]:
                trend[j] = linalg.lapack.dtrtrs(root, X, lower=1)[0]
        prior = 0.0 if r.trend_precision is None else r.trend_precision
        return cls(r, eta, seen.z, seen.curvature, error, roots, trend, trend.swapaxes(1, 2) @ trend + prior)

    def step(self, z: FloatArray) -> FloatArray:
        """Linear predictors that full steps to the working responses `z` lead to, (k, n)."""
        residual = self._residual(z)[0]
        each = [linalg.blas.dtrsv(root, v, lower=1, trans=1) for root, v in zip(self.roots, residual, strict=True)]
        alpha = np.array(each)
        return np.asarray(z - alpha / (self.responses.weight * self.curvature))

    def some(self, sets: IntArray) -> _Side:
        """Some of the sets."""
        kept = {name: getattr(self, name)[sets] for name in ("eta", "z", "curvature", "error", "trend", "schur")}
        return replace(self, roots=[self.roots[i] for i in sets.tolist()], **kept)

    def repeated(self, now: FloatArray, length: FloatArray, enough: float) -> FloatArray:
        """Further steps by the same factors, as long as each is much shorter than the one before."""
        r, ends, left = self.responses, now.copy(), np.flatnonzero(np.isfinite(length))
        side, now, length = self.some(left), now[left], length[left]
        for _ in range(newton_limits.MAX_REPEATED_STEPS):
            if not len(left):
                break
            score = r.family.derivatives(r.y, now, r.size).score
            new = side.step(now + score / side.curvature)
            shorter = side.length(new - now)
            worth = shorter < newton_limits.REPEATED_WORTH * length
            ends[left[worth]] = new[worth]
            going = np.flatnonzero(worth & (shorter > enough))
            left, side, now, length = left[going], side.some(going), new[going], shorter[going]
        return ends

    def length(self, step: FloatArray) -> FloatArray:
        """Length of steps, in the curvatures of the rows, (k,)."""
        return np.asarray(np.sqrt(np.sum(self.responses.weight * self.curvature * step**2, axis=1)))

    def evidence(self) -> FloatArray:
        """As `ExactFit` and `Linearised` have it, fixed effects integrated out, (k,)."""
        r, misfit = self.responses, self.z - self.eta
        n, q = self.trend.shape[1:]
        residual, coef = self._residual(self.z)
        logdet = np.array([2 * np.sum(np.log(root.diagonal())) for root in self.roots])
        square = np.sum(residual**2, axis=1)
        if q:
            logdet = logdet + np.linalg.slogdet(self.schur)[1]
            if r.trend_precision is not None:
                square = square + np.einsum("ki,ij,kj->k", coef, r.trend_precision, coef)
        copies = np.sum((r.weight - 1) * np.log(2 * np.pi * self.error) + np.log(r.weight), axis=1)
        gaussian = -0.5 * (logdet + square + copies + (n - q) * np.log(2 * np.pi)) + r.observations().trend_constant
        stand_in = 0.5 * (np.log(self.curvature / (2 * np.pi)) - self.curvature * misfit**2)
        density = r.family.log_density(r.y, self.eta, r.size)
        return np.asarray(gaussian + np.sum(r.weight * (density - stand_in), axis=1))

    def _residual(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """L^-1 (z - X beta), and beta."""
        y = z - self.responses.offset
        white = np.array([linalg.blas.dtrsv(root, v, lower=1) for root, v in zip(self.roots, y, strict=True)])
        if not self.trend.shape[2]:
            return white, np.zeros((len(z), 0))
        coef = np.linalg.solve(self.schur, (self.trend.swapaxes(1, 2) @ white[:, :, None]))
        return white - (self.trend @ coef)[:, :, 0], coef[:, :, 0]
