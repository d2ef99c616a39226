"""Primal equals dual: two ways to the same ridge regression.

The primal solves for one coefficient per column, (Φ'Φ + λ I_p) w = Φ'y; the dual for one number per row, α = (ΦΦ' + λ
I_n)⁻¹ y and w = Φ'α. (The paper writes I_n in both; the identity of the primal has the size of the columns.) They
predict the same, up to rounding that grows as λ shrinks (A). They do not cost the same (B): the primal grows with the
columns, the dual with the rows. `bochner` takes the cheaper one and says so in `choices_`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.paper import style
from bochner.paper.clock import seconds
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator
from bochner.solvers import cholesky_factor

N_ROWS = 200
SHAPES = (50, 200, 800)  # columns
PENALTIES = np.logspace(-6, 2, 9)
TIMED_ROWS, TIMED_COLUMNS = 800, (50, 100, 200, 400, 800, 1600, 2400)


def primal(phi: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Coefficients of ridge from a p x p system (eq. 10)."""
    precision = phi.T @ phi + penalty * np.eye(phi.shape[1])
    return cholesky_factor(precision).solve(phi.T @ y)


def dual(phi: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Coefficients of ridge from an n x n system (eq. 12)."""
    gram = phi @ phi.T + penalty * np.eye(len(phi))
    return np.asarray(phi.T @ cholesky_factor(gram).solve(y))


def difference(n_columns: int, penalty: float, seed: int) -> float:
    """Largest difference of the predictions at new rows, relative to their size."""
    rng = generator(seed, "primal and dual")
    phi, new = rng.standard_normal((2, N_ROWS, n_columns)) / np.sqrt(n_columns)
    y = phi @ rng.standard_normal(n_columns) + rng.standard_normal(N_ROWS)
    one, other = new @ primal(phi, y, penalty), new @ dual(phi, y, penalty)
    return float(np.max(np.abs(one - other)) / np.max(np.abs(one)))


def exhibit(seeds: int) -> Exhibit:
    """Differences over penalties and shapes; times over the columns."""
    found = np.array([[difference(p, float(a), 0) for a in PENALTIES] for p in SHAPES])
    rng = generator(0, "timing")
    times = []
    for p in TIMED_COLUMNS:
        phi, y = rng.standard_normal((TIMED_ROWS, p)), rng.standard_normal(TIMED_ROWS)
        times.append([seconds(partial(f, phi, y, 1.0)) for f in (primal, dual)])
    clock = np.array(times)
    claims = [
        Claim(
            "The primal and the dual solutions are equivalent.",
            f"At λ = 1 their predictions differ by {found[:, 6].max():.0e} of their size, at λ = 10⁻⁶ by "
            f"{found[:, 0].max():.0e}.",
            bool(found[:, 6].max() < 1e-12),
        ),
        Claim(
            "The primal is governed by the number of columns, the dual by the number of rows.",
            f"With {TIMED_ROWS} rows and {TIMED_COLUMNS[0]} columns the primal takes "
            f"{clock[0, 0] / clock[0, 1]:.2f} of the dual's time, with {TIMED_COLUMNS[-1]} columns "
            f"{clock[-1, 0] / clock[-1, 1]:.1f} times as long.",
            bool(clock[0, 0] < clock[0, 1] and clock[-1, 0] > clock[-1, 1]),
        ),
    ]
    rows = [(p, *map(float, row)) for p, row in zip(TIMED_COLUMNS, clock, strict=True)]
    table = Table(("columns", "primal_seconds", "dual_seconds"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(found, clock), (primal, dual, difference))


@style.styled
def draw(found: FloatArray, clock: FloatArray) -> Any:
    """Difference against λ; seconds against columns."""
    figure, (left, right) = style.panels(2)
    for p, row, colour, marker in zip(SHAPES, found, style.COLOURS, style.MARKERS, strict=False):
        left.plot(PENALTIES, row, color=colour, marker=marker, label=f"{p} columns, {N_ROWS} rows")
    left.axhline(np.finfo(float).eps, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    left.annotate("machine epsilon", (1e-6, 2.5e-16), va="bottom", color=style.GREY, fontsize=11.5)
    left.set(xscale="log", yscale="log", ylim=(1e-16, 1e-8), xlabel="ridge penalty λ", ylabel="relative difference")
    left.legend()
    style.title(left, "the same predictions")
    for row, colour, marker, name in zip(clock.T, style.COLOURS, style.MARKERS, ("primal", "dual"), strict=False):
        right.plot(TIMED_COLUMNS, row, color=colour, marker=marker, label=name)
    right.axvline(TIMED_ROWS, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    right.annotate("p = n", (TIMED_ROWS, clock.min()), xytext=(5, 0), textcoords="offset points", color=style.GREY)
    right.set(xscale="log", yscale="log", xlabel=f"columns p (rows: {TIMED_ROWS})", ylabel="time (s)")
    right.legend()
    style.title(right, "at different cost")
    return figure
