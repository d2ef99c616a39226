"""Quasi Monte Carlo: the rate of convergence.

Random frequencies leave gaps and clumps, and the error of the kernel falls like m^-1/2. (The paper prints m^0.5.) A
low-discrepancy sequence fills the unit square evenly before the kernel's quantiles turn it into frequencies, and the
error falls at nearly m^-1. The paper's example is a Halton sequence; scrambled Sobol points do about the same, and in
two dimensions a stratified radius with angles turned by the golden ratio, the default of `QuasiMonteCarlo`, does
better still. The gain is greatest for the smooth Gaussian kernel (A); the heavy tail of the Matern kernel keeps part
of it (B).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.frequencies import MonteCarlo, QuasiMonteCarlo, Rule, measure_error
from bochner.kernels import Kernel, Matern, SquaredExponential
from bochner.paper import style
from bochner.paper.clock import slope
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator

RULES: dict[str, Rule] = {
    "Monte Carlo": MonteCarlo(),
    "Halton": QuasiMonteCarlo("halton"),
    "Sobol": QuasiMonteCarlo("sobol"),
    "stratified radius": QuasiMonteCarlo("radial"),
}
KERNELS: dict[str, Kernel] = {"Gaussian kernel": SquaredExponential(), "Matern 3/2 kernel": Matern(nu=1.5)}
NUMBERS = (16, 32, 64, 128, 256, 512, 1024, 2048)
EXTENT = 5.0  # side of the square that lags come from, in length scales


def kernel_error(rule: Rule, kernel: Kernel, n_frequencies: int, seed: int) -> float:
    """RMS error of the kernel at lags between random places of a square."""
    waves = rule.draw(kernel, n_frequencies, 2, generator(seed, "quasi"))
    return measure_error(waves, kernel, EXTENT, n_lags=400).rms


def exhibit(seeds: int) -> Exhibit:
    """Error against m, with the slopes."""
    runs = range(max(2, min(seeds, 8)))
    error = np.array(
        [
            [[[kernel_error(r, k, m, s) for m in NUMBERS] for r in RULES.values()] for k in KERNELS.values()]
            for s in runs
        ]
    )  # (seeds, kernels, rules, numbers)
    middle = np.sqrt(np.mean(error**2, axis=0))
    slopes = np.array([[slope(NUMBERS[2:], row[2:]) for row in rows] for rows in middle])
    gauss = dict(zip(RULES, slopes[0], strict=True))
    claims = [
        Claim(
            "Monte Carlo integration converges at the rate O(m^0.5); it should read m^-0.5.",
            f"Measured exponents {slopes[0, 0]:.2f} (Gaussian) and {slopes[1, 0]:.2f} (Matern 3/2).",
            bool(np.all(np.abs(slopes[:, 0] + 0.5) < 0.1)),
            corrected=True,
        ),
        Claim(
            "Low-discrepancy sequences allow quasi Monte Carlo to converge at close to O(m^-1).",
            "Gaussian kernel: " + ", ".join(f"{value:.2f} ({name})" for name, value in list(gauss.items())[1:]) + ".",
            bool(all(value < -0.75 for name, value in gauss.items() if name != "Monte Carlo")),
        ),
    ]
    rows = [
        (kernel, rule, float(slopes[i, j]), float(middle[i, j, 3]), float(middle[i, j, -1]))
        for i, kernel in enumerate(KERNELS)
        for j, rule in enumerate(RULES)
    ]
    table = Table(("kernel", "frequencies", "exponent", f"rms_error_{NUMBERS[3]}", f"rms_error_{NUMBERS[-1]}"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(middle), (kernel_error,))


@style.styled
def draw(middle: FloatArray) -> Any:
    """Error against m for both kernels."""
    figure, axes = style.panels(2, sharey=True)
    for ax, name, rows in zip(axes, KERNELS, middle, strict=True):
        for rule, row, colour, marker in zip(RULES, rows, style.COLOURS, style.MARKERS, strict=False):
            ax.plot(NUMBERS, row, color=colour, marker=marker, label=rule)
        style.slope_guide(ax, NUMBERS, 0.3, -0.5, "slope -1/2")
        style.slope_guide(ax, NUMBERS, 0.045, -1.0, "slope -1", below=True)
        ax.set(xscale="log", yscale="log", xlabel="number of frequencies m")
        style.title(ax, name)
    axes[0].set_ylabel("RMS error of the kernel (variance 1)")
    axes[0].legend(loc="lower left", fontsize=11)
    return figure
