"""The big-N problem: the cost of the exact kernel and of Fourier features.

The exact kernel factors an n x n matrix: time n³, memory n². With m frequencies the work is a pass over the rows,
block by block, that adds up a matrix of 2m x 2m: time n m², and no memory that grows with n. On logarithmic axes the
slopes show it (A): the exact factor steepens towards 3, the features stay at 1. Both on one thread; the dashed part
is extrapolated by the slope.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import FourierMap, Rows
from bochner.frequencies import QuasiMonteCarlo
from bochner.kernels import Matern
from bochner.moments import dense_moments
from bochner.paper import style
from bochner.paper.clock import seconds, slope
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator
from bochner.resources import blas_threads
from bochner.solvers import cholesky_factor

KERNEL = Matern(length_scale=0.3, nu=1.5)
NOISE_VARIANCE = 0.1
N_FREQUENCIES = 200
EXACT_ROWS = (500, 1000, 2000, 4000)
FEATURE_ROWS = (1000, 4000, 16_000, 64_000)
FAR = 1_000_000


def exact_fit(coords: FloatArray, y: FloatArray) -> FloatArray:
    """Dual coefficients: (K + s2 I)⁻¹ y; time n³ / 3, memory 8 n² bytes and more."""
    covariance = KERNEL(coords)
    covariance[np.diag_indices_from(covariance)] += NOISE_VARIANCE
    return cholesky_factor(covariance).solve(y)


def feature_fit(coords: FloatArray, y: FloatArray) -> FloatArray:
    """Coefficients of 2m waves: (Phi'Phi + s2 I)⁻¹ Phi'y; time n (2m)², in blocks of rows."""
    waves = FourierMap(QuasiMonteCarlo().draw(KERNEL, N_FREQUENCIES, 2, generator(0, "cost")))
    rows = Rows(coords, np.zeros((len(coords), 0)))
    moments = dense_moments(waves, rows, y, np.ones(len(y)))
    return cholesky_factor(moments.gram + NOISE_VARIANCE * np.eye(waves.n_columns)).solve(moments.projection)


def time_fits(fit: Any, sizes: tuple[int, ...]) -> list[float]:
    """Seconds of one fit at each number of rows."""
    rng = generator(0, "timing")
    found = []
    for n in sizes:
        coords, y = rng.uniform(size=(n, 2)), rng.standard_normal(n)
        found.append(seconds(partial(fit, coords, y), repeats=2 if n < 4000 else 1))
    return found


def exhibit(seeds: int) -> Exhibit:
    """Seconds against rows, with the slopes."""
    with blas_threads(1):
        exact, waves = time_fits(exact_fit, EXACT_ROWS), time_fits(feature_fit, FEATURE_ROWS)
    steep, flat = slope(EXACT_ROWS[-2:], exact[-2:]), slope(FEATURE_ROWS[-2:], waves[-2:])
    far = exact[-1] * (FAR / EXACT_ROWS[-1]) ** 3, waves[-1] * FAR / FEATURE_ROWS[-1]
    claims = [
        Claim(
            "The exact kernel costs O(n³) time and O(n²) memory.",
            f"From {EXACT_ROWS[-2]:,} to {EXACT_ROWS[-1]:,} rows the time grows like n^{steep:.1f}. For a million "
            f"rows: about {far[0] / 86400:.0f} days and {8 * FAR**2 / 1e12:.0f} TB.",
            steep > 2.0,
        ),
        Claim(
            "Fourier features provide a significant speed-up: linear in the number of points.",
            f"From {FEATURE_ROWS[-2]:,} to {FEATURE_ROWS[-1]:,} rows the time grows like n^{flat:.1f}. For a million "
            f"rows: about {far[1]:.0f} s and {8 * (2 * N_FREQUENCIES) ** 2 / 1e6:.0f} MB for the sums.",
            flat < 1.4,
        ),
    ]
    rows = [("exact", n, s, 8 * n**2 / 1e6) for n, s in zip(EXACT_ROWS, exact, strict=True)]
    rows += [("features", n, s, 8 * (2 * N_FREQUENCIES) ** 2 / 1e6) for n, s in zip(FEATURE_ROWS, waves, strict=True)]
    table = Table(("fit", "rows", "seconds", "matrix_megabytes"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(exact, waves), (exact_fit, feature_fit))


@style.styled
def draw(exact: list[float], waves: list[float]) -> Any:
    """Seconds and memory against rows."""
    figure, (left, right) = style.panels(2)
    left.plot(EXACT_ROWS, exact, color=style.BLUE, marker="o", label="exact kernel")
    left.plot(FEATURE_ROWS, waves, color=style.RED, marker="s", label=f"{N_FREQUENCIES} frequencies")
    for size, last, power, colour in (
        (EXACT_ROWS[-1], exact[-1], 3, style.BLUE),
        (FEATURE_ROWS[-1], waves[-1], 1, style.RED),
    ):
        far = np.array([size, FAR])
        left.plot(far, last * (far / size) ** power, ":", color=colour)
        where = (2.2e5, last * (2.2e5 / size) ** power)
        place = {"ha": "right", "xytext": (-10, 4)} if power == 3 else {"va": "top", "xytext": (6, -6)}
        left.annotate(f"slope {power}", where, color=colour, textcoords="offset points", **place)
    for seconds_, name in ((60, "a minute"), (86400, "a day")):
        left.axhline(seconds_, color=style.GREY, linewidth=1, linestyle=(0, (1, 2)))
        left.annotate(name, (450, seconds_), va="bottom", color=style.GREY, fontsize=11)
    left.set(xscale="log", yscale="log", xlabel="rows n", ylabel="time of a fit (s)")
    left.legend(loc="upper left", bbox_to_anchor=(0, 0.92))
    style.title(left, "time")
    n = np.logspace(np.log10(500), 6, 40)
    right.plot(n, 8 * n**2 / 1e9, color=style.BLUE, label="exact kernel: n² numbers")
    right.plot(
        n, np.full(len(n), 8 * (2 * N_FREQUENCIES) ** 2 / 1e9), "--", color=style.RED, label="features: (2m)² numbers"
    )
    right.set(xscale="log", yscale="log", xlabel="rows n", ylabel="memory of the matrix (GB)")
    right.legend()
    style.title(right, "memory")
    return figure
