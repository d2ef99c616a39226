"""Products with a series on a grid of the torus, and with the rest between rows that are near: what transforms say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial import cKDTree

from bochner.features import limits
from bochner.features.operators import SplitOperator
from bochner.features.operators import mesh as mesh_room
from bochner.features.operators.mesh import Mesh
from bochner.features.operators.remainder import Remainder
from bochner.kernels import Matern, SquaredExponential
from bochner.neighbours import limits as neighbour_limits
from bochner.neighbours.row_products import row_products
from bochner.nufft import Plan
from bochner.resources import Resources

pytest.importorskip("numba")
CASES = [
    (1, Matern(0.1, nu=0.5)),
    (2, Matern(0.2, nu=0.5)),
    (2, Matern((0.4, 0.05), nu=1.5, rotation=0.5)),
    (2, SquaredExponential(0.3)),
    (3, Matern((0.3, 0.6, 0.2), nu=0.5)),
]


def operator(dim, kernel, n=3_000):
    rng = np.random.default_rng(dim)
    coords = rng.uniform(size=(n, dim)) * np.array([3.0, 1.0, 2.0])[:dim] - 7.0
    return SplitOperator(kernel, coords, (coords.min(axis=0), coords.max(axis=0)))


def by_transforms(series, coords, targets, columns):
    """The series times columns, one after the other."""
    here, there = (Plan(series.angle(places), series.coef.shape, eps=1e-10) for places in (coords, targets))
    return np.column_stack([there.type2(here.type1(column) * series.coef).real for column in columns.T])


@pytest.mark.parametrize(("dim", "kernel"), CASES)
@pytest.mark.parametrize("q", [1, 2, 3])
def test_the_grid_says_what_two_transforms_say(dim, kernel, q):
    """At the rows, the corners of the box among them, and at targets; for an odd number of columns, too."""
    op, rng = operator(dim, kernel), np.random.default_rng(9)
    v, targets = rng.standard_normal((op.n_rows, q)), rng.uniform(*op.box, size=(50, dim))
    targets[0], targets[1] = op.box
    far = Mesh.offered(op.series, *op.box, op.coords).of(v)
    for given, places in ((None, op.coords), (targets, targets)):
        expected = by_transforms(op.series, op.coords, places, v)
        assert_allclose(far(given), expected, atol=1e-8 * expected.std())


@pytest.mark.parametrize(("dim", "kernel"), CASES)
def test_products_are_symmetric_and_the_same_for_any_threads(dim, kernel, monkeypatch):
    monkeypatch.setattr(limits, "MESH_PLACES", 100)
    monkeypatch.setattr(limits, "MESH_BLOCK", 2**12)
    op, rng = operator(dim, kernel), np.random.default_rng(3)
    v = rng.standard_normal((op.n_rows, 2))
    with Resources(n_jobs=1).in_use():
        one = op.products(v)
    with Resources(n_jobs=3).in_use():
        assert_array_equal(op.products(v), one)
    cross = v.T @ one
    assert_allclose(cross[0, 1], cross[1, 0], rtol=1e-9, atol=1e-9 * np.abs(cross).max())


def test_targets_outside_the_box_are_left_to_transforms():
    op = operator(2, Matern(0.2, nu=0.5))
    v, outside = np.random.default_rng(0).standard_normal((op.n_rows, 2)), op.box[1] + [[0.0, 0.0], [0.01, 0.02]]
    assert not Mesh.offered(op.series, *op.box, op.coords).holds(outside)
    assert Mesh.offered(op.series, *op.box, outside) is None
    assert_allclose(op.cross(outside, v), op.kernel(outside, op.coords) @ v, atol=5e-3 * op.products(v).std())


def test_without_a_compiler_transforms_say_it(monkeypatch):
    v = np.random.default_rng(0).standard_normal((3_000, 2))
    expected = operator(2, Matern(0.2)).products(v)
    monkeypatch.setattr(mesh_room, "has_compiler", lambda: False)
    op = operator(2, Matern(0.2))
    assert Mesh.offered(op.series, *op.box, op.coords) is None
    assert_allclose(op.products(v), expected, atol=1e-8 * expected.std())


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_matrix_of_near_rows_is_that_of_all_pairs(dim):
    op, radius = operator(dim, Matern(0.2, nu=0.5), n=2_000), limits.NEAR_RADIUS
    found = Remainder.offered(op.kernel, op.series, radius).rows(op.coords).matrix()
    tree = cKDTree(op.coords / op.series.step)
    near = tree.sparse_distance_matrix(tree, radius).tocoo()
    lags = op.coords[near.row] - op.coords[near.col]
    values = op.kernel.lag_covariance(lags) - op.series.at(lags)
    expected = sparse.csr_array((values, (near.row, near.col)), shape=(2_000, 2_000))
    assert found.nnz == len(values)
    assert_allclose((found - expected).data, 0.0, atol=1e-6)


@pytest.mark.parametrize("q", [1, 2, 5])
def test_rows_shared_by_threads_are_those_of_the_product(q, monkeypatch):
    monkeypatch.setattr(neighbour_limits, "SHARED_ENTRIES", 500)
    rng = np.random.default_rng(q)
    matrix = sparse.random_array((400, 300), density=0.05, rng=rng, format="csr")
    columns = rng.standard_normal((300, q))
    assert_allclose(row_products(matrix)(columns), matrix @ columns, atol=1e-12)
    back = matrix.T.tocsr()
    assert_allclose(row_products(back)(matrix @ columns), back @ (matrix @ columns), atol=1e-12)
