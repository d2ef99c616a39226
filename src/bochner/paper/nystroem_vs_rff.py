"""Nystroem against random Fourier features: columns that have seen the data.

Random Fourier features are drawn from the kernel alone. Nystroem features are the kernel seen from landmarks placed
among the data, here by k-means. On survey data that lie in clusters (A) they spend no columns on empty land: for the
same number of columns the prediction is nearer to that of the exact kernel, by a factor that grows with their number
(B). Evenly spread (quasi) frequencies are in between. Beyond the data Nystroem's columns vanish; the variance they
miss is added to its standard deviation.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.features import FeatureMap, FourierMap, NystroemMap, choose_landmarks
from bochner.frequencies import rule_named
from bochner.kernels import Matern
from bochner.paper import style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.paper.primal_dual import primal
from bochner.random import generator
from bochner.resources import blas_threads
from bochner.solvers import cholesky_factor

KERNEL = Matern(length_scale=1.0, nu=1.5)
NOISE_VARIANCE = 0.05
N_TRAIN, N_TEST, N_CLUSTERS = 800, 300, 20
COLUMNS = (20, 40, 80, 160, 320)
NAMES = ("Nystroem", "quasi frequencies", "random frequencies")


def survey(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Places in clusters (train first, then test), the field there, and noisy training data."""
    rng = generator(seed, "survey")
    centres = rng.uniform(0, 10, size=(N_CLUSTERS, 2))
    n = N_TRAIN + N_TEST
    coords = centres[rng.integers(N_CLUSTERS, size=n)] + 0.4 * rng.standard_normal((n, 2))
    field = linalg.cholesky(KERNEL(coords) + 1e-8 * np.eye(n), lower=True) @ rng.standard_normal(n)
    return coords, field, field[:N_TRAIN] + rng.normal(0, np.sqrt(NOISE_VARIANCE), size=N_TRAIN)


def features_of(name: str, coords: FloatArray, n_columns: int, seed: int) -> FeatureMap:
    """A feature map with some number of columns."""
    if name == "Nystroem":
        return NystroemMap.at(KERNEL, choose_landmarks(coords, n_columns, np.ones(len(coords)), seed))
    rule = rule_named("quasi" if name.startswith("quasi") else "monte-carlo")
    return FourierMap(rule.draw(KERNEL, n_columns // 2, 2, generator(seed, "survey waves")))


def distances(seed: int) -> FloatArray:
    """RMS distance from the exact prediction for every feature map and number of columns, (names, numbers)."""
    coords, _, y = survey(seed)
    x, new = coords[:N_TRAIN], coords[N_TRAIN:]
    exact = KERNEL(new, x) @ cholesky_factor(KERNEL(x) + NOISE_VARIANCE * np.eye(N_TRAIN)).solve(y)
    found = np.empty((len(NAMES), len(COLUMNS)))
    for (i, name), (j, p) in product(enumerate(NAMES), enumerate(COLUMNS)):
        with blas_threads(p):
            features = features_of(name, x, p, seed)
            predicted = features.block(new) @ primal(features.block(x), y, NOISE_VARIANCE)
        found[i, j] = np.sqrt(np.mean((predicted - exact) ** 2))
    return found


def exhibit(seeds: int) -> Exhibit:
    """Distances over a few surveys."""
    found = np.array([distances(seed) for seed in range(max(2, min(seeds, 6)))])
    middle = np.median(found, axis=0)
    gain = middle[2] / middle[0]
    claims = [
        Claim(
            "Data-dependent methods such as the Nystroem approximation can perform much better in many settings.",
            f"With {COLUMNS[0]} columns random frequencies are {gain[0]:.1f} times as far from the exact prediction as "
            f"Nystroem features, with {COLUMNS[-1]} columns {gain[-1]:.0f} times.",
            bool((gain > 1).all() and gain[-1] > 2),
        )
    ]
    rows = [(p, *map(float, middle[:, j])) for j, p in enumerate(COLUMNS)]
    table = Table(("columns", *(name.replace(" ", "_") for name in NAMES)), rows)
    return Exhibit(__name__, claims, table, lambda: draw(found), (survey, features_of, distances))


@style.styled
def draw(found: FloatArray) -> Any:
    """A survey with its landmarks; distance against columns."""
    figure, (left, right) = style.panels(2, height=4.5)
    coords, field, _ = survey(0)
    shown = left.scatter(
        *coords[:N_TRAIN].T, c=field[:N_TRAIN], s=14, cmap="viridis", vmin=-2.2, vmax=2.2, linewidths=0
    )
    landmarks = choose_landmarks(coords[:N_TRAIN], 80, np.ones(N_TRAIN), 0)
    left.plot(*landmarks.T, "x", color=style.RED, markersize=7, markeredgewidth=1.8, label="80 landmarks")
    left.set(xlabel="east (length scales)", ylabel="north (length scales)", aspect="equal", ylim=(-1.5, 12.8))
    left.legend(loc="upper left", frameon=True, framealpha=0.9, edgecolor="none")
    figure.colorbar(shown, ax=left, label="field", shrink=0.85)
    style.title(left, "a clustered survey")
    for i, (name, colour, marker) in enumerate(zip(NAMES, style.COLOURS, style.MARKERS, strict=False)):
        style.band(right, COLUMNS, found[:, i], color=colour, marker=marker, label=name)
    right.set(xscale="log", yscale="log", xlabel="number of columns", ylabel="RMS distance (field has sd 1)")
    style.ticks(right, COLUMNS)
    style.ticks(right, (0.05, 0.1, 0.2, 0.5), "y")
    right.legend(loc="lower left")
    style.title(right, "distance from the exact prediction")
    return figure
