"""Woodbury's identity: the n x n system solved through a 2m x 2m one.

With Fourier features the kernel matrix is ΦΦ', of rank 2m. Woodbury's identity turns its ridge inverse into (ΦΦ' + λ
I_n)⁻¹ y = [y - Φ (Φ'Φ + λ I_p)⁻¹ Φ'y] / λ, so that an n x n system costs only n p² (A). It is exact: the two differ
by rounding (B). The same identity read backwards serves the opposite case, few rows and many columns;
`bochner.solvers` has both and the library takes the smaller system.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import FourierMap
from bochner.frequencies import MonteCarlo
from bochner.kernels import SquaredExponential
from bochner.paper import style
from bochner.paper.clock import seconds
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator
from bochner.solvers import cholesky_factor, woodbury_factor

N_FREQUENCIES = 100
ROWS = (200, 400, 800, 1600, 3200)
PENALTY = 0.1


def direct(phi: FloatArray, y: FloatArray) -> FloatArray:
    """(Phi Phi' + λ I_n)⁻¹ y, from the n x n matrix itself."""
    return cholesky_factor(phi @ phi.T + PENALTY * np.eye(len(phi))).solve(y)


def through_columns(phi: FloatArray, y: FloatArray) -> FloatArray:
    """The same by Woodbury's identity, from a p x p matrix."""
    inner = cholesky_factor(phi.T @ phi + PENALTY * np.eye(phi.shape[1]))
    return (y - phi @ inner.solve(phi.T @ y)) / PENALTY


def backwards(phi: FloatArray, y: FloatArray) -> float:
    """Difference of the coefficients when many columns are solved through few rows by the library's own factor."""
    precision = phi.T @ phi / PENALTY + np.eye(phi.shape[1])
    factor = woodbury_factor(phi, np.zeros((len(phi), 0)), np.full(len(phi), 1 / PENALTY))
    b = phi.T @ y / PENALTY
    return float(np.max(np.abs(cholesky_factor(precision).solve(b) - factor.solve(b))))


def exhibit(seeds: int) -> Exhibit:
    """Seconds and differences against the number of rows."""
    rng = generator(0, "woodbury")
    waves = FourierMap(MonteCarlo().draw(SquaredExponential(), N_FREQUENCIES, 2, rng))
    found = []
    for n in ROWS:
        coords = rng.uniform(-2, 2, size=(n, 2))
        phi, y = waves.block(coords), rng.standard_normal(n)
        gap = np.max(np.abs(direct(phi, y) - through_columns(phi, y))) / np.max(np.abs(y))
        repeats = 2 if n < 2000 else 1
        times = [seconds(partial(solve, phi, y), repeats) for solve in (direct, through_columns)]
        found.append([*times, float(gap)])
    values = np.array(found)
    few = backwards(phi[:60], y[:60])
    claims = [
        Claim(
            "Woodbury's formula reduces the inversion from O(n³) to O(m³).",
            f"At {ROWS[-1]:,} rows and {2 * N_FREQUENCIES} columns it is {values[-1, 0] / values[-1, 1]:.0f} times as "
            f"fast (a pass of n m² over the rows remains), with the same result to {values[:, 2].max():.0e}.",
            bool(values[-1, 1] < values[-1, 0] and values[:, 2].max() < 1e-8),
        ),
        Claim(
            "(Not in the paper) Read backwards, it solves many columns through few rows.",
            f"60 rows, {2 * N_FREQUENCIES} columns: the coefficients agree to {few:.0e}.",
            few < 1e-8,
        ),
    ]
    rows = [(n, *map(float, row)) for n, row in zip(ROWS, values, strict=True)]
    table = Table(("rows", "direct_seconds", "woodbury_seconds", "max_difference"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(values), (direct, through_columns, backwards))


@style.styled
def draw(values: FloatArray) -> Any:
    """Seconds, and the difference of the results."""
    figure, (left, right) = style.panels(2)
    left.plot(ROWS, values[:, 0], color=style.BLUE, marker="o", label="direct, n x n")
    left.plot(
        ROWS, values[:, 1], color=style.RED, marker="s", label=f"Woodbury, {2 * N_FREQUENCIES} x {2 * N_FREQUENCIES}"
    )
    left.set(xscale="log", yscale="log", xlabel="rows n", ylabel="time of a solve (s)")
    left.legend()
    style.ticks(left, ROWS)
    style.title(left, "time")
    right.plot(ROWS, values[:, 2], color=style.GREEN, marker="^")
    right.axhline(np.finfo(float).eps, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    right.annotate("machine epsilon", (ROWS[0], 2.6e-16), va="bottom", color=style.GREY, fontsize=11.5)
    right.set(xscale="log", yscale="log", ylim=(1e-16, 1e-8), xlabel="rows n", ylabel="largest relative difference")
    style.ticks(right, ROWS)
    style.title(right, "the same result")
    return figure
