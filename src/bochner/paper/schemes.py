"""The schemes side by side: error of the kernel against the number of frequencies.

All schemes are quadratures of the same integral: they choose frequencies, and nothing after that differs. In two
dimensions (A) evenly spread frequencies win by far, and orthogonality adds little. In eight (B) the two are near each
other. In 32 (C) orthogonal blocks win, by most where frequencies are few; low-discrepancy points need about a
thousand to catch up. Structured blocks are Haar blocks below 16 dimensions, and as good as them from there on.
An equispaced lattice (one to three dimensions only) beats them all: its error falls as fast as the spectral density.
Gaussian kernel, boxes of such a size that two places are about 1.4 length scales apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.frequencies import RULES, lattice_frequencies, measure_error
from bochner.kernels import SquaredExponential
from bochner.paper import style
from bochner.paper.exhibit import Cell, Claim, Exhibit, Table
from bochner.random import generator

KERNEL = SquaredExponential()
DIMS = (2, 8, 32)
NUMBERS = (32, 64, 128, 256, 512, 1024)
LABELS = {
    "monte-carlo": "Monte Carlo",
    "quasi": "quasi Monte Carlo",
    "orthogonal": "orthogonal",
    "structured": "structured",
    "lattice": "lattice",
}


def kernel_error(name: str, dim: int, n_frequencies: int, seed: int) -> float:
    """RMS error of the kernel in a box whose places are about sqrt(2) length scales apart."""
    side = np.sqrt(12 / dim)  # a difference of two uniform numbers on a side has variance side² / 6
    if name == "lattice":
        if dim > 3:
            return np.nan
        waves = lattice_frequencies(KERNEL, np.full(dim, side), n_frequencies=n_frequencies)
    else:
        waves = RULES[name].draw(KERNEL, n_frequencies, dim, generator(seed, "schemes"))
    return measure_error(waves, KERNEL, side, n_lags=400).rms


def exhibit(seeds: int) -> Exhibit:
    """Errors of all schemes in three dimensions."""
    runs = range(max(2, min(seeds, 10)))
    error = np.array(
        [[[[kernel_error(r, d, m, s) for m in NUMBERS] for r in LABELS] for d in DIMS] for s in runs]
    )  # (seeds, dims, rules, numbers)
    middle = np.sqrt(np.mean(error**2, axis=0))
    gain = middle[:, :1] / middle  # over Monte Carlo
    low, high = gain[0, :, -1], gain[2, :, -1]
    claims = [
        Claim(
            "Quasi Monte Carlo can provide substantial improvements for the same computational complexity.",
            f"With {NUMBERS[-1]} frequencies its error is {low[1]:.0f} times smaller than Monte Carlo's in 2 "
            f"dimensions, {gain[1, 1, -1]:.1f} times in 8, {high[1]:.1f} times in 32.",
            bool(low[1] > 3),
        ),
        Claim(
            "Orthogonal features are made for high dimensions.",
            f"Their error is {low[2]:.1f} times smaller in 2 dimensions, {gain[1, 2, -1]:.1f} times in 8, "
            f"{high[2]:.1f} times in 32.",
            bool(high[2] > 1.3 and (gain[2, 2] > gain[2, 1]).all()),
        ),
        Claim(
            "Beyond the paper: equispaced frequencies need no randomness at all.",
            f"With {NUMBERS[0]} frequencies the lattice's error is {middle[0, 4, 0]:.0e} in 2 dimensions, Monte "
            f"Carlo's {middle[0, 0, 0]:.0e}; with {NUMBERS[2]} it is {middle[0, 4, 2]:.0e}.",
            bool(middle[0, 4, 2] < 1e-3 * middle[0, 0, 2]),
        ),
        Claim(
            "Structured features maintain a lower approximation error than standard RFF.",
            f"In 32 dimensions {high[3]:.1f} times smaller than Monte Carlo's, orthogonal {high[2]:.1f} times.",
            bool(high[3] > 1.2),
        ),
    ]
    rows: list[tuple[Cell, ...]] = [
        (dim, LABELS[rule], *map(float, middle[i, j]))
        for i, dim in enumerate(DIMS)
        for j, rule in enumerate(LABELS)
        if np.isfinite(middle[i, j]).all()
    ]
    table = Table(("dimension", "scheme", *(f"rms_error_{m}" for m in NUMBERS)), rows)
    return Exhibit(__name__, claims, table, lambda: draw(middle), (kernel_error,))


@style.styled
def draw(middle: FloatArray) -> Any:
    """One panel per dimension."""
    figure, axes = style.panels(3, width=15.5, height=4.6)
    for ax, dim, rows in zip(axes, DIMS, middle, strict=True):
        for rule, row, colour, marker in zip(LABELS, rows, style.COLOURS, style.MARKERS, strict=False):
            dash = "--" if rule == "structured" else "-"
            ax.plot(NUMBERS, row, dash, color=colour, marker=marker, label=LABELS[rule])
        ax.set(xscale="log", yscale="log", xlabel="number of frequencies m")
        style.ticks(ax, NUMBERS)
        ax.set_ylabel("RMS error of the kernel (variance 1)")
        style.title(ax, f"{dim} dimensions")
    axes[0].legend(loc="center right")
    return figure
