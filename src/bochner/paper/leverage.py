"""Leverage scores: frequencies that the data can tell apart.

Frequencies drawn from the spectral density crowd where it is high, and over the extent of the data many of them are
nearly the same wave. The leverage score of a frequency says how much of it the others in a pool cannot replace, given
the data and their noise. Scores are high in the tails of the density (A). Draw in proportion to them, divide each mass
by the probability of its draw, and the kernel is still right on average, while fewer frequencies are spent
on what others say already: at the same number of frequencies predictions are nearer to those of the exact kernel, by
far for a smooth field (B), by less for a rough one (C), whose frequencies hardly repeat each other.

The paper's listing stops at the scores and has an identity matrix of the wrong size. Here a cosine and its
sine share a score, the ridge is the noise variance over the variance of the field, and it is raised where a
few frequencies could not hold all the degrees of freedom that the kernel would spend.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import FourierMap, Rows
from bochner.frequencies import RULES, Frequencies, resample
from bochner.inference import Observations
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.schemes.adaptive_waves import pool_of, pool_scores, pool_size
from bochner.kernels import Kernel, Matern, SquaredExponential
from bochner.paper import style
from bochner.paper.exhibit import Cell, Claim, Exhibit, Table
from bochner.random import generator

KERNELS: dict[str, tuple[Kernel, float]] = {
    "smooth field": (SquaredExponential(1.2), 0.01),
    "rough field": (Matern(2.0, nu=0.5), 0.1),
}
SCHEMES = ("monte-carlo", "quasi", "leverage")
LABELS = {"monte-carlo": "Monte Carlo", "quasi": "quasi Monte Carlo", "leverage": "leverage scores"}
NUMBERS = (20, 40, 80)
N_ROWS, N_NEW, EXTENT = 250, 150, 6.0


def simulate(kernel: Kernel, noise: float, seed: int) -> tuple[Observations, Rows]:
    """Noisy data of a field drawn from the exact kernel, and new places."""
    rng = generator(seed, "leverage")
    coords = rng.uniform(-EXTENT / 2, EXTENT / 2, size=(N_ROWS + N_NEW, 2))
    root = linalg.cholesky(kernel(coords[:N_ROWS]) + 1e-8 * np.eye(N_ROWS), lower=True)
    y = root @ rng.standard_normal(N_ROWS) + rng.normal(0, np.sqrt(noise), size=N_ROWS)
    rows, zero = Rows(coords, np.zeros((len(coords), 0))), np.zeros(N_ROWS)
    return Observations(rows[slice(N_ROWS)], y, np.ones(N_ROWS), zero, zero), rows[slice(N_ROWS, None)]


def waves(scheme: str, kernel: Kernel, noise: float, obs: Observations, m: int, seed: int) -> Frequencies:
    """Frequencies of a scheme; leverage draws them out of a pool by what the data can tell of each."""
    if scheme != "leverage":
        return RULES[scheme].draw(kernel, m, 2, generator(seed, "waves"))
    pool = pool_of(kernel, pool_size(m), 2, seed)
    score, _ = pool_scores(pool, obs, noise, freedom=m / 2)
    return resample(pool, score, m, generator(seed, "waves")).frequencies


def distances(name: str, seed: int) -> FloatArray:
    """RMS distance of predictions from those of the exact kernel, (schemes, numbers)."""
    kernel, noise = KERNELS[name]
    obs, new = simulate(kernel, noise, seed)
    k = kernel(np.concatenate([obs.rows.coords, new.coords]))
    exact = k[N_ROWS:, :N_ROWS] @ np.linalg.solve(k[:N_ROWS, :N_ROWS] + noise * np.eye(N_ROWS), obs.y)
    found = np.empty((len(SCHEMES), len(NUMBERS)))
    for i, scheme in enumerate(SCHEMES):
        for j, m in enumerate(NUMBERS):
            features = FourierMap(waves(scheme, kernel, noise, obs, m, seed))
            mean = LinearEngine(features, noise).fit(obs).posterior.mean(new)
            found[i, j] = np.sqrt(np.mean((mean - exact) ** 2))
    return found


def scores_by_radius() -> tuple[FloatArray, FloatArray]:
    """Length of each frequency of a pool, and its leverage score."""
    kernel, noise = KERNELS["smooth field"]
    obs, _ = simulate(kernel, noise, 0)
    pool = pool_of(kernel, 300, 2, 0)
    return np.linalg.norm(pool.omega, axis=1), pool_scores(pool, obs, noise)[0]


def bias() -> float:
    """Largest difference of the mean covariance of 300 draws from that of the pool, in standard errors."""
    kernel, noise = KERNELS["smooth field"]
    obs, _ = simulate(kernel, noise, 0)
    pool = pool_of(kernel, 160, 2, 0)
    score, _ = pool_scores(pool, obs, noise, freedom=10)
    lag, rng = np.random.default_rng(0).normal(size=(20, 2)), generator(0, "bias")
    draws = np.array([resample(pool, score, 20, rng).frequencies.covariance(lag) for _ in range(300)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    return float(np.max(np.abs(draws.mean(axis=0) - pool.covariance(lag)) / error))


def exhibit(seeds: int) -> Exhibit:
    """Predictions at equal numbers of frequencies."""
    runs = range(max(2, min(seeds, 5)))
    found = {name: np.array([distances(name, seed) for seed in runs]) for name in KERNELS}
    middle = {name: values.mean(axis=0) for name, values in found.items()}
    gain = {name: 1 - values[2] / values[0] for name, values in middle.items()}
    radius, score = scores_by_radius()
    inner, outer = (float(np.mean(score[part])) for part in (radius < np.median(radius), radius > 2 / 1.2))
    off = bias()
    claims = [
        Claim(
            "Data-independent sampling is sub-optimal and can yield very poor results.",
            f"For the smooth field leverage scores bring predictions {gain['smooth field'].min():.0%} to "
            f"{gain['smooth field'].max():.0%} nearer to the exact ones than Monte Carlo with as many frequencies; for "
            f"the rough field {gain['rough field'].min():.0%} to {gain['rough field'].max():.0%}.",
            bool(gain["smooth field"].min() > 0.1 and gain["rough field"].min() > -0.02),
        ),
        Claim(
            "The resulting samples should contain more of the important features.",
            f"A frequency in the tail has a score of {outer:.2f} on average, one of the inner half {inner:.2f}.",
            bool(outer > 2 * inner),
        ),
        Claim(
            "Sample Fourier features with a probability proportional to the leverage distribution.",
            f"With masses divided by that probability the kernel is unbiased: the mean of 300 draws is at most "
            f"{off:.1f} standard errors off.",
            off < 5,
            corrected=True,
        ),
    ]
    rows: list[tuple[Cell, ...]] = [
        (name, LABELS[scheme], *map(float, middle[name][i])) for name in KERNELS for i, scheme in enumerate(SCHEMES)
    ]
    table = Table(("field", "scheme", *(f"distance_{m}" for m in NUMBERS)), rows)
    return Exhibit(__name__, claims, table, lambda: draw(found, radius, score), (waves, distances, bias))


@style.styled
def draw(found: dict[str, FloatArray], radius: FloatArray, score: FloatArray) -> Any:
    """Scores against the length of a frequency; distances against the number of frequencies."""
    figure, (left, *others) = style.panels(3, width=15.5, height=4.6)
    left.plot(radius, score, "o", color=style.BLUE, markersize=4, alpha=0.7)
    left.set(xlabel="length of the frequency", ylabel="leverage score")
    style.title(left, "300 frequencies of the smooth field")
    for ax, (name, values) in zip(others, found.items(), strict=True):
        for i, scheme in enumerate(SCHEMES):
            style.band(ax, NUMBERS, values[:, i], color=style.COLOURS[i], marker=style.MARKERS[i], label=LABELS[scheme])
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="number of frequencies m",
            ylabel="RMS distance from exact",
        )
        style.ticks(ax, NUMBERS)
        low, high = ax.get_ylim()
        style.ticks(ax, [v for v in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5) if low < v < high], "y")
        style.title(ax, f"{name}, sd 1")
    others[0].legend()
    return figure
