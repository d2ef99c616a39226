"""Waves: sums over rows, predictions and transforms beside the bare products and transforms that they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from dense import Size, measured_apart

from .plan import NOISE, Plan, Split, fitted, places
from .rows import LIMIT, MEMORY, OURSELVES, RIVAL, Row, Score

PEER = "scikit-learn RBFSampler + Ridge"
PEER_COPIES = 2.3  # of its feature matrix, which Ridge copies
SUFFIX = {"float32": "", "float64": " in float64"}  # of what `dense` measures
ROOM = 0.8  # of the free memory that it may take


def dense_blocks(plan: Plan) -> Iterator[Row]:
    """Sums over rows and their solution by blocks of waves, in interpreters of their own (`benchmarks/dense.py`)."""
    size = Size(plan.size(500_000, 20_000), plan.size(1_000, 400), 8, plan.threads)
    told = f"{size.rows:,} x {size.dim}, {2 * size.frequencies:,} columns"
    peers = {precision: peer(size, precision) for precision in ("float32", "float64")}
    for precision in peers:
        case = f"dense blocks and their solution, {precision}"
        ours, speed = (measured_apart(name + SUFFIX[precision], size) for name in ("blocks", "blas"))
        bare = size.rows * (2 * size.frequencies) ** 2 / 1e9
        for product, goal in (("gemm", plan.goal(0.6)), ("syrk", None)):
            name = f"bare {product} of the same operations"
            yield Row(case, told, ours["seconds"], name, bare / speed[product], LIMIT, goal)
        # rows are in float64: features in float32 have to be asked for there, and of ours in float64 too
        for name, found in {precision: peers[precision], "float64": peers["float64"]}.values():
            score, goal = Score(ours["rmse"], found["rmse"]), plan.goal(1.5)
            yield Row(case, told, ours["seconds"], name, found["seconds"], RIVAL, goal, score)
        name, found = peers["float64"]
        held = f"{case}: peak memory"
        yield Row(held, told, ours["megabytes"], name, found["megabytes"], MEMORY, plan.goal(5), unit="MB")


def transformed_sums(plan: Plan) -> Iterator[Row]:
    """A fit on random waves of few coordinates, whose sums are transforms, beside dense blocks of the same waves."""
    size = Size(plan.size(1_000_000, 100_000), plan.size(1_000, 400), 2, plan.threads)
    told = f"{size.rows:,} x 2, {2 * size.frequencies:,} columns"
    ours, dense = measured_apart("estimator", size), measured_apart("blocks", size)
    case = "fit on random waves, sums by NUFFT"
    score = Score(ours["rmse"], dense["rmse"])
    yield Row(case, told, ours["seconds"], "our dense blocks, float32", dense["seconds"], RIVAL, None, score)
    name, theirs = peer(size, "float64")
    score = Score(ours["rmse"], theirs["rmse"])
    yield Row(case, told, ours["seconds"], name, theirs["seconds"], RIVAL, plan.goal(20), score)


def peer(size: Size, precision: str) -> tuple[str, dict[str, float]]:
    """scikit-learn's side; of as many rows as its feature matrix has room for, and then multiplied."""
    from bochner.resources import free_memory

    needed = PEER_COPIES * np.dtype(precision).itemsize * 2 * size.frequencies * size.rows
    rows = size.rows
    while needed * rows / size.rows > ROOM * free_memory():
        rows //= 2
    name = "theirs in float32" if precision == "float32" else "theirs"
    found = measured_apart(name, replace(size, rows=rows))
    if rows == size.rows:
        return f"{PEER}, {precision}", found
    times = size.rows / rows
    found |= {unit: times * found[unit] for unit in ("seconds", "megabytes")}
    return f"{PEER}, {precision}, {times:.0f} times that of {rows:,} rows", found


