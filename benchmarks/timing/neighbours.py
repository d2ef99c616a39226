"""Small kriging systems: compiled loops beside NumPy, and maps of many places."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .plan import NOISE, Plan, places
from .rows import Row, wanted


def vecchia_likelihood(plan: Plan) -> Iterator[Row]:
    """Vecchia's likelihood with gradient, compiled and in NumPy."""
    from bochner.kernels import Matern
    from bochner.neighbours import Vecchia

    n = plan.size(6_000, 3_000)
    coords, y = places(n), np.random.default_rng(1).normal(size=n)
    vecchia = Vecchia.plan(coords, y, np.ones((n, 1)), n_neighbours=20)
    kernels = {
        "exponential": lambda i: Matern(0.1 + 1e-3 * i, nu=0.5),
        "anisotropic Matern, free nu": lambda i: Matern((0.2, 0.1), nu=1.1 + 1e-3 * i, learn_nu=True),
        "rotated Matern, free nu": lambda i: Matern((0.2, 0.1), rotation=0.5, nu=1.1 + 1e-3 * i, learn_nu=True),
    }
    for name, kernel in kernels.items():
        number = iter(range(1_000))  # another kernel every time, as in a search
        yield against_numpy(
            plan,
            f"Vecchia likelihood and gradient, {name}",
            f"{n:,} x 20",
            lambda kernel=kernel, number=number: vecchia.evaluate(kernel(next(number)), NOISE),
        )


def small_systems(plan: Plan) -> Iterator[Row]:
    """The sparse inverse root and kriging from nearest rows, compiled and in NumPy."""
    from bochner.kernels import Matern
    from bochner.neighbours import CellKriging, inverse_root, local_kriging

    n, plan = plan.size(100_000, 12_000), plan.repeated(1)
    coords, kernel, noise = places(n), Matern(0.1, nu=0.5), np.full(n, NOISE)
    y, targets = np.random.default_rng(1).normal(size=n), np.random.default_rng(2).uniform(size=(12_000, 2))
    yield against_numpy(plan, "sparse inverse root", f"{n:,} x 20", lambda: inverse_root(kernel, noise, coords, 20))
    yield against_numpy(
        plan,
        "kriging, each place from its nearest",
        "12,000 x 60",
        lambda: local_kriging(kernel, noise, coords, y, targets, 60),
    )
    yield against_numpy(
        plan,
        "kriging by cells: sd of many places",
        f"{n:,} rows, 12,000 places",
        lambda: CellKriging(kernel, noise, coords, 60, 20).at(targets),
    )


def many_places(plan: Plan) -> Iterator[Row]:
    """A map from rows: sd by cells, and with it the mean from all rows; wanted: 100,000 places a second."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern
    from bochner.neighbours import CellKriging

    n, side = plan.size(100_000, 20_000), plan.size(1_000, 450)
    axis = (np.arange(side) + 0.5) / side
    coords, targets = places(n), np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    y = np.sin(9 * coords[:, 0]) + np.random.default_rng(1).normal(size=n) * np.sqrt(NOISE)
    kernel, size, allowed = Matern(0.1, nu=0.5), f"{n:,} rows, {side**2:,} places", len(targets) / 1e5
    with plan.bound():
        cells = CellKriging(kernel, np.full(n, NOISE), coords, 40, 20)
    yield wanted("sd of a map, from rows", size, plan.repeated(1).seconds(lambda: cells.at(targets)), allowed)
    model = SpatialRegressor(kernel, tune=None, noise_variance=NOISE, n_jobs=plan.threads).fit(coords, y)
    model.predict(targets[:1_000], return_std=True)
    seconds = plan.once(lambda: model.predict(targets, return_std=True))
    yield wanted("the same with the mean, from all rows", size, seconds, allowed)


def against_numpy(plan: Plan, case: str, size: str, work: Callable[[], Any]) -> Row:
    """The same work compiled and by NumPy."""
    os.environ["BOCHNER_COMPILED"] = "0"
    numpy = plan.seconds(work)
    os.environ["BOCHNER_COMPILED"] = "1"
    return Row(case, size, plan.seconds(work), "the same in NumPy", numpy)
