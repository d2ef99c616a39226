"""Fast products with the covariance matrix, against the matrix itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import covariance_operator, find_grid
from bochner.kernels import Matern, SquaredExponential

KERNELS = {
    "exponential": Matern(0.1, nu=0.5),
    "matern": Matern(0.3, 2.0),
    "long and short": Matern(3.0, 5.0) + Matern(0.1, nu=0.5),
    "smooth": SquaredExponential(0.2),
}
# The remainder is cut where it has fallen to about a hundredth; a rough kernel in 3-D has most of it.
ACCURACY = {1: 5e-4, 2: 5e-3, 3: 3e-2}


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_products_are_those_of_the_matrix(name, dim):
    kernel, rng = KERNELS[name], np.random.default_rng(dim)
    X, T = rng.uniform(size=(800, dim)), rng.uniform(size=(60, dim))
    v = rng.standard_normal((800, 2))
    operator = covariance_operator(kernel, X, (np.zeros(dim), np.ones(dim)))
    dense, cross = kernel(X) @ v, kernel(T, X) @ v
    assert_allclose(operator.apply(v), dense, atol=ACCURACY[dim] * dense.std())
    assert_allclose(operator.cross(T, v), cross, atol=ACCURACY[dim] * cross.std())
    assert_allclose(operator.apply(v[:, 0]), operator.apply(v)[:, 0], rtol=1e-9, atol=1e-9)


def test_opposite_corners_are_as_exact_as_the_middle():
    """Where the series fades out, beyond the largest lag, it must not reach back among the rows."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0, 0.02, size=(150, 2)), rng.uniform(0.98, 1.0, size=(150, 2))])
    kernel = SquaredExponential(0.5)
    operator = covariance_operator(kernel, X, (X.min(axis=0), X.max(axis=0)))
    some = np.arange(0, 300, 20)
    assert_allclose(operator.apply(np.eye(300)[:, some]), kernel(X)[:, some], atol=3e-6)


def test_on_a_grid_products_are_exact():
    kernel, rng = Matern((0.4, 0.1), nu=0.5, rotation=0.3), np.random.default_rng(0)
    nodes = np.stack(np.meshgrid(np.arange(30) * 0.1, np.arange(20) * 0.05, indexing="ij"), -1).reshape(-1, 2)
    X, T = nodes[rng.permutation(600)[:450]], nodes[:40]
    operator = covariance_operator(kernel, X, (nodes.min(axis=0), nodes.max(axis=0)))
    v = rng.standard_normal(450)
    assert operator.grid.shape == (30, 20)
    assert_allclose(operator.apply(v), kernel(X) @ v, atol=1e-9)
    assert_allclose(operator.cross(T, v), kernel(T, X) @ v, atol=1e-9)
    # places off the grid go through waves and remainder
    off = T + 0.013
    inside = off[(off <= nodes.max(axis=0)).all(axis=1)]
    exact = kernel(inside, X) @ v
    assert_allclose(operator.cross(inside, v), exact, atol=2e-2 * exact.std())


def test_grids_are_found_only_where_they_are():
    rng = np.random.default_rng(0)
    nodes = np.stack(np.meshgrid(np.linspace(-95.9, -91.2, 50), np.linspace(34, 37, 30)), -1).reshape(-1, 2)
    grid = find_grid(nodes[rng.permutation(1500)[:900]])
    assert grid is not None and grid.shape == (50, 30)
    assert find_grid(rng.uniform(size=(500, 2))) is None
    assert find_grid(np.column_stack([np.arange(50.0), np.zeros(50)])) is None
    scattered = rng.integers(0, 10_000, size=(100, 2)).astype(float)  # integers, but hardly a grid
    assert find_grid(scattered) is None


def test_rows_that_crowd_on_a_surface_are_not_held_pair_by_pair(monkeypatch):
    """Many rows on the sphere lie closer than waves of its box are long."""
    from bochner.features import limits
    from bochner.features.operators import SplitOperator

    places = np.random.default_rng(0).normal(size=(9_000, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    given = (Matern(0.5, nu=0.5), places, (-np.ones(3), np.ones(3)))
    operator = SplitOperator(*given)
    assert operator.faithful
    monkeypatch.setattr(limits, "MAX_NEAR_PAIRS", (1_000, 1_000))
    crowded = SplitOperator(*given)
    assert not crowded.faithful and "pairs of rows are too near" in crowded.reason
    assert operator.faithful  # what was decided stays so while the operator is used
