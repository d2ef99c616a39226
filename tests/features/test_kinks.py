"""Kernels with a kink along a whole axis: where waves and a local remainder fail, something else is used."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import covariance_operator
from bochner.features.operators import DenseOperator, PartsOperator, SplitOperator
from bochner.features.rows import Rows
from bochner.inference import Observations
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.iterative import IterativeEngine
from bochner.kernels import Gneiting, Laplacian, Matern, OnAxes, Separable

KINKED = {
    "rough in time": Separable(Matern(0.3), Matern(0.3, nu=0.5)),
    "gneiting": Gneiting(0.3, 0.3),
    "one axis after the other": OnAxes(Matern(0.2, nu=0.5), 0) + OnAxes(Matern(0.2, nu=0.5), 1),
    "laplacian": Laplacian(0.3),
}
SMOOTH = {"separable": Separable(Matern(0.3), Matern(0.3)), "isotropic": Matern(0.2, nu=0.5)}
BOX = (np.zeros(2), np.ones(2))


@pytest.mark.parametrize("name", KINKED)
def test_the_matrix_itself_is_used_where_the_split_fails(name):
    rng = np.random.default_rng(0)
    X, T, v = rng.uniform(size=(300, 2)), rng.uniform(size=(20, 2)), rng.standard_normal((300, 2))
    operator = covariance_operator(KINKED[name], X, BOX)
    assert isinstance(operator, DenseOperator | PartsOperator) and operator.faithful
    assert_allclose(operator.apply(v), KINKED[name](X) @ v, rtol=1e-9, atol=1e-9)
    assert_allclose(operator.cross(T, v[:, 0]), KINKED[name](T, X) @ v[:, 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_kernels_without_kinks_are_split(name):
    X = np.random.default_rng(0).uniform(size=(300, 2))
    operator = covariance_operator(SMOOTH[name], X, BOX)
    assert isinstance(operator, SplitOperator) and operator.faithful and operator.far_error < 6e-5


def test_too_many_rows_are_kriged_from_their_neighbours(monkeypatch):
    """Honest, if less sharp: the error against the exact mean is what the larger standard deviation allows."""
    monkeypatch.setattr("bochner.features.limits.MAX_DENSE_ROWS", 100)
    rng = np.random.default_rng(1)
    kernel, n = Separable(Matern(60.0), Matern(10.0, nu=0.5)), 900
    coords = rng.uniform(size=(n, 2)) * [400.0, 60.0]
    y = np.linalg.cholesky(kernel(coords)) @ rng.standard_normal(n) + 0.2 * rng.standard_normal(n) + 5.0
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    fit = IterativeEngine(kernel, 0.04).draft(obs)
    assert fit.solver.value == "nearest rows"
    rows = Rows(rng.uniform(size=(150, 2)) * [400.0, 60.0], np.ones((150, 1)))
    exact = ExactEngine(kernel, 0.04).fit(obs).posterior
    mean, variance = fit.posterior.mean(rows), fit.posterior.variance(rows)
    assert np.all(variance > 0.98 * exact.variance(rows))
    assert np.mean(variance) < 1.3 * np.mean(exact.variance(rows))
    # E (m - m_exact)^2 is the difference of the variances; a standard error of its mean square is 12 %
    off = np.mean((mean - exact.mean(rows)) ** 2)
    assert off < 1.6 * np.mean(variance - exact.variance(rows)) + 0.002
