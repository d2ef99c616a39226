"""Observations: the rows of a fit, with equal rows merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bochner.arrays import BoolArray, FloatArray, IntArray
from bochner.features import Rows

NOTHING_LEFT = 1e-12  # share of an effect of the trend that is rounding: the rows left out held all of it


@dataclass(frozen=True)
class Observations:
    """Rows, responses and what is known of their errors.

    Attributes
    ----------
    rows : Rows
        Where each was made.
    y : (n,)
        Response; for merged rows their weighted mean.
    weight : (n,)
        Copies that each row stands for.
    error : (n,)
        Known error variance of each copy, beside the learned noise.
    scatter : (n,)
        Weighted sum of squares of merged responses about their mean.
    trend_precision : (q, q), optional
        Prior precision of the fixed effects about zero; None: they have a flat prior.
    """

    rows: Rows
    y: FloatArray
    weight: FloatArray
    error: FloatArray
    scatter: FloatArray
    trend_precision: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: slice | IntArray) -> Observations:
        each = (self.y[index], self.weight[index], self.error[index], self.scatter[index])
        return Observations(self.rows[index], *each, self.trend_precision)

    def with_weight(self) -> Observations:
        """Rows that count; no copy is made if all do."""
        return self if np.all(self.weight > 0) else self[np.flatnonzero(self.weight > 0)]

    def divided(self, unit: float) -> Observations:
        """The same in another unit of the response."""
        y, error, scatter = self.y / unit, self.error / unit**2, self.scatter / unit**2
        return Observations(self.rows, y, self.weight, error, scatter)

    @property
    def columns(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Places, responses, trend, weights and known error variances: what a likelihood of neighbours takes."""
        return self.rows.coords, self.y, self.rows.trend, self.weight, self.error

    @property
    def n_trend(self) -> int:
        return self.rows.trend.shape[1]

    @property
    def trend_basis(self) -> FloatArray:
        """Orthonormal basis of what the columns of the trend span, (n, rank)."""
        trend = self.rows.trend
        if not trend.size:
            return np.empty((len(self), 0))
        norm = np.linalg.norm(trend, axis=0)
        q, r, _ = linalg.qr(trend / np.where(norm > 0, norm, 1.0), mode="economic", pivoting=True)
        size = np.abs(np.diag(r))
        return np.asarray(q[:, size > 1e-10 * size[0]])

    @property
    def alone(self) -> BoolArray:
        """Rows without which the others do not tell every effect of the trend, (n,): nothing is known of them then."""
        if self.trend_precision is not None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(np.sum(self.trend_basis**2, axis=1) > 1 - NOTHING_LEFT)

    @property
    def trend_prior(self) -> FloatArray:
        """Prior precision of the fixed effects, (q, q): zero where their prior is flat."""
        q = self.n_trend
        return np.zeros((q, q)) if self.trend_precision is None else self.trend_precision

    @property
    def trend_constant(self) -> float:
        """Log of the prior density of the fixed effects at zero; a flat direction counts as density 1."""
        if self.trend_precision is None or not self.n_trend:
            return 0.0
        sizes = np.linalg.eigvalsh(self.trend_precision)
        proper = sizes[sizes > 1e-12 * max(sizes[-1], 1e-300)]
        return float(0.5 * np.sum(np.log(proper / (2 * np.pi))))

    @property
    def total(self) -> float:
        """Number of rows, copies counted."""
        return float(self.weight.sum())

    def copy_variance(self, noise_variance: float) -> FloatArray:
        """Error variance of one copy of each row."""
        return noise_variance + self.error

    def replicate_terms(self, noise_variance: float) -> tuple[float, float]:
        """What merging took out of the log likelihood, and its derivative in log noise variance.

        w copies with error variance v of a latent value f are, as a function of f, one mean with
        variance v / w; the rest of their density is (2 pi v)^(-(w-1)/2) w^(-1/2) exp(-scatter / 2v).
        """
        w, ss = self.weight, self.scatter
        if not (np.any(w != 1) or np.any(ss)):
            return 0.0, 0.0
        v = self.copy_variance(noise_variance)
        value = -0.5 * np.sum((w - 1) * np.log(2 * np.pi * v) + np.log(w) + ss / v)
        slope = -0.5 * np.sum((w - 1 - ss / v) * (noise_variance / v))  # v**2 of tiny responses would be zero
        return float(value), float(slope)


def merge_equal_rows(observations: Observations) -> Observations:
    """Rows that agree in place, trend and known error become one; rows without weight go.

    The order of the result depends on the values alone, so that copies and weights are the same thing.
    """
    obs = observations[np.flatnonzero(observations.weight > 0)]
    keys = np.column_stack([obs.rows.coords, obs.rows.trend, obs.error])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    weight = _sums(group, obs.weight)
    y = _sums(group, obs.weight * obs.y) / weight
    scatter = _sums(group, obs.weight * (obs.y - y[group]) ** 2 + obs.scatter)
    return Observations(obs.rows[first], y, weight, obs.error[first], scatter, obs.trend_precision)


def _sums(group: IntArray, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(group, values), dtype=np.float64)
