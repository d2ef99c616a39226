"""Calibration figure: whether held-out observations fall where the model said they would."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from bochner.diagnostics import Calibration, Diagnostics
from bochner.exceptions import InputError
from bochner.maps.mappable import Mappable, mappable
from bochner.maps.plots.known import known_diagnostics
from bochner.maps.plots.style import BLUE, GREY, ORANGE, panels, styled

COLOURS = (BLUE, ORANGE)
MARKERS = ("o", "s")


@styled
def plot_calibration(
    model: Mappable, *, diagnostics: Diagnostics | None = None, label: str = "response", axes: Any = None
) -> Any:
    """Three panels of held-out predictions: probability transform, coverage of intervals, predicted against observed.

    If the model is right, the bars of the first panel are level, the curves of the other two follow the diagonal, and
    19 of 20 values lie within the grey bands.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted, or loaded with its diagnostics.
    diagnostics : Diagnostics, optional
        Those of the model, if they are at hand.
    label : str
        Response and its unit.
    axes : three Axes, optional
        Default: a new figure.
    """
    held = known_diagnostics(mappable(model), diagnostics).held_out
    if not held:
        raise InputError("no rows could be held out to judge the model by; it needs more rows at distinct places.")
    figure, (pit, coverage, reliability) = panels(3, width=3.7, height=3.6, axes=axes)
    _pit(pit, held)
    _coverage(coverage, held)
    _reliability(reliability, held, label)
    return figure


def _pit(ax: Any, held: tuple[Calibration, ...]) -> None:
    n_bins = len(held[0].pit)
    edges = np.linspace(0, 1, n_bins + 1)
    low, high = _binomial(min(c.n_rows for c in held), 1 / n_bins)
    ax.axhspan(low * n_bins, high * n_bins, color=GREY, alpha=0.14, linewidth=0)
    ax.axhline(1, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    for one, colour in zip(held, COLOURS, strict=False):
        density = np.asarray(one.pit) / one.n_rows * n_bins
        ax.stairs(density, edges, color=colour, fill=one is held[0], alpha=0.28 if one is held[0] else 1.0)
        ax.stairs(density, edges, color=colour, linewidth=1.5)
    ax.set(title="Probability transform", xlabel="predictive probability of the observation", ylabel="density")
    ax.set(xlim=(0, 1), ylim=(0, None))


def _coverage(ax: Any, held: tuple[Calibration, ...]) -> None:
    level = np.linspace(0.01, 0.99, 99)
    bounds = np.array([_binomial(min(c.n_rows for c in held), p) for p in level])
    ax.fill_between(level, *bounds.T, color=GREY, alpha=0.14, linewidth=0)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    for one, colour, marker in zip(held, COLOURS, MARKERS, strict=False):
        name = f"{one.name} (n = {one.n_rows:,})"
        ax.plot(one.levels, one.coverage, color=colour, marker=marker, markersize=4, linewidth=1.4, label=name)
    ax.set(title="Coverage of intervals", xlabel="claimed", ylabel="observed", xlim=(0, 1), ylim=(0, 1))
    ax.set_aspect("equal")
    ax.legend(loc="upper left", handlelength=1.4)


def _reliability(ax: Any, held: tuple[Calibration, ...], label: str) -> None:
    values = [v for c in held for v in (*c.reliability.predicted, *c.reliability.observed)]
    span = max(max(values) - min(values), 1e-12)
    ends = min(values) - 0.06 * span, max(values) + 0.06 * span
    ax.plot(ends, ends, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    for one, colour, marker in zip(held, COLOURS, MARKERS, strict=False):
        part = one.reliability
        error = 1.96 * np.asarray(part.standard_error)
        ax.errorbar(
            part.predicted, part.observed, yerr=error, color=colour, fmt=marker, markersize=4, elinewidth=0.9, capsize=0
        )
    ax.set(title="Predicted and observed", xlabel=f"predicted {label}", ylabel=f"observed {label}")
    ax.set(xlim=ends, ylim=ends)
    ax.set_aspect("equal")
    ax.locator_params(nbins=5)


def _binomial(n: int, p: float) -> tuple[float, float]:
    """Where 95 % of shares out of n lie."""
    low, high = stats.binom.ppf([0.025, 0.975], n, p) / n
    return float(low), float(high)
