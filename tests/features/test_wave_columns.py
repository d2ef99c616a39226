"""Waves of many places: the same by loops as by NumPy, wherever they are and in whichever precision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import limits, wave_columns
from bochner.neighbours import compiled
from bochner.neighbours import limits as loop_limits
from tests.laws.registry import DIMS

every_dimension = pytest.mark.parametrize("dim", DIMS)


@pytest.fixture
def by_loops(monkeypatch):
    """Loops from the first wave on, by stripes of a few rows."""
    if not compiled.has_compiler():
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(loop_limits, "WAVES_AT_ONCE", 0)
    monkeypatch.setattr(limits, "STRIPE_BYTES", 2_000)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-15), (np.float32, 2e-7)])
@pytest.mark.parametrize("reach", [0.0, 1.0, 1e6])
@every_dimension
def test_loops_take_the_waves_of_numpy(dim, reach, dtype, error, by_loops):
    rng = np.random.default_rng(1)
    coords, omega = reach * rng.normal(size=(70, dim)), rng.normal(size=(11, dim))
    amplitude = rng.uniform(size=11)
    found = wave_columns.wave_columns(coords, omega, amplitude, dtype)
    phase = coords @ (omega.T / (2 * np.pi)) % 1.0 * (2 * np.pi)
    assert found.dtype == dtype
    # a phase of many turns is known to the rounding of its products
    assert_allclose(found, np.hstack([np.cos(phase), np.sin(phase)]) * np.tile(amplitude, 2), atol=error * (1 + reach))


def test_whole_quarters_and_eighths_of_a_turn(by_loops):
    """Where cosine and sine change places and signs, a rounding to either side."""
    turns = np.arange(-24, 25) / 8
    turns = np.concatenate([turns, np.nextafter(turns, 9), np.nextafter(turns, -9)])[:, None]
    found = wave_columns.wave_columns(turns, np.array([[2 * np.pi]]), np.ones(1))
    assert_allclose(found, np.hstack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)]), rtol=0, atol=4e-15)
    assert_allclose(found[:25:2], np.round(found[:25:2]), rtol=0, atol=1e-300)


def test_no_places_and_no_waves(by_loops):
    assert wave_columns.wave_columns(np.empty((0, 2)), np.ones((3, 2)), np.ones(3)).shape == (0, 6)
    assert wave_columns.wave_columns(np.ones((3, 2)), np.empty((0, 2)), np.empty(0)).shape == (3, 0)


def test_few_waves_wait_for_no_compiler():
    assert compiled.wave_loops(1_000) is None
