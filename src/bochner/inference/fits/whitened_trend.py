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
from bochner.kernels import Kernel, axis_units
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
    """

    rows: IntArray
    trend: FloatArray
    y: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, noise_variance: float, obs: Observations) -> Self:
        """Of all rows, or of a sample of many; their neighbours are sought among all."""
        coords, n = obs.rows.coords, len(obs)
        noise = np.maximum(obs.copy_variance(noise_variance) / obs.weight, least_noise(kernel, coords))
        order = generator(0, "order of a trend").permutation(n)
        asked = np.arange(max(0, n - limits.TREND_ROWS), n)
        units = axis_units(kernel, np.ptp(coords, axis=0))
        near = coords if units is None else coords / units
        white = whitening_rows(kernel, noise, coords, order, limits.TREND_NEIGHBOURS, asked, near)
        return cls(order[asked], np.asarray(white @ obs.rows.trend), np.asarray(white @ obs.y))

    def coefficients(self, among: IntArray | None = None) -> FloatArray:
        """Effects (q,) by the whitened rows, or by those that are among others; of least norm where they leave some."""
        kept = slice(None) if among is None else np.isin(self.rows, among)
        trend, y = self.trend[kept], self.y[kept]
        size = np.linalg.norm(trend, axis=0)
        size[size == 0] = 1.0
        return np.asarray(np.linalg.lstsq(trend / size, y, rcond=None)[0] / size)


def has_covariates(obs: Observations) -> bool:
    """Whether the trend is more than a constant, of points."""
    return bool(obs.n_trend and not obs.rows.has_areas and np.any(np.ptp(obs.rows.trend, axis=0) > 0))


def residual_beside(kernel: Kernel, noise_variance: float, obs: Observations) -> FloatArray:
    """Responses without the trend that is likeliest beside a field with this kernel."""
    if not has_covariates(obs):
        return residual_of(obs)
    return np.asarray(obs.y - obs.rows.trend @ WhitenedTrend.of(kernel, noise_variance, obs).coefficients())
