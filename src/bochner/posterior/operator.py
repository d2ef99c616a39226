"""Posterior of very many rows: exact kriging weights, standard deviations from neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bochner.arrays import FloatArray, IntArray
from bochner.features import CovarianceOperator, Rows, covariance_operator
from bochner.kernels import Kernel, axis_units
from bochner.neighbours import CellKriging, conditional_draws
from bochner.posterior import limits
from bochner.posterior.base import Cost, Posterior
from bochner.posterior.coefficients import CoefficientPosterior
from bochner.resources import small_systems
from bochner.solvers import CholeskyFactor, Report


@dataclass(frozen=True)
class OperatorPosterior(Posterior):
    """Universal kriging with alpha = Sigma^-1 (y - X beta) found by conjugate gradients.

    The mean uses all rows. The variance of the field at a place is that of kriging from its nearest rows, which screen
    off the others, and from some farther ones all around; the trend's share is exact. Under noise, where far rows help
    by averaging it away, a companion of the heaviest waves sees them all. Both know less than the whole, so the
    smaller variance is taken. A mean that does not use all rows is that of whichever of the two has the smaller
    variance there: a variance belongs to the prediction that is made. Where the noise had to be lifted, the mean is
    that of a surface too smooth by (lifted - noise) alpha at the rows; the nearest rows interpolate that, too.
    """

    kernel: Kernel
    rows: Rows
    noise: FloatArray  # error variance of each row
    lifted: FloatArray  # the same, lifted so far that conjugate gradients could solve the system
    alpha: FloatArray
    trend_coef: FloatArray
    trend_weights: FloatArray  # Sigma^-1 X
    schur: CholeskyFactor
    box: tuple[FloatArray, FloatArray]
    report: Report
    y: FloatArray
    companion: CoefficientPosterior | None = None
    _cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    evidence_told: ClassVar[str] = "(determinant by neighbours: some tens of nats may be missing)"
    beyond: ClassVar[str] = (
        "the box of the data, by several times its size: they get the trend and the prior sd."  # no row reaches there
    )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}  # what can be made again does not travel

    @property
    def cost(self) -> Cost:
        return Cost(limits.NEAR_ROWS + 2 * limits.FAR_ROWS, limits.PLACE_WORK)

    def trend_covariance(self) -> FloatArray:
        return self.schur.solve(np.eye(len(self.trend_coef)))

    def mean(self, rows: Rows) -> FloatArray:
        trend = rows.trend @ self.trend_coef
        if self.report.details["converged"]:
            smooth = self._spread(rows, slice(0, 1))[:, 0] + trend
            return smooth if self._smoothed is None else smooth + self._cells.at(rows.coords, self._smoothed)[0][:, 0]
        if self.companion is not None:  # which mean it is, the variances tell
            return self.mean_and_variance(rows)[0]
        return self._cells.at(rows.coords, self._residual[:, None])[0][:, 0] + trend

    def variance(self, rows: Rows) -> FloatArray:
        return self.mean_and_variance(rows)[1]

    @small_systems()
    def mean_and_variance(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        if self.report.details["converged"]:
            field = self._spread(rows)
            more, variance = self._cells.at(rows.coords, self._smoothed)
            field[:, :1] += more.sum(axis=1, keepdims=True)
        else:  # means are those of neighbours, so the share of the trend is, too
            field, variance = self._cells.at(rows.coords, np.column_stack([self._residual, self.rows.trend]))
        variance += np.sum(self._unknown(rows, field[:, 1:]) ** 2, axis=0)
        return self._known_better(rows, field[:, 0] + rows.trend @ self.trend_coef, variance)

    def covariance(self, rows: Rows) -> FloatArray:
        draws = self.draw(rows, 2_000, np.random.default_rng(0))
        return np.cov(draws.T).reshape(len(rows), len(rows))

    def draw(self, rows: Rows, n_draws: int, rng: Generator) -> FloatArray:
        errors = conditional_draws(
            self.kernel, self.noise, self.rows.coords, rows.coords, n_draws, rng, limits.DRAWN_ROWS, self._units
        )
        spread = (
            self._spread(rows, slice(1, None))
            if self.report.details["converged"]
            else self._cells.at(rows.coords, self.rows.trend)[0]
        )
        drift = self._unknown(rows, spread)
        return self.mean(rows) + errors + rng.standard_normal((n_draws, len(drift))) @ drift

    @property
    def _units(self) -> FloatArray | None:
        """Unit of each axis in which rows are near, where the kernel measures axes apart."""
        return axis_units(self.kernel, np.ptp(self.rows.coords, axis=0))

    def _unknown(self, rows: Rows, explained: FloatArray) -> FloatArray:
        """S^-1/2 (t - X'Sigma^-1 k): what is unknown of the trend at each place, (q, n); the last is `explained`."""
        return self.schur.half_solve((rows.trend - explained).T) if len(self.trend_coef) else explained.T

    def _known_better(self, rows: Rows, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance, or those of the companion where its variance is smaller; a mean of all rows stays."""
        if self.companion is None:
            return mean, variance
        for i in self.companion.features.slices(len(rows)):
            if self.report.details["converged"]:
                variance[i] = np.minimum(variance[i], self.companion.variance(rows[i]))
                continue
            other, less = self.companion.mean_and_variance(rows[i])
            better = less < variance[i]
            mean[i], variance[i] = np.where(better, other, mean[i]), np.where(better, less, variance[i])
        return mean, variance

    @property
    def _smoothed(self) -> FloatArray | None:
        """What lifting the noise took from the responses (n, 1); None, if it was not lifted."""
        lift = self.lifted - self.noise
        return (lift * self.alpha)[:, None] if np.any(lift > 1e-3 * self.noise) else None

    @property
    def _residual(self) -> FloatArray:
        return self.y - self.rows.trend @ self.trend_coef

    @property
    def _cells(self) -> CellKriging:
        """Kriging from the nearest rows and some farther ones; built once, when first wanted."""
        if "cells" not in self._cache:
            coords = self.rows.coords
            self._cache["cells"] = CellKriging(
                self.kernel, self.noise, coords, limits.NEAR_ROWS, limits.FAR_ROWS, self._units
            )
        found: CellKriging = self._cache["cells"]
        return found

    def _spread(self, rows: Rows, columns: slice = slice(None)) -> FloatArray:
        """K(places, rows) [alpha, Sigma^-1 X], some columns; zero (the prior) for places far outside the rows' box."""
        out = np.zeros((len(rows), len(range(*columns.indices(1 + len(self.trend_coef))))))
        levels = self._levels(rows.coords)
        for level in np.unique(levels[levels <= limits.MAX_BOXES]):
            here = levels == level
            out[here] = self._towards(int(level))(rows.coords[here])[:, columns]
        return out

    def _towards(self, level: int) -> Callable[[FloatArray], FloatArray]:
        """K(places, rows) [alpha, Sigma^-1 X] as a function of the places; what they share is computed once."""
        name = f"towards{level}"
        if name not in self._cache:
            weights = np.column_stack([self.alpha, self.trend_weights])
            self._cache[name] = self._operator(level).prepared(weights)
        found: Callable[[FloatArray], FloatArray] = self._cache[name]
        return found

    def outside(self, coords: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(self._levels(coords) > limits.MAX_BOXES)

    def _levels(self, coords: FloatArray) -> IntArray:
        """How often the box must grow by half to hold each place: 0 inside."""
        low, high = self.box
        centre, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-300)
        reach = np.max(np.abs(coords - centre) / half, axis=1)
        return np.ceil(np.log(np.maximum(reach, 1.0) * (1 - 1e-9)) / np.log(limits.BOX_GROWTH)).clip(0).astype(np.intp)

    def _operator(self, level: int) -> CovarianceOperator:
        """Products with the covariance, for a box grown `level` times; built once, when first wanted."""
        name = "operator" if level == 0 else f"operator{level}"
        if name not in self._cache:
            low, high = self.box
            centre, half = (low + high) / 2, (high - low) / 2 * limits.BOX_GROWTH**level
            self._cache[name] = covariance_operator(self.kernel, self.rows.coords, (centre - half, centre + half))
        found: CovarianceOperator = self._cache[name]
        return found
