"""Kernels that scikit-learn has too: same covariance, same gradient."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as sk

from bochner.kernels import Linear, Matern, RationalQuadratic, SquaredExponential

PER_AXIS = (0.7, 2.0, 1.1)

PAIRS = {
    "rbf": (SquaredExponential(1.3), sk.RBF(1.3)),
    "rbf-per-axis": (SquaredExponential(PER_AXIS), sk.RBF(PER_AXIS)),
    **{f"matern-{nu}": (Matern(1.3, nu=nu), sk.Matern(1.3, nu=nu)) for nu in (0.3, 0.5, 1.0, 1.5, 2.5, 3.7, 25.0)},
    **{f"matern-{nu}-per-axis": (Matern(PER_AXIS, nu=nu), sk.Matern(PER_AXIS, nu=nu)) for nu in (0.5, 1.5, 2.5)},
    **{
        f"rational-quadratic-{alpha}": (RationalQuadratic(0.8, alpha=alpha), sk.RationalQuadratic(0.8, alpha))
        for alpha in (0.3, 1.0, 40.0)
    },
    "linear": (Linear(), sk.DotProduct(0.0, sigma_0_bounds="fixed")),
    "sum": (2.0 * Matern(0.5) + SquaredExponential(3.0), 2.0 * sk.Matern(0.5) + sk.RBF(3.0)),
    "product": (Matern(0.5) * SquaredExponential(3.0), sk.Matern(0.5) * sk.RBF(3.0)),
}

every_pair = pytest.mark.parametrize(("ours", "theirs"), PAIRS.values(), ids=PAIRS.keys())


@pytest.fixture
def coords() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(30, 3))


@every_pair
def test_same_covariance(ours, theirs, coords):
    assert_allclose(ours(coords), theirs(coords), rtol=1e-8)
    assert_allclose(ours(coords, coords[:5] + 1.0), theirs(coords, coords[:5] + 1.0), rtol=1e-8)
    assert_allclose(ours.diag(coords), theirs.diag(coords))


@pytest.mark.parametrize("name", ["rbf", "rbf-per-axis", "matern-0.5", "matern-1.5-per-axis", "matern-2.5"])
def test_same_gradient_in_the_log_length_scales(name, coords):
    ours, theirs = PAIRS[name]
    _, gradient = ours.covariance_and_gradient(coords, coords)
    scales = [g for g, h in zip(gradient, ours.hyperparameters, strict=True) if h.role.name == "length_scale"]
    _, expected = theirs(coords, eval_gradient=True)
    assert_allclose(np.stack(scales, axis=-1), expected, rtol=1e-9, atol=1e-12)


def test_matern_of_great_smoothness_is_the_squared_exponential(coords):
    """Where scikit-learn's Bessel functions overflow, ours do not."""
    assert_allclose(Matern(nu=1e6)(coords), SquaredExponential()(coords), atol=1e-6)
