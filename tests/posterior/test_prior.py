"""Draws of a model that has seen no data have the covariance of its kernel, drawn at once or place by place."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import InputError
from bochner.families import Gamma, Poisson
from bochner.kernels import Linear, Matern
from bochner.posterior import limits
from bochner.posterior.prior import Prior, draw_field

KERNEL, N = Matern(0.5, 1.5, nu=1.5), 8_000


def places(n: int = 6) -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(n, 2))


@pytest.mark.parametrize("most", [3_000, 4], ids=["at once", "place by place"])
def test_draws_have_the_covariance_of_the_kernel(most, monkeypatch):
    """Six places have at most five before them, so that neighbours are all there is."""
    monkeypatch.setattr(limits, "MAX_EXACT_DRAWS", most)
    at = np.concatenate([places(), places()[:1]])
    draws = draw_field(KERNEL, at, N, np.random.default_rng(1))
    # a sample covariance has standard error at most sqrt(2 / n) of the variance
    assert_allclose(draws.T @ draws / N, KERNEL(at), atol=5 * 1.5 * np.sqrt(2 / N))
    assert_array_equal(draws[:, 0], draws[:, -1])  # one value at one place


def test_noise_intercept_and_family():
    at, rng = places(), np.random.default_rng(2)
    surface, y = Prior(KERNEL, intercept=3.0, noise_variance=0.5).draw(at, N, rng)
    assert_allclose(surface.mean(axis=0), 3.0, atol=5 * np.sqrt(1.5 / N))
    assert_allclose((y - surface).var(axis=0), 0.5, rtol=5 * np.sqrt(2 / N))
    rate, counts = Prior(Matern(0.5, 0.1), Poisson(), 0.2, 0.0).draw(at, N, rng, np.full(6, 10.0))
    assert_allclose(rate.mean(), np.exp(0.2 + 0.05), rtol=0.02)
    assert_allclose(counts.mean(axis=0), 10 * rate.mean(axis=0), rtol=0.02)
    assert_allclose(Prior(Matern(0.5, 0.1), Poisson()).draw(at, N, rng)[1].mean(), np.exp(0.05), rtol=0.03)


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    with pytest.raises(InputError, match="needed is a number >= 0"):
        Prior(KERNEL, noise_variance=-1.0)
    with pytest.raises(InputError, match="dispersion to be set"):
        Prior(KERNEL, Gamma())
    monkeypatch.setattr(limits, "MAX_EXACT_DRAWS", 3)
    with pytest.raises(InputError, match="not shift-invariant and there are 6 places"):
        draw_field(Linear(), places(), 2, np.random.default_rng(0))
