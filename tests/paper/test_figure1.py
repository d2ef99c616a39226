"""Figure 1: the bias-variance trade-off on fixed seeds."""

from __future__ import annotations

import numpy as np

from bochner.paper import bias_variance, epidemic, figure1
from bochner.random import generator


def test_degree_2_wins_on_the_testing_data() -> None:
    mse = np.array([figure1.errors(seed) for seed in range(50)])
    test = mse[:, :, 1]
    assert test.mean(axis=0).argmin() == 1  # degrees 1, 2, 5
    assert np.mean(test.argmin(axis=1) == 1) > 0.75


def test_degree_5_wins_on_the_training_data() -> None:
    mse = np.array([figure1.errors(seed) for seed in range(50)])
    assert (np.diff(mse[:, :, 0], axis=1) <= 0).all()


def test_epidemic_is_the_papers() -> None:
    days, cases = epidemic.simulate(generator(0, "epidemic"))
    assert len(days) == 100
    assert cases.min() >= 0
    np.testing.assert_allclose(epidemic.expected_cases(np.array([0.0, 10.0])), [1, 31])


def test_loss_is_noise_plus_bias_plus_variance() -> None:
    for degree in (1, 2, 5):
        loss, bias2, variance = bias_variance.parts(degree, 0.0, runs=4000)
        # 4,000 runs of 100 new observations: a mean square has a standard error of sqrt(2 / 400,000), 0.2 %
        np.testing.assert_allclose(loss, 150 + bias2 + variance, rtol=0.015)
