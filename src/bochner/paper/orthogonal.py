"""Orthogonal features: their variance against the dimension.

Independent random directions overlap; orthogonal ones share no information. Orthogonal features draw the directions
of d frequencies from a random rotation and their lengths from the kernel, so that each frequency alone has the right
distribution and the kernel stays unbiased. (The paper's listing never assigns `omega` and multiplies by an undefined
Q; without the lengths S the kernel would be biased.)

The gain is an effect of high dimension: in one dimension there is none, with growing d the variance falls to a limit
that depends on the scaled distance z = |x - z|/ℓ (A; lines: the limit of Yu et al., 1 - (d-1)/d · z⁴exp(-z²)/(1 -
exp(-z²))²). B shows the variance itself, for pairs of places in a cube: with more dimensions places lie farther
apart, which raises the variance of random features, as the paper says; at a fixed distance it does not depend on d.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.frequencies import MonteCarlo, Orthogonal, Rule
from bochner.kernels import SquaredExponential
from bochner.paper import style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator

KERNEL = SquaredExponential()
DIMS = (1, 2, 3, 4, 8, 16, 32, 64)
DISTANCES = (0.5, 1.0, 2.0)
SIDE = 1.0  # of the cube, in length scales


def variances(rule: Rule, dim: int, lags: FloatArray, total: int) -> FloatArray:
    """Variance of the approximated kernel at some lags, with m = dim frequencies, out of many in all."""
    # one long draw is many independent blocks of `dim` frequencies
    omega = rule.draw(KERNEL, total // dim * dim, dim, generator(dim, rule.name)).omega
    values = np.cos(omega @ lags.T).reshape(-1, dim, len(lags)).mean(axis=1)
    return np.asarray(np.mean((values - KERNEL.at(lags)) ** 2, axis=0))


def limit(z: float, dim: int) -> float:
    """Ratio of the variances by Yu et al. (2016), theorem 1."""
    return float(1 - (dim - 1) / dim * z**4 * np.exp(-(z**2)) / (1 - np.exp(-(z**2))) ** 2)


def exhibit(seeds: int) -> Exhibit:
    """Ratio of variances at fixed distances; variances in a cube."""
    total = 2_000 * max(seeds, 5)
    ratio, cube = np.empty((len(DIMS), len(DISTANCES))), np.empty((len(DIMS), 2))
    for i, dim in enumerate(DIMS):
        fixed = np.outer(DISTANCES, np.ones(dim) / np.sqrt(dim))
        start, end = generator(dim, "cube").uniform(0, SIDE, size=(2, 20, dim))
        lags = np.r_[fixed, end - start]
        random, orthogonal = (variances(rule, dim, lags, total) for rule in (MonteCarlo(), Orthogonal()))
        ratio[i] = orthogonal[:3] / random[:3]
        cube[i] = dim * random[3:].mean(), dim * orthogonal[3:].mean()  # times m: comparable between dimensions
    # a variance from N draws has a relative standard error of about sqrt(2 / N), a ratio sqrt(4 / N)
    slack = 6 * np.sqrt(4 / total)
    claims = [
        Claim(
            "Orthogonal features have a lower variance than random ones.",
            f"At one length scale the ratio of variances is {ratio[0, 1]:.2f} for d = 1, {ratio[1, 1]:.2f} for d = 2, "
            f"{ratio[4, 1]:.2f} for d = 8 and {ratio[-1, 1]:.2f} for d = 64 (limit {limit(1.0, 64):.2f}).",
            bool(abs(ratio[0, 1] - 1) < slack and ratio[-1, 1] < 0.3),
        ),
        Claim(
            "Increasing the number of dimensions significantly increases the variance of the RFF estimate.",
            f"For places in a cube of one length scale m times the variance grows from {cube[0, 0]:.3f} (d = 1) to "
            f"{cube[-1, 0]:.2f} (d = 64), because distances grow; at a fixed distance it "
            f"is the same in every dimension.",
            bool(cube[-1, 0] > 10 * cube[0, 0]),
        ),
    ]
    rows = [(dim, *map(float, ratio[i]), *map(float, cube[i])) for i, dim in enumerate(DIMS)]
    names = [f"ratio_at_{z:g}" for z in DISTANCES]
    table = Table(("dimension", *names, "m_variance_random", "m_variance_orthogonal"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(ratio, cube), (variances, limit, Orthogonal.draw_term))


@style.styled
def draw(ratio: FloatArray, cube: FloatArray) -> Any:
    """Ratio of variances against d, and the variances in a cube."""
    figure, (left, right) = style.panels(2)
    for z, row, colour, marker in zip(DISTANCES, ratio.T, style.COLOURS, style.MARKERS, strict=False):
        left.plot(DIMS, row, marker, color=colour, label=f"distance {z:g}")
        left.plot(DIMS, [limit(z, d) for d in DIMS], color=colour, linewidth=1.3)
    left.axhline(1, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    left.set(
        xscale="log", ylim=(0, 1.3), xlabel="dimension d (m = d frequencies)", ylabel="variance relative to random"
    )
    left.legend(ncols=3, loc="upper center", columnspacing=1, handletextpad=0.2)
    style.title(left, "orthogonal over random features")
    right.plot(DIMS, cube[:, 0], color=style.BLUE, marker="o", label="random")
    right.plot(DIMS, cube[:, 1], color=style.RED, marker="s", label="orthogonal")
    right.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="m times the variance")
    style.ticks(right, (0.02, 0.05, 0.1, 0.2, 0.5), "y")
    right.legend()
    style.title(right, "places in a cube of one length scale")
    for ax in (left, right):
        style.ticks(ax, DIMS)
    return figure
