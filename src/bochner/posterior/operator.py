"""Posterior of very many rows: exact kriging weights, standard deviations from neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bochner.arrays import FloatArray, IntArray
from bochner.features import CovarianceOperator, Rows
from bochner.kernels import Kernel, axis_units
from bochner.neighbours import conditional_draws, local_kriging
from bochner.posterior.base import Posterior
from bochner.posterior.coefficients import CoefficientPosterior
from bochner.solvers import CholeskyFactor, Report

N_NEIGHBOURS, N_FAR = 40, 20  # nearest rows; rows beyond them, of each of two thinned sets
N_DRAWN = 60  # rows and places that a place of a joint draw is given
GROWTH, FARTHEST = 1.5, 6  # boxes grow by half for places outside; beyond the largest, the prior


@dataclass(frozen=True)
class OperatorPosterior(Posterior):
    """Universal kriging with alpha = Sigma^-1 (y - X beta) found by conjugate gradients.

    The mean uses all rows. The variance of the field at a place is that of kriging from its nearest rows, which screen
    off the others, and from some farther ones all around; the trend's share is exact. Under noise, where far rows help
    by averaging it away, a companion of the heaviest waves sees them all. Both know less than the whole, so the
    smaller variance is taken.
    """

    kernel: Kernel
    rows: Rows
    noise: FloatArray  # error variance of each row
    alpha: FloatArray
    trend_coef: FloatArray
    trend_weights: FloatArray  # Sigma^-1 X
    schur: CholeskyFactor
    box: tuple[FloatArray, FloatArray]
    report: Report
    y: FloatArray
    companion: CoefficientPosterior | None = None
    _cache: dict[str, CovarianceOperator] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n_stored(self) -> int:  # type: ignore[override]
        return N_NEIGHBOURS + 2 * N_FAR

    def trend_covariance(self) -> FloatArray:
        """Covariance of the trend coefficients."""
        return self.schur.solve(np.eye(len(self.trend_coef)))

    def mean(self, rows: Rows) -> FloatArray:
        trend = rows.trend @ self.trend_coef
        if self.report.details["converged"]:
            return self._spread(rows, self.alpha[:, None])[:, 0] + trend
        residual = self.y - self.rows.trend @ self.trend_coef
        return self._from_neighbours(rows, residual)[0] + trend

    def variance(self, rows: Rows) -> FloatArray:
        _, field_variance = self._from_neighbours(rows, np.zeros(len(self.rows)))
        variance = field_variance + np.sum(self._drift(rows) ** 2, axis=0)
        if self.companion is None:
            return variance
        for i in self.companion.features.slices(len(rows)):
            variance[i] = np.minimum(variance[i], self.companion.variance(rows[i]))
        return variance

    def covariance(self, rows: Rows) -> FloatArray:
        draws = self.draw(rows, 2_000, np.random.default_rng(0))
        return np.cov(draws.T).reshape(len(rows), len(rows))

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        errors = conditional_draws(
            self.kernel, self.noise, self.rows.coords, rows.coords, n_draws, rng, N_DRAWN, self._units
        )
        drift = self._drift(rows)
        return self.mean(rows) + errors + rng.standard_normal((n_draws, len(drift))) @ drift

    @property
    def _units(self) -> FloatArray | None:
        """Unit of each axis in which rows are near, where the kernel measures axes apart."""
        return axis_units(self.kernel, np.ptp(self.rows.coords, axis=0))

    def _drift(self, rows: Rows) -> FloatArray:
        """S^-1/2 (t - X'Sigma^-1 k): what is unknown of the trend at each place, (q, n)."""
        if not len(self.trend_coef):
            return np.zeros((0, len(rows)))
        if self.report.details["converged"]:
            left = rows.trend - self._spread(rows, self.trend_weights)
        else:  # means are those of neighbours, so the share of the trend is, too
            left = rows.trend - np.column_stack([self._from_neighbours(rows, x)[0] for x in self.rows.trend.T])
        return self.schur.half_solve(left.T)

    def _from_neighbours(self, rows: Rows, residual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Kriging mean and variance from the nearest rows and some farther ones."""
        known = self.rows.coords
        return local_kriging(self.kernel, self.noise, known, residual, rows.coords, N_NEIGHBOURS, self._units, N_FAR)

    def _spread(self, rows: Rows, weights: FloatArray) -> FloatArray:
        """K(places, rows) weights; zero (the prior) for places far outside the box of the rows."""
        out = np.zeros((len(rows), weights.shape[1]))
        levels = self._levels(rows.coords)
        for level in np.unique(levels[levels <= FARTHEST]):
            here = levels == level
            out[here] = self._operator(int(level)).cross(rows.coords[here], weights)
        return out

    def outside(self, coords: FloatArray) -> NDArray[np.bool_]:
        """Places so far outside the box of the rows that only the prior is left."""
        return np.asarray(self._levels(coords) > FARTHEST)

    def _levels(self, coords: FloatArray) -> IntArray:
        """How often the box must grow by half to hold each place: 0 inside."""
        low, high = self.box
        centre, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-300)
        reach = np.max(np.abs(coords - centre) / half, axis=1)
        return np.ceil(np.log(np.maximum(reach, 1.0) * (1 - 1e-9)) / np.log(GROWTH)).clip(0).astype(np.intp)

    def _operator(self, level: int) -> CovarianceOperator:
        """Products with the covariance, for a box grown `level` times; built once, when first wanted."""
        name = "operator" if level == 0 else f"operator{level}"
        if name not in self._cache:
            low, high = self.box
            centre, half = (low + high) / 2, (high - low) / 2 * GROWTH**level
            self._cache[name] = CovarianceOperator(self.kernel, self.rows.coords, (centre - half, centre + half))
        return self._cache[name]
