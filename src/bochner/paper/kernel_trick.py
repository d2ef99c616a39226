"""The kernel trick of equations 24 and 25: inner products without the columns.

The map φ(x) = (x1², √2 x1 x2, x2²) has inner products ⟨φ(x), φ(z)⟩ = ⟨x, z⟩²: the right side needs no φ (A). Since
the dual sees the columns only through inner products, ridge on the three columns and ridge with the polynomial kernel
are the same model. What the kernel saves is the columns (B): a polynomial of degree p in d covariates has C(d+p-1, p)
of them, its kernel is one inner product and one power.

The Gaussian kernel has infinitely many columns, φ_n(x) = exp(-γx²) √((2γ)ⁿ/n!) xⁿ (supplement 2 of the paper, with
the root around each coefficient, where it belongs). Their partial sums converge to it (C).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.kernels import Polynomial, SquaredExponential
from bochner.paper import style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.paper.primal_dual import primal
from bochner.random import generator
from bochner.solvers import cholesky_factor

KERNEL = Polynomial(degree=2, offset=0.0)  # <x, z>²
TERMS = np.arange(1, 31)
REACHES = (1.0, 2.0, 3.0)  # largest |x|, in length scales


def quadratic_map(x: FloatArray) -> FloatArray:
    """phi(x) = (x1², sqrt(2) x1 x2, x2²), eq. 23."""
    return np.column_stack([x[:, 0] ** 2, np.sqrt(2) * x[:, 0] * x[:, 1], x[:, 1] ** 2])


def taylor_map(x: FloatArray, n_terms: int) -> FloatArray:
    """First columns of the Gaussian kernel of length scale 1 (gamma = 1/2) in one dimension."""
    n = np.arange(n_terms)
    return np.exp(-(x[:, None] ** 2) / 2 - special.gammaln(n + 1) / 2) * x[:, None] ** n


def ridge_both_ways(penalty: float = 0.1) -> float:
    """Largest difference between ridge on the columns and ridge with the kernel (eq. 27)."""
    rng = generator(0, "kernel trick")
    x, new = rng.standard_normal((2, 100, 2))
    y = x[:, 0] * x[:, 1] + 0.1 * rng.standard_normal(100)
    columns = quadratic_map(new) @ primal(quadratic_map(x), y, penalty)
    alpha = cholesky_factor(KERNEL(x) + penalty * np.eye(100)).solve(y)
    return float(np.max(np.abs(columns - KERNEL(new, x) @ alpha)))


def taylor_error(reach: float, n_terms: int) -> float:
    """Largest error of the first columns of the Gaussian kernel on [-reach, reach]."""
    x = np.linspace(-reach, reach, 61)
    phi = taylor_map(x, n_terms)
    return float(np.max(np.abs(phi @ phi.T - SquaredExponential()(x))))


def exhibit(seeds: int) -> Exhibit:
    """Equations 24-27 on random points, and the expansion of the Gaussian kernel."""
    x, z = generator(0, "pairs").standard_normal((2, 60, 2))
    explicit, implicit = quadratic_map(x) @ quadratic_map(z).T, KERNEL(x, z)
    gap, models = float(np.max(np.abs(explicit - implicit))), ridge_both_ways()
    series = np.array([[taylor_error(reach, int(n)) for n in TERMS] for reach in REACHES])
    needed = [int(TERMS[np.argmax(row < 1e-6)]) if row.min() < 1e-6 else -1 for row in series]
    claims = [
        Claim(
            "⟨φ(x), φ(z)⟩ = ⟨x, z⟩² (eq. 24-25).",
            f"The two differ by at most {gap:.0e} over {explicit.size:,} pairs.",
            gap < 1e-12,
        ),
        Claim(
            "The dual can be solved without ever computing the explicit feature map (eq. 27).",
            f"Ridge on the three columns and ridge with the kernel predict the same to {models:.0e}.",
            models < 1e-10,
        ),
        Claim(
            "The Gaussian kernel has an infinite feature map, by a Taylor expansion (supplement 2).",
            f"For an error of 10⁻⁶ within 1, 2 and 3 length scales of the origin {needed[0]}, {needed[1]} and "
            f"{needed[2]} columns are needed.",
            bool((series[:, -1] < series[:, 0]).all() and needed[0] > 0),
            corrected=True,
        ),
    ]
    rows = [(int(n), *map(float, series[:, i])) for i, n in enumerate(TERMS) if n % 5 == 0]
    table = Table(("columns", *(f"max_error_within_{reach:g}" for reach in REACHES)), rows)
    code = (quadratic_map, ridge_both_ways, taylor_map)
    return Exhibit(__name__, claims, table, lambda: draw(explicit, implicit, series), code)


@style.styled
def draw(explicit: FloatArray, implicit: FloatArray, series: FloatArray) -> Any:
    """Identity of the inner products, number of columns, expansion of the Gaussian kernel."""
    figure, (left, middle, right) = style.panels(3, width=15.5, height=4.6)
    left.plot([0, explicit.max()], [0, explicit.max()], color=style.GREY, linewidth=1.4)
    left.plot(explicit.ravel()[::3], implicit.ravel()[::3], "o", color=style.BLUE, markersize=4, alpha=0.6)
    left.set(xlabel="⟨φ(x), φ(z)⟩, with the columns", ylabel="⟨x, z⟩², without")
    style.title(left, "the same number")
    degrees = np.arange(1, 11)
    for d, colour, marker in zip((2, 5, 10, 20), style.COLOURS, style.MARKERS, strict=False):
        middle.plot(
            degrees, special.comb(d + degrees - 1, degrees), color=colour, marker=marker, label=f"{d} covariates"
        )
    middle.set(yscale="log", xlabel="degree of the polynomial", ylabel="columns of the explicit map")
    middle.legend()
    style.title(middle, "the columns saved")
    for reach, row, colour, marker in zip(REACHES, series, style.COLOURS, style.MARKERS, strict=False):
        right.plot(TERMS, row, color=colour, marker=marker, markevery=3, label=f"|x|, |z| ≤ {reach:g} length scales")
    right.set(yscale="log", ylim=(1e-16, 1e5), xlabel="columns of the Gaussian kernel", ylabel="largest error")
    right.legend(loc="upper right")
    style.title(right, "an infinite map, cut off")
    return figure
