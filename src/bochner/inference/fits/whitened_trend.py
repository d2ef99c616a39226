"""Fixed effects beside a field, by generalised least squares: the field's covariance tells which contrasts to believe.

Where a covariate goes with the field over long distances (mountains lie in the dry west), plain least squares gives its
effect to the wrong cause, and what is left of the responses varies with the covariate from row to row. Whitened by
neighbours, the same rows tell what it does from one place to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.inference.fits import limits
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.scale import residual_of
from bochner.kernels import Kernel, axis_units, measured
from bochner.neighbours import least_noise, whitening_rows
from bochner.random import generator


@dataclass(frozen=True)
class WhitenedTrend:
    """Responses and columns of the trend of some rows, each given its neighbours by a kernel, in units of its error.

    Attributes
    ----------
    rows : (t,)
    trend : (t, q)
    y : (t,)
        Less what plain least squares explains.
    plain : (q,)
        Effects by plain least squares.
    step : (q,)
        Size of an effect that moves some row as far as all are spread about those: few times as much is believed.
    """

    rows: IntArray
    trend: FloatArray
    y: FloatArray
    plain: FloatArray
    step: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, noise_variance: float, obs: Observations) -> Self:
        """Of all rows, or of a sample of many; their neighbours are sought among all."""
        coords, n = obs.rows.coords, len(obs)
        noise = np.maximum(obs.copy_variance(noise_variance) / obs.weight, least_noise(kernel, coords))
        order = generator(0, "order of a trend").permutation(n)
        asked = np.arange(max(0, n - limits.TREND_ROWS), n)
        units = axis_units(kernel, np.ptp(coords, axis=0))
        near = measured(coords, units)
        white = whitening_rows(kernel, noise, coords, order, limits.TREND_NEIGHBOURS, asked, near)
        trend = obs.rows.trend
        residual = residual_of(obs)
        plain = np.asarray(np.linalg.lstsq(trend, obs.y - residual, rcond=None)[0], dtype=np.float64)
        spread = max(float(np.sqrt(np.average(residual**2, weights=obs.weight))), 1e-300)
        step = spread / np.maximum(np.abs(trend).max(axis=0), 1e-300)
        return cls(order[asked], np.asarray(white @ trend), np.asarray(white @ residual), plain, step)

    def coefficients(self, among: IntArray | None = None) -> FloatArray:
        """Effects (q,) by the whitened rows, or by those that are among others.

        Of a level that hardly any of them has they say next to nothing: a weak prior keeps it near plain least squares.
        """
        kept = slice(None) if among is None else np.isin(self.rows, among)
        step = limits.TREND_STEPS * self.step
        trend = np.vstack([self.trend[kept] * step, np.eye(len(step))])
        return np.asarray(
            self.plain + step * np.linalg.lstsq(trend, np.r_[self.y[kept], np.zeros(len(step))], rcond=None)[0]
        )


def has_covariates(obs: Observations) -> bool:
    """Whether the trend is more than a constant, of points."""
    return bool(obs.n_trend and not obs.rows.has_areas and np.any(np.ptp(obs.rows.trend, axis=0) > 0))


def residual_beside(kernel: Kernel, noise_variance: float, obs: Observations) -> FloatArray:
    """Responses without the trend that is likeliest beside a field with this kernel."""
    if not has_covariates(obs):
        return residual_of(obs)
    return np.asarray(obs.y - obs.rows.trend @ WhitenedTrend.of(kernel, noise_variance, obs).coefficients())