def dense_features(plan: Plan) -> Iterator[Row]:
    """Ridge regression on random features, kernel given: fit and mean on both sides, then with the sd that one has."""
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    n, m, dim = plan.size(100_000, 10_000), plan.size(1_000, 400), 8
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2_000, dim))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + NOISE * rng.normal(size=len(X))
    split, few = Split.at(n, X, y), Split.at(500, X[:600], y[:600])
    model = SpatialRegressor(
        SquaredExponential(2.0),
        features="monte-carlo",
        n_frequencies=m,
        tune=None,
        noise_variance=NOISE**2,
        n_jobs=plan.threads,
    )
    fitted(plan, model, few)  # what is imported late is imported now
    ours, spread = (plan.fastest(lambda s=s: fitted(plan, model, split, spread=s)) for s in (False, True))
    landmarks = min(2 * m, 1_000)
    peers = {
        "scikit-learn RBFSampler + Ridge": RBFSampler(gamma=1 / 8, n_components=2 * m, random_state=0),
        f"scikit-learn Nystroem + Ridge, {landmarks:,} columns": Nystroem(
            gamma=1 / 8, n_components=landmarks, random_state=0
        ),
    }
    case, size = "ridge on features, fit and mean", f"{n:,} x {dim}, {2 * m:,} columns"
    for name, features in peers.items():
        pipeline = make_pipeline(features, Ridge(NOISE**2))
        theirs = plan.fastest(lambda p=pipeline: fitted(plan, p, split, spread=False))
        score = Score.of(ours.errors, theirs.errors)
        yield Row(case, size, ours.seconds, name, theirs.seconds, RIVAL, None, score)
    yield Row("the same with the sd at 2,000 places", size, spread.seconds, "the mean alone", ours.seconds, OURSELVES)


def wave_sd(plan: Plan) -> Iterator[Row]:
    """Mean and sd of a model on dense waves, beside a general product of as many operations."""
    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    m, n = plan.size(1_000, 400), plan.size(50_000, 20_000)
    rng = np.random.default_rng(0)
    X, at = rng.normal(size=(5_000, 8)), rng.normal(size=(n, 8))
    model = SpatialRegressor(
        SquaredExponential(2.0),
        features="monte-carlo",
        n_frequencies=m,
        tune=None,
        noise_variance=NOISE**2,
        n_jobs=plan.threads,
    ).fit(X, np.sin(X[:, 0]))
    p = 2 * m + 1
    # a triangular system of p unknowns takes p^2 operations a place, a product with a square matrix twice as many
    left, right = rng.normal(size=(n // 2, p)), rng.normal(size=(p, p))
    ours, bare = plan.seconds(lambda: model.predict(at, return_std=True)), plan.seconds(lambda: left @ right)
    size = f"{n:,} places, {2 * m:,} columns"
    yield Row("mean and sd, dense waves", size, ours, "bare gemm of the same operations", bare, LIMIT, plan.goal(0.6))


def lattice_transforms(plan: Plan) -> Iterator[Row]:
    """Mean and fit of waves on a lattice beside the bare transforms of the same plan."""
    from lattice import bare_sums

    from bochner import SpatialRegressor, nufft
    from bochner.kernels import SquaredExponential

    n, m = plan.size(1_000_000, 200_000), plan.size(2_000_000, 1_000_000)
    X, at = places(n), np.random.default_rng(1).uniform(size=(m, 2))
    y = np.sin(9 * X[:, 0]) + np.sqrt(NOISE) * np.random.default_rng(2).normal(size=n)
    model = SpatialRegressor(
        SquaredExponential(0.1), features="lattice", tune=None, noise_variance=NOISE, n_jobs=plan.threads
    )
    fit = plan.seconds(lambda: model.fit(X, y))
    lattice = model.fitted_.model.posterior.waves.lattice
    shape = tuple(2 * np.array(lattice.half_width) + 1)
    modes = np.random.default_rng(3).normal(size=shape).astype(complex)
    angle = 2 * np.pi * lattice.spacing * at

    def bare() -> None:
        nufft.Plan.trusting(angle, shape, eps=1e-9).type2(modes)

    size, ours = f"{m:,} places, {modes.size:,} modes", plan.seconds(lambda: model.predict(at))
    yield Row("mean, waves on a lattice", size, ours, "bare NUFFT of the same plan", plan.seconds(bare), LIMIT, 0.7)
    sums = plan.seconds(lambda: bare_sums(X, y, lattice.half_width))
    yield Row("fit of waves on a lattice", f"{n:,} rows, {modes.size:,} modes", fit, "its bare NUFFTs", sums, LIMIT)
