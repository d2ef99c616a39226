"""A sample of `make calibration`: ranks of the truth in the posterior are uniform."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, stats

from bochner import SpatialRegressor
from bochner.kernels import Matern
from tests.properties.problems import LAWS

N_FIELDS, N_ROWS, N_PLACES = 30, 50, 25


def ranks(family: str, features: str) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the linear predictor and PIT of new observations, (fields, places); hyperparameters drawn and given."""
    found = []
    for seed in range(N_FIELDS):
        rng, law = np.random.default_rng([seed, 7]), LAWS[family]
        kernel = Matern(rng.uniform(0.15, 0.5), rng.uniform(0.5, 2.0), nu=rng.choice([0.5, 1.5, 2.5]))
        X = rng.uniform(size=(N_ROWS + N_PLACES, 2))
        eta = linalg.cholesky(kernel(X) + 1e-9 * np.eye(len(X)), lower=True) @ rng.standard_normal(len(X))
        size = rng.integers(5, 20, len(X)).astype(float) if law.size_name else np.ones(len(X))
        y = law.draw(eta, size, rng)
        sizes = [{law.size_name: part} if law.size_name else {} for part in (size[:N_ROWS], size[N_ROWS:])]
        noise = law.dispersion if law.observes_eta else 0.0
        model = SpatialRegressor(
            kernel, family="gaussian" if law.observes_eta else law, features=features, noise_variance=noise, tune=None
        ).fit(X[:N_ROWS], y[:N_ROWS], **sizes[0])
        at = X[N_ROWS:]
        low, high = model.predict_distribution(at, include_noise=True, **sizes[1]).law.pit_bounds(y[N_ROWS:])
        pit = low + rng.random(N_PLACES) * (high - low)
        found.append((model.predict_distribution(at).law.eta.cdf(eta[N_ROWS:]), pit))
    return tuple(np.stack(part) for part in zip(*found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("family", LAWS)
def test_ranks_of_the_truth_are_uniform(family):
    for part in ranks(family, "exact"):
        # one place of each field: fields are independent, places are not
        assert stats.kstest(part[:, 0], "uniform").pvalue > 1e-3
        inside = np.mean((part > 0.025) & (part < 0.975), axis=1)
        # four standard errors over fields, and two hundredths for Laplace's approximation
        assert abs(inside.mean() - 0.95) < 4 * inside.std() / np.sqrt(N_FIELDS) + 0.02
