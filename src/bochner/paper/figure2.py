"""Figure 2: a feature map turns a bowl into a plane.

The response is x1² + x2², the surface of all the toy data. In the input space (A) its contours are circles: no linear
model of x1 and x2 can follow them. Map every place to (x1², x2²), and in that feature space (B) the contours are
straight lines: the same response is a linear function. The model has stayed linear; the columns have changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.paper import style, toy
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.paper.filters import decompose
from bochner.random import generator


def feature_map(coords: FloatArray) -> FloatArray:
    """phi(x) = (x1², x2²)."""
    return coords**2


def linear_r2(columns: FloatArray, y: FloatArray) -> float:
    """Share of the variance of y that a linear model of some columns explains."""
    fit = decompose(columns, y)
    return float(1 - np.var(y - fit.fitted(fit.least_squares())) / np.var(y))


def exhibit(seeds: int) -> Exhibit:
    """Figure 2: how linear the response is before and after the map."""
    coords = generator(0, "figure 2").uniform(-toy.HALF_WIDTH, toy.HALF_WIDTH, size=(250, 2))
    y = toy.surface(coords)
    before, after = linear_r2(coords, y), linear_r2(feature_map(coords), y)
    claims = [
        Claim(
            "In the input space the problem is non-linear; in the feature space the outputs are a linear combination "
            "of the inputs.",
            f"A linear model explains {before:.1%} of the variance in the input space and {after:.1%} in the "
            f"feature space.",
            before < 0.1 and after > 1 - 1e-12,
        )
    ]
    table = Table(("space", "r2_of_linear_model"), [("input (x1, x2)", before), ("feature (x1², x2²)", after)])
    return Exhibit(__name__, claims, table, lambda: draw(coords, y), (feature_map, linear_r2))


@style.styled
def draw(coords: FloatArray, y: FloatArray) -> Any:
    """The same places and colours in the two spaces, with contours of the response."""
    figure, (left, right) = style.panels(2, height=4.4)
    levels = np.arange(1, 6)
    dots = {"c": y, "cmap": "viridis", "s": 34, "vmin": 0, "vmax": 5.2, "edgecolors": "white", "linewidths": 0.4}
    axis = np.linspace(-1.8, 1.8, 150)
    left.scatter(*coords.T, **dots)
    lines = left.contour(axis, axis, axis[:, None] ** 2 + axis**2, levels, colors=style.BLACK, linewidths=1)
    left.clabel(lines, fontsize=11)
    left.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    style.title(left, "input space: circles")
    axis = np.linspace(0, 3, 150)
    shown = right.scatter(*feature_map(coords).T, **dots)
    lines = right.contour(axis, axis, axis[:, None] + axis, levels, colors=style.BLACK, linewidths=1)
    right.clabel(lines, fontsize=11)
    right.set(xlabel="$x_1^2$", ylabel="$x_2^2$", aspect="equal")
    style.title(right, "feature space: straight lines")
    figure.colorbar(shown, ax=[left, right], label="response $y = x_1^2 + x_2^2$", shrink=0.9)
    return figure
