"""The number of frequencies is chosen by a measured error, and says why."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import InputError
from bochner.frequencies import Frequencies, MonteCarlo, QuasiMonteCarlo, choose_number, measure_error
from bochner.kernels import Matern, SquaredExponential
from bochner.random import generator


def test_measured_error_is_relative_to_the_variance():
    kernel = Matern(variance=1.0)
    waves = QuasiMonteCarlo().draw(kernel, 64, 2, np.random.default_rng(0))
    scaled = Frequencies(waves.omega, 9 * waves.mass)
    assert_allclose(measure_error(scaled, 9 * kernel, (3.0, 3.0)), measure_error(waves, kernel, (3.0, 3.0)))


def test_measured_error_of_monte_carlo_is_what_theory_says():
    """Far beyond the length scale the error of m cosines is sqrt(1 / 2m)."""
    kernel = SquaredExponential(0.01)
    errors = [
        measure_error(MonteCarlo().draw(kernel, 200, 2, np.random.default_rng(s)), kernel, (50.0, 50.0))
        for s in range(5)
    ]
    assert_allclose(np.mean([e.rms for e in errors]), np.sqrt(1 / 400), rtol=0.1)
    assert all(e.maximum >= e.rms for e in errors)


def test_one_wave_is_measured_exactly():
    """A constant field has correlation 1: the error is 1 - k, at every lag."""
    still = Frequencies(np.zeros((1, 1)), np.ones(1))
    error = measure_error(still, SquaredExponential(1e-6), 1.0)
    assert_allclose(error.rms, 1.0, rtol=1e-3)
    assert_allclose(measure_error(still, SquaredExponential(), 0.0), 0.0)


def test_bad_extents_are_refused():
    waves = Frequencies(np.zeros((1, 2)), np.ones(1))
    for extent in ((1.0, 2.0, 3.0), (-1.0, 1.0), (np.nan, 1.0)):
        with pytest.raises(InputError, match="extent"):
            measure_error(waves, Matern(), extent)


def test_smallest_power_of_two_that_meets_the_tolerance():
    rule, kernel, extent = QuasiMonteCarlo(), Matern(nu=1.5), (5.0, 5.0)
    chosen = choose_number(rule, kernel, 2, extent, tolerance=0.01, seed=3)
    assert chosen.error <= 0.01
    assert f"{chosen.n_frequencies} frequencies, the smallest power of two" in chosen.reason

    def error(n):
        return measure_error(rule.draw(kernel, n, 2, generator(3, "frequencies")), kernel, extent, 3).rms

    assert error(chosen.n_frequencies) == chosen.error
    assert error(chosen.n_frequencies // 2) > 0.01
    assert choose_number(rule, kernel, 2, extent, tolerance=0.01, seed=3) == chosen


def test_easy_kernels_get_the_fewest():
    chosen = choose_number(QuasiMonteCarlo(), SquaredExponential(10.0), 2, (1.0, 1.0), tolerance=0.01)
    assert chosen.n_frequencies == 32
    assert "the fewest tried" in chosen.reason


@pytest.mark.parametrize("maximum", [20, 32, 100, 256])
def test_the_maximum_is_taken_and_told_when_none_meets_the_tolerance(maximum):
    chosen = choose_number(MonteCarlo(), Matern(nu=0.5), 2, (10.0, 10.0), tolerance=1e-5, maximum=maximum)
    assert chosen.n_frequencies == maximum
    assert chosen.error > 1e-5
    assert "the most allowed" in chosen.reason
    assert "above the tolerance" in chosen.reason


def test_bad_tolerance_is_refused():
    with pytest.raises(InputError, match="tolerance"):
        choose_number(MonteCarlo(), Matern(), 2, (1.0, 1.0), tolerance=0.0)
