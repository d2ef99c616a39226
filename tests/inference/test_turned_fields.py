"""Fields that reach far along a diagonal and hardly across it, against kriging from all rows at once."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.kernels import Matern


@pytest.mark.parametrize("features", ["conjugate-gradients", "nearest"])
@pytest.mark.parametrize("ratio", [8, 40])
def test_mean_and_sd_are_those_of_kriging(ratio, features):
    rng, n, noise = np.random.default_rng(0), 3_100, 0.04
    X, at = rng.uniform(size=(n, 2)), rng.uniform(size=(300, 2))
    kernel = Matern((0.4 / ratio, 0.4), nu=1.5, rotation=0.785)
    sigma = kernel(X) + noise * np.eye(n)
    root = np.linalg.cholesky(sigma)
    y = root @ rng.standard_normal(n)
    white = np.linalg.solve(root, np.column_stack([np.ones(n), y, kernel(X, at)]))
    one, data, cross = white[:, 0], white[:, 1], white[:, 2:]
    level = one @ data / (one @ one)
    mean = level + cross.T @ (data - one * level)
    sd = np.sqrt(1 - np.sum(cross**2, axis=0) + (1 - one @ cross) ** 2 / (one @ one))
    model = SpatialRegressor(kernel, tune=None, noise_variance=noise, features=features).fit(X, y)
    found, its_sd = model.predict(at, return_std=True)
    # forty neighbours say nearly all that all rows say; by them alone the mean differs by what they leave out
    assert np.max(np.abs(found - mean) / sd) < (0.02 if features == "conjugate-gradients" else 0.2)
    assert np.max(its_sd / sd) < 1.03
    assert np.min(its_sd / sd) > 0.999
