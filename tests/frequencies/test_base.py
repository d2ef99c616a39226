"""Frequencies as values, and how a sum of kernels shares them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import InputError
from bochner.frequencies import RULES, Frequencies, MonteCarlo, QuasiMonteCarlo, limits, rule_named, shares_of
from bochner.kernels import Matern, SquaredExponential


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_covariance_is_the_sum_of_cosines(rng):
    waves = Frequencies(rng.normal(size=(5, 2)), rng.random(5))
    lag = rng.normal(size=(7, 2))
    expected = [sum(a * np.cos(w @ tau) for w, a in zip(waves.omega, waves.mass, strict=True)) for tau in lag]
    assert_allclose(waves.covariance(lag), expected)
    assert waves.covariance(np.zeros((0, 2))).shape == (0,)
    assert (waves.n, waves.dim, waves.lattice) == (5, 2, None)


def test_blocks_change_nothing(rng, monkeypatch):
    waves = Frequencies(rng.normal(size=(50, 2)), rng.random(50))
    lag = rng.normal(size=(101, 2))
    whole = waves.covariance(lag)
    for block in (1, 120, 500):
        monkeypatch.setattr(limits, "WAVE_COSINES", block)
        assert_allclose(waves.covariance(lag), whole, rtol=1e-12)


def test_error_is_the_difference_from_the_kernel(rng):
    kernel = Matern()
    waves = MonteCarlo().draw(kernel, 20, 2, rng)
    lag = rng.normal(size=(9, 2))
    assert_allclose(waves.error(kernel, lag), waves.covariance(lag) - kernel.at(lag))


def test_union_adds_covariances(rng):
    a, b = (Frequencies(rng.normal(size=(n, 3)), rng.random(n)) for n in (4, 6))
    lag = rng.normal(size=(5, 3))
    assert_allclose((a + b).covariance(lag), a.covariance(lag) + b.covariance(lag))
    with pytest.raises(InputError, match="3 and in 1 dimensions"):
        a + Frequencies(np.ones((2, 1)), np.ones(2))


def test_frequencies_are_frozen(rng):
    omega = rng.normal(size=(3, 2))
    waves = Frequencies(omega, np.ones(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        waves.omega = omega
    with pytest.raises(ValueError, match="read-only"):
        waves.omega[0, 0] = 1.0
    omega[0, 0] = 1.0  # the caller's own array stays writable


@pytest.mark.parametrize(
    ("omega", "mass"),
    [(np.ones((3, 2)), np.ones(2)), (np.ones((3, 2)), -np.ones(3)), (np.full((3, 2), np.nan), np.ones(3))],
)
def test_bad_frequencies_are_refused(omega, mass):
    with pytest.raises(InputError):
        Frequencies(omega, mass)


@pytest.mark.parametrize(
    ("variances", "n", "expected"),
    [
        ((1.0, 1.0), 10, (5, 5)),
        ((1.0, 1.0), 11, (6, 5)),
        ((3.0, 1.0), 10, (8, 2)),  # quotas 7.5 and 2.5: a tie, to the first
        ((1.0, 1e-9), 10, (9, 1)),
        ((1e-9, 1e-9, 1.0), 3, (1, 1, 1)),
        ((5.0, 3.0, 2.0), 100, (50, 30, 20)),
    ],
)
def test_shares_are_by_largest_remainder_and_at_least_one(variances, n, expected):
    first, *others = (SquaredExponential(variance=v) for v in variances)
    kernel = sum(others, start=first)
    assert shares_of(kernel, n) == expected


def test_bad_numbers_and_shares_are_refused(rng):
    kernel = Matern() + SquaredExponential()
    for n in (1, 0, -3, 2.5):
        with pytest.raises(InputError, match="at least 2"):
            MonteCarlo().draw(kernel, n, 2, rng)
    for shares in ((10,), (5, 6), (10, 0)):
        with pytest.raises(InputError, match="sum to n_frequencies = 10"):
            MonteCarlo().draw(kernel, 10, 2, rng, shares=shares)


def test_terms_do_not_disturb_each_other():
    """The frequencies of one term do not depend on how many another has."""
    kernel = Matern() + SquaredExponential()
    a = MonteCarlo().draw(kernel, 10, 2, np.random.default_rng(0), shares=(4, 6))
    b = MonteCarlo().draw(kernel, 15, 2, np.random.default_rng(0), shares=(9, 6))
    assert_array_equal(a.omega[4:], b.omega[9:])


def test_rules_by_name():
    assert set(RULES) == {"monte-carlo", "quasi", "orthogonal", "structured"}
    for name, rule in RULES.items():
        assert rule_named(name) is rule
        assert rule.explain(2)
    halton = QuasiMonteCarlo("halton")
    assert rule_named(halton) is halton
    with pytest.raises(InputError, match="'sobol' is not a frequency rule"):
        rule_named("sobol")
    with pytest.raises(InputError, match="sequence is 'faure'"):
        QuasiMonteCarlo("faure")
