"""Structured orthogonal features: from which dimension they pay.

A random rotation of d dimensions costs d³ to make. The structured one is a product of three random sign flips and
three Walsh-Hadamard transforms, d² log d for a block of d frequencies. Signs are few in low dimension: there is only
a handful of such rotations of the plane, and the kernel that they make is biased by several tenths (A); from 16
dimensions on the bias cannot be seen. Our rule therefore takes Haar rotations below 16, and says so. Time is saved
where d³ begins to hurt (B): for maps in two or three dimensions the method has nothing to offer, for a hundred
covariates it has.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.frequencies import Orthogonal, StructuredOrthogonal, limits
from bochner.frequencies.structured import structured_directions
from bochner.kernels import SquaredExponential
from bochner.paper import style
from bochner.paper.clock import seconds
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator

KERNEL = SquaredExponential()
DIMS = (2, 4, 8, 16, 32, 64)
TIMED = (4, 16, 32, 64, 128, 256, 512)
N_TIMED = 2048


def unguarded_bias(dim: int, blocks: int) -> float:
    """Largest error of the mean kernel, over lags, of structured blocks used in any dimension."""
    rng = generator(dim, "structured")
    unit = structured_directions(blocks * dim, dim, rng)
    norms = KERNEL.radial_quantile(rng.random((len(unit), 1)), dim)
    return mean_error(norms * unit, dim)


def guarded_bias(dim: int, blocks: int) -> float:
    """The same for `StructuredOrthogonal`, which takes Haar blocks below 16 dimensions."""
    return mean_error(StructuredOrthogonal().draw(KERNEL, blocks * dim, dim, generator(dim, "rule")).omega, dim)


def mean_error(omega: FloatArray, dim: int) -> float:
    """Largest error of the average of many cosines at lags along axes, diagonals and random directions."""
    random = generator(0, "lags").standard_normal((20, dim))
    directions = np.r_[np.eye(dim)[:3], np.ones((1, dim)), random]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lags = np.concatenate([z * directions for z in (1.0, 2.0, 3.0)])
    return float(np.max(np.abs(np.cos(omega @ lags.T).mean(axis=0) - KERNEL.at(lags))))


def exhibit(seeds: int) -> Exhibit:
    """Bias against d, time against d."""
    n = 400 * max(seeds, 10)  # frequencies
    bias = np.array([[unguarded_bias(d, n // d), guarded_bias(d, n // d)] for d in DIMS])
    times = []
    for dim in TIMED:
        rules = (Orthogonal(), StructuredOrthogonal())
        times.append([seconds(partial(r.draw, KERNEL, N_TIMED, dim, generator(0, "time"))) for r in rules])
    clock = np.array(times)
    pays = [d for d, (haar, fast) in zip(TIMED, clock, strict=True) if d >= limits.STRUCTURED_FROM and fast < haar]
    claims = [
        Claim(
            "Structured features have orthogonality with near-Gaussian entries.",
            f"In high dimension only: the bias of the kernel is {bias[0, 0]:.2f} for d = 2, {bias[1, 0]:.2f} for 4, "
            f"{bias[2, 0]:.2f} for 8 and {bias[3, 0]:.3f} for 16; with Haar blocks below 16, at most "
            f"{bias[:, 1].max():.3f}.",
            bool(bias[0, 0] > 0.1 and bias[3:, 0].max() < 0.03 and bias[:, 1].max() < 0.03),
        ),
        Claim(
            "SORF is significantly more computationally efficient than ORF.",
            f"For {N_TIMED:,} frequencies in {TIMED[-1]} dimensions it takes {clock[-1, 1] / clock[-1, 0]:.2f} of the "
            f"time; it is the faster one from d = {pays[0] if pays else '(none measured)'} on.",
            bool(clock[-1, 1] < clock[-1, 0]),
        ),
    ]
    rows = [(d, *map(float, row)) for d, row in zip(TIMED, clock, strict=True)]
    table = Table(("dimension", "haar_seconds", "structured_seconds"), rows)
    code = (unguarded_bias, guarded_bias, structured_directions)
    return Exhibit(__name__, claims, table, lambda: draw(bias, clock), code)


@style.styled
def draw(bias: FloatArray, clock: FloatArray) -> Any:
    """Bias and time against d."""
    figure, (left, right) = style.panels(2)
    left.plot(DIMS, bias[:, 0], color=style.ORANGE, marker="D", label="structured in any dimension")
    left.plot(DIMS, bias[:, 1], color=style.BLUE, marker="o", label="Haar below 16, as the library does")
    left.axvline(limits.STRUCTURED_FROM, ymax=0.7, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    left.set(xscale="log", ylim=(0, None), xlabel="dimension d", ylabel="largest bias of the kernel")
    style.ticks(left, DIMS)
    left.legend()
    style.title(left, "bias")
    right.plot(TIMED, clock[:, 0], color=style.BLUE, marker="o", label="Haar rotations")
    right.plot(TIMED, clock[:, 1], color=style.ORANGE, marker="D", label="structured (Haar below 16)")
    right.set(xscale="log", yscale="log", xlabel="dimension d", ylabel=f"time to draw {N_TIMED:,} frequencies (s)")
    style.ticks(right, TIMED)
    right.legend()
    style.title(right, "time")
    return figure
