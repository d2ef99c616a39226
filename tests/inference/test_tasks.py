"""What is made of the rows before anything is learned: equal ones are one, the box, where to begin."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.families import Gaussian, Poisson
from bochner.features import Rows
from bochner.inference import Observations, Responses
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.starts import _from_spectrum
from bochner.inference.observed.observations import merge_equal_rows
from bochner.inference.observed.settings import Settings
from bochner.inference.observed.task import Task, covered_box, residual_of, scale_of
from bochner.kernels import Matern, Periodic
from tests.inference.learning.evidences import exact


@pytest.mark.parametrize("family", [Gaussian(), Poisson()])
def test_equal_rows_are_one_of_more_weight(family):
    """A table written twice has as many distinct rows as once, each of weight two, and the same scale."""
    rng = np.random.default_rng(0)
    coords, y = rng.uniform(size=(20, 2)), rng.poisson(4.0, 20).astype(float)

    def task(times: int) -> Task:
        rows, n = Rows(np.tile(coords, (times, 1)), np.ones((20 * times, 1))), 20 * times
        one, zero = np.ones(n), np.zeros(n)
        return Task.of(Settings(), Responses(family, rows, np.tile(y, times), one, zero, one, zero))

    once, twice = task(1), task(2)
    assert len(twice.data) == len(twice.obs) == 20
    assert_allclose(np.sort(twice.data.weight), 2)
    assert_allclose(twice.scale.variance, once.scale.variance)


def test_the_box_holds_what_is_to_be_predicted():
    coords, wanted = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[5.0, 1.0]])
    low, high = covered_box(coords, None)
    assert np.all(low < 0) and 1 < high[0] < 2 and high[1] > 2
    assert_allclose((low + high) / 2, [0.5, 1.0])
    _, wider = covered_box(coords, wanted)
    assert wider[0] > 5 and wider[1] == high[1]
    flat, _ = covered_box(np.array([[0.0, 3.0], [1.0, 3.0]]), None)
    assert flat[1] < 3  # a line in the plane has room beside it


def observed(x: np.ndarray, y: np.ndarray) -> Observations:
    n = len(y)
    return Observations(Rows(x[:, None], np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))


def test_a_period_of_three_rows_is_where_a_climb_begins():
    """Every row of a short series tells of it: of each second one, a period of three would pass for one of six."""
    x = np.arange(60.0)
    obs = observed(x, np.sin(2 * np.pi * x / 3))
    starts = _from_spectrum(Periodic(1.0, period=20.0), scale_of(obs), obs, 0.01)
    periods = [kernel.period for kernel, _ in starts]
    assert min(abs(period - 3) for period in periods) < 0.05
    assert {noise for _, noise in starts} == {0.01}


def test_starts_have_the_size_of_the_field():
    """Variance less noise, but a tenth of it at least; kernels without a period, and few rows, have no such starts."""
    x = np.arange(40.0)
    obs = observed(x, np.sin(2 * np.pi * x / 5))
    scale = scale_of(obs)
    for noise, share in ((0.2 * scale.variance, 0.8), (2 * scale.variance, 0.1)):
        for kernel, _ in _from_spectrum(Periodic(1.0, period=20.0), scale, obs, noise):
            assert_allclose(kernel.diag(np.zeros((1, 1)))[0], share * scale.variance)
    assert _from_spectrum(Matern(), scale, obs, 0.1) == []
    assert _from_spectrum(Periodic(1.0, period=20.0), scale, observed(x[:9], obs.y[:9]), 0.1) == []


def test_what_is_left_of_a_trend_is_orthogonal_to_it():
    """By weights: the residual of weighted least squares; without a trend, the responses themselves."""
    rng = np.random.default_rng(1)
    trend, y, weight = rng.standard_normal((30, 3)), rng.standard_normal(30), rng.integers(1, 5, 30).astype(float)
    obs = Observations(Rows(rng.uniform(size=(30, 2)), trend), y, weight, np.zeros(30), np.zeros(30))
    assert_allclose(trend.T @ (weight * residual_of(obs)), 0, atol=1e-10)
    bare = Observations(Rows(obs.rows.coords, np.empty((30, 0))), y, weight, np.zeros(30), np.zeros(30))
    assert residual_of(bare) is y


def test_rows_of_one_place_weigh_the_same_merged():
    """Evidence of noise and of the field is that of the single rows."""
    rng = np.random.default_rng(2)
    coords, n = np.repeat(rng.uniform(size=(12, 2)), 3, axis=0), 36
    raw = Observations(Rows(coords, np.ones((n, 1))), rng.standard_normal(n), np.ones(n), np.zeros(n), np.zeros(n))
    merged = merge_equal_rows(raw)
    assert len(merged) == 12

    def values(obs: Observations) -> np.ndarray:
        thetas = [Theta(Matern(0.4, field), noise) for noise in (0.05, 0.4, 3.0) for field in (0.3, 1.0, 4.0)]
        return np.array([exact(obs).value(theta)[0] for theta in thetas])

    assert_allclose(values(merged), values(raw), rtol=1e-8, atol=1e-8)
