"""Laws of every covariance operator: its products are those of the matrix, within the error that it declares."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import PartError
from bochner.features import limits
from bochner.features.operators import (
    OPERATORS as KINDS,
)
from bochner.features.operators import (
    DenseOperator,
    GridOperator,
    PartsOperator,
    SplitOperator,
    TurnedOperator,
    UnavailableOperator,
    covariance_operator,
)
from bochner.kernels import Laplacian, Matern, OnAxes, Separable
from tests.laws.registry import DIMS
from tests.laws.registry_operators import OPERATORS, Case

# transforms of a million waves: in three dimensions the split is tested with one kernel
PAIRS = [(name, dim) for name in OPERATORS for dim in DIMS if dim < 3 or not name.startswith("split-")]
PAIRS.remove(("turned", 1))
IN_A_CUBE = (("split", 3), ("turned", 3))  # a million waves in each product
every_operator = pytest.mark.parametrize(("name", "dim"), PAIRS)
but_in_a_cube = pytest.mark.parametrize(
    ("name", "dim"), [pytest.param(*pair, marks=pytest.mark.slow) if pair in IN_A_CUBE else pair for pair in PAIRS]
)


@cache
def case_of(name: str, dim: int) -> Case:
    return OPERATORS[name](dim)


def columns_of(case: Case, k: int = 3) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((case.operator.n_rows, k))


def error_of(case: Case) -> float:
    """Declared error; targets off a grid have that of the operator which they are handed to."""
    operator = case.operator
    if isinstance(operator, GridOperator) and operator.grid.nodes(case.targets) is None:
        return max(operator.product_error, operator.off_grid.product_error)
    return operator.product_error


@every_operator
def test_products_are_those_of_the_matrix(name, dim):
    case = case_of(name, dim)
    operator, v = case.operator, columns_of(case_of(name, dim))
    exact = operator.kernel(operator.coords) @ v
    assert operator.faithful
    assert_allclose(operator.apply(v), exact, atol=operator.product_error * exact.std())
    exact = operator.kernel(case.targets, operator.coords) @ v
    assert_allclose(operator.cross(case.targets, v), exact, atol=error_of(case) * exact.std())


@every_operator
def test_the_matrix_is_symmetric(name, dim):
    """<K v, w> = <v, K w>, up to the error of the transforms, 1e-9 of the norms."""
    case = case_of(name, dim)
    v, w = columns_of(case, 2).T
    kv, kw = case.operator.apply(v), case.operator.apply(w)
    assert abs(kv @ w - v @ kw) <= 1e-8 * np.linalg.norm(kv) * np.linalg.norm(w)


@but_in_a_cube
def test_rows_as_targets_give_the_products_of_the_rows(name, dim):
    case = case_of(name, dim)
    operator, v = case.operator, columns_of(case)
    rows, size = operator.coords[:40], np.abs(operator.apply(v)).max()
    # the same sums in another order, and transforms of 1e-9
    assert_allclose(operator.cross(rows, v), operator.apply(v)[:40], atol=1e-7 * size)


@but_in_a_cube
def test_products_are_linear_in_the_columns(name, dim):
    case = case_of(name, dim)
    operator, v = case.operator, columns_of(case, 2)
    for product in (operator.apply, lambda columns: operator.cross(case.targets, columns)):
        both = product(v)
        assert both.shape[1] == 2
        size = np.abs(both).max()
        assert_allclose(product(v[:, 0]), both[:, 0], atol=1e-8 * size)
        assert_allclose(product(2 * v[:, 0] - 3 * v[:, 1]), 2 * both[:, 0] - 3 * both[:, 1], atol=1e-7 * size)


@every_operator
def test_probes_lie_in_the_box(name, dim):
    operator = case_of(name, dim).operator
    probes = operator.probes(50, np.random.default_rng(0))
    assert probes.shape == (50, dim)
    assert ((probes >= operator.box[0] - 1e-9) & (probes <= operator.box[1] + 1e-9)).all()


@every_operator
def test_an_operator_says_how_and_why(name, dim):
    operator = case_of(name, dim).operator
    assert operator.how and operator.reason and operator.n_rows == len(operator.coords)


def test_every_kind_has_a_case():
    tested = {type(case_of(name, 2).operator) for name in OPERATORS}
    assert set(KINDS) - tested == {UnavailableOperator}  # which has no products


# ------------------------------------------------------------------------------------ the choice

NODES = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
ANYWHERE = np.random.default_rng(0)
RIDGES = Matern((0.003, 0.4), rotation=0.785)
SOME_RIDGES = RIDGES + Matern(0.1)
ACROSS = RIDGES + Matern((0.003, 0.4), rotation=-0.3)
LASTING = OnAxes(Matern(0.3), (0, 1)) + OnAxes(Matern(0.2, nu=0.5), 2)
MOVING = LASTING + Separable(Matern(0.1), Laplacian(0.1))


@pytest.mark.parametrize(
    ("kernel", "coords", "most_dense", "kind", "faithful"),
    [
        pytest.param(Matern(3.0), NODES, 50, GridOperator, True, id="grid"),
        pytest.param(Laplacian(3.0), NODES, 50, GridOperator, True, id="grid, kinked kernel"),
        pytest.param(Matern(0.2), ANYWHERE.uniform(size=(90, 1)), 50, SplitOperator, True, id="1-D"),
        pytest.param(Matern(0.2), ANYWHERE.uniform(size=(90, 2)), 50, SplitOperator, True, id="2-D"),
        pytest.param(Matern(0.2), ANYWHERE.uniform(size=(90, 2)), 500, SplitOperator, True, id="2-D, few rows"),
        pytest.param(Laplacian(0.3), ANYWHERE.uniform(size=(90, 2)), 500, DenseOperator, True, id="kinked, few rows"),
        pytest.param(Laplacian(0.3), ANYWHERE.uniform(size=(90, 2)), 50, SplitOperator, False, id="kinked, many rows"),
        pytest.param(RIDGES, ANYWHERE.uniform(size=(90, 2)), 50, TurnedOperator, True, id="ridges"),
        pytest.param(SOME_RIDGES, ANYWHERE.uniform(size=(90, 2)), 50, TurnedOperator, False, id="ridges, and none"),
        pytest.param(ACROSS, ANYWHERE.uniform(size=(90, 2)), 500, DenseOperator, True, id="two ways, few rows"),
        pytest.param(ACROSS, ANYWHERE.uniform(size=(90, 2)), 50, SplitOperator, False, id="two ways, many rows"),
        pytest.param(RIDGES, NODES / 9, 50, GridOperator, True, id="ridges on a grid"),
        pytest.param(LASTING, ANYWHERE.uniform(size=(90, 3)), 50, PartsOperator, True, id="space and time"),
        pytest.param(LASTING, ANYWHERE.uniform(size=(90, 3)), 500, PartsOperator, True, id="the same, few rows"),
        pytest.param(MOVING, ANYWHERE.uniform(size=(90, 3)), 50, PartsOperator, False, id="and a field that moves"),
        pytest.param(OnAxes(Matern(0.3), 0), ANYWHERE.uniform(size=(90, 2)), 50, PartsOperator, True, id="one axis"),
        pytest.param(Matern(0.2), ANYWHERE.uniform(size=(90, 3)), 500, DenseOperator, True, id="3-D, few rows"),
        pytest.param(Matern(0.2), ANYWHERE.uniform(size=(90, 3)), 50, SplitOperator, True, id="3-D, many rows"),
        pytest.param(Matern(0.2), ANYWHERE.uniform(size=(90, 4)), 500, DenseOperator, True, id="4-D, few rows"),
        pytest.param(Matern(0.2), ANYWHERE.uniform(size=(90, 4)), 50, UnavailableOperator, False, id="4-D, many rows"),
    ],
)
def test_choice(monkeypatch, kernel, coords, most_dense, kind, faithful):
    """Grids by FFT, waves where they follow the kernel, the matrix where rows are few, and else the reason."""
    monkeypatch.setattr(limits, "MAX_DENSE_ROWS", most_dense)
    monkeypatch.setattr(limits, "DENSE_PLACES", 20)
    operator = covariance_operator(kernel, coords, (coords.min(axis=0), coords.max(axis=0)))
    assert type(operator) is kind
    assert operator.faithful == faithful


def test_what_cannot_be_done_is_refused_with_the_reason():
    coords = np.random.default_rng(0).uniform(size=(9, 4))
    operator = UnavailableOperator(Matern(), coords, (np.zeros(4), np.ones(4)))
    with pytest.raises(PartError, match=r"9 rows in 4 dimensions.*no lattice of waves.*use neighbours or features"):
        operator.apply(np.ones(9))


def test_off_the_grid_another_operator_is_made_once():
    case = case_of("grid-asked-off-its-nodes", 2)
    case.operator.cross(case.targets, columns_of(case))
    assert case.operator.off_grid is case.operator.off_grid
    assert isinstance(case.operator.off_grid, SplitOperator)
