"""Waves found in scattered data: where they are, and how much variance they carry."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from bochner.kernels.periodogram import _greedy, periodogram, spectral_lines


def test_a_wave_is_found_with_its_variance():
    """a cos + b sin has variance (a^2 + b^2) / 2, at its frequency, up to a step of the grid."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(0, 10, size=(600, 2))
    omega = np.array([3.0, -2.0])
    y = 5 + 3 * np.cos(coords @ omega) + np.sin(coords @ omega) + 0.1 * rng.normal(size=600)
    found, variance = spectral_lines(coords, y, 1)
    step = 2 * np.pi / np.ptp(coords, axis=0)
    assert np.all(np.abs(found[0] - omega) < step) or np.all(np.abs(found[0] + omega) < step)
    assert_allclose(variance, (9 + 1) / 2, rtol=0.15)
    at, power = periodogram(coords - coords.mean(axis=0), y - y.mean(), np.ptp(coords, axis=0))
    best = at[np.argmax(power)]
    assert min(np.abs(best - omega).max(), np.abs(best + omega).max()) < step.max()
    assert_allclose(power.max(), (9 + 1) / 2, rtol=0.15)


def test_the_second_wave_is_found_in_what_the_first_leaves():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 20, size=(400, 1))
    y = 2 * np.cos(4 * x[:, 0]) + np.sin(9 * x[:, 0])
    found, variance = spectral_lines(x, y, 2)
    assert_allclose(np.abs(found[:, 0]), [4, 9], atol=0.3)
    assert_allclose(variance, [2.0, 0.5], rtol=0.3)


def test_a_line_and_its_negative_are_one_peak():
    """Heaviest lines at least two cells apart: neither a neighbour of one that was found, nor its mirror image."""
    omega = np.arange(-12.0, 13.0)[:, None]
    power = np.exp(-((np.abs(omega[:, 0]) - 9) ** 2)) + 0.5 * np.exp(-((np.abs(omega[:, 0]) - 4) ** 2)) + 1e-6
    power[omega[:, 0] == 9] += 1e-3
    found = _greedy(omega, power, np.ones(1), 2)[:, 0]
    assert found[0] == 9 and abs(found[1]) == 4


def test_waves_reach_up_to_the_shortest_that_rows_can_tell():
    """Of values on a grid: two rows a wave, and no shorter; one of each pair, in steps of a share of the extent."""
    x = np.arange(40.0)[:, None]
    omega, power = periodogram(x, np.cos(x[:, 0]), np.array([40.0]))
    assert np.all(omega > 0) and len(power) == len(omega)
    assert 0.95 * np.pi < omega.max() <= 1.05 * np.pi
