"""Variogram figure: how observations differ with distance, and what the fitted kernel says of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.diagnostics import Diagnostics
from bochner.diagnostics.diagnostics import directions_of
from bochner.exceptions import InputError
from bochner.kernels import Kernel
from bochner.maps import limits
from bochner.maps.mappable import Mappable, mappable
from bochner.maps.plots.known import known_diagnostics
from bochner.maps.plots.style import BLUE, GREY, INK, RED, panels, styled


@styled
def plot_variogram(model: Mappable, *, diagnostics: Diagnostics | None = None, ax: Any = None) -> Any:
    """Empirical variogram in bins of distance, with the curve of the fitted kernel.

    The grey band is where 95 % of the bins would lie if the model were right. On the scale of the link for families
    that have one.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted, or loaded with its diagnostics.
    diagnostics : Diagnostics, optional
        Those of the model, if they are at hand.
    ax : Axes, optional
        Default: a new figure.
    """
    model = mappable(model)
    found = known_diagnostics(model, diagnostics)
    variogram = found.variogram
    if variogram is None:
        raise InputError("there are too few pairs of rows for a variogram; it needs about 10 rows at distinct places.")
    figure, (ax,) = panels(1, width=5.4, height=3.8, axes=ax)
    h = np.asarray(variogram.distance)
    if variogram.lower:
        ax.fill_between(h, variogram.lower, variogram.upper, color=GREY, alpha=0.16, linewidth=0, label="95 % of draws")
    fit = model.fitted_.model
    if fit.kernel.stationary:
        _curve(ax, fit.kernel, variogram.noise, 1.05 * h[-1], directions_of(fit.dim, variogram.axes or None))
    size = 14 + 50 * np.sqrt(np.asarray(variogram.n_pairs) / max(variogram.n_pairs))
    ax.scatter(h, variogram.semivariance, s=size, color=INK, linewidths=0, zorder=4, label="observations")
    unit = variogram.unit or found.distance_unit
    ax.set(xlabel=f"distance ({unit})" if unit else "distance", ylabel="semivariance", xlim=(0, None), ylim=(0, None))
    ax.set_title(f"Variogram of pairs {variogram.among}" if variogram.among else "Variogram")
    ax.grid(axis="y")
    ax.legend(loc="upper left")
    return figure


def _curve(ax: Any, kernel: Kernel, noise: float, farthest: float, directions: FloatArray) -> None:
    lag = np.linspace(0, farthest, 300)
    by_direction = noise + _semivariance(kernel, lag, directions)
    low, mean, high = by_direction.min(axis=0), by_direction.mean(axis=0), by_direction.max(axis=0)
    sill = float(mean.max())
    if np.max(high - low) > limits.ANISOTROPIC * sill:
        ax.fill_between(lag, low, high, color=BLUE, alpha=0.14, linewidth=0, label="by direction")
    ax.plot(lag, mean, color=BLUE, label="fitted kernel", zorder=3)
    if noise > 0.01 * sill:
        ax.plot([0], [noise], "o", color=RED, markersize=5, clip_on=False, zorder=5, label="noise")


def _semivariance(kernel: Kernel, lag: FloatArray, directions: FloatArray) -> FloatArray:
    """k(0) - k(h) along some directions (n, dim), as (n, lags)."""
    lags = directions[:, None, :] * lag[None, :, None]
    at_zero = float(kernel.at(np.zeros((1, directions.shape[1])))[0])
    return np.asarray(at_zero - kernel.at(lags.reshape(-1, directions.shape[1])).reshape(lags.shape[:2]))
