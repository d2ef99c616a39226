"""Kernels given by their spectrum: periodic, mixtures of peaks, samples; and peaks found in data."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from sklearn.gaussian_process.kernels import ExpSineSquared

from bochner.exceptions import BochnerError, InputError
from bochner.frequencies import QuasiMonteCarlo, lattice_frequencies
from bochner.kernels import (
    Empirical,
    Matern,
    Periodic,
    SpectralMixture,
    SquaredExponential,
    spectral_density,
    spectral_lines,
    spectral_peaks,
)


def simulated(kernel, coords, rng, noise=0.05):
    root = np.linalg.cholesky(kernel(coords) + 1e-9 * np.eye(len(coords)))
    return root @ rng.standard_normal(len(coords)) + np.sqrt(noise) * rng.standard_normal(len(coords))


def test_periodic_agrees_with_scikit_learn():
    x = np.random.default_rng(0).uniform(0, 9, size=(20, 1))
    assert_allclose(Periodic(0.7, 2.3)(x), ExpSineSquared(0.7, 2.3)(x), rtol=1e-12)


def test_periodic_masses_are_bessel_functions():
    omega, mass = Periodic(0.5, 3.0, 2.0).atoms(1)
    k = np.arange(len(mass))
    assert_allclose(omega[:, 0], 2 * np.pi * k / 3.0)
    assert_allclose(mass, 2.0 * np.where(k == 0, 1, 2) * np.exp(-4) * special.iv(k, 4.0), rtol=1e-9)
    # a very smooth one is a constant, a very rough one has many overtones; none overflows
    assert len(Periodic(50.0).atoms(1)[1]) < 6
    assert_allclose(Periodic(0.02).atoms(1)[1].sum(), 1.0, rtol=1e-9)


def test_periodic_repeats_for_ever():
    kernel = Periodic((0.8, 0.6), (2.0, 3.0))
    assert_allclose(kernel.at([[200.0, -300.0], [0.4, 0.7]]), kernel.at([[0.0, 0.0], [2.4, 3.7]]), rtol=1e-9)


def test_quasi_periodic_density_is_exact():
    """Lines move the density of the other factor: no quasi Monte Carlo is needed."""
    kernel, omega = SquaredExponential(4.0) * Periodic(0.7, 2.0), np.linspace(0, 20, 50)[:, None]
    lines, mass = Periodic(0.7, 2.0).atoms(1)
    envelope = SquaredExponential(4.0)
    expected = sum(
        m / 2 * (envelope.spectral_density(omega - w) + envelope.spectral_density(omega + w))
        for w, m in zip(lines, mass, strict=True)
    )
    assert_allclose(spectral_density(kernel, omega), expected, atol=2e-6)


def test_mixture_of_one_peak_at_zero_is_squared_exponential():
    mixture, same = SpectralMixture([[0.0, 0.0]], 0.5, 1.3), SquaredExponential(2.0, 1.3)
    x = np.random.default_rng(0).normal(size=(8, 2))
    assert_allclose(mixture(x), same(x), rtol=1e-12)
    assert_allclose(mixture.spectral_density(x), same.spectral_density(x), rtol=1e-12)
    assert len(mixture.theta) == 3  # a mean of zero stays


def test_empirical_kernel_approaches_the_kernel_of_its_samples():
    samples = QuasiMonteCarlo().draw(Matern(), 4_000, 2, np.random.default_rng(0)).omega
    kernel, lag = Empirical(samples, 2.0), np.random.default_rng(1).normal(size=(20, 2))
    assert_allclose(kernel.at(lag), 2 * Matern().at(lag), atol=0.03)
    # asked for a multiple of their number, a rule takes each sample equally often: nothing is lost
    few = Empirical(samples[:100])
    waves = QuasiMonteCarlo().draw(few, 300, 2, np.random.default_rng(2))
    assert_allclose(waves.covariance(lag), few.at(lag), atol=1e-12)
    assert lattice_frequencies(few, np.ones(2), n_frequencies=500).n == 100


def test_empirical_covariance_is_made_in_blocks(monkeypatch):
    kernel = Empirical(np.random.default_rng(0).normal(size=(100, 2)))
    x = np.random.default_rng(1).normal(size=(3, 4, 2))
    whole = kernel.covariance(x, x)
    monkeypatch.setattr("bochner.kernels.limits.COSINES_AT_ONCE", 100)
    assert_allclose(kernel.covariance(x, x), whole, rtol=1e-12)
    assert whole.shape == (3, 4, 4)


@pytest.mark.parametrize(
    ("means", "width", "extent", "n"),
    [
        ([[2.0], [5.0]], 0.1, 60.0, 250),
        ([[2.0, 1.0], [1.0, -2.5]], 0.1, 20.0, 350),
        ([[2.0, 1.0, 0.5], [1.0, -2.5, 1.0]], 0.1, 12.0, 600),
    ],
)
def test_peaks_are_found_in_scattered_data(means, width, extent, n):
    rng = np.random.default_rng(len(means[0]))
    coords = rng.uniform(0, extent, size=(n, len(means[0])))
    y = simulated(SpectralMixture(means, width, [1.0, 0.7]), coords, rng)
    found = SpectralMixture.from_data(coords, y, 2)
    for mean in np.array(means):
        # a wave and its negative are the same; the data resolve about 2 pi / extent
        off = min(np.abs(sign * mean - m).max() for m in np.array(found.means) for sign in (-1, 1))
        assert off < 2 * np.pi / extent
    assert 0.5 < found.variance / y.var() < 1.1
    assert np.all(np.array(found.scales) < 1.0)


def test_lines_of_a_grid_of_stations_and_days():
    """Few distinct places in space, many in time: the period of time is found."""
    rng = np.random.default_rng(0)
    stations, days = rng.uniform(0, 100, size=(15, 2)), np.arange(120.0)
    coords = np.column_stack([np.repeat(stations, 120, axis=0), np.tile(days, 15)])
    y = np.sin(2 * np.pi * coords[:, 2] / 7.0) + 0.3 * rng.normal(size=len(coords))
    omega, power = spectral_lines(coords, y, 1)
    assert_allclose(2 * np.pi / abs(omega[0, 2]), 7.0, rtol=0.02)
    assert_allclose(power[0], 0.5, rtol=0.1)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Periodic(period=-1.0), "period"),
        (lambda: Periodic(period=(1.0, 2.0))(np.zeros((2, 3))), "2 values of period for 3 coordinates"),
        (lambda: Periodic().spectral_density([[1.0]]), "lines"),
        (lambda: SpectralMixture([1.0], scales=0.0), "scales"),
        (lambda: SpectralMixture([1.0], masses=-1.0), "masses"),
        (lambda: SpectralMixture([1.0, 2.0], scales=[1.0, 2.0, 3.0]), "one per component"),
        (lambda: SpectralMixture([1.0])(np.zeros((2, 2))), "means in 1 dimensions for 2"),
        (lambda: SpectralMixture(np.zeros((0, 2))), "n_components"),
        (lambda: Empirical(np.zeros((0, 2))), "empty"),
        (lambda: Empirical([[np.nan]]), "NaN"),
        (lambda: Empirical([[1.0]])(np.zeros((2, 2))), "samples in 1 dimensions for 2"),
        (lambda: spectral_peaks(np.zeros((9, 4)), np.zeros(9), 1), "1 to 3"),
        (lambda: spectral_peaks(np.zeros((9, 1)), np.zeros(9), 0), "1 peak"),
    ],
)
def test_refusals_say_what_is_wrong(make, named):
    with pytest.raises((BochnerError, InputError), match=named):
        make()
