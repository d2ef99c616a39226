"""Laws of rows: points and areas are one thing to a kernel, and a mean over an area is linear."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import ArealRows, Rows
from bochner.kernels import Kernel, Linear, Matern, SquaredExponential
from tests.laws.registry import DIMS

KERNELS: dict[str, Kernel] = {
    "matern": Matern(0.6, 1.7),
    "sum": Matern(0.4, nu=0.5) + SquaredExponential(2.0, 0.3),
    "not-stationary": Linear(1.5),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


def points(dim: int, n: int = 7, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return Rows(rng.uniform(-1, 1, size=(n, dim)), rng.normal(size=(n, 2)))


def areas(dim: int, n: int = 5) -> ArealRows:
    """Areas of one to four points, which are not in the order of the areas."""
    rng = np.random.default_rng(1)
    group = rng.permutation(np.concatenate([np.arange(n), rng.integers(n, size=2 * n)]))
    share = rng.uniform(0.5, 1.5, size=len(group))
    share /= np.bincount(group, share)[group]
    places = rng.uniform(-1, 1, size=(len(group), dim))
    centres = np.column_stack([np.bincount(group, share * c) for c in places.T])
    return ArealRows(centres, rng.normal(size=(n, 2)), places, group, share)


def averaging(rows: ArealRows) -> np.ndarray:
    """Weights of the points in each row, in full."""
    matrix = np.zeros((len(rows), len(rows.points)))
    matrix[rows.group, np.arange(len(rows.points))] = rows.share
    return matrix


@every_kernel
@every_dimension
def test_areas_of_one_point_are_points(kernel, dim):
    plain, other = points(dim), points(dim, 4, seed=2)
    single = plain.as_areas()
    assert single.has_areas and not plain.has_areas
    assert_allclose(single.covariance_with(kernel, other), kernel(plain.coords, other.coords), rtol=1e-14)
    assert_allclose(other.covariance_with(kernel, single), kernel(other.coords, plain.coords), rtol=1e-14)
    assert_allclose(single.variance(kernel), plain.variance(kernel), rtol=1e-14)
    for found, expected in zip(
        single.covariance_and_gradient(kernel), plain.covariance_and_gradient(kernel), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-14)


@every_kernel
@every_dimension
def test_averaging_is_linear(kernel, dim):
    """The covariance of means is the mean of covariances, on both sides and in every derivative."""
    rows, other = areas(dim), points(dim)
    a = averaging(rows)
    k, gradients = kernel.covariance_and_gradient(rows.points, rows.points)
    found, slopes = rows.covariance_and_gradient(kernel)
    assert_allclose(found, a @ k @ a.T, rtol=1e-12, atol=1e-14)
    assert_allclose(rows.covariance_with(kernel, rows), a @ k @ a.T, rtol=1e-12, atol=1e-14)
    for slope, dk in zip(slopes, gradients, strict=True):
        assert_allclose(slope, a @ dk @ a.T, rtol=1e-12, atol=1e-13)
    assert_allclose(rows.covariance_with(kernel, other), a @ kernel(rows.points, other.coords), rtol=1e-12, atol=1e-14)
    assert_allclose(rows.variance(kernel), np.diag(a @ k @ a.T), rtol=1e-12)
    values = np.random.default_rng(3).normal(size=(len(rows.points), 3))
    assert_allclose(rows.averaged(2 * values + 1), 2 * rows.averaged(values) + 1, rtol=1e-12)


@every_kernel
@every_dimension
def test_areas_asked_some_at_a_time_and_under_several_kernels_are_the_same(kernel, dim, monkeypatch):
    rows, other, kernels = areas(dim), points(dim), [kernel, kernel, Matern(0.9, 0.5, nu=0.8)]
    whole = rows.covariance_with(kernel, rows), other.covariance_with(kernel, rows)
    each = np.stack([rows.variance(one) for one in kernels])
    monkeypatch.setattr("bochner.features.limits.NUMBERS_OF_AREAS", 30)
    assert_allclose(rows.covariance_with(kernel, rows), whole[0], rtol=1e-12, atol=1e-14)
    assert_allclose(other.covariance_with(kernel, rows), whole[1], rtol=1e-12, atol=1e-14)
    assert_allclose(rows.variances(kernels), each, rtol=1e-12)


@every_kernel
@every_dimension
@pytest.mark.parametrize("first", [points, areas])
@pytest.mark.parametrize("second", [points, areas])
def test_joined_rows_have_the_covariances_of_both(kernel, dim, first, second):
    a, b = first(dim), second(dim)
    both = a.joined(b)
    assert len(both) == len(a) + len(b) and both.has_areas == (a.has_areas or b.has_areas)
    expected = np.block(
        [
            [a.covariance_with(kernel, a), a.covariance_with(kernel, b)],
            [b.covariance_with(kernel, a), b.covariance_with(kernel, b)],
        ]
    )
    assert_allclose(both.covariance_with(kernel, both), expected, rtol=1e-12, atol=1e-14)
    assert_allclose(both.trend, np.concatenate([a.trend, b.trend]))
    assert_allclose(both.variance(kernel), np.diag(expected), rtol=1e-12)


@every_dimension
@pytest.mark.parametrize("make", [points, areas])
@pytest.mark.parametrize("index", [slice(1, 4), np.array([3, 0, 2]), np.array([], dtype=int)], ids=str)
def test_some_of_the_rows(dim, make, index):
    rows, kernel = make(dim), Matern(0.6)
    part = rows[index]
    assert type(part) is type(rows)
    assert_allclose(part.covariance_with(kernel, rows), rows.covariance_with(kernel, rows)[index], rtol=1e-12)
    assert_allclose(part.coords, rows.coords[index])
