"""What a series leaves out of a kernel, by tables: the same as by the kernel and a transform."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features.operators import SplitOperator
from bochner.features.operators.remainder import Remainder
from bochner.frequencies.torus import torus_series
from bochner.kernels import Gneiting, Matern

pytest.importorskip("numba")
CASES = [(1, Matern(0.1, nu=0.5)), (2, Matern((0.1, 0.2), nu=1.1)), (3, Matern(0.2, nu=0.5))]
RADIUS = 3.0


def series_of(kernel, dim):
    return torus_series(kernel, np.ones(dim), np.full(dim, {1: 0.01, 2: 0.02, 3: 0.06}[dim]), taper=True)


@pytest.mark.parametrize(("dim", "kernel"), CASES)
def test_tables_are_the_kernel_less_the_series(dim, kernel):
    """At lags within the radius, and summed over the rows near places inside and outside the box."""
    rng, series = np.random.default_rng(dim), series_of(kernel, dim)
    remainder = Remainder.offered(kernel, series, RADIUS)
    coords, columns = rng.uniform(size=(400, dim)), rng.standard_normal((400, 2))
    targets = rng.uniform(-0.1, 1.1, size=(60, dim))
    targets[0], targets[1] = coords[0], 1e6
    lags = (targets[:, None] - coords).reshape(-1, dim)
    near = np.linalg.norm(lags / series.step, axis=1) <= RADIUS
    values = np.zeros(len(lags))
    values[near] = kernel.lag_covariance(lags[near]) - series.at(lags[near])
    # transforms are right to 1e-9 of the variance, six nodes on eight per step to 1e-7
    assert_allclose(remainder.at(lags[near]), values[near], atol=1e-6 if dim == 3 else 1e-8)
    found = remainder.rows(coords).towards(targets, columns)
    assert_allclose(found, values.reshape(60, 400) @ columns, atol=2e-5 if dim == 3 else 1e-7)
    assert near.sum() > 60 and not found[1].any()


def test_a_kernel_without_tables_has_no_remainder_by_tables():
    assert Remainder.offered(Gneiting(0.3, 0.3), series_of(Matern(0.1), 2), RADIUS) is None


def test_many_places_see_the_products_of_the_matrix():
    rng = np.random.default_rng(0)
    operator = SplitOperator(Matern(0.05, nu=0.5), rng.uniform(size=(8_000, 2)), (np.zeros(2), np.ones(2)))
    targets, v = rng.uniform(size=(12_000, 2)), rng.standard_normal((8_000, 2))
    exact = operator.kernel(targets[::60], operator.coords) @ v
    assert_allclose(operator.cross_products(targets, v)[::60], exact, atol=operator.product_error * exact.std())
