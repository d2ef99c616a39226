"""Random Fourier features at fine scale: where they fail.

Fine detail lives in the tails of the spectral density, where random frequencies are rare. A field drawn from the
rough Matern kernel with ν = 1/2 has a heavy tail: 100 random frequencies blur it (A), and 1,600 are still far from
the exact kernel (B). For the smooth squared exponential a few dozen do.

Worse, the features do not know what they miss. A model of few waves believes that the field consists of these waves
alone, and its intervals are too narrow (C). This is why `features="auto"` takes the exact kernel while it can, and
why `check()` compares the standard deviations with those of kriging from the nearest neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import FourierMap
from bochner.frequencies import MonteCarlo
from bochner.kernels import Kernel, Matern, SquaredExponential
from bochner.paper import style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator
from bochner.solvers import cholesky_factor

KERNELS: dict[str, Kernel] = {
    "Matern 1/2": Matern(nu=0.5),
    "Matern 3/2": Matern(nu=1.5),
    "squared exponential": SquaredExponential(),
}
NUMBERS = (10, 25, 50, 100, 200, 400, 800, 1600)
N_TRAIN, N_TEST, EXTENT, NOISE_VARIANCE = 400, 200, 5.0, 0.01
SHOWN = 100


def simulate(kernel: Kernel, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Places (train first, then test), the field drawn from the exact kernel, and noisy training data."""
    rng = generator(seed, "fine scale")
    coords = rng.uniform(0, EXTENT, size=(N_TRAIN + N_TEST, 1))
    root = linalg.cholesky(kernel(coords) + 1e-8 * np.eye(len(coords)), lower=True)
    field = root @ rng.standard_normal(len(coords))
    return coords, field, field[:N_TRAIN] + rng.normal(0, np.sqrt(NOISE_VARIANCE), size=N_TRAIN)


def krige(covariance: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Posterior mean and sd of the last rows, given data at the first, from a joint covariance."""
    n = len(y)
    factor = cholesky_factor(covariance[:n, :n] + NOISE_VARIANCE * np.eye(n))
    cross = covariance[n:, :n]
    variance = np.diag(covariance)[n:] - factor.quadratic_form(cross)
    return cross @ factor.solve(y), np.sqrt(np.maximum(variance, 0.0))


def waves_of(kernel: Kernel, n_frequencies: int, seed: int) -> FourierMap:
    """Random Fourier features."""
    return FourierMap(MonteCarlo().draw(kernel, n_frequencies, 1, generator(seed, "fine scale waves")))


def scores(kernel: Kernel, seed: int) -> FloatArray:
    """RMS distance from the exact prediction and coverage of 95 % intervals; exact first, (1 + numbers, 2)."""
    coords, field, y = simulate(kernel, seed)
    exact, sd = krige(kernel(coords), y)
    found = [(0.0, _coverage(field[N_TRAIN:], exact, sd))]
    for m in NUMBERS:
        phi = waves_of(kernel, m, seed).block(coords)
        mean, sd = krige(phi @ phi.T, y)
        found.append((float(np.sqrt(np.mean((mean - exact) ** 2))), _coverage(field[N_TRAIN:], mean, sd)))
    return np.array(found)


def exhibit(seeds: int) -> Exhibit:
    """Accuracy and coverage against the number of random waves."""
    runs = range(max(2, min(seeds, 10)))
    found = {name: np.array([scores(kernel, seed) for seed in runs]) for name, kernel in KERNELS.items()}
    at = NUMBERS.index(SHOWN) + 1
    rough, smooth = (np.median(found[name][:, at, 0]) for name in ("Matern 1/2", "squared exponential"))
    covered = found["Matern 1/2"][:, :, 1].mean(axis=0)
    claims = [
        Claim(
            "RFF can be poor at capturing very fine scale variation: it lies in the tails of the spectral density, "
            "which are infrequently sampled.",
            f"With {SHOWN} frequencies the prediction of a field of sd 1 is {rough:.3f} (RMS) from that of the exact "
            f"kernel for the rough Matern, {smooth:.3f} for the squared exponential.",
            bool(rough > 5 * smooth and rough > 0.1),
        ),
        Claim(
            "(Not in the paper) Nor do random features know what they miss.",
            f"95 % intervals cover {covered[0]:.0%} with the exact Matern 1/2 kernel and {covered[at]:.0%} with "
            f"{SHOWN} frequencies.",
            bool(covered[0] > 0.9 and covered[at] < 0.8),
        ),
    ]
    rows = [
        (
            m,
            *(float(np.median(v[:, i, 0])) for v in found.values()),
            *(float(v[:, i, 1].mean()) for v in found.values()),
        )
        for i, m in enumerate(NUMBERS, start=1)
    ]
    names = [name.replace(" ", "_") for name in KERNELS]
    table = Table(("n_frequencies", *(f"distance_{n}" for n in names), *(f"coverage_{n}" for n in names)), rows)
    return Exhibit(__name__, claims, table, lambda: draw(found), (simulate, krige, scores))


@style.styled
def draw(found: dict[str, FloatArray]) -> Any:
    """A stretch of the rough field; error and coverage against the number of frequencies."""
    figure, (left, middle, right) = style.panels(3, width=16, height=4.6, width_ratios=(1.35, 1, 1))
    kernel = KERNELS["Matern 1/2"]
    coords, _, y = simulate(kernel, 0)
    axis = np.linspace(0, 2.5, 400)[:, None]
    places = np.r_[coords[:N_TRAIN], axis]
    exact, _ = krige(kernel(places), y)
    phi = waves_of(kernel, SHOWN, 0).block(places)
    blurred, _ = krige(phi @ phi.T, y)
    left.plot(coords[:N_TRAIN, 0], y, "o", color=style.BLACK, markersize=4, label="data")
    left.plot(axis, exact, color=style.BLUE, linewidth=1.5, label="exact kernel")
    left.plot(axis, blurred, color=style.GREEN, label=f"{SHOWN} random frequencies")
    left.set(xlim=(0, 2.5), xlabel="x (length scales)", ylabel="field")
    left.legend(fontsize=11)
    style.title(left, "a rough field, blurred")
    for name, colour, marker in zip(KERNELS, style.COLOURS, style.MARKERS, strict=False):
        style.band(middle, NUMBERS, found[name][:, 1:, 0], color=colour, marker=marker, label=name)
        style.band(right, NUMBERS, found[name][:, 1:, 1], color=colour, marker=marker, label=name)
    middle.set(xscale="log", yscale="log", xlabel="number of frequencies m", ylabel="RMS distance (field has sd 1)")
    middle.legend()
    style.title(middle, "distance from the exact prediction")
    right.axhline(0.95, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    right.annotate("promised: 95 %", (NUMBERS[0], 0.955), va="bottom", color=style.GREY, fontsize=11.5)
    right.set(xscale="log", ylim=(0, 1.04), xlabel="number of frequencies m", ylabel="share of the surface covered")
    style.title(right, "coverage of 95 % intervals")
    return figure


def _coverage(truth: FloatArray, mean: FloatArray, sd: FloatArray) -> float:
    return float(np.mean(np.abs(truth - mean) <= 1.96 * sd))
