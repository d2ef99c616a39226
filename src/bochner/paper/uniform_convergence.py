"""Uniform convergence: the largest error of random Fourier features falls like 1/√m.

With m random frequencies the kernel is replaced by an average of m cosines (A). Its error is not only small at each
lag but everywhere at once: B shows the *largest* error over a square of ten by ten length scales, for four kernels in
two dimensions. It falls like 1/√m whatever the kernel, the rate of every Monte Carlo average.

Rahimi and Recht, as the paper quotes them: m = log(n)/ε² frequencies approximate every entry of an n x n kernel
matrix to ±ε. Measured: for growing n, with m chosen so for ε = 0.1, the largest entry of the error stays near 0.1
(C).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import FourierMap
from bochner.frequencies import MonteCarlo
from bochner.kernels import Cauchy, Kernel, Laplacian, Matern, SquaredExponential
from bochner.paper import style
from bochner.paper.clock import slope
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator

KERNELS: dict[str, Kernel] = {
    "squared exponential": SquaredExponential(),
    "Matern 3/2": Matern(nu=1.5),
    "Laplacian": Laplacian(),
    "Cauchy": Cauchy(),
}
NUMBERS = tuple(2**j for j in range(3, 12))
SIDE = 5.0  # lags reach from -5 to 5 length scales
EPSILON = 0.1
SIZES = (50, 100, 200, 400, 800, 1600)


def largest_errors(kernel: Kernel, seed: int) -> FloatArray:
    """Largest error over a grid of lags with the first 8, 16, ..., 2048 of the same frequencies."""
    axis = np.linspace(-SIDE, SIDE, 27)
    lags = np.stack(np.meshgrid(axis, axis[axis >= 0]), axis=-1).reshape(-1, 2)  # the kernel is symmetric
    omega = MonteCarlo().draw(kernel, NUMBERS[-1], 2, generator(seed, "uniform")).omega
    cosines = np.cumsum(np.cos(lags @ omega.T), axis=1)[:, np.array(NUMBERS) - 1] / NUMBERS
    return np.asarray(np.max(np.abs(cosines - kernel.at(lags)[:, None]), axis=0))


def largest_entry(n: int, seed: int) -> float:
    """Largest error in an n x n kernel matrix with log(n) / ε² frequencies."""
    rng = generator(seed, "entries")
    kernel, coords = KERNELS["squared exponential"], rng.uniform(0, SIDE, size=(n, 2))
    phi = FourierMap(MonteCarlo().draw(kernel, n_needed(n), 2, rng)).block(coords)
    return float(np.max(np.abs(phi @ phi.T - kernel(coords))))


def n_needed(n: int) -> int:
    """m = log(n) / ε²."""
    return int(np.ceil(np.log(n) / EPSILON**2))


def exhibit(seeds: int) -> Exhibit:
    """Largest errors over lags and over matrices."""
    found = {
        name: np.array([largest_errors(kernel, seed) for seed in range(min(seeds, 20))])
        for name, kernel in KERNELS.items()
    }
    entries = np.array([[largest_entry(n, seed) for n in SIZES] for seed in range(min(seeds, 5))])
    slopes = {name: slope(NUMBERS, np.median(values, axis=0)) for name, values in found.items()}
    middle = np.median(entries, axis=0)
    claims = [
        Claim(
            "The approximation converges to the kernel uniformly (rather than pointwise).",
            "The largest error over the square falls like m to the power "
            + ", ".join(f"{value:.2f} ({name})" for name, value in slopes.items())
            + ".",
            bool(all(-0.6 < value < -0.4 for value in slopes.values())),
        ),
        Claim(
            "Every entry of the kernel matrix is approximated to ±ε with m = log(n)/ε² features.",
            f"ε = {EPSILON}: the largest entry of the error is {middle.min():.3f} to {middle.max():.3f} for n from "
            f"{SIZES[0]} to {SIZES[-1]:,}.",
            bool(middle.max() < 1.5 * EPSILON),
        ),
    ]
    rows = [(m, *(float(np.median(values[:, i])) for values in found.values())) for i, m in enumerate(NUMBERS)]
    table = Table(("n_frequencies", *(name.replace(" ", "_") for name in found)), rows)
    return Exhibit(__name__, claims, table, lambda: draw(found, entries), (largest_errors, largest_entry))


@style.styled
def draw(found: dict[str, FloatArray], entries: FloatArray) -> Any:
    """The kernel and its averages; largest errors against m; largest entries against n."""
    figure, (left, middle, right) = style.panels(3, width=15.5, height=4.6)
    tau = np.linspace(0, SIDE, 300)
    kernel = KERNELS["squared exponential"]
    for m, colour, dash in zip((10, 100, 1000), (style.ORANGE, style.SKY, style.BLUE), (":", "--", "-."), strict=True):
        waves = MonteCarlo().draw(kernel, m, 1, generator(0, "uniform"))
        left.plot(tau, waves.covariance(tau), dash, color=colour, label=f"{m} frequencies")
    left.plot(tau, kernel.at(tau), color=style.BLACK, label="kernel")
    left.set(xlabel="lag (length scales)", ylabel="covariance")
    left.legend()
    style.title(left, "an average of cosines")
    for (name, values), colour, marker in zip(found.items(), style.COLOURS, style.MARKERS, strict=False):
        style.band(middle, NUMBERS, values, color=colour, marker=marker, label=name)
    style.slope_guide(middle, NUMBERS, 0.55, -0.5, "slope -1/2", below=True)
    middle.set(xscale="log", yscale="log", xlabel="number of frequencies m", ylabel="largest error over the square")
    style.ticks(middle, (0.05, 0.1, 0.2, 0.5), "y")
    middle.legend(loc="upper right")
    style.title(middle, "the rate is uniform")
    style.band(right, SIZES, entries, color=style.PURPLE, marker="D", label="largest entry of the error")
    right.axhline(EPSILON, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4, label="ε = 0.1")
    right.set(xscale="log", ylim=(0, 0.15), xlabel="rows n, with m = log(n)/ε² frequencies", ylabel="error")
    style.ticks(right, SIZES)
    right.legend()
    style.title(right, "every entry of the matrix")
    return figure
