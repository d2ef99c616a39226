"""Sums of scales: what is whitened and coloured again, and that the sum is found where it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.tuning.search import Tuned
from bochner.inference.tuning.sums import _coloured, _whitened, fit_sum
from bochner.kernels import Matern


def rows_of(coords, y=None):
    n = len(coords)
    y = np.zeros(n) if y is None else y
    return Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))


@pytest.mark.parametrize(
    ("dim", "kernel"),
    [
        (1, Matern(0.3)),
        (2, Matern(0.3)),
        (2, Matern((0.5, 0.1), rotation=0.7)),
        (3, Matern((0.5, 0.1, 0.2), rotation=(0.1, 0.5, -0.3))),
        (3, Matern((0.5, 0.1, 0.2))),
    ],
)
def test_whitened_rows_and_coloured_fields_belong_together(dim, kernel):
    coords = np.random.default_rng(0).uniform(size=(30, dim))
    white = _whitened(rows_of(coords), kernel).rows.coords
    assert_allclose(kernel.replace(length_scale=1.0, rotation=None)(white), kernel(coords), atol=1e-12)
    fields = Matern(7.0, 2.0) + Matern(0.3, 0.5) + Matern(1.5, 1.0, nu=0.5)
    coloured = _coloured(fields, kernel)
    assert_allclose(coloured(coords), fields(white), atol=1e-12)
    assert [leaf.nu for leaf in coloured.leaves()] == [1.5, 0.5, 1.5]  # short to long


def simulated(kernel, n=1500):
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(n, 2))
    y = np.linalg.cholesky(kernel(coords) + 1e-4 * np.eye(n)) @ rng.standard_normal(n)
    train = np.arange(n) % 5 > 0
    return rows_of(coords, y), [(np.flatnonzero(train), np.flatnonzero(~train))]


def test_a_sum_is_found_where_it_is():
    obs, folds = simulated(Matern(0.03, 1.0) + Matern(1.0, 4.0))
    single = Tuned(Matern(0.1, 2.0, nu=0.8), 1e-4, 0.0, 1, ())
    found, gained = fit_sum(single, None, obs, folds, 0)
    assert found is not None and gained > 4
    short, _, _ = found.kernel.leaves()
    assert 0.015 < short.length_scale < 0.06


def test_no_sum_where_there_is_none():
    obs, folds = simulated(Matern(0.2, 1.0, nu=0.5))
    assert fit_sum(Tuned(Matern(0.2, 1.0, nu=0.5, learn_nu=True), 1e-4, 0.0, 1, ()), None, obs, folds, 0)[0] is None
